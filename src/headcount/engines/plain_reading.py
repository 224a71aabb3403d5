"""What the plain versions read of a log, row by row, with raw ids: the one thing they share with other engines."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from headcount.events.binned import BinnedLog
from headcount.events.grid import Grid
from headcount.events.ids import Ids
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import TaggedLog
from headcount.events.valued import ValuedLog

Name = int | str
"""A raw id."""


def in_cells(log: EventLog, grid: Grid, groups: str | None) -> list[tuple[Name, int, Name | None]]:
    """Return whose record it is, in which cell, and of which group, for all that are in a cell."""
    coded, rows = BinnedLog(log, grid, groups), list[tuple[int, int, int]]()
    for batch in coded.batches():
        none = [-1] * len(batch.users)
        named = none if batch.contexts is None else batch.contexts.tolist()
        rows += zip(batch.users.tolist(), batch.cells.tolist(), named, strict=True)
    users, homes = names_of(coded.users), [] if coded.groups is None else names_of(coded.groups)
    return [(users[who], cell, None if home < 0 else homes[home]) for who, cell, home in rows if cell >= 0]


def with_values(log: EventLog) -> list[tuple[Name, int, float | None]]:
    """Return whose row it is, for how many records it stands, and its value, for all rows that count."""
    coded, rows = ValuedLog(log), list[tuple[int, int, int, float | None]]()
    for batch in coded.batches():
        times = [1] * len(batch.users) if batch.times is None else batch.times.tolist()
        values = [None] * len(batch.users) if batch.values is None else batch.values.tolist()
        rows += zip(batch.users.tolist(), batch.cells.tolist(), times, values, strict=True)
    users = names_of(coded.users)
    return [(users[who], many, value) for who, cell, many, value in rows if cell >= 0]


def assignments(log: TagLog) -> Iterator[tuple[Name, int, int]]:
    """Return who gave which tag to which resource, by their places in the public lists, as often as they did."""
    coded, rows = TaggedLog(log), list[tuple[int, int, int]]()
    for batch in coded.batches():
        tags = [] if batch.contexts is None else batch.contexts.tolist()
        rows += zip(batch.users.tolist(), batch.cells.tolist(), tags, strict=True)
    users = names_of(coded.users)
    return ((users[who], resource, tag) for who, resource, tag in rows if resource >= 0)


def names_of(ids: Ids) -> list[Name]:
    """Return the raw ids one by one.

    >>> import pyarrow as pa
    >>> from headcount.events.ids import TextTable
    >>> table = TextTable()
    >>> table.codes(pa.array(["tea", "", "rye", "tea"])).tolist(), names_of(table)
    ([0, 1, 2, 0], ['tea', '', 'rye'])
    """
    raw = ids.raw
    if not isinstance(raw, tuple):
        numbers: list[Name] = np.asarray(raw).tolist()
        return numbers
    data, ends = raw
    starts = [0, *ends.tolist()]
    return [bytes(data[begin:end]).decode() for begin, end in zip(starts, ends.tolist(), strict=False)]
