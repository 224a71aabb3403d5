"""Item lookup by id or by unique label, whole or without a trailing bracket."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from headcount.errors import UnknownNameError


@dataclass(frozen=True)
class ItemNames:
    """Where each item is in a list, by the text of its id and by its label; what several have names none of them.

    A label that is not there as it is given may be there in other letters, or with more in brackets at its end.

    >>> names = ItemNames.index([7, 8, 9, 10], ["Tea", "Rye", "Rye", "Toy Story (1995)"])
    >>> names.place("Tea"), names.place(9), names.place("toy story")
    (0, 2, 3)
    """

    by_id: Mapping[str, int]
    by_label: Mapping[str, int]
    by_short: Mapping[str, int]

    @classmethod
    def index(cls, ids: Iterable[Any], labels: Iterable[str | None]) -> Self:
        """Name the items of a list."""
        listed = list(labels)
        short = [None if label is None else _shorten(label) for label in listed]
        return cls(
            {str(item_id): place for place, item_id in enumerate(ids)},
            _unique_places(listed),
            _unique_places(short),
        )

    def place(self, item: Any) -> int:
        """Return where an item is."""
        name = str(item)
        for names, given in ((self.by_id, name), (self.by_label, name), (self.by_short, name.casefold())):
            if given in names:
                return names[given]
        raise UnknownNameError.among("item", name, [*self.by_id, *self.by_label])


def _unique_places(names: list[str | None]) -> dict[str, int]:
    """Return where each name is that is there once."""
    many = Counter(names)
    return {name: place for place, name in enumerate(names) if name is not None and many[name] == 1}


def _shorten(label: str) -> str:
    """Return a label as it may be given: in small letters, and without what it ends with in brackets.

    >>> _shorten("Toy Story (1995)")
    'toy story'
    """
    return re.sub(r"(?<=\S)\s*\([^()]*\)$", "", label).casefold()
