"""Items by their names: by id or, where that is unique, by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from headcount.errors import UnknownNameError


@dataclass(frozen=True)
class ItemNames:
    """Where each item is in a list, by the text of its id and by its label; what several have names none of them.

    >>> names = ItemNames.of([7, 8, 9], ["Tea", "Rye", "Rye"])
    >>> names.place("Tea"), names.place(9)
    (0, 2)
    """

    by_id: Mapping[str, int]
    by_label: Mapping[str, int]

    @classmethod
    def of(cls, ids: Iterable[Any], labels: Iterable[str | None]) -> Self:
        """Name the items of a list."""
        listed = list(labels)
        many = Counter(listed)
        return cls(
            {str(each): place for place, each in enumerate(ids)},
            {label: place for place, label in enumerate(listed) if label is not None and many[label] == 1},
        )

    def place(self, item: Any) -> int:
        """Return where an item is."""
        for names in (self.by_id, self.by_label):
            if str(item) in names:
                return names[str(item)]
        raise UnknownNameError.among("item", str(item), [*self.by_id, *self.by_label])
