"""Contract checks of engines: each runs on any engine and raises AssertionError on a mutant."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather as pa_feather
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from headcount.bounds import (
    ALL_USERS,
    FIXED_POINT,
    ActivityHistogram,
    Bound,
    Bounded,
    BoundedCounts,
    ClassProfile,
    CountBound,
    Counting,
    CountTable,
    ItemSubset,
    KeepTopScored,
    Noisy,
    Norm,
    SampleRecords,
    Sensitivity,
    WeightToThreshold,
)
from headcount.bounds.counts.class_profile import PROFILE_SIZES
from headcount.bounds.counts.record_cap import CappedRecords, RecordCap
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.bounds.counts.top_item_counts import TopItemCounts
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.engines.engine import Engine
from headcount.engines.local import record_store
from headcount.errors import DataError
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.encode import passes
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources import source as readers
from headcount.events.sources.files import formats
from headcount.events.sources.source import Source, TableSource, open_source
from tests.contracts.support.histories import HISTORIES, columns_of, outcome, replicated, row_order
from tests.reference.engine import ReferenceEngine
from tests.support.distributions import LEVEL, binomial, fits
from tests.support.small_logs import CONTEXTS, LAW, USERS, Case, bounds, cases, every_kind, secrets

Arrays = tuple[NDArray[np.int64], NDArray[np.int64]]

TABLES: tuple[CountTable, ...] = ("items", "edges")
NORMS: tuple[Norm, ...] = ("l1", "l2")
tables = st.sampled_from(TABLES)
mosts = st.sampled_from((1, 2, 3, 7))


def _values(counts: BoundedCounts) -> Arrays:
    return counts.items.sensitive_values, counts.edges.sensitive_values


def _everything(
    engine: Engine, log: EventLog, bound: CountBound, table: CountTable, most: int, secret: bytes
) -> list[Any]:
    """Return what an engine measures of a log, in a form to compare."""
    parts = [
        *_counted(engine, log, bound, secret),
        _sensitivity_and_values(engine.measure(log, ActivityHistogram(table, most), secret)),
        _sensitivity_and_values(engine.measure(log, ActivityHistogram(table, most, "l2"), secret)),
        _sensitivity_and_values(engine.measure(log, ActivityHistogram(table, most, ends=(1, 3)), secret)),
    ]
    if engine.can(ClassProfile):
        parts += [
            _sensitivity_and_values(engine.measure(log, bound, secret)) for bound in _shares(log, table, most)
        ]
    if engine.can(TopItemCounts):
        parts += [_sensitivity_and_values(bound) for bound in _measured_refinements(engine, log, most, secret)]
    if engine.can(RecordCap):
        parts += _in_rows(engine.measure(log, RecordCap(table, _most_of(log, table, most)), secret))
    if engine.can(UsersPerColumn):
        parts += _sparsely(engine.measure(log, UsersPerColumn(table), secret))
    return parts


class _AsAble(ReferenceEngine):
    """The reference engine, as far as another one goes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def can(self, kind: type[Bound[Any]]) -> bool:
        return self._engine.can(kind)


def _shares(log: EventLog, table: CountTable, most: int) -> tuple[ClassProfile, ClassProfile]:
    """Shares of everybody, and by squares of people above a size, who stand no further than at another."""
    columns = len(log.catalogue.ids) if table == "items" else log.cells
    classes = np.arange(columns) * 7 % 3
    return ClassProfile(table, classes), ClassProfile(table, classes, above=most // 2, norm="l2", most=most)


def _measured_refinements(engine: Engine, log: EventLog, most: int, secret: bytes) -> list[Bounded]:
    """All parts of looks at some items, of people by their records and by squares."""
    some = ItemSubset(np.arange(len(log.catalogue.ids))[::-2].copy())
    looks = [TopItemCounts(profile, some, (1, 2 + most), (1, 3)) for profile in _shares(log, "items", most)]
    measured = [engine.measure(log, profile, secret) for profile in looks]
    return [part for profile in measured for part in (profile.shares, profile.people, *profile.counts)]


def _in_rows(rows: CappedRecords) -> list[Any]:
    """Rows of the same sum have no order."""
    parts = zip(rows.sums.tolist(), rows.starts[:-1].tolist(), rows.starts[1:].tolist(), strict=True)
    return [
        (rows.width, rows.most),
        [(records, sorted(rows.columns[begin:end].tolist())) for records, begin, end in parts],
    ]


def _sparsely(sparse: SparseCounts) -> list[Any]:
    return [sparse.size, sparse.sensitive_columns.tolist(), sparse.sensitive_users.tolist()]


def _counted(engine: Engine, log: EventLog, bound: CountBound, secret: bytes) -> list[Any]:
    counts = engine.measure(log, bound, secret)
    return [_sensitivity_and_values(counts.items), _sensitivity_and_values(counts.edges)]


def _sensitivity_and_values(bounded: Bounded) -> list[Any]:
    return [bounded.sensitivity, bounded.unit, bounded.admission, bounded.sensitive_values.tolist()]


def _most_of(log: EventLog, table: CountTable, most: int) -> int:
    """Where users are counted, rows are not cut: there must be room for every column."""
    columns = len(log.catalogue.ids) if table == "items" else log.cells
    return max(most, columns) if log.counting == "users" else most


def check_sensitivity(engine: Engine) -> None:
    """Removing any user takes away exactly what that user alone would add, within the declared distances.

    Exhaustive over the users of each log, under one secret: nobody else's choice may change.
    """

    @given(cases(), st.data(), tables, mosts, secrets)
    def exhaustive(case: Case, data: st.DataObject, table: CountTable, most: int, secret: bytes) -> None:
        _check_everyone_leaves(engine, case, data.draw(every_kind(case)), table, most, secret)

    exhaustive()
    # one who leaves turns the most frequent context of the log into another's: rare above
    turned = ((0, 0, CONTEXTS[0], 1), (1, 0, CONTEXTS[1], 1), (1, 1, CONTEXTS[1], 1))
    case = Case(rows=turned, contexts=True, context_of="user")
    _check_everyone_leaves(engine, case, (SampleRecords(2),), "edges", 3, bytes(16))
    # one who leaves moves everybody up in the log: who is taken by lot may not hang on that
    # (by turns, wherever they begin, one of these numbers of people shows it)
    for people in (6, 7, 8):
        one_row_users = Case(rows=tuple((user, 0, CONTEXTS[0], 1) for user in range(people)), users="small")
        _check_everyone_leaves(engine, one_row_users, (SampleUsers(2, ALL_USERS // 4),), "edges", 3, bytes(16))


def _check_everyone_leaves(
    engine: Engine, case: Case, bounds: Sequence[CountBound], table: CountTable, most: int, secret: bytes
) -> None:
    logs = [case.log()]
    for user in case.everyone:
        logs += [case.without(user).log(), case.only(user).log()]
    counts, activity, shares, looks, rows, sparse = [], [], [], [], [], []
    for log in logs:  # all of one log before the next, as methods do
        counts.append([engine.measure(log, bound, secret) for bound in bounds])
        kinds = (
            ActivityHistogram(table, most),
            ActivityHistogram(table, most, "l2"),
            ActivityHistogram(table, most, ends=(1, 3)),
        )
        activity.append([engine.measure(log, bound, secret) for bound in kinds])
        if engine.can(ClassProfile):
            shares.append([engine.measure(log, bound, secret) for bound in _shares(log, table, most)])
        if engine.can(TopItemCounts):
            looks.append(_measured_refinements(engine, log, most, secret))
        if engine.can(RecordCap):
            rows.append(engine.measure(log, RecordCap(table, _most_of(log, table, most)), secret))
        if engine.can(UsersPerColumn):
            sparse.append(engine.measure(log, UsersPerColumn(table), secret))
    for rest in range(1, len(logs), 2):
        for (number, bound), name in itertools.product(enumerate(bounds), TABLES):
            whole, others, own = (getattr(counts[at][number], name) for at in (0, rest, rest + 1))
            _check_step(whole, others, own, bound)
        for kind in range(2):
            _check_user_leaves(*(activity[at][kind] for at in (0, rest, rest + 1)))
            if shares:
                _check_shares_leave(*(shares[at][kind] for at in (0, rest, rest + 1)))
        for whole, others, own in zip(*(looks[at] for at in (0, rest, rest + 1) if looks), strict=True):
            _check_step_of_a_refinement(whole, others, own)
        if rows:
            _check_rows_leave(rows[0], rows[rest], rows[rest + 1])
        if sparse:
            _check_sparse_leave(sparse[0], sparse[rest], sparse[rest + 1])


def _check_step(whole: Bounded, rest: Bounded, own: Bounded, bound: CountBound) -> None:
    step = whole.sensitive_values - rest.sensitive_values
    assert np.array_equal(step, own.sensitive_values), "another user's choice changed"
    assert (step >= 0).all(), "a count went down when a user joined"
    reach, columns = whole.sensitivity, step.size
    if bound.apart:
        columns //= 2
        assert not step.any(axis=tuple(range(1, step.ndim))).all(), "a user is within the limit and above it"
    if bound.norm == "l1":
        assert reach.l1 == bound.limit * bound.unit, "the declared L1 distance is not the limit"
    else:
        assert reach.l1 == math.ceil(math.sqrt(bound.limit * columns)) * bound.unit, "not the limit, in L1"
        assert reach.l2_squared == bound.limit * bound.unit**2, "the declared L2 distance is not the limit"
        assert reach.linf in (bound.unit, math.ceil(math.sqrt(bound.limit)) * bound.unit)
    assert whole.unit == bound.unit
    assert whole.admission == Fraction(bound.admission, ALL_USERS), "not the declared admission"
    assert step.sum() <= reach.l1, "L1"
    assert (step**2).sum() <= reach.l2_squared, "L2"
    assert step.max(initial=0) <= reach.linf, "L∞"


def _check_user_leaves(whole: Bounded, rest: Bounded, own: Bounded) -> None:
    step = whole.sensitive_values - rest.sensitive_values
    assert np.array_equal(step, own.sensitive_values), "another user's place changed"
    assert sorted(step.tolist())[:-1] == [0] * (step.size - 1), "a user is in several places"
    assert step.max() in (0, 1), "a user is counted twice"
    assert whole.sensitivity == Sensitivity(l1=1, l2_squared=1, linf=1)


def _check_shares_leave(whole: Bounded, rest: Bounded, own: Bounded) -> None:
    step = whole.sensitive_values - rest.sensitive_values
    assert np.array_equal(step, own.sensitive_values), "another user's shares changed"
    assert (step >= 0).all(), "a share went down when a user joined"
    assert step.sum() <= whole.unit == FIXED_POINT, "a user's shares are more than one"
    assert whole.sensitivity == Sensitivity(l1=1, l2_squared=1, linf=1).times(FIXED_POINT)


def _check_step_of_a_refinement(whole: Bounded, rest: Bounded, own: Bounded) -> None:
    step, reach = whole.sensitive_values - rest.sensitive_values, whole.sensitivity
    assert np.array_equal(step, own.sensitive_values), "what another user adds changed"
    assert (step >= 0).all(), "something went down when a user joined"
    assert step.sum() <= reach.l1, "a user adds more than the limit"
    assert (step**2).sum() <= reach.l2_squared, "a user adds more squares than the limit"
    assert step.max(initial=0) <= reach.linf, "a user adds more to an item than the limit"


def _check_rows_leave(whole: CappedRecords, rest: CappedRecords, own: CappedRecords) -> None:
    all_of_it, without, mine = (
        Counter(zip(np.repeat(rows.sums, np.diff(rows.starts)).tolist(), rows.columns.tolist(), strict=True))
        for rows in (whole, rest, own)
    )
    assert all_of_it == without + mine, "another user's rows changed"
    assert own.columns.size <= own.most, "a user has more rows than allowed"
    assert own.sums.tolist() in ([], [own.columns.size]), "a user's rows are not under their number"


def _check_sparse_leave(whole: SparseCounts, rest: SparseCounts, own: SparseCounts) -> None:
    all_of_it, without, mine = (
        Counter(dict(zip(sparse.sensitive_columns.tolist(), sparse.sensitive_users.tolist(), strict=True)))
        for sparse in (whole, rest, own)
    )
    assert all_of_it == without + mine, "another user's columns changed"
    assert set(mine.values()) <= {whole.sensitivity.linf} == {1}, "a user counts more than once in a column"
    assert whole.size == rest.size == own.size, "the number of columns hangs on the log"
    assert whole.sensitivity == Sensitivity(l1=whole.size, l2_squared=whole.size, linf=1)


def check_keeps_all_it_may(engine: Engine) -> None:
    """A user keeps min(limit, what counts) records, or weighs all of them: neither more nor less.

    What users have is counted in plain Python, in every table; record edges sum to items.
    """

    @given(cases(), st.data(), tables, mosts, secrets)
    def full(case: Case, data: st.DataObject, table: CountTable, most: int, secret: bytes) -> None:
        log = case.log()
        for bound in data.draw(every_kind(case)):
            _check_counts(case, *_values(engine.measure(log, bound, secret)), bound)
        people = [columns_of(case.only(user), table) for user in case.everyone]
        if all(len(choices) == 1 for choices in people):
            everyone = [columns for (columns,) in people]
            width = log.width if table == "edges" else 1
            sizes = [[_size(user, norm, width, log.counting) for user in everyone] for norm in NORMS]
            for norm, own in zip(NORMS, sizes, strict=True):
                _check_activity(engine.measure(log, ActivityHistogram(table, most, norm), secret), own, most)
            if engine.can(ClassProfile):
                for shares, own in zip(_shares(log, table, most), sizes, strict=True):
                    _check_shares(engine.measure(log, shares, secret), everyone, own, shares)
        if engine.can(RecordCap):
            _check_rows(engine, log, table, most, secret)
        if engine.can(UsersPerColumn):
            _check_sparse(engine, log, table, secret)

    full()
    # one item in two contexts is within a limit of one item, and above one of one pair: rare above
    rows = ((0, 0, CONTEXTS[0], 1), (0, 0, CONTEXTS[1], 1))
    twice = Case(rows=rows, contexts=True, counting="users")
    _check_counts(
        twice, *_values(engine.measure(twice.log(), WeightToThreshold(1), bytes(16))), WeightToThreshold(1)
    )
    # two records of one item come to 4 in squares, those of its two pairs to 2: a limit of 3 tells them apart
    twice, squares = Case(rows=rows, contexts=True, counting="records"), WeightToThreshold(3, "l2")
    _check_counts(twice, *_values(engine.measure(twice.log(), squares, bytes(16))), squares)


def _check_counts(case: Case, items: NDArray[np.int64], edges: NDArray[np.int64], bound: CountBound) -> None:
    width = len(CONTEXTS) + 1 if case.contexts else 1
    groups = (2,) if bound.apart else ()
    assert items.shape == (*groups, case.listed)
    assert edges.shape == (*groups, case.listed, width)
    for name, counts in zip(TABLES, (items, edges), strict=True):
        people = [columns_of(case.only(user), name) for user in case.everyone]
        per_item = 1 if name == "items" else width
        if name == "edges" or case.counting == "records" or bound.unit > 1:
            _check_total(counts, people, bound, per_item, case.counting)
        # a tie between contexts cannot be told from outside
        if bound.unit > 1 and all(len(choices) == 1 for choices in people):
            _check_weights(counts.ravel(), [columns for (columns,) in people], bound, per_item, case.counting)
    if case.counting == "records":
        assert np.array_equal(edges.sum(axis=-1), items), "edges do not sum to items"
        return
    if bound.apart:  # a user can have few items and many pairs
        items, edges = items.sum(axis=0), edges.sum(axis=0)
    assert (edges.max(axis=1) <= items).all(), "an item has fewer users than one of its edges"
    if bound.unit == 1:
        assert (items <= edges.sum(axis=1)).all(), "an item has more users than kept pairs"


def _check_total(
    counts: NDArray[np.int64],
    people: list[list[list[int]]],
    bound: CountBound,
    per_item: int,
    counting: Counting,
) -> None:
    """Of users whose context cannot be told, any one may have been chosen; by lot, nobody may be in."""
    groups = 2 if bound.apart else 1
    nothing = (0,) * groups
    totals = {nothing}
    for choices in people:
        own = set()
        for columns in choices:
            size = _size(columns, bound.norm, per_item, counting)
            added = min(size, bound.limit) if bound.unit == 1 else sum(_weights(columns, size, bound))
            group = int(bound.apart and size > bound.limit)
            own.add(tuple(added if group == at else 0 for at in range(groups)))
        if bound.admission < ALL_USERS:
            own = {*(own if bound.admission > 0 else ()), nothing}
        totals = {tuple(np.add(total, mine).tolist()) for total in totals for mine in own}
    total = tuple(counts.reshape(groups, -1).sum(axis=1).tolist())
    assert total in totals, "kept too many records, or too few"


def _check_weights(
    counts: NDArray[np.int64], everyone: list[list[int]], bound: CountBound, per_item: int, counting: Counting
) -> None:
    expected = Counter[int]()
    for columns in everyone:
        size = _size(columns, bound.norm, per_item, counting)
        above = counts.size // 2 if bound.apart and size > bound.limit else 0
        for column, weight in zip(columns, _weights(columns, size, bound), strict=True):
            expected[above + column] += weight
    assert counts.tolist() == [expected[place] for place in range(counts.size)], "not the weights of the records"


def _size(columns: list[int], norm: Norm, per_item: int, counting: Counting) -> int:
    """Return how much one user has: so many records, or squares of such numbers of each item."""
    if norm == "l1" or counting == "users":
        return len(columns)
    return sum(many**2 for many in Counter(column // per_item for column in columns).values())


def _weights(columns: list[int], size: int, bound: CountBound) -> list[int]:
    if size <= bound.limit:
        return [bound.unit] * len(columns)
    if bound.norm == "l2":  # u · √(l / n) is √(u² · l · n) / n
        return [math.isqrt(bound.unit**2 * bound.limit * size) // size] * len(columns)
    return [math.floor(Fraction(bound.unit * bound.limit, size))] * len(columns)


def _check_activity(activity: Bounded, sizes: list[int], most: int) -> None:
    expected = Counter(min(size, most) for size in sizes if size > 0)
    assert activity.sensitive_values.tolist() == [expected[n] for n in range(1, most + 1)], (
        "not the users' records"
    )


def _check_shares(shares: Bounded, everyone: list[list[int]], sizes: list[int], bound: ClassProfile) -> None:
    """Each class has a share of each user, and stands where the user does: between two powers of two, on average.

    Both are cut down to whole units, so that a user's size times the share comes out short by two units a class.
    """
    values = shares.sensitive_values
    assert values.shape == (PROFILE_SIZES.size, bound.number)
    exact, short = [Fraction(0)] * bound.number, [Fraction(0)] * bound.number
    places, people = {0}, [Fraction(0)] * bound.number
    for columns, size in zip(everyone, sizes, strict=True):
        if size <= bound.above:
            continue
        stand = min(size, bound.most)
        power = stand.bit_length() - 1
        places |= {power, power + (stand > 2**power)}
        for kind, many in Counter(bound.classes[columns].tolist()).items():
            people[kind] += Fraction(FIXED_POINT * many, size)
            exact[kind] += Fraction(FIXED_POINT * many * stand, size)
            short[kind] += 2 * stand
    shared_sums = values.sum(axis=0).tolist()
    assert all(0 <= expected_sum - two < 5 for expected_sum, two in zip(people, shared_sums, strict=True)), (
        "not the shares of people"
    )
    assert not np.delete(values, sorted(places), axis=0).any(), "a user is where nobody stands"
    weighed = (PROFILE_SIZES @ values).tolist()
    assert all(0 <= a - b <= c for a, b, c in zip(exact, weighed, short, strict=True)), "not at the users' sizes"


def _check_rows(engine: Engine, log: EventLog, table: CountTable, most: int, secret: bytes) -> None:
    """Rows are what a sample keeps, and as many users have so many of them as the activity says."""
    most = _most_of(log, table, most)
    rows = engine.measure(log, RecordCap(table, most), secret)
    sample = SampleRecords(most if log.counting == "records" else max(most, log.cells))
    kept = getattr(engine.measure(log, sample, secret), table).sensitive_values.ravel()
    assert (rows.width, rows.most) == (kept.size, most)
    assert rows.columns.dtype == np.int32
    assert np.bincount(rows.columns, minlength=kept.size).tolist() == kept.tolist(), "not what a sample keeps"
    users = np.zeros(most, dtype=np.int64)
    users[rows.sums - 1] = np.diff(rows.starts) // rows.sums
    assert users.tolist() == engine.measure(log, ActivityHistogram(table, most), secret).sensitive_values.tolist()
    assert (np.diff(rows.sums) > 0).all(), "sums do not rise"
    assert (users[rows.sums - 1] * rows.sums).tolist() == np.diff(rows.starts).tolist(), "rows are cut off"


def _check_sparse(engine: Engine, log: EventLog, table: CountTable, secret: bytes) -> None:
    """Sparse counts are the counts of people of whom everything is kept, without the zeros."""
    sparse = engine.measure(log, UsersPerColumn(table), secret)
    people = log if log.counting == "users" else replace(log, counting="users")
    dense = getattr(engine.measure(people, SampleRecords(10**6), secret), table).sensitive_values.ravel()
    there = np.flatnonzero(dense)
    assert _sparsely(sparse) == [dense.size, there.tolist(), dense[there].tolist()], "not the counts of people"


def check_equals_reference(engine: Engine) -> None:
    """The same as the reference, draw for draw: on small logs of every kind, and on larger ones."""
    reference = _AsAble(engine)

    @given(cases(), st.data(), tables, mosts, secrets)
    def small(case: Case, data: st.DataObject, table: CountTable, most: int, secret: bytes) -> None:
        log, bound = case.log(), data.draw(bounds(case))
        mine, its = (_everything(tested, log, bound, table, most, secret) for tested in (engine, reference))
        assert mine == its, "not the reference's choice"
        bound = data.draw(bounds(case))  # the second stage of a method counts the same log again
        mine, its = (_counted(tested, log, bound, secret) for tested in (engine, reference))
        assert mine == its, "not the reference's choice, the second time"

    small()
    for seed, log in enumerate(larger_logs()):
        generator = np.random.default_rng(seed)
        secret = generator.bytes(16)
        ties = Noisy(generator.integers(0, 5, len(log.catalogue.ids)), LAW)
        sample = SampleRecords(10**6 if seed == 0 else 2)
        kinds: list[CountBound] = [
            sample,
            KeepTopScored(3, ties),
            WeightToThreshold(4),
            SampleUsers(3, ALL_USERS // 3),
        ]
        kinds.append(WeightToThreshold(3, apart=True))
        kinds.append(WeightToThreshold(2, apart=True, among=ItemSubset(generator.permutation(35)[:12])))
        kinds.append(WeightToThreshold(3, norm="l2"))
        pairs = list(itertools.combinations(kinds, 2))
        first_bound, two = pairs[seed % len(pairs)]
        table, most = TABLES[seed % 3 % 2], (5, 50)[seed % 5 % 2]
        mine, its = (_everything(tested, log, first_bound, table, most, secret) for tested in (engine, reference))
        assert mine == its, "not the reference's choice"
        mine, its = (_counted(tested, log, two, secret) for tested in (engine, reference))
        assert mine == its, "not the reference's choice"


def larger_logs() -> Iterator[EventLog]:
    """Logs with hundreds of rows, a few very active users, and every mode."""
    modes = itertools.product(("records", "users"), ("record", "user"), (False, True), ("text", "number"))
    for seed, (counting, context_of, times, kind) in enumerate(modes):
        generator = np.random.default_rng(seed)
        size = 200
        people = (150 * generator.random(size) ** 3).astype(np.int64)
        users = pa.array([f"user {n}" for n in people] if kind == "text" else people * 1_000_003)
        table = {
            "user": users,
            "item": pa.array((40 * generator.random(size) ** 2).astype(np.int64)),
            "context": pa.array(generator.choice(["AM", "PM", "night"], size)),
            "times": pa.array(generator.integers(0, 4, size)),
        }
        yield EventLog(
            source=TableSource(pa.table(table)),
            roles=Roles("user", "item", "times" if times else None),
            catalogue=Catalogue.of(range(35)),
            context=Context(("context",), (CONTEXTS,)),
            counting=counting,  # type: ignore[arg-type]
            context_of=context_of,  # type: ignore[arg-type]
        )


# Layout: the order of rows, and how they are cut into chunks, batches and files.


def check_layout_has_no_effect(engine: Engine) -> None:
    """Row order, chunks, batches, text layout, row groups and files change nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(_layout_cases()):
            secret = np.random.default_rng(number).bytes(16)
            kinds = [
                WeightToThreshold(2),
                case.bound(2, None),
                case.bound(2, (1, 0, 1, 0)),
                SampleUsers(2, ALL_USERS // 2),
            ]
            kinds.append(WeightToThreshold(3, apart=True))
            kinds.append(WeightToThreshold(2, norm="l2", apart=True))
            arguments = kinds[number % len(kinds)], TABLES[number % 3 % 2], 1 + number % 5, secret
            expected = _everything(engine, case.log(), *arguments)
            for name, source in _layouts(case, Path(folder) / str(number)):
                measured = _everything(engine, case.log(source), *arguments)
                assert measured == expected, f"layout matters: {name}"
            for rows in (1, 3):
                with batches_of(rows):
                    assert _everything(engine, case.log(), *arguments) == expected, "batches matter"


def _layout_cases() -> Iterator[Case]:
    modes = itertools.product(sorted(USERS), ((False, "record"), (True, "record"), (True, "user")))
    for seed, (users, (contexts, context_of)) in enumerate(modes):
        generator = np.random.default_rng(seed)
        rows = tuple(
            (int(user), int(item), context, int(times))
            for user, item, context, times in zip(
                generator.choice((0, 2, 3, 4), 24),
                generator.integers(0, 5, 24),
                generator.choice(np.array([*CONTEXTS, "night", None], dtype=object), 24),
                generator.integers(0, 3, 24),
                strict=True,
            )
        )
        yield Case(
            rows=rows,
            users=users,
            items=("text", "number")[seed % 2],
            listed=4,
            contexts=contexts,
            counting="users" if seed // 2 % 2 else "records",
            context_of=context_of,  # type: ignore[arg-type]
            times=seed % 3 == 0,
        )


def _layouts(case: Case, folder: Path) -> Iterator[tuple[str, Source]]:
    folder.mkdir()
    table = case.table()
    backwards = table.take(list(reversed(range(table.num_rows))))
    yield "rows reversed", TableSource(backwards)
    shuffled = np.random.default_rng(1).permutation(table.num_rows)
    yield "rows shuffled", TableSource(table.take(pa.array(shuffled)))
    pieces = [table.slice(0, 5), table.slice(5, 0), table.slice(5, 1), table.slice(6)]
    yield "chunks", TableSource(pa.concat_tables(pieces))
    fields = [(f.name, pa.large_string() if pa.types.is_string(f.type) else f.type) for f in table.schema]
    yield "large text", TableSource(table.cast(pa.schema(fields)))
    columns = {
        n: table[n].dictionary_encode() if table[n].type == pa.string() else table[n] for n in table.column_names
    }
    yield "dictionary text", TableSource(pa.table(columns))
    pq.write_table(table, folder / "one.parquet", row_group_size=4)
    yield "Parquet, small row groups", open_source(folder / "one.parquet")
    for number, piece in enumerate([backwards.slice(0, 9), backwards.slice(9, 1), backwards.slice(10)]):
        pq.write_table(piece, folder / f"part-{number}.parquet")
    yield "three Parquet files", open_source([folder / f"part-{number}.parquet" for number in (2, 0, 1)])
    pa_feather.write_feather(table, folder / "one.arrow", chunksize=7)
    yield "an Arrow file", open_source(folder / "one.arrow")
    if case.users == case.items == "text":
        pa_csv.write_csv(backwards, folder / "one.csv")
        yield "a CSV file", open_source(folder / "one.csv")


@contextmanager
def batches_of(rows: int) -> Iterator[None]:
    """Let every reader cut its batches after some rows, and threads share them however few there are."""
    short = [mock.patch.object(module, "BATCH_ROWS", rows) for module in (formats, readers)]
    shared = [mock.patch.object(module, "FEW_ROWS", 0) for module in (passes, record_store)]
    with ExitStack() as patches:
        for patch in (*short, *shared):
            patches.enter_context(patch)
        yield


# The law of the choice: many users with the same history, each on items of their own, so that the counts show
# what every one of them kept.


def check_law_of_the_choice(engine: Engine, replicas: int = 4_000) -> None:
    """What users keep follows the exact law: uniform over their records, equal ones told apart, by score or lot.

    First every user has items of their own, which shows all that each one kept: chi-square against the enumerated
    law. Then all share the same items: every count is a sum of independent choices with known mean and variance.
    False-alarm rate ``laws.LEVEL`` a test (and the secrets are fixed).
    """
    for seed, (name, history) in enumerate(HISTORIES.items()):
        secret, law = np.random.default_rng(seed).bytes(16), history.distribution()
        p = fits(Counter(replicated(engine, history, secret, replicas)), law)
        assert p > LEVEL, f"{name}: not the law of the choice (p = {p:.3g})"
        (shared,) = replicated(engine, history, secret, replicas, shared=True)
        outcomes, weights = np.array(list(law)), np.array(list(law.values()))
        mean = weights @ outcomes
        deviation = np.sqrt(replicas * np.maximum(weights @ outcomes**2 - mean**2, 0))
        errors = np.abs(np.array(shared) - replicas * mean)
        assert (errors <= stats.norm.isf(LEVEL / 2) * deviation + 1e-6).all(), (
            f"{name}: not the law, on shared items"
        )
    _check_lots(engine, replicas)


def _check_lots(engine: Engine, replicas: int) -> None:
    """Each user is taken with the declared probability, whoever else is: an exact test, and one of pairs."""
    history = HISTORIES["some users by lot"]
    for admission, everyone in ((0, False), (1, False), (ALL_USERS - 1, True), (ALL_USERS, True)):
        every = replicated(engine, replace(history, admission=admission), bytes(16), replicas)
        assert set(every) == {outcome(history.records * everyone, 1)}, f"admission {admission}"
    taken = np.array([sum(kept) for kept in replicated(engine, history, bytes(16), replicas)])
    p = binomial(int(taken.sum()), replicas, 0.25)
    assert p > LEVEL, f"took {taken.sum()} of {replicas} users (p = {p:.3g})"
    chances = {0: 0.75, 1: 0.25}
    pairs = {(first, two): chances[first] * chances[two] for first, two in itertools.product(chances, repeat=2)}
    for name, lots in (("id", taken), ("appearance", taken[row_order(history, replicas)])):
        p = fits(Counter(zip(lots[::2].tolist(), lots[1::2].tolist(), strict=True)), pairs)
        assert p > LEVEL, f"neighbours by {name} are not taken independently (p = {p:.3g})"


def check_secrets_matter(engine: Engine, secrets_tried: int = 200) -> None:
    """Over many secrets a rare record among nine equal ones is kept in one run of ten, and a user taken by lot.

    Exact two-sided binomial tests, false-alarm rate ``laws.LEVEL``; with a fixed secret nothing changes.
    """
    rare, lot = HISTORIES["a rare record among equal ones"], HISTORIES["some users by lot"]
    for history, wanted, chance in ((rare, (1, 0), 0.1), (lot, (0, 0), 0.25)):
        generator = np.random.default_rng(7)
        hit = outcome((wanted,), history.items)
        kept = [replicated(engine, history, generator.bytes(16), 1)[0] == hit for _ in range(secrets_tried)]
        p = binomial(sum(kept), secrets_tried, chance)
        assert p > LEVEL, f"kept in {sum(kept)} of {secrets_tried} runs (p = {p:.3g})"
        again = {tuple(replicated(engine, history, bytes(16), 20)) for _ in range(3)}
        assert len(again) == 1, "the same secret gave different choices"


class Torn(TableSource):
    """A table whose last rows cannot be read."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        yield from list(super().batches(columns))[:-1]
        raise DataError("torn", remedy="write it again")


def check_forgets_a_failed_read(engine: Engine) -> None:
    """A log that was refused half-way is refused again, and never counted as far as it was read."""
    case = Case(rows=tuple((n % 5, n % 3, None, 1) for n in range(20)))
    table = case.table()
    bounds: tuple[Bound[Any], ...] = (
        SampleRecords(2),
        WeightToThreshold(2),
        ActivityHistogram("items", 3),
        RecordCap("items", 3),
        UsersPerColumn("items"),
        ClassProfile("items", np.arange(3)),
    )
    with batches_of(4):
        for bound in bounds:
            if not engine.can(type(bound)):
                continue
            log = case.log(Torn(table))
            for _ in range(2):
                try:
                    engine.measure(log, bound, bytes(16))
                except DataError:
                    continue
                raise AssertionError("half a log was counted")
            # the same log, whole, is counted as if nothing had happened
            mended = replace(log, source=TableSource(table))
            expected = _everything(_AsAble(engine), mended, SampleRecords(2), "items", 3, bytes(16))
            assert _everything(engine, mended, SampleRecords(2), "items", 3, bytes(16)) == expected


def check_empty_log(engine: Engine) -> None:
    """A log without rows, or without a row that counts, gives zeros over the whole catalogue, and no rows."""
    nobody = Case(rows=(), contexts=True)
    strangers = Case(rows=((0, 4, None, 1), (2, 4, "AM", 1)), contexts=True)
    for case in (nobody, strangers, replace(nobody, users="wide"), replace(nobody, context_of="user", times=True)):
        log = case.log()
        for bound in (
            SampleRecords(3),
            WeightToThreshold(3),
            SampleUsers(3, ALL_USERS // 2),
            WeightToThreshold(3, apart=True),
        ):
            items, edges = _values(engine.measure(log, bound, bytes(16)))
            if bound.apart:
                assert (items.shape, edges.shape) == ((2, 3), (2, 3, 3))
                items, edges = items.sum(axis=0), edges.sum(axis=0)
            assert items.tolist() == [0, 0, 0]
            assert edges.tolist() == [[0, 0, 0]] * 3
        for table, width in zip(TABLES, (3, 9), strict=True):
            assert engine.measure(log, ActivityHistogram(table, 4), bytes(16)).sensitive_values.tolist() == [0] * 4
            if engine.can(ClassProfile):
                shares = engine.measure(log, ClassProfile(table, np.arange(width) % 2), bytes(16))
                assert shares.shape == (PROFILE_SIZES.size, 2)
                assert not shares.sensitive_values.any()
            if engine.can(TopItemCounts):
                assert not any(
                    measured.sensitive_values.any()
                    for measured in _measured_refinements(engine, log, 2, bytes(16))
                )
            if engine.can(RecordCap):
                rows = engine.measure(log, RecordCap(table, 4), bytes(16))
                assert (rows.sums.tolist(), rows.starts.tolist(), rows.columns.tolist()) == ([], [0], [])
                assert (rows.width, rows.most) == (width, 4)
            if engine.can(UsersPerColumn):
                assert _sparsely(engine.measure(log, UsersPerColumn(table), bytes(16))) == [width, [], []]


CHECKS = (
    check_sensitivity,
    check_keeps_all_it_may,
    check_equals_reference,
    check_layout_has_no_effect,
    check_law_of_the_choice,
    check_secrets_matter,
    check_forgets_a_failed_read,
    check_empty_log,
)
