"""How Sphinx makes the site; tools/docs/make_site.py gives it the pages. Nothing is fetched from another host."""

from typing import Any

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

from headcount import __version__

project = "Headcount"
release = __version__
html_title = f"Headcount {release}"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4  # headings are linked by the names that GitHub gives them

autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 90
python_use_unqualified_type_names = True
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_static_path = ["site"]
html_css_files = ["wide.css"]


def readable(*given: Any) -> tuple[str | None, str | None]:
    """Write what a dataclass makes anew for each value as Python is written: Sphinx reads signatures."""
    *_, signature, returned = given
    return signature and signature.replace("<factory>", "..."), returned


def setup(app: Sphinx) -> None:
    """Show signatures of dataclasses as others, and CSV as it is: Pygments has no colours for it."""
    app.connect("autodoc-process-signature", readable)
    app.add_lexer("csv", TextLexer)
