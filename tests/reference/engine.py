"""The reference engine: counts, user activity and class profiles with NumPy."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from headcount._internal.arrays import Draws, Integers
from headcount.bounds import (
    FIXED_POINT,
    ActivityHistogram,
    Bound,
    Bounded,
    BoundedCounts,
    ClassProfile,
    CountBound,
    CountTable,
    KeepTopScored,
    Measured_co,
    Norm,
    SampleRecords,
    WeightToThreshold,
    columns_of,
    draws,
)
from headcount.bounds.counts.class_profile import PROFILE_SIZES
from headcount.bounds.counts.record_cap import CappedRecords, RecordCap
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.bounds.ratings.sampled_item_pairs import SampledItemPairs
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from tests.reference.registry import measures, references


@measures(SampleRecords, SampleUsers, KeepTopScored, WeightToThreshold)
def counts(log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
    """Keep, per user, the records of smallest priority, or weigh them all, and count."""
    users, cells, keys = _eligible(log, secret)
    taken = draws.admit_users(keys, bound.admission)[users]
    users, cells = users[taken], cells[taken]
    shape = (len(log.catalogue.ids), log.width)
    users, cells = _among(log, bound, users, cells)
    if bound.unit == 1:
        users, cells = _kept(users, cells, keys, bound, log.width)
    sizes = [_sizes(log, table, users, cells, bound.norm) for table in get_args(CountTable)]
    items = _weighed(*_columns(log, "items", users, cells), sizes[0], bound, shape[0])
    edges = _weighed(*_columns(log, "edges", users, cells), sizes[1], bound, log.cells)
    groups = (2,) if bound.apart else ()
    return bound.seal(log.counting, items.reshape(*groups, -1), edges.reshape(*groups, *shape))


@measures(SampledItemPairs)
def sampled_pairs(log: EventLog, bound: SampledItemPairs, secret: bytes) -> Bounded:
    """Keep records as counts do, and count each two items that a user's are about."""
    users, cells, keys = _eligible(log, secret)
    users, cells = _kept(users, cells, keys, bound.kept, log.width)
    numbers = dict.fromkeys(itertools.combinations(bound.items.tolist(), 2), 0)
    for user in np.unique(users):
        mine = sorted({*(cells[users == user] // log.width).tolist()} & {*bound.items.tolist()})
        for pair in itertools.combinations(mine, 2):
            numbers[pair] += 1
    return bound.seal(np.array([*numbers.values()], dtype=np.int64))


@measures(ActivityHistogram)
def activity(log: EventLog, bound: ActivityHistogram, secret: bytes) -> Bounded:
    """Count the users by the number of their records."""
    users, cells, _ = _eligible(log, secret)
    users, cells = _among(log, bound, users, cells)
    records = _sizes(log, bound.table, users, cells, bound.norm)
    there = np.minimum(records[records > 0], bound.most)
    places = np.searchsorted(bound.ends, there) if bound.ends else there - 1
    return bound.seal(np.bincount(places, minlength=bound.places).astype(np.int64))


@measures(ClassProfile)
def shares(log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
    """Spread each user over the classes of their records, at the two powers of two around their size."""
    users, cells, _ = _eligible(log, secret)
    sizes = _sizes(log, bound.table, users, cells, bound.norm)
    users, columns = _columns(log, bound.table, users, cells)
    classes, last = bound.of_columns(log)[columns], PROFILE_SIZES.size - 1
    sums = np.zeros((PROFILE_SIZES.size, bound.number), dtype=np.int64)
    for user in np.flatnonzero(sizes > bound.above):
        size = int(sizes[user])
        stand = min(size, bound.most)
        power = min(stand.bit_length() - 1, last)
        for kind, many in zip(*np.unique(classes[users == user], return_counts=True), strict=True):
            share = FIXED_POINT * int(many) // size
            further = 0 if power == last else share * (stand - 2**power) // 2**power
            sums[power, kind] += share - further
            if further:
                sums[power + 1, kind] += further
    return bound.seal(sums)


@measures(TopItemCounts)
def look(log: EventLog, bound: TopItemCounts, secret: bytes) -> BoundedTopItemCounts:
    """Spread people over classes, and look at each of them once more, as far as they have some items."""
    users, cells, _ = _eligible(log, secret)
    sizes = _sizes(log, "items", users, cells, bound.shares.norm)
    inside = np.isin(cells // log.width, bound.among.places)
    few = _sizes(log, "items", users[inside], cells[inside], bound.shares.norm)
    users, columns = _columns(log, "items", users[inside], cells[inside])
    people = np.zeros(len(bound.ends) + 1, dtype=np.int64)
    weighed = np.zeros((len(bound.limits), len(log.catalogue.ids)), dtype=np.int64)
    for user in np.flatnonzero(few):
        size, mine, most = int(few[user]), columns[users == user], bound.shares.most
        user_weight = FIXED_POINT if sizes[user] <= most else FIXED_POINT * most // int(sizes[user])
        people[np.searchsorted(bound.ends, max(-(-size * user_weight // FIXED_POINT), 1))] += 1
        for place, limit in enumerate(bound.limits):
            weight = FIXED_POINT if size <= limit else weight_above(size, bound.under(limit))
            np.add.at(weighed[place], mine, min(weight, user_weight))
    counted = list(weighed[:, bound.among.places])
    return bound.seal(log.counting, shares(log, bound.shares, secret).sensitive_values, people, counted)


@measures(RecordCap)
def records(log: EventLog, bound: RecordCap, secret: bytes) -> CappedRecords:
    """Sort the records by the number of records that their users have."""
    users, cells, keys = _eligible(log, secret)
    width = bound.width(log)
    if log.counting == "records":
        users, cells = _kept(users, cells, keys, SampleRecords(bound.most), log.width)
    users, columns = _columns(log, bound.table, users, cells)
    many = np.bincount(users)[users]
    order = np.argsort(many, kind="stable")
    sums, starts = np.unique(many[order], return_index=True)
    ends = np.append(starts, users.size)
    return CappedRecords(sums, ends, columns[order].astype(np.int32), width=width, most=bound.most)


@measures(UsersPerColumn)
def people(log: EventLog, bound: UsersPerColumn, secret: bytes) -> SparseCounts:
    """Count the people behind each column that somebody is in."""
    log = replace(log, counting="users")
    users, cells, _ = _eligible(log, secret)
    columns, many = np.unique(_columns(log, bound.table, users, cells)[1], return_counts=True)
    return UsersPerColumn.seal(columns.astype(np.int32), many.astype(np.int32), columns_of(log, bound.table))


class ReferenceEngine:
    """Holds the whole log in memory and sorts it.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> ReferenceEngine().measure(log, SampleRecords(1), bytes(16)).items.sensitive_values.tolist()
    [1, 1]
    """

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether bounds of a kind can be measured: all that have a reference can."""
        return kind in references()

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Add up, over all people, what the bound makes of each person's own records and own draws."""
        measured: Measured_co = references()[type(bound)](log, bound, secret)
        return measured


def _eligible(log: EventLog, secret: bytes) -> tuple[Integers, Integers, Draws]:
    """Return the user and cell of every record that counts, and every user's key."""
    encoded = EncodedLog(log)
    users, cells = collect_rows(encoded).repeated()
    keys = user_keys(encoded, secret)
    if log.context_of == "user":
        tallies = np.zeros((encoded.users.size, log.width), dtype=np.int64)
        np.add.at(tallies, (users, cells % log.width), 1)
        chosen = draws.choose_contexts(tallies, keys)
        inside = cells % log.width == chosen[users]
        users, cells = users[inside], cells[inside]
    if log.counting == "users":
        users, cells = np.unique(np.stack([users, cells]), axis=1)
    return users, cells, keys


def _among(
    log: EventLog, bound: CountBound | ActivityHistogram, users: Integers, cells: Integers
) -> tuple[Integers, Integers]:
    """Leave out records about items that the bound does not look at."""
    if bound.among is None:
        return users, cells
    inside = np.isin(cells // log.width, bound.among.places)
    return users[inside], cells[inside]


def _columns(log: EventLog, table: CountTable, users: Integers, cells: Integers) -> tuple[Integers, Integers]:
    """Return the user and column of every record in a table; where users are counted, each pair once."""
    if table == "edges":
        return users, cells
    columns = cells // log.width
    if log.counting == "records":
        return users, columns
    users, columns = np.unique(np.stack([users, columns]), axis=1)
    return users, columns


def _sizes(log: EventLog, table: CountTable, users: Integers, cells: Integers, norm: Norm) -> Integers:
    """Return how much each user has in a table: so many records, or squares of such numbers of each item."""
    if norm == "l1" or log.counting == "users":
        return np.bincount(_columns(log, table, users, cells)[0])
    pairs, many = np.unique(np.stack([users, cells // log.width]), axis=1, return_counts=True)
    sizes = np.zeros(pairs[0].max(initial=-1) + 1, dtype=np.int64)
    np.add.at(sizes, pairs[0], many**2)
    return sizes


def _weighed(users: Integers, columns: Integers, sizes: Integers, bound: CountBound, size: int) -> Integers:
    """Count each record with its weight, in the bound's units."""
    above = sizes > bound.limit
    weights = np.full(users.size, bound.unit, dtype=np.int64)
    if bound.unit > 1:
        for user in np.flatnonzero(above):
            weights[users == user] = weight_above(int(sizes[user]), bound)
    groups = above[users] if bound.apart else np.zeros(users.size, dtype=np.int64)
    totals = np.zeros((2 if bound.apart else 1) * size, dtype=np.int64)
    np.add.at(totals, groups * size + columns, weights)
    return totals


def weight_above(size: int, bound: CountBound) -> int:
    """Return what each record of a user above the limit weighs, in units.

    >>> from headcount.bounds import WeightToThreshold
    >>> weight_above(8, WeightToThreshold(2)) / 2**16, weight_above(8, WeightToThreshold(2, norm="l2")) / 2**16
    (0.25, 0.5)
    """
    if bound.norm == "l2":
        return math.isqrt(bound.unit**2 * bound.limit // size)
    return bound.unit * bound.limit // size


def user_keys(encoded: EncodedLog, secret: bytes) -> Draws:
    """Return every user's key, from the raw ids."""
    return np.array([draws.user_key(secret, name) for name in raw_ids(encoded.users)], dtype=np.uint64)


def _kept(
    users: Integers, cells: Integers, keys: Draws, bound: CountBound, width: int
) -> tuple[Integers, Integers]:
    order = np.lexsort((cells, users))
    users, cells = users[order], cells[order]
    numbers = _number_within([users, cells])
    drawn = draws.record_draws(keys[users], cells, numbers)
    ranks = None if bound.ranks is None else bound.ranks[cells // width]
    priority = draws.priorities(drawn, ranks, draws.rank_bits(bound.ranks))
    order = np.lexsort((cells, priority, users))
    users, cells = users[order], cells[order]
    inside = _number_within([users]) < bound.limit
    return users[inside], cells[inside]


def _number_within(sorted_columns: list[Integers]) -> Integers:
    """Number the rows of each run of equal rows, from 0."""
    size = sorted_columns[0].size
    changes = np.ones(size, dtype=bool)
    changes[1:] = np.any([column[1:] != column[:-1] for column in sorted_columns], axis=0)
    starts = np.flatnonzero(changes)
    return np.arange(size) - np.repeat(starts, np.diff(np.append(starts, size)))
