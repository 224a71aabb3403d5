"""Statistics for ``headcount check``: frequent texts, distinct user-item pairs, records per user.

The pass over the log is in ``scan``, the resulting values in ``report``.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Codes, Flags, Integers
from headcount.events.encode.id_table import TextTable
from headcount.events.inspect.report import ActivitySummary, Example, Repeats
from headcount.events.inspect.unreadable import shortened

_FEW = 3
_MOST_TEXTS = 1 << 20
MOST_PAIRS = 1 << 24
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


class FrequentTexts:
    """Texts with the number of their records; beyond a million different ones, of those alone.

    >>> seen = FrequentTexts()
    >>> seen.add(pa.array(["tee", "ry", "tee"]), np.array([1, 5, 2]))
    >>> [str(each) for each in seen.most]
    ["'ry' (5)", "'tee' (3)"]
    """

    def __init__(self) -> None:
        self._table = TextTable()
        self._records: Integers = np.zeros(0, dtype=np.int64)

    def add(self, column: pa.Array, records: Integers) -> None:
        """Count the texts of a column without nulls."""
        codes = self._table.codes(column, may_add=self._table.size < _MOST_TEXTS)
        self._records = enlarged(self._records, self._table.size)
        has_code = codes >= 0
        np.add.at(self._records, codes[has_code], records[has_code])

    @property
    def most(self) -> tuple[Example, ...]:
        """The most frequent few, and of equals those that came first."""
        data, ends = self._table.raw
        starts = np.concatenate([[0], ends])
        chosen = np.argsort(-self._records[: ends.size], kind="stable")[:_FEW].tolist()
        texts = [bytes(data[starts[code] : ends[code]]).decode() for code in chosen]
        return tuple(
            Example(shortened(text), int(self._records[code])) for text, code in zip(texts, chosen, strict=True)
        )


class DistinctPairs:
    """Distinct pairs of person and item, by their codes, in bounded memory.

    Where there are too many, those of half of the people are kept, then of a quarter, and so on; who is kept does
    not hang on what they did.

    >>> pairs = DistinctPairs()
    >>> pairs.add(np.array([0, 0, 1]), np.array([7, 7, 7]))
    >>> pairs.distinct, pairs.share_of_people
    (2, 1.0)
    """

    def __init__(self, most: int = MOST_PAIRS) -> None:
        self._most, self._halvings = most, 0
        self._parts: list[NDArray[np.uint64]] = []

    def add(self, users: NDArray[np.int32], items: NDArray[np.int32]) -> None:
        """Take some pairs, none of which has a code below 0."""
        keys = users.astype(np.uint64) << np.uint64(32) | items.astype(np.uint64)
        self._parts.append(_distinct(keys[self._kept(users)]))
        if sum(part.size for part in self._parts) > 2 * self._most:
            self._settle()

    @property
    def distinct(self) -> int:
        """How many different pairs the people who are kept have."""
        return int(self._settle().size)

    @property
    def share_of_people(self) -> float:
        """How large a part of the people is kept."""
        return 0.5**self._halvings

    def records_of_kept(self, records: Integers) -> int:
        """Return how many records the people who are kept have, given those of each."""
        return int(records[self._kept(np.arange(records.size))].sum())

    def _kept(self, users: NDArray[np.generic]) -> Flags:
        if not self._halvings:
            return np.ones(users.size, dtype=bool)
        spread = (users.astype(np.uint64) + np.uint64(1)) * _SPREAD
        return np.asarray(spread >> np.uint64(64 - self._halvings) == 0)

    def _settle(self) -> NDArray[np.uint64]:
        keys = _distinct(np.concatenate([np.zeros(0, dtype=np.uint64), *self._parts]))
        while keys.size > self._most and self._halvings < 63:
            self._halvings += 1
            keys = keys[self._kept(keys >> np.uint64(32))]
        self._parts = [keys]
        return keys


class RecordCounts:
    """The records that count: of whom, of which item if there are any, in which of so many contexts."""

    def __init__(self, contexts: int, *, of_items: bool) -> None:
        self.records = 0
        self.records_by_user: Integers = np.zeros(0, dtype=np.int64)
        self.of_contexts: Integers = np.zeros(contexts, dtype=np.int64)
        self._pairs = DistinctPairs() if of_items else None

    def add(self, users: Codes, items: Codes, contexts: Codes | None, records: Integers) -> None:
        """Count rows that stand for so many records each."""
        self.records += int(records.sum())
        self.records_by_user = enlarged(self.records_by_user, int(users.max(initial=-1)) + 1)
        np.add.at(self.records_by_user, users, records)
        if contexts is not None:
            np.add.at(self.of_contexts, contexts, records)
        if self._pairs is not None:
            self._pairs.add(users, items)

    @property
    def activity(self) -> ActivitySummary | None:
        """How many records people have."""
        records_by_user = np.sort(self.records_by_user[self.records_by_user > 0])
        if not records_by_user.size:
            return None
        half, nine, nearly = (
            int(records_by_user[-(-records_by_user.size * part // 100) - 1]) for part in (50, 90, 99)
        )
        most = tuple((top, int(records_by_user[-top:].sum())) for top in (1, 3, 10) if top <= records_by_user.size)
        return ActivitySummary(records_by_user.size, self.records, half, nine, nearly, most)

    @property
    def repeats(self) -> Repeats | None:
        """How many records repeat a pair of person and item."""
        if self._pairs is None or not self.records:
            return None
        distinct = self._pairs.distinct
        records = self._pairs.records_of_kept(self.records_by_user)
        return Repeats(records - distinct, records, self._pairs.share_of_people)


def _distinct(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sort keys in place, and return each once; NumPy's own way hashes them, which takes ten times as long."""
    keys.sort()
    new = np.ones(keys.size, dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    return keys[new]


def enlarged(numbers: Integers, size: int) -> Integers:
    """Return numbers with room for so many, zeros where there were none; it grows by more than is asked for."""
    if size <= numbers.size:
        return numbers
    return np.concatenate([numbers, np.zeros(max(size, 2 * numbers.size) - numbers.size, dtype=np.int64)])
