"""How the documentation is built: ``make docs``."""

from multi_freq_ldpy import __version__

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
    "sphinx.ext.mathjax",
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
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sourcelink = False
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
suppress_warnings = ["config.cache"]
# Types are words for people, not names to link
napoleon_use_param = napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
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
