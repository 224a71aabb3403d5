"""Labels and help texts of fields: flags of the command line in the words of a page."""

from __future__ import annotations

import re

from headcount.errors import HeadcountError, Parameter, plain_value_of, render

_LABELS = {
    "at_most": "At most",
    "bins": "Public bins",
    "by": "Groups",
    "context": "Context",
    "context_of": "Context of",
    "contexts": "Public contexts",
    "d": "Records of an item",
    "delta": "δ (delta)",
    "epsilon": "ε (epsilon)",
    "item": "What",
    "items": "Public catalogue",
    "k": "Places",
    "max_group": "People of a group, at most",
    "max_records": "Records of a person, at most",
    "no_header": "No header",
    "select_contexts": "Select contexts",
    "select_items": "Select items",
    "select_tags": "Select tags",
    "time": "When",
    "times": "Stands for so many records",
    "user": "Who",
    "what": "Tables",
    "where": "Conditions",
}
"""Words for some names; all others are their own."""

_DEFAULT = re.compile(r"\s*\[default: (?P<told>[^\]]*)\]")
_SEE = re.compile(r"(; | \()?see (`headcount [^`]*`|headcount \w+ help)\)?")


def label(name: str) -> str:
    """Return what a field is called.

    >>> label("epsilon"), label("value_range")
    ('ε (epsilon)', 'Value range')
    """
    return _LABELS.get(name, name.replace("_", " ").capitalize())


def file_words(name: str) -> str:
    """Say which file of the studio it is: an uploaded one by its own name.

    >>> file_words("uploads/662c3d1c87f3/visits.csv"), file_words("shop/visits.csv")
    ('visits.csv (uploaded, 662c3d)', 'shop/visits.csv')
    """
    folder, _, rest = name.partition("/")
    mark, _, file = rest.partition("/")
    return f"{file} (uploaded, {mark[:6]})" if folder == "uploads" and file else name


def in_words(parameter: Parameter) -> str:
    """Write a parameter as pages and messages of the studio do: by its name, in words.

    >>> from headcount.errors import param
    >>> in_words(param.value_range), in_words(param.limit(10)), in_words(param.header(False))
    ('value range', 'limit 10', 'no header')
    """
    words = ("no " if parameter.value is False else "") + parameter.name.replace("_", " ")
    has_value = parameter.value is not None and not isinstance(parameter.value, bool)
    return f"{words} {plain_value_of(parameter.value)}" if has_value else words


def on_page(text: str) -> str:
    """Render a text that names parameters for a page, without what the command line alone offers.

    >>> from headcount.errors import param
    >>> on_page(f"method sra needs {param.limit}; for example {param.limit(10)}")
    'method sra needs limit; for example limit 10'
    >>> on_page("How to release; see `headcount methods`.  [default: adaptive]")
    'How to release. Usually adaptive.'
    >>> on_page("Keep only such records (repeatable).")
    'Keep only such records.'
    """
    text = render(text, in_words)
    text = _SEE.sub("", text.replace(" (repeatable)", "").replace(" (repeat for several columns)", ""))
    return re.sub(r"\bCOL\b", "column", _DEFAULT.sub(r" Usually \g<told>.", text))


def error_on_page(error: HeadcountError) -> str:
    """Render an error for a page."""
    error.render(in_words)
    return on_page(str(error))
