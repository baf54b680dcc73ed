"""Configuration of the documentation, which ``make docs`` builds."""

import re
import sys
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

from multi_freq_ldpy import __version__

sys.path.insert(0, str(Path(__file__).parent))
from playground import copy_playground

project, author, copyright = (
    "multi-freq-ldpy",
    "the multi-freq-ldpy developers",
    "the multi-freq-ldpy developers",
)
version = release = __version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["tutorials/*.md5", "tutorials/README.rst", "_templates"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "multi-freq-ldpy"
html_theme_options = {
    "show_prev_next": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_sidebars = {"index": []}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"  # without a script from another server
suppress_warnings = ["config.cache"]
# Types are words for people, not names to link
napoleon_use_param = napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"
autosummary_generate = True
autosummary_ignore_module_all = False
sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py",
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1000,
    "abort_on_example_error": True,
}

# Types that NumPy and the package spell out at length, and the words that signatures show
SHORT = {
    r"~(?!multi_freq_ldpy)(?:\w+\.)*(\w+)": r"\1",
    r"_Buffer \|.*?_NestedSequence\[complex \| bytes \| str\]": "array",
    r"ndarray\[tuple\[Any, \.\.\.\], dtype\[\w+\]\]": "array",
    r"\| (?:np\.)?integer\[Any\] \| bytes \| SeedSequence \| Generator \| None \| (\S+Stream)": (
        r"| Generator | \1 | None"
    ),
}


def shorten(text: str | None) -> str | None:
    """Return a signature or the type of its result, with short types."""
    for long, short in SHORT.items():
        text = re.sub(long, short, text) if text else text
    return text


def write_inline(writer: Any, node: Any) -> None:
    """Write a formula in a line as MathML, which browsers show themselves."""
    writer.body.append(convert(node.astext()))
    raise SkipNode


def write_block(writer: Any, node: Any) -> None:
    """Write a formula of its own lines as MathML."""
    writer.body.append(
        f'<div class="formula" tabindex="0">{convert(node.astext(), display="block")}</div>'
    )
    raise SkipNode


def add_playground(app: Any, error: Exception | None) -> None:
    """Put the playground beside the pages."""
    if error is None and app.builder.format == "html":
        copy_playground(Path(app.outdir))


def setup(app: Any) -> None:
    """Write formulas as MathML, let autodoc shorten every signature, and add the playground."""
    app.connect("build-finished", add_playground)
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("autodoc-process-signature", lambda *event: (shorten(event[5]), shorten(event[6])))
