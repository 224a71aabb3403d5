"""What cannot be drawn is refused in the plan: no public parameter lets a release fail once events are read.

Every proven method, over the smallest and the largest ε, and δ: either the plan refuses it, or it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import headcount as hc
from headcount.accounting.guarantee import Standing
from headcount.errors import HeadcountError, UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.family import needed_by
from headcount.methods.queries.request import QueryRequest
from headcount.methods.rankings.request import RankRequest
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.registry import FAMILIES
from headcount.methods.request import ChargedRequest, request_of
from headcount.methods.tags.request import TagsRequest
from headcount.run.curator import Curator
from tests.contracts.test_families import case_of
from tests.run.test_query_session import unreadable
from tests.support import tag_logs, town

EPSILONS = ("1e-9", "4e-9", "1e-7", "1e-6", "5e-6", "1e-5", "2e-5", "5e-5", "2e-4", "1e-3", "0.1", "1e4", "1e6")
DELTAS = ("1e-15", "1e-6", "0.5")
ITEMS = [f"i{place}" for place in range(12)]


def visits(items: Any = ITEMS, **more: Any) -> EventLog:
    rng = np.random.default_rng(1)
    rows = [(f"u{rng.integers(60)}", f"i{rng.integers(12)}", "ab"[rng.integers(2)]) for _ in range(300)]
    return EventLog.of(rows, items=items, contexts=["a", "b"], **more)


def stars() -> EventLog:
    rng = np.random.default_rng(1)
    listed = [f"i{place}" for place in range(70)]
    rows = [(f"u{n}", item, int(rng.integers(1, 6))) for n in range(60) for item in rng.choice(listed, 6, False)]
    return EventLog.of(rows, items=listed, value_range=(1, 5))


def people() -> EventLog:
    return town.log_of(town.table(400))


def one_table(log: EventLog) -> EventLog:
    return replace(log, context=None)


Case = tuple[type[ChargedRequest], dict[str, Any], Callable[[], EventLog], bool]


def query_case(name: str, **options: Any) -> Case:
    words = {"bins": town.BINS, "queries": town.STATEMENTS, "method": name, "options": options}
    return QueryRequest, words, people, False


def counted(name: str) -> Case:
    needs = "limit" in needed_by(FAMILIES["counts"].kind(name))
    return ReleaseRequest, {"method": name} | ({"limit": 3} if needs else {"what": "items"}), visits, False


def plain(name: str) -> Case:
    """Return a method as the contracts of all families ask for it."""
    case = case_of(name)
    words = case.request.model_dump(exclude_unset=True, exclude={"epsilon", "delta"})
    return type(case.request), words, lambda: case.log, False


OWN = ("totals", "rankings", "queries", "tags", "neighbours")
"""Families of which cases are written down here."""

CASES: Mapping[str, Case] = {
    **{
        name: counted(name)
        for name, kind in FAMILIES["counts"].kinds().items()
        if kind.standing is Standing.PROVEN
    },
    **{
        name: plain(name)
        for family in FAMILIES.values()
        for name in family.methods
        if family.name not in ("counts", *OWN)
    },
    "fpa of many": (ReleaseRequest, {"method": "fpa", "limit": 10**6}, visits, False),
    "sra, gaussian": (ReleaseRequest, {"method": "sra", "limit": 3, "noise": "gaussian"}, visits, True),
    "by default": (ReleaseRequest, {}, visits, False),
    "adaptive, gaussian": (ReleaseRequest, {"noise": "gaussian"}, lambda: visits(counting="users"), True),
    "totals": (ReleaseRequest, {"what": "totals", "limit": 10}, stars, False),
    "top-k": (RankRequest, {"k": 3}, visits, False),
    "rank with counts": (RankRequest, {"k": 12, "with_counts": True}, visits, False),
    "rank per context": (RankRequest, {"k": 9, "per_context": True, "with_counts": True}, visits, False),
    "selected": (ReleaseRequest, {}, lambda: visits(None), True),
    "selected, gaussian": (ReleaseRequest, {"noise": "gaussian"}, lambda: visits(None, counting="users"), True),
    "selected, dpsense": (ReleaseRequest, {"method": "dpsense"}, lambda: visits(None), True),
    "selected, rank": (RankRequest, {"k": 5, "with_counts": True}, lambda: visits(None), True),
    "private": (RecommenderRequest, {}, stars, False),
    "private, with δ": (RecommenderRequest, {}, stars, True),
    "private, related": (RecommenderRequest, {"options": {"relations": True}}, stars, False),
    "private, related, with δ": (RecommenderRequest, {"options": {"relations": True}}, stars, True),
    "private, fitted anew": (RecommenderRequest, {"options": {"relations": True, "refine": True}}, stars, True),
    "visits": (RecommenderRequest, {}, visits, False),
    "visits, with δ": (RecommenderRequest, {}, visits, True),
    "co-counts": (RecommenderRequest, {"method": "co-counts"}, lambda: one_table(visits()), False),
    "co-counts, with δ": (RecommenderRequest, {"method": "co-counts"}, lambda: one_table(visits()), True),
    **{
        f"co-counts, {sampling}{', with δ' if delta else ''}": (
            RecommenderRequest,
            {"method": "co-counts", "options": {"sampling": sampling}},
            lambda: one_table(visits()),
            delta,
        )
        for sampling in ("sra", "hpa")
        for delta in (False, True)
    },
    "tag-model": (TagsRequest, {}, lambda: tag_logs.log_of(tag_logs.crowd(50)), False),
    "tag-model, with δ": (TagsRequest, {}, lambda: tag_logs.log_of(tag_logs.crowd(50)), True),
    "pairs": query_case("pairs"),
    "pairs, with δ": (*query_case("pairs")[:3], True),
    "auto": query_case("auto"),
    "histogram": query_case("histogram"),
    "histogram, consistent": query_case("histogram", consistent=True),
    "residuals": query_case("residuals"),
    "residuals, consistent": query_case("residuals", consistent=True),
    **{
        f"{name}, {options}, with δ": (*query_case(name, **options)[:3], True)
        for name in ("auto", "histogram", "residuals")
        for options in ({}, {"consistent": True})
        if name != "auto" or not options
    },
    "mwem": query_case("mwem"),
    "mwem, rounds": query_case("mwem", rounds=20),
    "pmw": query_case("pmw"),
    "pmw, updates": query_case("pmw", updates=50),
}  # fmt: skip


def test_every_proven_method_is_here() -> None:
    proven = {
        name
        for family in FAMILIES.values()
        for name, kind in family.kinds().items()
        if kind.standing is Standing.PROVEN
    }
    assert proven <= {name.split(",")[0].split(" ")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_what_a_plan_allows_can_be_released(name: str) -> None:
    kind, words, log_of, with_delta = CASES[name]
    log, curator, ran = log_of(), Curator(), 0
    for epsilon in EPSILONS:
        for delta in DELTAS if with_delta else (None,):
            request = request_of(kind, epsilon=epsilon, delta=delta, **words)
            try:
                ready = curator.prepare(request, log)
                curator.plan(ready).to_json()
            except HeadcountError:
                continue
            curator.run(ready)
            ran += 1
    assert ran >= 2


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-8", "1e-7", "1e-6"])
def test_a_session_that_cannot_be_drawn_is_refused_before_anything_is_read(epsilon: str) -> None:
    shares = {"total": "0.997", "start": "0.001", "tests": "0.001", "answers": "0.001"}
    with pytest.raises(UsageError, match="more than can be drawn"):
        hc.QuerySession(unreadable(), epsilon=epsilon, bins=town.BINS, shares=shares, max_records=9)
