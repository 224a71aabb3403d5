"""Reference of grid cells: at most so many records of each user, and so many users of each group, per cell."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from headcount._internal.arrays import Draws
from headcount.bounds import Bounded, draws
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.events.log import EventLog
from tests.reference.registry import measures
from tests.reference.rows import Name, in_cells


@measures(GroupCells)
def count_grid_cells(log: EventLog, bound: GroupCells, secret: bytes) -> Bounded:
    """Count at most so many records of each person, and at most so many people of each group, per cell.

    >>> import pyarrow as pa
    >>> from headcount.events.grid import Grid
    >>> from headcount.events.user_table import read_people
    >>> log = read_people(pa.table({"who": ["ann", "ann", "bob"], "age": [30, 30, 70]}), user="who")
    >>> grid = Grid.from_mapping({"age": {"edges": [0, 65, 120]}})
    >>> count_grid_cells(log, GroupCells(grid), bytes(16)).sensitive_values
    array([1, 1])
    """
    counts = np.zeros(bound.grid.cells, dtype=np.int64)
    for cell in kept_cells(log, bound, secret):
        counts[cell] += 1
    return bound.seal(counts)


def kept_cells(log: EventLog, bound: GroupCells, secret: bytes) -> Iterator[int]:
    """Yield the cell of each record that is kept."""
    histories: dict[Name, Counter[int]] = defaultdict(Counter)
    named: dict[Name, Counter[Name]] = defaultdict(Counter)
    for who, cell, group in in_cells(log, bound):
        histories[who][cell] += 1
        if group is not None:
            named[who][group] += 1
    for who in _members(histories, named, bound.people, secret):
        yield from _kept(histories[who], bound.records, _key(secret, who))


def _members(
    everyone: Iterable[Name], named: Mapping[Name, Counter[Name]], most: int, secret: bytes
) -> list[Name]:
    """Return who is kept: of each group those of smallest draw, and all who are in none."""
    groups: dict[Name, list[Name]] = defaultdict(list)
    kept = []
    for who in everyone:
        if who in named:
            groups[_group(named[who])].append(who)
        else:
            kept.append(who)
    for members in groups.values():
        kept += sorted(members, key=lambda who: int(draws.member_draws(_key(secret, who))[0]))[:most]
    return kept


def _group(records: Counter[Name]) -> Name:
    """Return a person's one group: the one that most of their records name, of several the first by name.

    >>> _group(Counter({"home": 2, "away": 2, "work": 1}))
    'away'
    """
    most = max(records.values())
    tied: list[Name] = [group for group, many in records.items() if many == most]
    return min(tied)  # all are numbers, or all are texts


def _kept(history: Counter[int], most: int, key: Draws) -> list[int]:
    """Return the cells of a person's records of smallest draw; equal records are numbered from 0."""
    drawn = [
        (int(draws.record_draws(key, np.array([cell]), np.array([number]))[0]), cell)
        for cell, many in history.items()
        for number in range(many)
    ]
    return [cell for _, cell in sorted(drawn)[:most]]


def _key(secret: bytes, who: Name) -> Draws:
    return np.array([draws.user_key(secret, who)], dtype=np.uint64)
