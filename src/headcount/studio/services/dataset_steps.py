"""Setup steps of a dataset before releases can be requested: columns, public lists, budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headcount.events.log_parameters import READERS
from headcount.events.selection_targets import SELECTABLE
from headcount.studio.forms import Field

READS = {
    "events": "Events: people do things, such as visits, purchases or plays",
    "ratings": "Ratings: people give numbers to things",
    "people": "People: one row, or a few, about each person",
    "tags": "Tags: people describe things with words",
}
"""What data can be, in words."""

_DATABASE = ("table", "query")


class Step(NamedTuple):
    """A step on the way to an open dataset."""

    name: str
    words: str
    address: str
    done: bool


def is_public(field: Field) -> bool:
    """Tell whether a field says what is public: a list, its values, or that there is none.

    >>> from headcount.studio.forms import reading_fields
    >>> [each.name for each in reading_fields("events") if is_public(each)]
    ['items', 'select_items', 'contexts', 'select_contexts']
    """
    lists = {name for selectable in SELECTABLE for name in (selectable.listed, selectable.request_field)}
    return field.kind == "listing" or field.name in lists


def is_source(field: Field) -> bool:
    """Tell whether a field belongs to where the data lies, rather than to what its columns mean."""
    return field.name in _DATABASE


def steps(dataset: Any, fields: Sequence[Field], *, has_budget: bool) -> list[Step]:
    """Return the steps of a dataset, given the fields of its reader and whether the ledger knows it."""
    at = f"/datasets/{dataset.id}"
    flags: Mapping[str, Any] = dataset.flags
    mapped = all(flags.get(name) for name in _needed(dataset.reads))
    planned_steps = [Step("columns", "Say what its columns mean", f"{at}/columns", mapped)]
    if any(is_public(field) for field in fields):
        planned_steps.append(
            Step("public", "Say what is public", f"{at}/public", mapped and _lists_are_given(dataset.reads, flags))
        )
    opened = has_budget and dataset.state != "draft"
    return [*planned_steps, Step("budget", "Set its budget, and open it", f"{at}/budget", opened)]


def _needed(reads: str) -> tuple[str, ...]:
    return () if reads == "people" else READERS[reads].needed or ("user",)


def _lists_are_given(reads: str, flags: Mapping[str, Any]) -> bool:
    """Tell whether each list is given, or is to be selected, as far as one is needed."""
    names = READERS[reads].names
    wanted = [
        selectable
        for selectable in SELECTABLE
        if selectable.request_field in names
        and (selectable.request_field != "select_contexts" or _context_needs_list(flags))
    ]
    return all(flags.get(selectable.listed) or flags.get(selectable.request_field) for selectable in wanted)


def _context_needs_list(flags: Mapping[str, Any]) -> bool:
    """Tell whether there is a context whose values nobody knows beforehand: those of times are known."""
    context = flags.get("context")
    return context is not None and ":" not in str(context)
