"""Fields that say how a log is read (columns, lists, formats), from the flags of its reader."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from headcount.events.log_parameters import READERS
from headcount.studio.forms.field import Field, field_of

_AT_ONCE = (
    "user", "item", "items", "select_items", "context", "contexts", "where", "value", "value_range", "times",
    "resource", "tag", "resources", "vocabulary", "select_tags", "time_format", "timezone",
)  # fmt: skip


def reading_fields(reads: str, *, columns: Sequence[str] = (), files: Sequence[str] = ()) -> list[Field]:
    """Return what can be said of a log of a kind; ``columns`` are those of its source, ``files`` those at hand.

    >>> made = {each.name: each for each in reading_fields("events", columns=["who", "when"])}
    >>> [each.value for each in made["context"].choices][1:3], made["user"].needed
    (['when', 'weekday:who'], True)
    """
    reader = READERS[reads]
    return [
        field_of(
            name,
            dataclasses.replace(flag, needed=name in reader.needed and reads != "people"),
            columns=columns,
            files=files,
            plain=name in _AT_ONCE,
        )
        for name, flag in reader.flags().items()
    ]
