"""Mutant engines, each with one deliberate fault that the engine checks must reject."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import reduce
from typing import Any, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount._internal.arrays import Draws
from headcount.bounds import (
    ALL_USERS,
    ActivityHistogram,
    Bounded,
    BoundedCounts,
    ClassProfile,
    CountBound,
    CountTable,
    ItemSubset,
    Norm,
    draws,
)
from headcount.bounds.bounded import root_above
from headcount.bounds.counts.class_profile import NO_SIZE_CAP, PROFILE_SIZES
from headcount.bounds.counts.record_cap import CappedRecords, RecordCap
from headcount.bounds.counts.top_item_counts import BoundedTopItemCounts, TopItemCounts
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.events.sources.source import TableSource
from tests.reference import engine as reference
from tests.reference.engine_in_parts import InParts

Integers = NDArray[np.int64]


def _with_limit(bound: CountBound, limit: int) -> CountBound:
    kind: Any = bound
    changed: CountBound = replace(kind, limit=limit)
    return changed


class LimitOffByOne(InParts):
    """Keeps one record too many, and declares the limit all the same."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        counts = super().count(log, _with_limit(bound, bound.limit + 1), secret)
        return bound.seal(log.counting, counts.items.sensitive_values, counts.edges.sensitive_values)


class OneRecordShort(InParts):
    """Keeps one record fewer than it may."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        counts = super().count(log, _with_limit(bound, max(1, bound.limit - 1)), secret)
        return bound.seal(log.counting, counts.items.sensitive_values, counts.edges.sensitive_values)


class _Broken(InParts):
    """The reference engine once more, with its parts in reach of a fault. Sound by itself."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        encoded = EncodedLog(log)
        users, cells = collect_rows(encoded).repeated()
        keys = self.keys(encoded, secret)
        if log.context_of == "user":
            tallies = np.zeros((encoded.users.size, log.width), dtype=np.int64)
            np.add.at(tallies, (users, cells % log.width), 1)
            inside = cells % log.width == self.contexts(tallies, keys)[users]
            users, cells = users[inside], cells[inside]
        if log.counting == "users":
            users, cells = np.unique(np.stack([users, cells]), axis=1)
        if bound.admission < ALL_USERS:
            inside = self.lots(users, cells, keys, secret) < np.uint64(bound.admission)
            users, cells = users[inside], cells[inside]
        if bound.unit == 1:
            users, cells = self.kept(users, cells, keys, bound, log.width, secret)
        return self.counted(users, cells, log, bound)

    sorted = True

    def kept(
        self, users: Integers, cells: Integers, keys: Draws, bound: CountBound, width: int, secret: bytes
    ) -> tuple[Integers, Integers]:
        order = np.lexsort((cells, users)) if self.sorted else np.arange(users.size)
        users, cells = users[order], cells[order]
        drawn = self.draws(users, cells, keys, secret)
        ranks = None if bound.ranks is None else bound.ranks[cells // width]
        priority = draws.priorities(drawn, ranks, draws.rank_bits(bound.ranks))
        order = np.lexsort((cells, priority, users))
        users, cells = users[order], cells[order]
        inside = reference._number_within([users]) < bound.limit
        return users[inside], cells[inside]

    def keys(self, encoded: EncodedLog, secret: bytes) -> Draws:
        return reference.user_keys(encoded, secret)

    def contexts(self, tallies: Integers, keys: Draws) -> NDArray[np.int32]:
        return draws.choose_contexts(tallies, keys)

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.mix(draws.mix(keys))[users]

    def draws(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.record_draws(keys[users], cells, reference._number_within([users, cells]))

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: CountBound) -> BoundedCounts:
        shape = (len(log.catalogue.ids), log.width)
        users, cells = reference._among(log, bound, users, cells)
        of_items, of_edges = (self.sizes(log, table, users, cells, bound.norm) for table in get_args(CountTable))
        edges = self.table(users, cells, of_edges, bound, log.cells)
        users, columns = reference._columns(log, "items", users, cells)
        items = self.table(users, columns, of_items, bound, shape[0])
        if bound.apart:
            return bound.seal(log.counting, items, edges.reshape(2, *shape))
        return bound.seal(log.counting, items[0], edges.reshape(shape))

    def sizes(self, log: EventLog, table: CountTable, users: Integers, cells: Integers, norm: Norm) -> Integers:
        return reference._sizes(log, table, users, cells, norm)

    def table(self, users: Integers, columns: Integers, sizes: Integers, bound: CountBound, size: int) -> Integers:
        weights = self.weights(sizes, bound)[users]
        for user in np.flatnonzero(sizes > bound.limit):
            if bound.norm == "l2":
                weights[users == user] = self.root(int(sizes[user]), bound)
        totals = np.zeros((2 if bound.apart else 1, size), dtype=np.int64)
        for group, inside in enumerate(self.groups(sizes, bound)):
            np.add.at(totals[group], columns[inside[users]], weights[inside[users]])
        return totals

    def weights(self, records: Integers, bound: CountBound) -> Integers:
        shares: Integers = bound.unit * np.minimum(records, bound.limit) // np.maximum(records, 1)
        return shares

    def root(self, size: int, bound: CountBound) -> int:
        return math.isqrt(bound.unit**2 * bound.limit // size)

    def groups(self, records: Integers, bound: CountBound) -> list[NDArray[np.bool_]]:
        above = records > bound.limit
        return [~above, above] if bound.apart else [np.ones_like(above)]


class Sound(_Broken):
    """Without a fault: the checks must pass, or the other twins prove nothing."""


# What is drawn


class DrawsByRow(_Broken):
    """The draw of a record is that of its row: rows before it decide what it is worth."""

    sorted = False

    def draws(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        rows = np.arange(users.size, dtype=np.uint64)
        return draws.mix(rows * np.uint64(draws.GOLDEN) + np.uint64(int.from_bytes(secret[:8], "little")))


class DrawsByCode(_Broken):
    """The user key hangs on the dense code: when a user leaves, everyone who came later gets another key."""

    def keys(self, encoded: EncodedLog, secret: bytes) -> Draws:
        codes = range(encoded.users.size)
        return np.array([draws.user_key(secret, code) for code in codes], dtype=np.uint64)


class DrawsSharedByAll(_Broken):
    """All users draw the same: what one keeps tells what the others keep."""

    def keys(self, encoded: EncodedLog, secret: bytes) -> Draws:
        return np.full(encoded.users.size, draws.user_key(secret, "everyone"), dtype=np.uint64)


class DrawsWithoutSecret(_Broken):
    """The secret is not used: anybody can tell what is kept."""

    def keys(self, encoded: EncodedLog, secret: bytes) -> Draws:
        return reference.user_keys(encoded, bytes(16))


class HashOfTheRecordAlone(_Broken):
    """Equal records have equal draws: a user's frequent record and rare record are kept equally often."""

    def draws(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.record_draws(keys[users], cells, np.zeros(users.size, dtype=np.int64))


class TieBreakDependsOnOtherUsers(_Broken):
    """Prefers what is popular in the log itself, among a user's records."""

    def draws(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        popular = np.bincount(cells, minlength=int(cells.max(initial=0)) + 1)[cells].astype(np.uint64)
        own = super().draws(users, cells, keys, secret)
        rarity: Draws = np.uint64(2**16 - 1) - popular
        return (rarity << np.uint64(48)) | (own >> np.uint64(16))


class ContextDrawsShared(_Broken):
    """Ties between contexts are broken by the very draws of the first item's records."""

    def contexts(self, tallies: Integers, keys: Draws) -> NDArray[np.int32]:
        by_context = tallies[:, :-1]
        columns = np.arange(by_context.shape[1], dtype=np.uint64)
        tickets = draws.mix(keys[:, None] + (columns + np.uint64(1)) * np.uint64(draws.GOLDEN))
        tied = by_context == by_context.max(axis=1, keepdims=True)
        best = np.argmin(np.where(tied, tickets, np.iinfo(np.uint64).max), axis=1)
        chosen: NDArray[np.int32] = np.where(by_context.any(axis=1), best, by_context.shape[1]).astype(np.int32)
        return chosen


class ContextByMajority(_Broken):
    """Everybody's one context is the most frequent one of the whole log."""

    def contexts(self, tallies: Integers, keys: Draws) -> NDArray[np.int32]:
        best = int(tallies.sum(axis=0).argmax()) if tallies.size else 0
        return np.full(len(tallies), best, dtype=np.int32)


class LotFromTheRecords(_Broken):
    """A user is taken by the very draw of the first item's records: who is taken tells what is kept."""

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.record_draws(keys[users], np.zeros_like(users), np.zeros_like(users))


class LotFromTheContexts(_Broken):
    """A user is taken by the very draw that breaks ties between contexts."""

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.mix(draws.mix(keys) + np.uint64(draws.GOLDEN))[users]


class LotForEachRecord(_Broken):
    """Takes records by lot, not users: nearly everyone is in."""

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.mix(draws.record_draws(keys[users], cells, np.zeros_like(users)))


class LotSharedByAll(_Broken):
    """One lot for all users: everyone is in, or nobody."""

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return np.full(users.size, draws.user_key(secret, "everyone"), dtype=np.uint64)


class LotInTurns(_Broken):
    """Takes every fourth user, from a random one on: as many as it should, and nobody is left to chance."""

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        places = users.astype(np.uint64) + np.uint64(draws.user_key(secret, "first") % 4)
        return places << np.uint64(62) | np.uint64(1 << 61)


class LotWithoutSecret(_Broken):
    """Takes users by their place in the log: anybody can tell who is in."""

    def lots(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        return draws.mix((users.astype(np.uint64) + np.uint64(1)) * np.uint64(draws.GOLDEN))


# What is counted


class DropsTheUnknownContext(_Broken):
    """Does not count edges of the unknown context."""

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: CountBound) -> BoundedCounts:
        counts = super().counted(users, cells, log, bound)
        edges = counts.edges.sensitive_values.copy()
        if log.context is not None:
            edges[..., -1] = 0
        return bound.seal(log.counting, counts.items.sensitive_values.copy(), edges)


class CountsUserOncePerTable(_Broken):
    """Where users are counted, counts all kept pairs of an item instead of the user once."""

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: CountBound) -> BoundedCounts:
        counts = super().counted(users, cells, log, bound)
        edges = counts.edges.sensitive_values.copy()
        return bound.seal(log.counting, edges.sum(axis=-1), edges)


class ForgetsTheFirstBatch(_Broken):
    """Numbers equal records within a batch only: batches decide which draw a record gets."""

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        batches = log.source.batches(log.columns)
        self._sizes = [batch.num_rows for batch in batches]
        return super().count(log, bound, secret)

    def draws(self, users: Integers, cells: Integers, keys: Draws, secret: bytes) -> Draws:
        numbers = reference._number_within([users, cells]) % max([1, *self._sizes])
        return draws.record_draws(keys[users], cells, numbers)


class RoundsWeightsUp(_Broken):
    """Rounds weights up: a user's records add up to a little more than the limit."""

    def weights(self, records: Integers, bound: CountBound) -> Integers:
        return -(-bound.unit * np.minimum(records, bound.limit) // np.maximum(records, 1))


class ForgetsTheActive(_Broken):
    """Weighs nothing of users above the limit."""

    def weights(self, records: Integers, bound: CountBound) -> Integers:
        return np.where(records > bound.limit, 0, bound.unit)


class WeighsEveryoneAlike(_Broken):
    """Weighs all records by the most active user: one who joins moves what others add."""

    def weights(self, records: Integers, bound: CountBound) -> Integers:
        return super().weights(np.full_like(records, records.max(initial=0)), bound)


class WeighsItemsAsPairs(_Broken):
    """Where users are counted, weighs an item by the user's pairs of item and context."""

    def counted(self, users: Integers, cells: Integers, log: EventLog, bound: CountBound) -> BoundedCounts:
        self._pairs = np.bincount(users)
        return super().counted(users, cells, log, bound)

    def weights(self, records: Integers, bound: CountBound) -> Integers:
        return super().weights(self._pairs, bound)


class CountsTheActiveTwice(_Broken):
    """Counts users above the limit among those within it, too."""

    def groups(self, records: Integers, bound: CountBound) -> list[NDArray[np.bool_]]:
        groups = super().groups(records, bound)
        groups[0] = np.ones_like(groups[0])
        return groups


class RoundsRootsUp(_Broken):
    """Where the sum of squares is limited, rounds weights up: it comes to a little more than the limit."""

    def root(self, size: int, bound: CountBound) -> int:
        return root_above(-(-(bound.unit**2) * bound.limit // size))


class RootsOfRecords(_Broken):
    """Where the sum of squares is limited, goes by the number of records: many of one item come to far more."""

    def sizes(self, log: EventLog, table: CountTable, users: Integers, cells: Integers, norm: Norm) -> Integers:
        return super().sizes(log, table, users, cells, "l1")


class SquaresOfPairs(_Broken):
    """Where the sum of squares is limited, squares the records of each pair: those of an item come to more."""

    def sizes(self, log: EventLog, table: CountTable, users: Integers, cells: Integers, norm: Norm) -> Integers:
        if norm == "l1" or log.counting == "users":
            return super().sizes(log, table, users, cells, norm)
        pairs, many = np.unique(np.stack([users, cells]), axis=1, return_counts=True)
        sizes = np.zeros(pairs[0].max(initial=-1) + 1, dtype=np.int64)
        np.add.at(sizes, pairs[0], many**2)
        return sizes


class CountsUsersInEachBatch(InParts):
    """Counts a user's activity batch by batch: one with records in several is counted several times."""

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        users = np.zeros(most, dtype=np.int64)
        for batch in log.source.batches(log.columns):
            part = replace(log, source=TableSource(pa.Table.from_batches([batch])))
            users += super().activity(part, table, most, secret).sensitive_values
        return ActivityHistogram(table, most).seal(users)


class CountsTheIdle(InParts):
    """Counts users without a record that counts among those who have one."""

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        users, cells, keys = reference._eligible(log, secret)
        records = np.bincount(reference._columns(log, table, users, cells)[0], minlength=keys.size)
        return ActivityHistogram(table, most).seal(np.bincount(records.clip(1, most), minlength=most + 1)[1:])


class CountsUsersUpTo(InParts):
    """Counts a user in every place up to the number of their records."""

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        users = super().activity(log, table, most, secret).sensitive_values
        return ActivityHistogram(table, most).seal(np.cumsum(users[::-1])[::-1].copy())


class ForgetsTheMostActive(InParts):
    """Leaves out users with more records than the last place has."""

    def activity(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> Bounded:
        users = super().activity(log, table, most + 1, secret).sensitive_values
        return ActivityHistogram(table, most).seal(users[:most].copy())


class RowsUncut(InParts):
    """Collects all rows of users above the limit."""

    def rows(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> CappedRecords:
        rows = super().rows(log, table, 10**6, secret)
        return CappedRecords(rows.sums, rows.starts, rows.columns, width=rows.width, most=most)


class RowsCutToTheFirst(InParts):
    """Cuts users above the limit to their first rows: the order of rows decides."""

    def rows(self, log: EventLog, table: CountTable, most: int, secret: bytes) -> CappedRecords:
        users, cells, _ = reference._eligible(log, secret)
        width = RecordCap(table, most).width(log)
        users, columns = reference._columns(log, table, users, cells)
        order = np.argsort(users, kind="stable")
        inside = reference._number_within([users[order]]) < most
        users, columns = users[order][inside], columns[order][inside]
        records = np.bincount(users)[users]
        order = np.argsort(records, kind="stable")
        sums, starts = np.unique(records[order], return_index=True)
        return CappedRecords(
            sums, np.append(starts, users.size), columns[order].astype(np.int32), width=width, most=most
        )


class SparseOncePerRecord(InParts):
    """Counts people once per record, where once per column was asked for."""

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        _, cells, _ = reference._eligible(replace(log, counting="records"), secret)
        width = log.width if table == "items" else 1
        columns, people = np.unique(cells // width, return_counts=True)
        size = len(log.catalogue.ids) if table == "items" else log.cells
        return UsersPerColumn.seal(columns.astype(np.int32), people.astype(np.int32), size)


class SparseInEachBatch(InParts):
    """Counts people batch by batch: one with the same column in several is counted several times."""

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        size = super().sparse(log, table, secret).size
        people = np.zeros(size, dtype=np.int32)
        for batch in log.source.batches(log.columns):
            part = replace(log, source=TableSource(pa.Table.from_batches([batch])))
            measured = super().sparse(part, table, secret)
            people[measured.sensitive_columns] += measured.sensitive_users
        there = np.flatnonzero(people)
        return UsersPerColumn.seal(there.astype(np.int32), people[there], size)


class SparseInEveryContext(InParts):
    """Counts people in all their contexts, where each was to have one."""

    def sparse(self, log: EventLog, table: CountTable, secret: bytes) -> SparseCounts:
        return super().sparse(replace(log, context_of="record"), table, secret)


class SharesUndivided(InParts):
    """Forgets to divide by the size: a person of n records adds n."""

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        sums = np.zeros((PROFILE_SIZES.size, bound.number), dtype=np.int64)
        for place, size in enumerate(PROFILE_SIZES.tolist()):
            sums[place] = super().shares(log, bound, secret).sensitive_values[place] * size
        return bound.seal(sums)


class SharesAtBothPowers(InParts):
    """Lets people stand at both powers of two in full."""

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        sums = super().shares(log, bound, secret).sensitive_values.copy()
        sums[:-1] += sums[1:]
        return bound.seal(sums)


class SharesAtTheLowerPower(InParts):
    """Lets people stand at the lower power of two alone: sizes do not add up to records."""

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        sums = np.zeros((PROFILE_SIZES.size, bound.number), dtype=np.int64)
        for size in (1, 2, 4, 8, 16):
            above = max(size - 1, bound.above)
            here = [
                super(SharesAtTheLowerPower, self)
                .shares(log, replace(bound, above=threshold), secret)
                .sensitive_values
                for threshold in (above, max(2 * size - 1, bound.above))
            ]
            sums[size.bit_length() - 1] = (here[0] - here[1]).sum(axis=0)
        return bound.seal(sums)


class SharesOfEveryone(InParts):
    """Counts people of the sizes that were to be left out."""

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        return super().shares(log, replace(bound, above=0), secret)


class SharesBeyondTheMost(InParts):
    """Lets people stand at their size, where they were to be at the most."""

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        return super().shares(log, replace(bound, most=NO_SIZE_CAP), secret)


class SharesInEachBatch(InParts):
    """Spreads people batch by batch: one with records in several is counted several times."""

    def shares(self, log: EventLog, bound: ClassProfile, secret: bytes) -> Bounded:
        sums = np.zeros((PROFILE_SIZES.size, bound.number), dtype=np.int64)
        for batch in log.source.batches(log.columns):
            part = replace(log, source=TableSource(pa.Table.from_batches([batch])))
            sums += super().shares(part, bound, secret).sensitive_values
        return bound.seal(sums)


class RefinementOfAllItems(InParts):
    """Weighs and counts people by all that they have, where it was to be some items alone."""

    def look(self, log: EventLog, bound: TopItemCounts, secret: bytes) -> BoundedTopItemCounts:
        everything = replace(bound, among=ItemSubset(np.arange(len(log.catalogue.ids))))
        measured = super().look(log, everything, secret)
        counts = [counts.sensitive_values[bound.among.places] for counts in measured.counts]
        return bound.seal(log.counting, measured.shares.sensitive_values, measured.people.sensitive_values, counts)


class RefinementUnderTheNextThreshold(InParts):
    """Weighs records under the limit after the one that is asked for."""

    def look(self, log: EventLog, bound: TopItemCounts, secret: bytes) -> BoundedTopItemCounts:
        limits = *bound.limits[1:], bound.limits[-1] + 1
        measured = super().look(log, replace(bound, limits=limits), secret)
        counts = [counts.sensitive_values for counts in measured.counts]
        return bound.seal(log.counting, measured.shares.sensitive_values, measured.people.sensitive_values, counts)


class RefinementPerBatch(InParts):
    """Counts and weighs people batch by batch."""

    def look(self, log: EventLog, bound: TopItemCounts, secret: bytes) -> BoundedTopItemCounts:
        batches = log.source.batches(log.columns)
        parts = [replace(log, source=TableSource(pa.Table.from_batches([batch]))) for batch in batches]
        measured = [super(RefinementPerBatch, self).look(batch, bound, secret) for batch in parts]
        return reduce(BoundedTopItemCounts.with_others, measured)


class RemembersAFailedRead(InParts):
    """Counts what was read before a log was refused, the second time."""

    def __init__(self) -> None:
        self._refused: set[int] = set()

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        if id(log) in self._refused:
            part = getattr(log.source, "table").slice(0, 16)  # noqa: B009
            log = replace(log, source=TableSource(part))
        try:
            return super().count(log, bound, secret)
        except Exception:
            self._refused.add(id(log))
            raise
