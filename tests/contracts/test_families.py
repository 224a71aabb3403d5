"""Every proven method that is not one of counts keeps what all must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from headcount.accounting.guarantee import Standing
from headcount.events.log import EventLog
from headcount.methods.family import Reads, example_of
from headcount.methods.registry import FAMILIES, family_of
from headcount.methods.request import request_of
from tests.contracts.replay.defaults import words_for
from tests.contracts.support import family_checks
from tests.contracts.support.family_checks import Case
from tests.support import tag_logs, town

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


def people(seed: int) -> EventLog:
    return town.log_of(town.table(300, seed=seed))


def tagged(seed: int) -> EventLog:
    return tag_logs.log_of(tag_logs.crowd(200, seed))


LOGS: Mapping[Reads, Callable[[int], EventLog]] = {
    "events": visits, "ratings": ratings, "people": people, "tags": tagged,
}  # fmt: skip
UNRATED = ("co-counts", "visits")


def case_of(name: str, delta: str | None = None, **options: Any) -> Case:
    """Return a method with what its class says to try it with, and with more options, as it is asked for."""
    family = family_of(name)
    kind, asks = family.kind(name), family.request_kind()
    parameters = example_of(kind) | options
    own = words_for(family, name, parameters)
    if family.reads == "people":
        parameters |= {"table_queries": town.linear_queries()}
        own |= {"bins": town.BINS, "queries": town.STATEMENTS}
    log, other = (LOGS["events" if name in UNRATED else family.reads](seed) for seed in (1, 2))
    return Case(kind(**parameters), log, other, request_of(asks, epsilon="0.7", delta=delta, **own), delta)


def every_case() -> Iterator[tuple[str, Callable[[], Case]]]:
    """Yield every proven method that is not one of counts, pure and with δ where it has a use for it."""
    for family in FAMILIES.values():
        for name, kind in family.kinds().items():
            if family.name != "counts" and kind.standing is Standing.PROVEN:
                yield name, partial(case_of, name)
                if family.delta == "proven" or getattr(kind, "takes_delta", False):
                    yield f"{name} with δ", partial(case_of, name, "1e-6")
    for relations in (True, False):
        for delta in ("1e-6", None):
            words = f"private, relations {relations}, δ {delta}"
            yield words, partial(case_of, "private", delta, relations=relations)
    yield "private, fitted anew", partial(case_of, "private", "1e-6", relations=True, refine=True)
    for delta in ("1e-6", None):
        yield f"top-k with counts, δ {delta}", partial(case_of, "top-k", delta, with_counts=True)
    yield "long top-k with δ", partial(case_of, "top-k", "1e-6", k=12)


CASES = dict(every_case())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("check", family_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_contract(check: Callable[[Case], None], name: str) -> None:
    check(CASES[name]())
