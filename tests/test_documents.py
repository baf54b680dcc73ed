"""The Python blocks of the documents run, print what stands below them, and the example in CONTRIBUTING is the tested one."""

import contextlib
import io
import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"```(python|text)\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_run(path: Path) -> None:
    names: dict[str, object] = {"__name__": "document"}
    printed = None
    for language, text in BLOCK.findall(path.read_text()):
        if language == "python":
            # The laws need a class that can be pickled: the tested file provides it
            if "class Warner" in text:
                assert text in (ROOT / "examples" / "own_protocol.py").read_text()
                text = "from own_protocol import Warner"
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(text, names)
            printed = out.getvalue()
        else:
            assert printed == text


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text()):
        assert target.startswith("http") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "tutorials").glob("*.py")), ids=lambda path: path.name)
def test_tutorials_run(path: Path) -> None:
    """Each prints something and draws something; what it looks like is for the eyes of whoever builds the documentation."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib import pyplot as plt

    with contextlib.redirect_stdout(io.StringIO()) as out:
        runpy.run_path(str(path))
    assert out.getvalue() and plt.get_fignums()
    plt.close("all")
