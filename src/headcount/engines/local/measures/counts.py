"""Local measurement of item and item-context counts, activity histograms, class profiles and item pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Flags
from headcount.bounds import (
    ALL_USERS,
    FIXED_POINT,
    PROFILE_SIZES,
    ActivityHistogram,
    Bounded,
    BoundedCounts,
    BoundedTopItemCounts,
    CappedRecords,
    ClassProfile,
    CountBound,
    CountTable,
    RecordCap,
    SampledItemPairs,
    SparseCounts,
    TopItemCounts,
    UsersPerColumn,
    columns_of,
    draws,
    seal_activity_histogram,
    seal_class_profile,
    seal_counts,
    seal_sampled_item_pairs,
    seal_sparse_counts,
    seal_top_item_counts,
)
from headcount.bounds.counts.kernels.class_profile import ClassProfileSettings, ClassProfileSums, profile_users
from headcount.bounds.counts.kernels.collect import CollectedColumns, collect_columns
from headcount.bounds.counts.kernels.sample import (
    CountTables,
    SampleScratch,
    SampleSettings,
    count_sampled,
    sample_scratch_for,
)
from headcount.bounds.counts.kernels.weight import WeightSettings, count_weighted
from headcount.bounds.kernels.histories import Modes
from headcount.bounds.ratings.kernels.sampled_item_pairs import PairSums, count_item_pairs
from headcount.engines.local.measures.sparse_user_counts import UserTable, count_users, merge_tables
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.id_table import secret_words
from headcount.events.log import EventLog

_NO_INTEGERS = np.empty(0, dtype=np.int64)
_NO_FLAGS = np.empty(0, dtype=np.bool_)


def measure_counts(passes: LocalRunner, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
    """Keep what the bound allows of each user's records, or weigh them all, and count."""
    groups = (2,) if bound.apart else ()
    size = 2 if bound.apart else 1
    threads = passes.threads_for(size * log.cells)
    edges = np.zeros((threads, size * log.cells), dtype=np.int64)
    items = np.zeros((threads, size * len(log.catalogue.ids)), dtype=np.int64)
    tables = [CountTables(edges[part], items[part]) for part in range(threads)]
    if bound.unit == 1:
        passes.run_kernel(
            log, secret, count_sampled, [(_modes(log), _keeping(bound), _spare(log), table) for table in tables]
        )
    else:
        how = bound.norm == "l2", bound.apart, _among(log, bound)
        weighing = WeightSettings(bound.limit, bound.unit, 0, *how, _NO_INTEGERS)
        passes.run_kernel(log, secret, count_weighted, [(_modes(log), weighing, table) for table in tables])
    whole = edges.sum(axis=0).reshape(*groups, -1, log.width)
    counted = whole.sum(axis=-1) if log.counting == "records" else items.sum(axis=0).reshape(*groups, -1)
    return seal_counts(bound, log.counting, counted, whole)


def measure_sampled_item_pairs(
    passes: LocalRunner, log: EventLog, bound: SampledItemPairs, secret: bytes
) -> Bounded:
    """Keep what the bound allows of each user's records, and count which two items these are about."""
    sums = np.zeros((passes.threads_for(bound.pairs), bound.pairs), dtype=np.int64)
    places = bound.places(len(log.catalogue.ids))
    tables = [PairSums(places, bound.items.size, part) for part in sums]
    settings = _modes(log), _keeping(bound.kept)
    passes.run_kernel(log, secret, count_item_pairs, [(*settings, _spare(log), table) for table in tables])
    return seal_sampled_item_pairs(sums.sum(axis=0), bound)


def measure_activity_histogram(
    passes: LocalRunner, log: EventLog, bound: ActivityHistogram, secret: bytes
) -> Bounded:
    """Count the users by the number of their records."""
    return seal_activity_histogram(_count_by_activity(passes, log, bound, secret))


def measure_class_profile(passes: LocalRunner, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
    """Spread the users over classes of columns, at their sizes."""
    return seal_class_profile(
        _sum_class_profiles(passes, log, bound, None, secret).sums.reshape(-1, bound.number), bound
    )


def measure_top_item_counts(
    passes: LocalRunner, log: EventLog, bound: TopItemCounts, secret: bytes
) -> BoundedTopItemCounts:
    """Spread the users over classes of items, and count them, and all records, of some items alone."""
    sums, profile_bound = _sum_class_profiles(passes, log, bound.shares, bound, secret), bound.shares
    weighted, whole = (
        limit_counts.reshape(-1, bound.among.places.size) for limit_counts in (sums.weighed, sums.whole)
    )
    counts = weighted + whole.cumsum(axis=0)
    shared = seal_class_profile(sums.sums.reshape(-1, profile_bound.number), profile_bound)
    return seal_top_item_counts(shared, sums.people, list(counts), bound, log.counting)


def _sum_class_profiles(
    passes: LocalRunner, log: EventLog, bound: ClassProfile, top_items: TopItemCounts | None, secret: bytes
) -> ClassProfileSums:
    """Return what is summed up over all pieces, of classes and of what is looked at closer."""
    columns, kinds, limits, ends = bound.of_columns(log), _NO_INTEGERS, _NO_INTEGERS, _NO_INTEGERS
    if top_items is not None:
        top_items.among.of_items(columns.size)  # refuses places beyond
        kinds, columns = columns[top_items.among.places], columns.copy()
        columns[top_items.among.places] = bound.number + np.arange(kinds.size)
        limits, ends = np.array(top_items.limits, dtype=np.int64), np.array(top_items.ends, dtype=np.int64)
    width, classes = _width(log, bound.table), columns.astype(np.min_scalar_type(bound.number + kinds.size))
    if log.counting == "records":
        classes = np.repeat(classes, width)
    how = bound.above, bound.most, FIXED_POINT, bound.norm == "l2"
    sharing = ClassProfileSettings(width, classes, bound.number, *how, kinds, limits, ends)
    sizes = PROFILE_SIZES.size * bound.number, ends.size + 1, limits.size * kinds.size, limits.size * kinds.size
    parts = [ClassProfileSums(*(np.zeros(size, dtype=np.int64) for size in sizes)) for _ in range(passes.threads)]
    passes.run_kernel(log, secret, profile_users, [(_modes(log), sharing, part) for part in parts])
    return ClassProfileSums(*(np.sum(part_sums, axis=0) for part_sums in zip(*parts, strict=True)))


def measure_record_cap(passes: LocalRunner, log: EventLog, bound: RecordCap, secret: bytes) -> CappedRecords:
    """Sort the records by the number of records that their users have: one pass to count, one to collect."""
    width = bound.width(log)
    users = _count_by_activity(passes, log, bound, secret)
    sums = np.arange(1, bound.most + 1)
    ends = np.cumsum(sums * users)
    ahead = np.concatenate([[0, 0], ends[:-1]])
    columns = np.empty(ends[-1], dtype=np.int32)
    keeping = SampleSettings(bound.most, _NO_INTEGERS, 0, np.uint64(0), True)
    gathered = CollectedColumns(_width(log, bound.table), ahead, columns)
    passes.run_kernel(log, secret, collect_columns, [(_modes(log), keeping, _spare(log), gathered)])
    there = users > 0
    starts = np.concatenate([[0], ends[there]])
    return CappedRecords(sums[there], starts, columns, width=width, most=bound.most)


def measure_users_per_column(
    passes: LocalRunner, log: EventLog, bound: UsersPerColumn, secret: bytes
) -> SparseCounts:
    """Count people into one hash table a thread, and put these together."""
    tables = [UserTable() for _ in range(passes.threads)]
    settings = _modes(log), _width(log, bound.table)
    passes.run_kernel(log, secret, count_users, [(*settings, table) for table in tables])
    return seal_sparse_counts(*merge_tables(tables), columns_of(log, bound.table))


def _count_by_activity(
    passes: LocalRunner, log: EventLog, bound: ActivityHistogram | RecordCap, secret: bytes
) -> NDArray[np.int64]:
    """Return how many users are in each place: with 1, 2, … records, or up to some ends."""
    squares, among, ends, places = False, _NO_FLAGS, _NO_INTEGERS, bound.most
    if isinstance(bound, ActivityHistogram):
        squares, among, places = bound.norm == "l2", _among(log, bound), bound.places
        ends = np.array(bound.ends, dtype=np.int64)
    threads = passes.threads_for(places)
    users = np.zeros((threads, places), dtype=np.int64)
    weighing = WeightSettings(bound.most, 1, _width(log, bound.table), squares, False, among, ends)
    passes.run_kernel(
        log, secret, count_weighted, [(_modes(log), weighing, CountTables(part, _NO_INTEGERS)) for part in users]
    )
    summed: NDArray[np.int64] = users[0] if threads == 1 else users.sum(axis=0)
    return summed


def _keeping(bound: CountBound) -> SampleSettings:
    ranks = _NO_INTEGERS if bound.ranks is None else bound.ranks
    lot = np.uint64(bound.admission % ALL_USERS), bound.admission == ALL_USERS
    return SampleSettings(bound.limit, ranks, draws.rank_bits(bound.ranks), *lot)


def _among(log: EventLog, bound: CountBound | ActivityHistogram) -> Flags:
    """Mark the items that a bound looks at; no marks at all mean everything."""
    return _NO_FLAGS if bound.among is None else bound.among.of_items(len(log.catalogue.ids))


def _modes(log: EventLog) -> Modes:
    return Modes(log.width, log.counting == "users", log.context_of == "user", secret_words()[0])


def _spare(log: EventLog) -> SampleScratch:
    return sample_scratch_for(log.cells, weighted=log.roles.times is not None)


def _width(log: EventLog, table: CountTable) -> int:
    """Return how many cells make one column of a table."""
    return log.width if table == "items" else 1
