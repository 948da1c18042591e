"""How the documentation is built: `make docs` → docs/_build/index.html, which opens from a folder, offline."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import veracity

sys.path.insert(0, str(Path(__file__).parent))
os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `veracity` in cells
sys.path.append(str(Path(__file__).parents[1]))  # the examples, and the tests that write a workbook
os.environ |= {"COLUMNS": "84", "OPENBLAS_NUM_THREADS": "1"}  # as wide as the page
os.environ |= {"TERM": "dumb", "TTY_INTERACTIVE": "0"}  # no bars: kernels set TERM anew

project = "veracity"
author = "the veracity authors"
version = release = veracity.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc", "_site"]
exclude_patterns = ["_build", "images", "jupyter_execute"]
html_theme = "pydata_sphinx_theme"
html_title = "veracity"
html_static_path = ["_static"]
html_css_files = ["veracity.css"]
html_js_files = ["veracity.js"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "collapse_navigation": True,
    "secondary_sidebar_items": [],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
copyright = "the veracity authors, MIT licence"
html_last_updated_fmt = None

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"  # a cell runs again when its page changes
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_cache_path = str(Path(__file__).parent / "_build" / ".cells")
nb_execution_timeout = 120
nb_merge_streams = True
html_math_renderer = "mathml"

numpydoc_show_class_members = False
autodoc_typehints = "none"
nitpicky = False
suppress_warnings = ["mystnb.unknown_mime_type", "misc.highlighting_failure"]  # a shell command over two lines
