"""Configure Sphinx for `nox -s docs`; the reference pages are generated from the code first."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "pipeline")]

import generate  # noqa: E402 - beside this file

import fatwheel  # noqa: E402 - this checkout

generate.write(HERE / "reference")

project = "fatwheel"
author = "the fatwheel contributors"
copyright = "the fatwheel contributors"  # noqa: A001 - the name that Sphinx reads
version = release = fatwheel.__version__

extensions = ["myst_parser", "sphinx_copybutton"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]
nitpicky = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = "fatwheel"
html_static_path: list[str] = []
html_show_sphinx = False
html_copy_source = False
pygments_style = "default"
pygments_dark_style = "github-dark"
