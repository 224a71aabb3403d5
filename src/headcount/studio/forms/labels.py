"""Labels and help texts of fields: flags of the command line in the words of a page."""

from __future__ import annotations

import re

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
_SEE = re.compile(r"(; | \()?see (`headcount [^`]*`|headcount \w+ --help)\)?")
_GIVEN = re.compile(r"(?<![\w-])--?(?P<flag>[a-z][a-z-]*)(?:=|\b)")


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


def flags_in_words(text: str) -> str:
    """Say on a page what is said with flags.

    >>> flags_in_words("method sra needs --limit; for example --limit 10")
    'method sra needs limit; for example limit 10'
    >>> flags_in_words("How to release; see `headcount methods`.  [default: adaptive]")
    'How to release. Usually adaptive.'
    >>> flags_in_words("Keep only such records (repeatable).")
    'Keep only such records.'
    """
    text = _SEE.sub("", text.replace(" (repeatable)", "").replace(" (repeat for several columns)", ""))
    text = re.sub(r"\bCOL\b", "column", _DEFAULT.sub(r" Usually \g<told>.", text))
    return _GIVEN.sub(lambda match: match["flag"].replace("-", " "), text)
