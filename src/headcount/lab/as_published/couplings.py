"""Rules that couple records (thesis, section 5.3.1), and the file of degrees that the curator gives.

The rules couple records by attribute, by time interval or by Pearson's coefficient. All of them read the private
table, which is part of why CIM is not private.

The file holds the curator's prior knowledge: a table of the columns ``a`` and ``b``, two users, and ``degree``,
from -1 to 1; each pair once, or both ways round with the same degree. Users that it does not name are coupled with
nobody. The matrix itself is in :mod:`headcount.lab.as_published.coupled_degrees`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Codes, Floats, Integers
from headcount.errors import DataError, UnknownNameError, UsageError
from headcount.events.encode.column_types import InexactError, cast_exactly, check_column_type
from headcount.events.encode.id_table import Ids
from headcount.events.encode.text_columns import sound_batch, value_type
from headcount.events.log import EventLog
from headcount.events.sources.files.scalar import finite_numbers
from headcount.events.sources.source import Source, open_source
from headcount.events.times import TimeFormat
from headcount.lab.as_published.coupled_degrees import CoupledDegrees

COLUMNS = ("a", "b", "degree")


def coupled_by_file(path: object, users: Ids, kind: pa.DataType, people: Codes, delta0: float) -> CoupledDegrees:
    """Read degrees of pairs of people, and couple all their records; ``people`` says whose each record is.

    Records of one person are fully coupled, as the diagonal of Δ says. Who is not in the table does not matter,
    and what is below δ₀ counts as nothing.
    """
    a, b, degrees = checked_pairs(path, kind)
    codes = (users.codes(side, may_add=False).astype(np.int64) for side in (a, b))
    left, right = (np.where(side < people.max(initial=-1) + 1, side, -1) for side in codes)
    kept = (left >= 0) & (right >= 0) & (left != right) & (np.abs(degrees) >= delta0)
    own = CoupledDegrees.of_groups(people.astype(np.int64))
    first, second, which = _records_of(people.astype(np.int64), left[kept], right[kept])
    return CoupledDegrees(
        people.size,
        np.concatenate([own.first, np.minimum(first, second)]),
        np.concatenate([own.second, np.maximum(first, second)]),
        np.concatenate([own.degrees, degrees[kept][which]]),
    )


def checked_pairs(path: object, kind: pa.DataType) -> tuple[pa.Array, pa.Array, Floats]:
    """Read pairs and degrees, each pair once; refuse what no matrix of coupled degrees can hold."""
    source = open_source(path)
    for name in COLUMNS:
        if source.type_of(name) is None:
            raise UnknownNameError(
                f"{source.name} has no column {name!r}",
                remedy="degrees are a table of the columns a, b and degree",
            )
    batches = [sound_batch(batch) for batch in source.batches(COLUMNS)]
    a, b = (_ids(batches, name, kind, source.name) for name in COLUMNS[:2])
    numbers = [finite_numbers(batch.column("degree")) for batch in batches]
    degrees = np.concatenate([np.empty(0), *(batch.to_numpy(zero_copy_only=False) for batch in numbers)])
    _check_degrees(a, b, degrees, source.name)
    return _deduplicate_pairs(a, b, degrees, source.name)


def _ids(batches: Sequence[pa.RecordBatch], name: str, kind: pa.DataType, where: str) -> pa.Array:
    """Return a column of ids, of the type that the table's own have."""
    values = [value for batch in batches for value in batch.column(name).to_pylist()]
    missing = values.index(None) + 1 if None in values else None
    if missing is not None:
        raise DataError(f"column {name!r} of {where} is empty in row {missing:,}", remedy="name a person there")
    try:
        return cast_exactly([str(value) for value in values], kind)
    except InexactError as error:
        raise DataError(
            f"column {name!r} of {where} holds {error.value!r}, which cannot be a person of the table",
            remedy="write ids as the user column of the table does",
        ) from error


def _check_degrees(a: pa.Array, b: pa.Array, degrees: Floats, where: str) -> None:
    outside = np.flatnonzero(~(np.abs(degrees) <= 1))
    if outside.size:
        given = float(degrees[outside[0]])
        raise DataError(
            f"column 'degree' of {where} must be a number from -1 to 1 in row {outside[0] + 1:,}",
            given="nothing that is one" if np.isnan(given) else given,
            remedy="give 1 for full coupling, and leave out pairs that are not coupled",
        )
    own = np.flatnonzero(np.asarray(pc.equal(a, b), dtype=bool) & (degrees != 1))
    if own.size:
        raise DataError(
            f"column 'degree' of {where} must be 1 in row {own[0] + 1:,}, where {a[int(own[0])].as_py()!r} stands "
            "with itself",
            given=float(degrees[own[0]]),
            remedy="give 1, or leave the row out",
        )


def _deduplicate_pairs(a: pa.Array, b: pa.Array, degrees: Floats, where: str) -> tuple[pa.Array, pa.Array, Floats]:
    """Keep one row of each pair, whichever way round; refuse two that differ: Δ is symmetric."""
    codes = pa.chunked_array([a, b]).combine_chunks().dictionary_encode().indices.to_numpy().astype(np.int64)
    left, right = codes[: len(a)], codes[len(a) :]
    pairs = np.minimum(left, right) * (codes.max(initial=0) + 1) + np.maximum(left, right)
    _, kept, of_pair = np.unique(pairs, return_index=True, return_inverse=True)
    differs = np.flatnonzero(degrees != degrees[kept][of_pair])
    if differs.size:
        row = int(differs[0])
        raise DataError(
            f"column 'degree' of {where} gives {a[row].as_py()!r} and {b[row].as_py()!r} two degrees, "
            f"{degrees[kept[of_pair[row]]]:g} and {degrees[row]:g}: coupled degrees are symmetric",
            remedy="keep one of them",
        )
    return a.take(pa.array(kept)), b.take(pa.array(kept)), degrees[kept]


def _records_of(users: Integers, left: Integers, right: Integers) -> tuple[Integers, Integers, Integers]:
    """Return all pairs of records of pairs of people, and which pair of people each is of."""
    order = np.argsort(users, kind="stable")
    starts = np.searchsorted(users[order], np.arange(users.max(initial=-1) + 2))
    many = np.diff(starts)
    pairs = many[left] * many[right]
    which = np.repeat(np.arange(left.size), pairs)
    within = np.arange(which.size) - np.repeat(np.cumsum(pairs) - pairs, pairs)
    across = many[right][which]
    first = order[starts[left][which] + within // np.maximum(across, 1)]
    second = order[starts[right][which] + within % np.maximum(across, 1)]
    return first, second, which


INTERVAL = "interval of time"
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_WAYS = "attribute:COLUMN, time:COLUMN/90m or pearson"


@dataclass(frozen=True)
class Coupling:
    """A way of section 5.3.1, as ``coupling`` names it: ``attribute:household``, ``time:seen/90m`` or ``pearson``.

    Whole numbers are seconds since 1970. Pearson's coefficient is of the bins that records are in.

    >>> Coupling.parse("time:seen/90m")
    Coupling(rule='time', column='seen', seconds=5400)
    """

    rule: Literal["attribute", "time", "pearson"]
    column: str | None = None
    seconds: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what an option says."""
        if text == "pearson":
            return cls("pearson")
        if match := re.fullmatch(r"attribute:(.+)", text):
            return cls("attribute", match[1])
        if match := re.fullmatch(r"time:(.+)/([1-9][0-9]{0,8})([smhd])", text):
            return cls("time", match[1], int(match[2]) * _UNITS[match[3]])
        raise UsageError(f"coupling must read {_WAYS}", given=text, remedy="such as coupling=attribute:household")

    def applied(self, log: EventLog) -> tuple[EventLog, str | None]:
        """Return the log to be read, and the column whose equal values couple records, if one does."""
        if self.column is None:
            return log, None
        kind = log.type_of(self.column)
        if self.rule == "attribute":
            check_column_type(kind, "group", self.column)
            return log, self.column
        clock = TimeFormat("s" if pa.types.is_integer(value_type(kind)) else None)
        clock.check(kind, self.column)
        timed = WithIntervals(log.source, self.column, self.seconds, clock)
        return replace(log, source=timed), INTERVAL


@dataclass(frozen=True)
class WithIntervals:
    """A source with one more column: the number of the interval of so many ``seconds`` that each time is in."""

    source: Source
    column: str
    seconds: int
    clock: TimeFormat

    @property
    def name(self) -> str:
        """What to call it in messages."""
        return self.source.name

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [*self.source.names, INTERVAL]

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known beforehand."""
        return self.source.rows

    def type_of(self, column: str) -> pa.DataType | None:
        """Return the type of a column."""
        return pa.int64() if column == INTERVAL else self.source.type_of(column)

    def whole_range(self, column: str) -> tuple[int, int] | None:
        """Say nothing of intervals."""
        return None if column == INTERVAL else self.source.whole_range(column)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Read the given columns; a time that cannot be read is in no interval."""
        own = tuple(dict.fromkeys([*(column for column in columns if column != INTERVAL), self.column]))
        for raw in self.source.batches(own):
            batch = sound_batch(raw)
            micros, there = self.clock.instants(batch.column(self.column))
            interval = pa.array(micros // (1_000_000 * self.seconds), pa.int64(), mask=~there)
            yield batch.append_column(INTERVAL, interval).select(list(columns))
