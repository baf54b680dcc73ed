"""Links of the built site: ``python tools/links.py build/docs`` names each that leads nowhere."""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The targets and the links of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note the id and the link of an element."""
        given = dict(attrs)
        self.ids.add(given.get("id") or "")
        self.links.append(given.get("href" if tag in ("a", "link") else "src") or "")


def find_broken(root: Path) -> Iterator[str]:
    """Yield one line per link to a file or an anchor that does not exist."""
    pages = {
        path.resolve(): Page(path)
        for path in sorted(root.rglob("*.html"))
        if path.parent.name != "_static"  # templates of the theme
    }
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages.get(target)
            if not target.exists() or (
                known and parts.fragment and unquote(parts.fragment) not in known.ids
            ):
                yield f"{path.relative_to(root.resolve())}: {link}"


def main() -> int:
    """Return 1 if a link is broken."""
    broken = list(find_broken(Path(sys.argv[1])))
    print(*broken, sep="\n", end="\n" * bool(broken))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
