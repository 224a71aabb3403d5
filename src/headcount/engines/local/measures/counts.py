"""Counts of records and of people by the local engine: compiled kernels over every user's whole history."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Flags
from headcount.bounds import (
    EVERYONE,
    FIXED_POINT,
    SIZES,
    Activity,
    Bounded,
    BoundedCounts,
    BoundedLook,
    CountBound,
    CountTable,
    Look,
    People,
    Records,
    Rows,
    SampledPairs,
    Shares,
    SparseCounts,
    certify,
    certify_activity,
    certify_look,
    certify_sampled_pairs,
    certify_shares,
    certify_sparse,
    columns_of,
    draws,
)
from headcount.bounds.counts.kernels.class_profile import Shared, Sharing, share
from headcount.bounds.counts.kernels.collect import Gathered, gather
from headcount.bounds.counts.kernels.sample import Counts, Keeping, Spare, keep, spare_for
from headcount.bounds.counts.kernels.weight import Weighing, weigh
from headcount.bounds.kernels.histories import Modes
from headcount.bounds.ratings.kernels.sampled_item_pairs import Paired, pair
from headcount.engines.local.measures.sparse_user_counts import PeopleTable, count_people, merged
from headcount.engines.local.runner import Passes
from headcount.events.encode.id_table import secret_words
from headcount.events.log import EventLog

_NOTHING = np.empty(0, dtype=np.int64)
_EVERYTHING = np.empty(0, dtype=np.bool_)


def counts(passes: Passes, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
    """Keep what the bound allows of each user's records, or weigh them all, and count."""
    groups = (2,) if bound.apart else ()
    size = 2 if bound.apart else 1
    threads = passes.threads_for(size * log.cells)
    edges = np.zeros((threads, size * log.cells), dtype=np.int64)
    items = np.zeros((threads, size * len(log.catalogue.ids)), dtype=np.int64)
    tables = [Counts(edges[part], items[part]) for part in range(threads)]
    if bound.unit == 1:
        passes.each(log, secret, keep, [(_modes(log), _keeping(bound), _spare(log), each) for each in tables])
    else:
        how = bound.norm == "l2", bound.apart, _among(log, bound)
        weighing = Weighing(bound.limit, bound.unit, 0, *how, _NOTHING)
        passes.each(log, secret, weigh, [(_modes(log), weighing, each) for each in tables])
    whole = edges.sum(axis=0).reshape(*groups, -1, log.width)
    counted = whole.sum(axis=-1) if log.counting == "records" else items.sum(axis=0).reshape(*groups, -1)
    return certify(bound, log.counting, counted, whole)


def sampled_pairs(passes: Passes, log: EventLog, bound: SampledPairs, secret: bytes) -> Bounded:
    """Keep what the bound allows of each user's records, and count which two items these are about."""
    sums = np.zeros((passes.threads_for(bound.pairs), bound.pairs), dtype=np.int64)
    places = bound.places(len(log.catalogue.ids))
    tables = [Paired(places, bound.items.size, part) for part in sums]
    asked = _modes(log), _keeping(bound.kept)
    passes.each(log, secret, pair, [(*asked, _spare(log), each) for each in tables])
    return certify_sampled_pairs(sums.sum(axis=0), bound)


def activity(passes: Passes, log: EventLog, bound: Activity, secret: bytes) -> Bounded:
    """Count the users by the number of their records."""
    return certify_activity(_active(passes, log, bound, secret))


def shares(passes: Passes, log: EventLog, bound: Shares, secret: bytes) -> Bounded:
    """Spread the users over classes of columns, at their sizes."""
    return certify_shares(_shared(passes, log, bound, None, secret).sums.reshape(-1, bound.number), bound)


def look(passes: Passes, log: EventLog, bound: Look, secret: bytes) -> BoundedLook:
    """Spread the users over classes of items, and count them, and all records, of some items alone."""
    found, asked = _shared(passes, log, bound.shares, bound, secret), bound.shares
    weighed, whole = (each.reshape(-1, bound.among.places.size) for each in (found.weighed, found.whole))
    counts = weighed + whole.cumsum(axis=0)
    shared = certify_shares(found.sums.reshape(-1, asked.number), asked)
    return certify_look(shared, found.people, list(counts), bound, log.counting)


def _shared(passes: Passes, log: EventLog, bound: Shares, closer: Look | None, secret: bytes) -> Shared:
    """Return what is summed up over all pieces, of classes and of what is looked at closer."""
    columns, kinds, limits, ends = bound.of_columns(log), _NOTHING, _NOTHING, _NOTHING
    if closer is not None:
        closer.among.of_items(columns.size)  # refuses places beyond
        kinds, columns = columns[closer.among.places], columns.copy()
        columns[closer.among.places] = bound.number + np.arange(kinds.size)
        limits, ends = np.array(closer.limits, dtype=np.int64), np.array(closer.ends, dtype=np.int64)
    width, classes = _width(log, bound.table), columns.astype(np.min_scalar_type(bound.number + kinds.size))
    if log.counting == "records":
        classes = np.repeat(classes, width)
    how = bound.above, bound.most, FIXED_POINT, bound.norm == "l2"
    sharing = Sharing(width, classes, bound.number, *how, kinds, limits, ends)
    sizes = SIZES.size * bound.number, ends.size + 1, limits.size * kinds.size, limits.size * kinds.size
    parts = [Shared(*(np.zeros(size, dtype=np.int64) for size in sizes)) for _ in range(passes.threads)]
    passes.each(log, secret, share, [(_modes(log), sharing, part) for part in parts])
    return Shared(*(np.sum(each, axis=0) for each in zip(*parts, strict=True)))


def records(passes: Passes, log: EventLog, bound: Records, secret: bytes) -> Rows:
    """Sort the records by the number of records that their users have: one pass to count, one to collect."""
    width = bound.width(log)
    users = _active(passes, log, bound, secret)
    sums = np.arange(1, bound.most + 1)
    ends = np.cumsum(sums * users)
    ahead = np.concatenate([[0, 0], ends[:-1]])
    columns = np.empty(ends[-1], dtype=np.int32)
    keeping = Keeping(bound.most, _NOTHING, 0, np.uint64(0), True)
    gathered = Gathered(_width(log, bound.table), ahead, columns)
    passes.each(log, secret, gather, [(_modes(log), keeping, _spare(log), gathered)])
    there = users > 0
    starts = np.concatenate([[0], ends[there]])
    return Rows(sums[there], starts, columns, width=width, most=bound.most)


def people(passes: Passes, log: EventLog, bound: People, secret: bytes) -> SparseCounts:
    """Count people into one hash table a thread, and put these together."""
    tables = [PeopleTable() for _ in range(passes.threads)]
    asked = _modes(log), _width(log, bound.table)
    passes.each(log, secret, count_people, [(*asked, each) for each in tables])
    return certify_sparse(*merged(tables), columns_of(log, bound.table))


def _active(passes: Passes, log: EventLog, bound: Activity | Records, secret: bytes) -> NDArray[np.int64]:
    """Return how many users are in each place: with 1, 2, … records, or up to some ends."""
    squares, among, ends, places = False, _EVERYTHING, _NOTHING, bound.most
    if isinstance(bound, Activity):
        squares, among, places = bound.norm == "l2", _among(log, bound), bound.places
        ends = np.array(bound.ends, dtype=np.int64)
    threads = passes.threads_for(places)
    users = np.zeros((threads, places), dtype=np.int64)
    weighing = Weighing(bound.most, 1, _width(log, bound.table), squares, False, among, ends)
    passes.each(log, secret, weigh, [(_modes(log), weighing, Counts(part, _NOTHING)) for part in users])
    summed: NDArray[np.int64] = users[0] if threads == 1 else users.sum(axis=0)
    return summed


def _keeping(bound: CountBound) -> Keeping:
    ranks = _NOTHING if bound.ranks is None else bound.ranks
    lot = np.uint64(bound.admission % EVERYONE), bound.admission == EVERYONE
    return Keeping(bound.limit, ranks, draws.rank_bits(bound.ranks), *lot)


def _among(log: EventLog, bound: CountBound | Activity) -> Flags:
    """Mark the items that a bound looks at; no marks at all mean everything."""
    return _EVERYTHING if bound.among is None else bound.among.of_items(len(log.catalogue.ids))


def _modes(log: EventLog) -> Modes:
    return Modes(log.width, log.counting == "users", log.context_of == "user", secret_words()[0])


def _spare(log: EventLog) -> Spare:
    return spare_for(log.cells, weighted=log.roles.times is not None)


def _width(log: EventLog, table: CountTable) -> int:
    """Return how many cells make one column of a table."""
    return log.width if table == "items" else 1
