"""Pages for people: static files, under a policy that lets them talk to this service only.

They are plain ASGI and need no database. So a class that opens a survey at the same moment is not
slowed by a limit of requests.
"""

import gzip
import hashlib
import io
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import segno
from anyio import to_thread

from .limits import Scope, Send
from .problems import Problem

FOLDER = Path(__file__).parent / "pages"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
PAGES = {
    re.compile(r"/"): "start.html",
    re.compile(r"/s/[a-z0-9-]{1,64}"): "answer.html",
    re.compile(r"/d/[a-z0-9-]{1,64}"): "dashboard.html",
    re.compile(r"/play"): "play.html",
}
"""The pages by their addresses. Scripts read the name of a survey from the address."""

FILES = re.compile(r"/pages/([a-z]+\.[a-z]+)")
CODE = re.compile(r"/s/([a-z0-9-]{1,64})/qr\.svg")
ORIGIN = re.compile(r"https?://[A-Za-z0-9.:\[\]-]{1,255}")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'"
    "; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    "; require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",
}


@dataclass(frozen=True)
class File:
    """The content of an answer.

    Parameters
    ----------
    content : bytes
        The bytes.
    kind : str
        The media type.
    """

    content: bytes
    kind: str

    @property
    def tag(self) -> str:
        """The ETag."""
        return f'"{hashlib.blake2b(self.content, digest_size=16).hexdigest()}"'


@cache
def read_files() -> dict[str, tuple[File, str, bytes]]:
    """Return the files by name, each with its ETag and its compressed content."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in TYPES:
            file = File(path.read_bytes(), TYPES[path.suffix])
            found[path.name] = file, file.tag, gzip.compress(file.content, 9, mtime=0)
    return found


def find_answer(path: str) -> Callable[[Scope, Send], Any] | None:
    """Return the function that answers requests for a page, or None for other paths.

    Parameters
    ----------
    path : str
        Path of a request.

    Returns
    -------
    callable or None
        A coroutine function of the ASGI scope and sender.
    """
    match = FILES.fullmatch(path)
    name = match[1] if match else _page_of(path)
    if name is not None and name in read_files():
        return lambda scope, send: _send_file(scope, send, *read_files()[name])
    if CODE.fullmatch(path):
        return _send_code
    return None


def is_file(path: str) -> bool:
    """Return True for files, which cost nothing. A QR code has to be made."""
    return not CODE.fullmatch(path) and find_answer(path) is not None


def _page_of(path: str) -> str | None:
    return next((name for pattern, name in PAGES.items() if pattern.fullmatch(path)), None)


async def _send_code(scope: Scope, send: Send) -> None:
    """Send the address of a survey as a QR code. Its origin is the one that the page has."""
    (origin,) = parse_qs(scope["query_string"].decode("latin-1")).get("origin", [""])[:1]
    _require_reading(scope)
    if not ORIGIN.fullmatch(origin):
        raise Problem("invalid", "origin must be an address such as https://example.org.")
    address = origin + scope["path"].removesuffix("/qr.svg")
    file = File(await to_thread.run_sync(_make_code, address), TYPES[".svg"])
    await _send_file(scope, send, file, file.tag, b"")


def _make_code(address: str) -> bytes:
    """Return a QR code as SVG."""
    written = io.BytesIO()
    code = segno.make(address, error="m", micro=False)
    code.save(written, kind="svg", dark="#000", light="#fff", border=4, omitsize=True)
    return written.getvalue()


def _require_reading(scope: Scope) -> None:
    if scope["method"] not in ("GET", "HEAD"):
        raise Problem("method", "Pages are read with GET.", allow="GET, HEAD")


async def _send_file(scope: Scope, send: Send, file: File, tag: str, compressed: bytes) -> None:
    _require_reading(scope)
    asked = dict(scope["headers"])
    headers = HEADERS | {"Content-Type": file.kind, "ETag": tag, "Vary": "Accept-Encoding"}
    status, content = HTTPStatus.OK, file.content
    if asked.get(b"if-none-match", b"").decode("latin-1") == tag:
        status, content = HTTPStatus.NOT_MODIFIED, b""
    elif compressed and b"gzip" in asked.get(b"accept-encoding", b""):
        headers["Content-Encoding"], content = "gzip", compressed
    if status == HTTPStatus.OK:
        headers["Content-Length"] = str(len(content))
    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(status), "headers": pairs})
    body = b"" if scope["method"] == "HEAD" else content
    await send({"type": "http.response.body", "body": body})
