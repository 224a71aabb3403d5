"""Local measurement of grid cells: keeps each group's users and each user's records by keyed draws."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Integers
from headcount.bounds import Bounded, GroupCells, draws, seal_group_cells
from headcount.engines.local.partitions import user_keys
from headcount.engines.local.row_reader import CollectedRows
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.id_table import Ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog


def measure_group_cells(passes: LocalRunner, log: EventLog, bound: GroupCells, secret: bytes) -> Bounded:
    """Keep what the bound allows of each person and of each group, and count it per cell."""
    kept = kept_cells(passes, log, bound, secret)
    return seal_group_cells(bound, np.bincount(kept, minlength=bound.grid.cells).astype(np.int64))


def kept_cells(passes: LocalRunner, log: EventLog, bound: GroupCells, secret: bytes) -> Integers:
    """Return the cells of all records that are kept; the others stay in memory between the stages of a release."""
    reading = bound.reading(log)
    coded, rows = passes.cached(log, reading, lambda: passes.read(log, reading, "counting"))
    users, places = rows.users.astype(np.int64), rows.cells.astype(np.int64)
    keys = user_keys(coded.users.raw, secret)
    if coded.groups is not None:
        inside = _keep_members(assign_all_groups(coded, rows), keys, bound.people)[users]
        users, places = users[inside], places[inside]
    return _keep_records(users, places, keys, bound.records)


def assign_all_groups(coded: EncodedLog, rows: CollectedRows) -> Integers:
    """Return the group of each person by their code, -1 for those who are in none."""
    if coded.groups is None or rows.contexts is None:
        return np.full(coded.users.size, -1, dtype=np.int64)
    users, named = rows.users.astype(np.int64), rows.contexts.astype(np.int64)
    return _assign_groups(users, named, coded.groups.table, coded.users.size)


def _keep_members(own: Integers, keys: Draws, most: int) -> NDArray[np.bool_]:
    """Say which people are kept: those of smallest draw in each group, and all who are in none."""
    kept = own < 0
    grouped_users = np.flatnonzero(~kept)
    order = grouped_users[np.lexsort((draws.member_draws(keys[grouped_users]), own[grouped_users]))]
    kept[order[_number_within(own[order]) < most]] = True
    return kept


def _assign_groups(users: Integers, named: Integers, groups: Ids, n_users: int) -> Integers:
    """Return each person's one group, -1 for none: the one of most of their records, then the first by name."""
    own = np.full(n_users, -1, dtype=np.int64)
    has_group = named >= 0
    if not has_group.any():
        return own
    pairs, records = np.unique(np.stack([users[has_group], named[has_group]]), axis=1, return_counts=True)
    order = np.lexsort((_name_order(groups)[pairs[1]], -records, pairs[0]))
    who, which = pairs[0][order], pairs[1][order]
    first = _number_within(who) == 0
    own[who[first]] = which[first]
    return own


def _name_order(groups: Ids) -> Integers:
    """Return the place of each group in the order of their names, which hangs on no row."""
    raw = groups.raw
    if isinstance(raw, tuple):
        data, ends = raw
        starts = np.concatenate([[0], ends[:-1]])
        names = [bytes(data[start:end]) for start, end in zip(starts, ends, strict=True)]
        order = np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)
    else:
        order = np.argsort(raw, kind="stable")
    places = np.empty(order.size, dtype=np.int64)
    places[order] = np.arange(order.size)
    return places


def _keep_records(users: Integers, places: Integers, keys: Draws, most: int) -> Integers:
    """Return the cells of the records of smallest draw, ``most`` of each person."""
    order = np.lexsort((places, users))
    users, places = users[order], places[order]
    equal = _number_within(users, places)
    drawn = draws.record_draws(keys[users], places, equal)
    order = np.lexsort((places, drawn, users))
    return places[order[_number_within(users[order]) < most]]


def _number_within(*columns: Integers) -> Integers:
    """Number the rows of each run of equal values, from 0; two columns may be too large to make one number."""
    size = columns[0].size
    new = np.zeros(size, dtype=bool)
    new[:1] = True
    for column in columns:
        new[1:] |= column[1:] != column[:-1]
    starts = np.flatnonzero(new)
    return np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size)))
