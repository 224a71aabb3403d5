"""Hypothesis strategies for small logs: repeats, unlisted contexts, foreign items, text and integer ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.bounds import ALL_USERS, CountBound, KeepTopScored, Noisy, SampleRecords, WeightToThreshold
from headcount.bounds.counts.sample_records import SampleUsers
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import Source, TableSource

LAW = DiscreteLaplace.from_json({"scale": "1"})


def scale_of(law: NoiseDistribution) -> Fraction:
    """Return the scale of a law that must be Laplace's."""
    assert isinstance(law, DiscreteLaplace)
    return law.scale


USERS: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "text": (pa.string(), ("ann", "", "Zoë", "ann ", "u" * 300)),
    "small": (pa.int32(), (0, 1, 2, 7, 40, 41, 55, 60)),
    "wide": (pa.int64(), (-3, 0, 7, 2**40, -(2**63))),
    "unsigned": (pa.uint64(), (2**64 - 1, 2**64 - 2, 2**63, 2**63 + 1, 2**64 - 9)),
}
"""Kinds of user ids; the last one lies beyond the signed range, close together."""

ITEMS: dict[str, tuple[pa.DataType, tuple[Any, ...]]] = {
    "text": (pa.string(), ("tea", "rye", "oat", "fig", "kiwi")),
    "number": (pa.int64(), (5, -1, 3, 10**12, 4)),
}
CONTEXTS = ("AM", "PM")
ELSEWHERE = (None, "night", "am")

Row = tuple[int, int, str | None, int]  # user and item by their place in the lists above, context, times


@dataclass(frozen=True)
class Case:
    """A log that can be built again without a user, or with that user alone: same columns, same catalogue."""

    rows: tuple[Row, ...]
    users: str = "text"
    items: str = "text"
    listed: int = 3  # how many items the catalogue lists; rows may name others
    contexts: bool = False
    counting: Literal["records", "users"] = "records"
    context_of: Literal["record", "user"] = "record"
    times: bool = False

    def table(self) -> pa.Table:
        """The rows as an Arrow table; its types do not depend on the rows."""
        user_type, names = USERS[self.users]
        item_type, item_values = ITEMS[self.items]
        columns = {
            "user": pa.array([names[row[0]] for row in self.rows], user_type),
            "item": pa.array([item_values[row[1]] for row in self.rows], item_type),
        }
        if self.contexts:
            columns["context"] = pa.array([row[2] for row in self.rows], pa.string())
        if self.times:
            columns["times"] = pa.array([row[3] for row in self.rows], pa.int32())
        return pa.table(columns)

    def log(self, source: Source | None = None) -> EventLog:
        """The log, read from its own table or from another source of the same rows."""
        return EventLog(
            source=source or TableSource(self.table()),
            roles=Roles("user", "item", "times" if self.times else None),
            catalogue=Catalogue.of(ITEMS[self.items][1][: self.listed]),
            context=Context(("context",), (CONTEXTS,)) if self.contexts else None,
            counting=self.counting,
            context_of=self.context_of,
        )

    @property
    def everyone(self) -> list[int]:
        """The users who have a row."""
        return sorted({row[0] for row in self.rows})

    def without(self, user: int) -> Case:
        """The same log without one user's rows."""
        return replace(self, rows=tuple(row for row in self.rows if row[0] != user))

    def only(self, user: int) -> Case:
        """The same log with one user's rows alone."""
        return replace(self, rows=tuple(row for row in self.rows if row[0] == user))

    def bound(self, limit: int, scores: Sequence[int] | None) -> CountBound:
        """A sample, or a pick by the given scores."""
        if scores is None:
            return SampleRecords(limit)
        return KeepTopScored(limit, Noisy(np.array(scores[: self.listed], dtype=np.int64), LAW))


def bounds(case: Case) -> st.SearchStrategy[CountBound]:
    """Any bound that fits a case."""
    return st.one_of(_kinds(case))


def every_kind(case: Case) -> st.SearchStrategy[tuple[CountBound, ...]]:
    """One bound of each kind that fits a case."""
    return st.tuples(*_kinds(case))


def _kinds(case: Case) -> list[st.SearchStrategy[CountBound]]:
    """Samples, picks with ties, users by lot; weights and roots."""
    limits = st.sampled_from((1, 1, 2, 3))
    scores = st.lists(st.integers(-2, 2), min_size=case.listed, max_size=case.listed)
    lots = st.sampled_from((0, ALL_USERS // 3, ALL_USERS // 2, ALL_USERS - 1, ALL_USERS))
    return [
        st.builds(case.bound, limits, st.none()),
        st.builds(case.bound, limits, scores),
        st.builds(SampleUsers, limits, lots),
        st.builds(WeightToThreshold, limits, apart=st.booleans()),
        st.builds(WeightToThreshold, limits, norm=st.just("l2"), apart=st.booleans()),
    ]


@st.composite
def cases(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Case:
    """Draw a small log, with few users and items so that everything collides and most users exceed their limit."""
    context = draw(st.sampled_from((None, "record", "record", "user")))
    people = draw(st.integers(1, 5))
    rows = st.lists(
        st.tuples(
            st.integers(0, people - 1),
            st.sampled_from((0, 0, 1, 1, 2, 3, 4)),
            st.sampled_from((*CONTEXTS, *CONTEXTS, *ELSEWHERE)),
            st.integers(0, 3),
        ),
        min_size=draw(st.sampled_from((0, 3 * people, 5 * people))),
        max_size=5 * people,
    )
    return Case(
        rows=tuple(draw(rows)),
        users=draw(st.sampled_from(sorted(USERS))),
        items=draw(st.sampled_from(sorted(ITEMS))),
        listed=draw(st.integers(1, 4)),
        contexts=context is not None,
        counting=draw(st.sampled_from(("records", "users"))),
        context_of=context or "record",
        times=draw(st.booleans()),
    )


secrets = st.binary(min_size=16, max_size=16)
