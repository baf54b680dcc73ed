"""The playground as a static page of the documentation: ``build/docs/play.html``."""

import shutil
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "multi_freq_ldpy" / "service" / "pages"


def copy_playground(target: Path) -> None:
    """Copy the page of the service, and the files beside it. All its links are relative."""
    shutil.copyfile(SOURCE / "play.html", target / "play.html")
    shutil.copytree(
        SOURCE, target / "pages", ignore=shutil.ignore_patterns("*.html"), dirs_exist_ok=True
    )
