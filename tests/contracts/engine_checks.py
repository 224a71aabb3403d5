"""What every engine must keep: each check runs on any engine, and raises AssertionError on a broken one."""

from __future__ import annotations

import itertools
import tempfile
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
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

from headcount.bounding import Bound, Bounded, BoundedCounts, Noisy, Pick, Sample
from headcount.engines.engine import Engine
from headcount.engines.reference import ReferenceEngine
from headcount.errors import DataError
from headcount.events import formats, readers
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog, Roles
from headcount.events.readers import Source, TableSource, open_source
from tests.cases import CONTEXTS, LAW, USERS, Case, bounds, cases, secrets
from tests.laws import LEVEL, binomial, fits, law_of

Arrays = tuple[NDArray[np.int64], NDArray[np.int64]]


def _values(counts: BoundedCounts) -> Arrays:
    return counts.items.sensitive_values, counts.edges.sensitive_values


def _same(one: Arrays, other: Arrays) -> bool:
    return all(np.array_equal(mine, its) for mine, its in zip(one, other, strict=True))


def check_sensitivity(engine: Engine) -> None:
    """Removing any user takes away exactly what that user alone would add, within the declared distances.

    Exhaustive over the users of each log, under one secret: nobody else's choice may change.
    """

    @given(cases(), st.data(), secrets)
    def exhaustive(case: Case, data: st.DataObject, secret: bytes) -> None:
        bound = data.draw(bounds(case))
        whole = engine.count(case.log(), bound, secret)
        for user in case.everyone:
            rest = engine.count(case.without(user).log(), bound, secret)
            own = engine.count(case.only(user).log(), bound, secret)
            for table in ("items", "edges"):
                _check_step(getattr(whole, table), getattr(rest, table), getattr(own, table), bound)

    exhaustive()


def _check_step(whole: Bounded, rest: Bounded, own: Bounded, bound: Bound) -> None:
    step = whole.sensitive_values - rest.sensitive_values
    assert np.array_equal(step, own.sensitive_values), "another user's choice changed"
    assert (step >= 0).all(), "a count went down when a user joined"
    reach = whole.sensitivity
    assert reach.l1 == bound.limit, "the declared L1 distance is not the limit"
    assert step.sum() <= reach.l1, "L1"
    assert (step**2).sum() <= reach.l2_squared, "L2"
    assert step.max(initial=0) <= reach.linf, "L∞"


def check_keeps_all_it_may(engine: Engine) -> None:
    """A user keeps min(limit, what counts) records: neither more nor fewer; and record edges sum to items."""

    @given(cases(), st.data(), secrets)
    def full(case: Case, data: st.DataObject, secret: bytes) -> None:
        bound = data.draw(bounds(case))
        items, edges = _values(engine.count(case.log(), bound, secret))
        width = len(CONTEXTS) + 1 if case.contexts else 1
        assert items.shape == (case.listed,)
        assert edges.shape == (case.listed, width)
        expected = 0
        for user in case.everyone:
            sizes = [len(eligible) for _, eligible in _eligible(case.only(user))]
            assert len(set(sizes)) <= 1 or case.context_of == "user"
            if len(set(sizes)) > 1:  # a tie between contexts of different sizes: cannot be told from outside
                return
            expected += min(bound.limit, sizes[0])
        assert edges.sum() == expected, "kept too many records, or too few"
        if case.counting == "records":
            assert np.array_equal(edges.sum(axis=1), items), "edges do not sum to items"
        else:
            assert (edges.max(axis=1) <= items).all(), "an item has fewer users than one of its edges"
            assert (items <= edges.sum(axis=1)).all(), "an item has more users than kept pairs"

    full()


def check_equals_reference(engine: Engine) -> None:
    """The same counts as the reference, draw for draw: on small logs of every kind, and on larger ones."""
    reference = ReferenceEngine()

    @given(cases(), st.data(), secrets)
    def small(case: Case, data: st.DataObject, secret: bytes) -> None:
        log = case.log()
        for _ in range(2):  # the second stage of a method counts the same log again
            bound = data.draw(bounds(case))
            mine = engine.count(log, bound, secret)
            its = reference.count(log, bound, secret)
            assert _same(_values(mine), _values(its)), "not the reference's choice"
            assert mine.items.sensitivity == its.items.sensitivity
            assert mine.edges.sensitivity == its.edges.sensitivity

    small()
    for seed, log in enumerate(larger_logs()):
        generator = np.random.default_rng(seed)
        secret = generator.bytes(16)
        ties = Noisy(generator.integers(0, 5, len(log.catalogue.ids)), LAW)
        for bound in (Sample(10**6 if seed == 0 else 2), Pick(3, ties)):
            mine, its = engine.count(log, bound, secret), reference.count(log, bound, secret)
            assert _same(_values(mine), _values(its)), "not the reference's choice"


def larger_logs() -> Iterator[EventLog]:
    """Logs with hundreds of records, a few very active users, and every mode."""
    modes = itertools.product(("records", "users"), ("record", "user"), (False, True), ("text", "number"))
    for seed, (counting, context_of, times, kind) in enumerate(modes):
        generator = np.random.default_rng(seed)
        size = 600
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
            bound = case.bound(2, None if number % 2 else (1, 0, 1, 0))
            expected = _values(engine.count(case.log(), bound, secret))
            for name, source in _layouts(case, Path(folder) / str(number)):
                found = _values(engine.count(case.log(source), bound, secret))
                assert _same(found, expected), f"layout matters: {name}"
            for rows in (1, 3):
                with batches_of(rows):
                    assert _same(_values(engine.count(case.log(), bound, secret)), expected), "batches matter"


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
    """Let every reader cut its batches after some rows."""
    with mock.patch.object(formats, "BATCH_ROWS", rows), mock.patch.object(readers, "BATCH_ROWS", rows):
        yield


# The law of the choice: many users with the same history, each on items of their own, so that the counts show
# what every one of them kept.


@dataclass(frozen=True)
class History:
    """One user's records, as (item, context) with context 2 the unknown one, and what is asked of them."""

    records: tuple[tuple[int, int], ...]
    limit: int
    scores: tuple[int, ...] | None = None
    counting: Literal["records", "users"] = "records"
    context_of: Literal["record", "user"] = "record"
    times: bool = False

    @property
    def items(self) -> int:
        """How many items the history needs."""
        return 1 + max(item for item, _ in self.records)

    def law(self) -> dict[Hashable, float]:
        """Return the exact law of what is kept: counts per item and context."""
        return law_of(self._outcomes())

    def _outcomes(self) -> Iterator[tuple[Hashable, float]]:
        choices = _contexts_and_records(self.records, self.counting, self.context_of)
        for _, eligible in choices:
            kept = [()] if not eligible else _kept(eligible, self.limit, self.scores)
            for records in kept:
                yield _outcome(records, self.items), 1 / len(choices) / len(kept)


HISTORIES = {
    "distinct records": History(tuple((item, 0) for item in range(5)), limit=2),
    "a rare record among equal ones": History(((0, 0),) * 9 + ((1, 0),), limit=1),
    "repeats of three kinds": History(((0, 0),) * 3 + ((1, 1),) * 2 + ((2, 2),), limit=3),
    "repeats by a column of times": History(((0, 0),) * 4 + ((1, 0),) * 2 + ((1, 1),), limit=2, times=True),
    "users counted: pairs count once": History(
        ((0, 0),) * 5 + ((0, 1), (1, 0), (2, 0)), limit=2, counting="users"
    ),
    "one context, tied": History(((0, 0), (1, 0), (0, 1), (1, 1), (1, 2)), limit=1, context_of="user"),
    "one context, not tied": History(((0, 0), (1, 0), (0, 1)), limit=1, context_of="user"),
    "picked, ties at random": History(tuple((item, 0) for item in range(6)), limit=3, scores=(0, 5, 2, 2, 2, 0)),
    "picked, repeats tie": History(((0, 0),) * 4 + ((1, 0), (2, 1)), limit=2, scores=(3, 3, 1)),
    "picked, users counted": History(((0, 0),) * 3 + ((0, 1), (1, 0)), limit=2, scores=(1, 1), counting="users"),
}


def check_law_of_the_choice(engine: Engine, replicas: int = 4_000) -> None:
    """What users keep follows the exact law: uniform over their records, equal ones told apart; picks by score.

    First every user has items of their own, which shows all that each one kept: chi-square against the enumerated
    law. Then all share the same items: every count is a sum of independent choices with known mean and variance.
    False-alarm rate ``laws.LEVEL`` a test (and the secrets are fixed).
    """
    for seed, (name, history) in enumerate(HISTORIES.items()):
        secret, law = np.random.default_rng(seed).bytes(16), history.law()
        p = fits(Counter(_replicated(engine, history, secret, replicas)), law)
        assert p > LEVEL, f"{name}: not the law of the choice (p = {p:.3g})"
        (shared,) = _replicated(engine, history, secret, replicas, shared=True)
        outcomes, weights = np.array(list(law)), np.array(list(law.values()))
        mean = weights @ outcomes
        deviation = np.sqrt(replicas * np.maximum(weights @ outcomes**2 - mean**2, 0))
        off = np.abs(np.array(shared) - replicas * mean)
        assert (off <= stats.norm.isf(LEVEL / 2) * deviation + 1e-6).all(), f"{name}: not the law, on shared items"


def check_secrets_matter(engine: Engine, secrets_tried: int = 300) -> None:
    """Over many secrets a rare record among nine equal ones is kept by one user in one run of ten.

    Exact two-sided binomial test, false-alarm rate ``laws.LEVEL``; with a fixed secret nothing changes.
    """
    history = HISTORIES["a rare record among equal ones"]
    generator = np.random.default_rng(7)
    rare = _outcome(((1, 0),), history.items)
    kept = [_replicated(engine, history, generator.bytes(16), 1)[0] == rare for _ in range(secrets_tried)]
    p = binomial(sum(kept), secrets_tried, 0.1)
    assert p > LEVEL, f"kept the rare record in {sum(kept)} of {secrets_tried} runs (p = {p:.3g})"
    again = {tuple(_replicated(engine, history, bytes(16), 20)) for _ in range(3)}
    assert len(again) == 1, "the same secret gave different choices"


def _replicated(
    engine: Engine, history: History, secret: bytes, replicas: int, *, shared: bool = False
) -> list[Hashable]:
    """Count a log in which every user has this history, on items of their own; return what each one kept.

    If the items are shared, return the one count of all that was kept.
    """
    copies = 1 if shared else replicas
    order = np.random.default_rng(replicas).permutation(len(history.records) * replicas)
    users, records = np.divmod(order, len(history.records))
    items = (0 if shared else users * history.items) + np.array([item for item, _ in history.records])[records]
    names = np.array([*CONTEXTS, "night"], dtype=object)
    table = pa.table(
        {
            "user": pa.array([f"u{user}" for user in users]),
            "item": pa.array(items),
            "context": pa.array(names[np.array([context for _, context in history.records])[records]]),
        }
    )
    if history.times:
        table = table.group_by(table.column_names).aggregate([([], "count_all")])
    log = EventLog(
        source=TableSource(table),
        roles=Roles("user", "item", "count_all" if history.times else None),
        catalogue=Catalogue.of(range(history.items * copies)),
        context=Context(("context",), (CONTEXTS,)),
        counting=history.counting,
        context_of=history.context_of,
    )
    scores = None if history.scores is None else np.tile(np.array(history.scores), copies)
    bound: Bound = Sample(history.limit) if scores is None else Pick(history.limit, Noisy(scores, LAW))
    _, edges = _values(engine.count(log, bound, secret))
    each = edges.reshape(copies, history.items * (len(CONTEXTS) + 1))
    return [tuple(kept) for kept in each.tolist()]


def _eligible(case: Case) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return the records of a one-user case that may be kept, for each context that may be chosen."""
    places = {name: at for at, name in enumerate(CONTEXTS)} if case.contexts else {}
    records = [
        (item, places.get(context or "", len(places)))
        for _, item, context, times in case.rows
        if item < case.listed
        for _ in range(times if case.times else 1)
    ]
    return _contexts_and_records(records, case.counting, case.context_of, unknown=len(places))


def _contexts_and_records(
    records: Sequence[tuple[int, int]], counting: str, context_of: str, unknown: int = 2
) -> list[tuple[int, list[tuple[int, int]]]]:
    chosen: list[list[tuple[int, int]]] = [list(records)]
    if context_of == "user":
        tallies = Counter(context for _, context in records if context != unknown)
        best = [context for context in tallies if tallies[context] == max(tallies.values())] or [unknown]
        chosen = [[record for record in records if record[1] == context] for context in sorted(best)]
    if counting == "users":
        chosen = [sorted(set(each)) for each in chosen]
    return list(enumerate(chosen))


def _kept(
    eligible: list[tuple[int, int]], limit: int, scores: tuple[int, ...] | None
) -> list[tuple[tuple[int, int], ...]]:
    """Return the equally likely choices: the best scores whole, then all ways to fill up from the next."""
    sure: list[tuple[int, int]] = []
    groups: dict[int, list[tuple[int, int]]] = {}
    for record in eligible:
        groups.setdefault(0 if scores is None else scores[record[0]], []).append(record)
    for score in sorted(groups, reverse=True):
        if len(sure) + len(groups[score]) > limit:
            ways = itertools.combinations(groups[score], limit - len(sure))
            return [(*sure, *way) for way in ways]
        sure += groups[score]
    return [tuple(sure)]


def _outcome(records: Sequence[tuple[int, int]], items: int) -> tuple[int, ...]:
    counts = Counter(records)
    cells = itertools.product(range(items), range(len(CONTEXTS) + 1))
    return tuple(counts[cell] for cell in cells)


def check_forgets_a_failed_read(engine: Engine) -> None:
    """A log that was refused half-way is refused again, and never counted as far as it was read."""
    case = Case(rows=tuple((n % 5, n % 3, None, 1) for n in range(20)))
    user = case.table()["user"].to_pylist()
    table = case.table().set_column(0, "user", pa.array([*user[:-1], None]))
    with batches_of(4):
        log = case.log(TableSource(table))
        for _ in range(2):
            try:
                engine.count(log, Sample(2), bytes(16))
            except DataError:
                continue
            raise AssertionError("a log with a missing user id was counted")
        # another log, and the same one without the missing id, are counted as if nothing had happened
        mended = replace(log, drop_nulls=True)
        expected = ReferenceEngine().count(mended, Sample(2), bytes(16))
        assert _same(_values(engine.count(mended, Sample(2), bytes(16))), _values(expected))


def check_empty_log(engine: Engine) -> None:
    """A log without rows, or without a row that counts, gives zeros over the whole catalogue."""
    nobody = Case(rows=(), contexts=True)
    strangers = Case(rows=((0, 4, None, 1), (2, 4, "AM", 1)), contexts=True)
    for case in (nobody, strangers, replace(nobody, users="wide"), replace(nobody, context_of="user", times=True)):
        items, edges = _values(engine.count(case.log(), Sample(3), bytes(16)))
        assert items.tolist() == [0, 0, 0]
        assert edges.tolist() == [[0, 0, 0]] * 3


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
