"""Configuration of the documentation, see ``make docs``. Nothing is loaded from other hosts."""

import os
import sys
from pathlib import Path

_DOCS = Path(__file__).parent
sys.path[:0] = [str(_DOCS / "_ext"), str(_DOCS.parent)]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import executed  # noqa: E402

import dpjax  # noqa: E402

project = "dpjax"
author = "The dpjax developers"
copyright = "The dpjax developers"
version = release = dpjax.__version__.partition(".dev")[0]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_codeautolink",
    "book",
    "tutorials",
    "executed",
]
exclude_patterns = ["_build", "_ext", "_static", "_templates", "**/figures/*.md"]
templates_path = ["_templates"]
default_role = "py:obj"
smartquotes = False
nitpicky = True
maximum_signature_line_length = 88
python_use_unqualified_type_names = True

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autosummary_generate = False

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"


nb_execution_mode = "cache"
nb_execution_cache_path = str(_DOCS / "_build" / "notebooks" / executed.digest(Path(dpjax.__file__).parent))
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_merge_streams = True

html_theme = "pydata_sphinx_theme"
html_title = "dpjax"
html_static_path = ["_static"]
html_favicon = html_logo = "_static/logo.svg"
html_context = {"default_mode": "auto"}
html_search_scorer = str(_DOCS / "_static" / "scorer.js")
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_sidebars = {"index": [], "glossary": [], "reference/api/**": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": ["ends"],
    "logo": {"text": "dpjax"},
    "show_toc_level": 2,
    "navigation_depth": 2,
    "collapse_navigation": True,
    "header_links_before_dropdown": 9,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r"\$ |>>> "
copybutton_prompt_is_regexp = True
