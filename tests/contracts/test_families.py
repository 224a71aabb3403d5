"""Every proven method that is not one of counts keeps what all must keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from headcount.api import request_of
from headcount.events.log import EventLog
from headcount.guarantee import Standing
from headcount.neighbours.private import PrivateNeighbours
from headcount.neighbours.related import CoCountRelease
from headcount.registry import FAMILIES
from headcount.request import NeighboursRequest, QueryRequest, TagsRequest
from headcount.tags.model import TagModel
from tests.contracts import family_checks
from tests.contracts.family_checks import Case
from tests.queries import town
from tests.tags import worlds

ITEMS = [f"i{n}" for n in range(70)]


def ratings(seed: int) -> EventLog:
    """Ratings of 40 people who each know some of 70 items."""
    rng = np.random.default_rng(seed)
    pairs = [(f"u{user}", item) for user in range(40) for item in rng.choice(ITEMS, 12, replace=False)]
    return EventLog.of(
        [(*pair, int(stars)) for pair, stars in zip(pairs, rng.integers(1, 6, len(pairs)), strict=True)],
        items=ITEMS,
        value_range=(1, 5),
    )


def visits(seed: int) -> EventLog:
    rng = np.random.default_rng(seed)
    return EventLog.of([(f"u{rng.integers(40)}", ITEMS[rng.integers(70)]) for _ in range(500)], items=ITEMS)


def rated(delta: str | None, **options: Any) -> Case:
    request = request_of(NeighboursRequest, epsilon="0.7", delta=delta, options=options)
    return Case(PrivateNeighbours(**options), ratings(1), ratings(2), request, delta)


def met(delta: str | None, **options: Any) -> Case:
    request = request_of(NeighboursRequest, epsilon="0.7", delta=delta, method="co-counts", options=options)
    return Case(CoCountRelease(**options), visits(1), visits(2), request, delta)


def queried(name: str, **options: Any) -> Case:
    words: dict[str, Any] = {"bins": town.BINS, "queries": town.STATEMENTS, "method": name, "options": options}
    request = request_of(QueryRequest, epsilon="0.7", **words)
    log, other = (town.log_of(town.table(300, seed=seed)) for seed in (1, 2))
    method = FAMILIES["queries"][name](asked=town.asked(), **options)  # type: ignore[call-arg]
    return Case(method, log, other, request)


def tagged(delta: str | None) -> Case:
    log, other = (worlds.log_of(worlds.crowd(200, seed)) for seed in (1, 2))
    return Case(TagModel(), log, other, request_of(TagsRequest, epsilon="0.7", delta=delta), delta)


CASES: Mapping[str, Callable[[], Case]] = {
    "private": lambda: rated("1e-6"),
    "private, pure": lambda: rated(None),
    "private with relations": lambda: rated("1e-6", relations=True),
    "private with relations, pure": lambda: rated(None, relations=True),
    "private without relations": lambda: rated("1e-6", relations=False),
    "co-counts": lambda: met("1e-6", items=20),
    "co-counts, pure": lambda: met(None, items=20),
    "tag-model": lambda: tagged("1e-6"),
    "tag-model, pure": lambda: tagged(None),
    "auto": lambda: queried("auto"),
    "histogram": lambda: queried("histogram"),
    "mwem": lambda: queried("mwem", rounds=2),
    "pmw": lambda: queried("pmw"),
}


def test_every_proven_method_has_a_case_here() -> None:
    proven = {
        name
        for family, methods in FAMILIES.items()
        for name, method in methods.items()
        if family != "counts" and method.standing is Standing.PROVEN
    }
    assert proven <= {name.split(",")[0].split(" with")[0] for name in CASES}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", family_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_contract(check: Callable[[Case], None], name: str) -> None:
    check(CASES[name]())
