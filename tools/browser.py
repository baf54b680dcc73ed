"""Chromium: find it, start it, and serve files to it under a content security policy.

``python tools/browser.py`` installs Debian's package if there is no Chromium and apt-get may run.
"""

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = (
    "Chromium is missing: run `make chromium` as root on Debian, or install a Chromium and put it"
    " on the path"
)
POLICY = "default-src 'none'; script-src 'self'; connect-src 'self'"
ARGUMENTS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
Answer = tuple[int, bytes]
"""The status of an answer, and its JSON."""

TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".json": "application/json",
    ".html": "text/html",
}


def find_chromium() -> str | None:
    """Return the path of a Chromium, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@contextmanager
def start_chromium() -> Iterator["Browser"]:
    """Start Chromium without a window."""
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if not path:
        raise FileNotFoundError(MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """A page in Chromium, the requests it made, and its violations and errors."""

    def __init__(self, context: "BrowserContext", origin: str) -> None:
        self.origin, self.context = origin, context
        self.requests: list[str] = []
        self.said: list[str] = []
        self.page: Any = context.new_page()
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.add_init_script(
            "globalThis.violations = []; addEventListener('securitypolicyviolation',"
            " (event) => violations.push(event.violatedDirective));"
        )

    def open(self, path: str) -> None:
        """Load a page, and wait until it has set its title to "ready"."""
        self.page.goto(self.origin + path, wait_until="load")
        for _ in range(6000):
            if self.page.title() == "ready":
                return
            self.page.wait_for_timeout(10)
        raise TimeoutError(f"{path} is not ready: {self.said}")

    def call(self, *given: Any) -> Any:
        """Return the result of a global function ``call``, or the text of its error."""
        found = self.page.evaluate("(given) => call(...given)", list(given))
        return found.get("value", found.get("error"))


@contextmanager
def serve(
    files: Mapping[str, Path | str],
    service: Callable[[str, str, bytes], Answer | None] | None = None,
) -> Iterator[str]:
    """Serve files, or texts, on loopback; yield the origin.

    ``service`` answers requests below /v1 from their method, path and body. None breaks the
    connection.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if service and self.path.startswith("/v1/"):
                self.ask(service)
                return
            given = files.get(self.path)
            self.send_response(200 if given is not None else 404)
            self.send_header("Content-Security-Policy", POLICY)
            kind = TYPES.get(Path(self.path).suffix, "text/plain")
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.end_headers()
            if given is not None:
                data = given.read_bytes() if isinstance(given, Path) else given.encode()
                self.wfile.write(data)

        def do_POST(self) -> None:
            if service:
                self.ask(service)

        def ask(self, service: Callable[[str, str, bytes], Answer | None]) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answer = service(self.command, self.path, body)
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer[0])
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(answer[1])

        def log_message(self, format: str, *given: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def main() -> int:
    """Install Chromium if it is missing, and return 1 if it still is."""
    if not find_chromium() and os.geteuid() == 0 and shutil.which("apt-get"):
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update"], ["install", "--yes", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", "-qq", *command], env=environment, check=False)
    if not find_chromium():
        print(MISSING, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
