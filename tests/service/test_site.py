"""Tests of the files that the service gives to browsers, without a browser."""

import gzip
import re
from pathlib import Path

import pytest

from multi_freq_ldpy.service import site

from .harness import serving
from .test_api import App, app, check_problem

__all__ = ["app"]

ADDRESSES = {
    "/": "text/html; charset=utf-8",
    "/s/diet": "text/html; charset=utf-8",
    f"/d/{'a' * 64}": "text/html; charset=utf-8",
    "/play": "text/html; charset=utf-8",
    "/pages/page.mjs": "text/javascript; charset=utf-8",
    "/pages/ldp.mjs": "text/javascript; charset=utf-8",
    "/pages/style.css": "text/css; charset=utf-8",
    "/pages/icon.svg": "image/svg+xml",
}
NOTHING = [
    *("/s/", "/s/A", f"/s/{'a' * 65}", "/s/a/", "/d", "/play/", "/pages/", "/pages/start.html/.."),
    *("/pages/../site.py", "/pages/..%2Fsite.py", "/pages/site.py", "/pages/none.mjs", "/s/a%00"),
    *("/s/A/qr.svg", "/s/a/qr.png"),
]
DIRECTIVES = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
}


@pytest.mark.parametrize("path", ADDRESSES)
def test_files_have_a_policy_a_type_and_a_tag(app: App, path: str) -> None:
    """Check headers, 304, compression and HEAD of each kind of file."""
    answer = app.ask("GET", path, token=None, accept_encoding="identity")
    assert answer.status_code == 200 and "Content-Encoding" not in answer.headers
    assert answer.headers["Content-Type"] == ADDRESSES[path]
    assert set(answer.headers["Content-Security-Policy"].split("; ")) == DIRECTIVES
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in answer.headers
    tag = answer.headers["ETag"]
    again = app.ask("GET", path, token=None, if_none_match=tag)
    assert (again.status_code, again.content, again.headers["ETag"]) == (304, b"", tag)
    assert app.ask("GET", path, token=None, if_none_match='"x"').status_code == 200
    packed = app.ask("GET", path, token=None, accept_encoding="gzip")
    assert packed.headers["Content-Encoding"] == "gzip" and packed.content == answer.content
    assert int(packed.headers["Content-Length"]) < len(answer.content)
    head = app.ask("HEAD", path, token=None, accept_encoding="identity")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(answer.content))
    refused = app.ask("POST", path, b"x", token=None)
    check_problem(refused, "method")
    assert refused.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("path", NOTHING)
def test_nothing_else_is_given(app: App, path: str) -> None:
    """Check that no other file can be reached."""
    check_problem(app.ask("GET", path, token=None), "not-found")


def test_pages_name_files_that_exist() -> None:
    """Check that pages load nothing from elsewhere, and only files that are there."""
    files = site.read_files()
    pages = [name for name in files if name.endswith(".html")]
    assert len(pages) == 4
    for name in pages:
        text = files[name][0].content.decode()
        named = re.findall(r'(?:src|href)="([^"]*)"', text)
        assert len(named) >= 3
        for each in named:
            assert re.fullmatch(r"(\.\./)?pages/[a-z]+\.(mjs|css|svg)", each), each
            assert each.rpartition("/")[2] in files
        assert "<noscript>" in text and "<form" not in text and "<input" not in text
        assert not re.search(r"\son\w+=|style=|<script(?![^>]*\ssrc=)", text)
    for name in files:
        if name.endswith(".mjs"):
            text = files[name][0].content.decode()
            for each in re.findall(r'(?:from|import\()\s*"([^"]+)"', text):
                assert each.removeprefix("./") in files, (name, each)
            assert not re.search(r"innerHTML|outerHTML|document\.write|\beval\(|Math\.random", text)
            assert name == "ldp.mjs" or not re.search(r"https?://(?!www\.w3\.org)", text)


def test_texts_are_in_one_file() -> None:
    """Check that no page and no script has a sentence of its own."""
    files = site.read_files()
    strings = files["strings.mjs"][0].content.decode()
    for name, (file, _, _) in files.items():
        text = file.content.decode()
        if name.endswith(".html"):
            title, sentence = re.findall(r"<(?:title|p)>([^<]+)<", text)
            wanted = f'{name.removesuffix(".html")}: ["{title}", "{sentence}"]'
            assert wanted in strings, wanted
            assert not re.search(r">[^<\s]", text.replace(title, "").replace(sentence, ""))
        elif name.endswith(".mjs") and name not in ("strings.mjs", "ldp.mjs"):
            code = re.sub(r"/\*\*.*?\*/|//[^\n]*", "", text, flags=re.S)
            assert not re.search(r"[\"`][A-Z]\w* \w+ \w+", code), name


def test_compressed_files_are_the_files() -> None:
    """Check that every compressed copy unpacks to its file."""
    for file, tag, packed in site.read_files().values():
        assert gzip.decompress(packed) == file.content and tag == file.tag


ORIGINS = {
    "http://127.0.0.1:8000": True,
    "https://forms.example.org": True,
    "https://[2001:db8::1]:8443": True,
    "": False,
    "javascript:alert(1)": False,
    "https://a/b": False,
    "https://a%20b": False,
    "ftp://a": False,
    "https://" + "a" * 300: False,
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_codes_have_the_address_of_a_survey(app: App, origin: str) -> None:
    """Check that a QR code is made for an origin, and for nothing else."""
    answer = app.ask("GET", f"/s/diet/qr.svg?origin={origin}", token=None)
    if not ORIGINS[origin]:
        check_problem(answer, "invalid")
        return
    assert answer.headers["Content-Type"] == "image/svg+xml"
    assert answer.text.count("<path") >= 1 and "<script" not in answer.text
    other = app.ask("GET", f"/s/diets/qr.svg?origin={origin}", token=None)
    assert other.content != answer.content


@pytest.mark.process
def test_files_are_free_of_the_limit(tmp_path: Path) -> None:
    """Check that files come at any rate, and that other requests have their limit."""
    database = f"sqlite:///{tmp_path}/a.sqlite"
    with serving(database, options=["--rate", "3"]) as server:
        assert {server.ask("GET", "/pages/style.css")[0] for _ in range(30)} == {200}
        code = "/s/a/qr.svg?origin=http://127.0.0.1"
        for path in ("/v1/scope", code):
            assert 429 in {server.ask("GET", path)[0] for _ in range(30)}, path
        assert server.ask("POST", "/s/a/qr.svg")[0] in (405, 429)
