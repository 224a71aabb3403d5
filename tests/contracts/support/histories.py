"""User histories and the exact distribution of the records that a bound keeps, in plain Python."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.bounds import ALL_USERS, CountBound, CountTable, KeepTopScored, Noisy, SampleRecords
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.engines.engine import Engine
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from tests.support.distributions import distribution_of
from tests.support.small_logs import CONTEXTS, LAW, Case

Record = tuple[int, int]  # item and context, by their places


@dataclass(frozen=True)
class History:
    """One user's records, as (item, context) with context 2 the unknown one, and what is asked of them."""

    records: tuple[Record, ...]
    limit: int
    scores: tuple[int, ...] | None = None
    counting: Literal["records", "users"] = "records"
    context_of: Literal["record", "user"] = "record"
    times: bool = False
    admission: int = ALL_USERS

    @property
    def items(self) -> int:
        """How many items the history needs."""
        return 1 + max(item for item, _ in self.records)

    def distribution(self) -> dict[Hashable, float]:
        """Return the exact law of what is kept: counts per item and context."""
        return distribution_of(self._outcomes())

    def _outcomes(self) -> Iterator[tuple[Hashable, float]]:
        taken = self.admission / ALL_USERS
        yield outcome((), self.items), 1 - taken
        choices = _choices(self.records, self.counting, self.context_of)
        for eligible in choices:
            kept = [()] if not eligible else _kept(eligible, self.limit, self.scores)
            for records in kept:
                yield outcome(records, self.items), taken / len(choices) / len(kept)


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
    "some users by lot": History(((0, 0),), limit=1, admission=ALL_USERS // 4),
    "some users by lot, a sample of each": History(
        tuple((item, 0) for item in range(4)), limit=2, admission=ALL_USERS // 4 * 3
    ),
    "some users by lot, one context, tied": History(
        ((0, 0), (1, 0), (0, 1), (1, 1)), limit=1, context_of="user", admission=ALL_USERS // 2
    ),
}


def replicated(
    engine: Engine, history: History, secret: bytes, replicas: int, *, shared: bool = False
) -> list[tuple[int, ...]]:
    """Count a log in which every user has this history, on items of their own; return what each one kept.

    If the items are shared, return the one count of all that was kept.
    """
    copies = 1 if shared else replicas
    users, records = np.divmod(row_order(history, replicas), len(history.records))
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
    bound: CountBound = SampleRecords(history.limit)
    if history.scores is not None:
        bound = KeepTopScored(history.limit, Noisy(np.tile(np.array(history.scores), copies), LAW))
    elif history.admission < ALL_USERS:
        bound = SampleUsers(history.limit, history.admission)
    edges = engine.measure(log, bound, secret).edges.sensitive_values
    rows = edges.reshape(copies, history.items * (len(CONTEXTS) + 1))
    return [tuple(kept) for kept in rows.tolist()]


def row_order(history: History, replicas: int) -> NDArray[np.int64]:
    """Return the order in which the rows of all users come."""
    return np.random.default_rng(replicas).permutation(len(history.records) * replicas)


def outcome(records: Sequence[Record], items: int) -> tuple[int, ...]:
    """Count what was kept per item and context, in one row."""
    counts = Counter(records)
    cells = itertools.product(range(items), range(len(CONTEXTS) + 1))
    return tuple(counts[cell] for cell in cells)


def columns_of(case: Case, table: CountTable) -> list[list[int]]:
    """Return the columns of a one-user case's records in a table, for each context that may be chosen."""
    places = {name: at for at, name in enumerate(CONTEXTS)} if case.contexts else {}
    records = [
        (item, places.get(context or "", len(places)))
        for _, item, context, times in case.rows
        if item < case.listed
        for _ in range(times if case.times else 1)
    ]
    columns = [
        [item if table == "items" else item * (len(places) + 1) + context for item, context in eligible]
        for eligible in _choices(records, case.counting, case.context_of, unknown=len(places))
    ]
    return [sorted(set(column)) for column in columns] if case.counting == "users" else columns


def _choices(
    records: Sequence[Record], counting: str, context_of: str, unknown: int = len(CONTEXTS)
) -> list[list[Record]]:
    """Return the records that may be kept, for each context that may be chosen."""
    chosen: list[list[Record]] = [list(records)]
    if context_of == "user":
        tallies = Counter(context for _, context in records if context != unknown)
        best = [context for context in tallies if tallies[context] == max(tallies.values())] or [unknown]
        chosen = [[record for record in records if record[1] == context] for context in sorted(best)]
    if counting == "users":
        chosen = [sorted(set(column)) for column in chosen]
    return chosen


def _kept(eligible: list[Record], limit: int, scores: tuple[int, ...] | None) -> list[tuple[Record, ...]]:
    """Return the equally likely choices: the best scores whole, then all ways to fill up from the next."""
    sure: list[Record] = []
    groups: dict[int, list[Record]] = {}
    for record in eligible:
        groups.setdefault(0 if scores is None else scores[record[0]], []).append(record)
    for score in sorted(groups, reverse=True):
        if len(sure) + len(groups[score]) > limit:
            ways = itertools.combinations(groups[score], limit - len(sure))
            return [(*sure, *choice) for choice in ways]
        sure += groups[score]
    return [tuple(sure)]
