"""Settings of the documentation's site, which Sphinx builds: ``make docs``.

The source of the site is the whole repository, of which the pages are a part: so a link from one
page to another, or to a file, is the same on the site and in the repository.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "extensions")]
# Notebooks run in processes of their own, in an empty folder, and import the checkout, too.
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
# The networks of notebooks are small: more threads of torch would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import hlograph  # noqa: E402  # the path above

project = "hlograph"
author = "the authors of hlograph"
release = hlograph.__version__
version = release
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "api_reference"]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "README.md",
    "datasets/README.md",
    "datasets/decision_times/README.md",
    "datasets/kernel_times/README.md",
    "datasets/plan_times/README.md",
]
exclude_patterns = [".*", "build", "dist", "runs", "docs/extensions", "docs/results/studies"]

# Pages are Markdown as GitHub reads it; anchors are those that GitHub makes of headings.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
# A notebook that is not run has no language.
suppress_warnings = ["myst-nb.lexer"]
# A block that names no language holds commands or output.
highlight_language = "none"
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext"}

# Searches of notebooks begin with nothing known, and leave nothing behind.
_cache = tempfile.TemporaryDirectory(prefix="hlograph-docs-")
os.environ["HLOGRAPH_CACHE"] = _cache.name
# "off" leaves the notebooks' outputs out.
nb_execution_mode = os.environ.get("HLOGRAPH_DOCS_NOTEBOOKS", "force")
nb_execution_timeout = 600
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_number_source_lines = False

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
autodoc_default_options = {"members": True}
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_preprocess_types = False
python_use_unqualified_type_names = True
python_display_short_literal_types = True
default_role = "code"  # single backquotes, as in Markdown

html_theme = "furo"
html_title = f"hlograph {release}"
html_static_path = ["assets"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "redirect.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1a56a8", "color-brand-content": "#1a56a8"},
    "dark_css_variables": {"color-brand-primary": "#7cb2f5", "color-brand-content": "#7cb2f5"},
}


def leave_out_missing(app: Sphinx, docname: str, source: list[str]) -> None:
    """Leaves entries out of the contents whose pages are not there."""
    if docname != root_doc:
        return
    for page in ("explorer", "releasing"):
        if not (ROOT / "docs" / f"{page}.md").exists():
            source[0] = re.sub(rf"^{page}\n", "", source[0], flags=re.MULTILINE)


def setup(app: Sphinx) -> None:
    """Registers what is above."""
    app.connect("source-read", leave_out_missing)
