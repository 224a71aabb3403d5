"""Audit settings of each method: parameters, adjacent logs, the visible part of ε, number of runs.

A method that is not listed is audited as its family's others are: see :mod:`headcount.lab.audit.targets`.

How much of ε an attacker can see at all depends on the method: what is spent on numbers that are not published
themselves shows only through what they lead to. ``visible`` says which part of ε the published numbers of a small
log carry, and ``reason`` why that is less than everything; an audit is sharp if its bound comes near that.
The parts of the adaptive method, of auto, quantiles, residuals and models but co-counts are not derived: they were
set after measuring. Those of fpa and selection are what the method spends on its counts, and may be more than can
be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from headcount.lab.audit import adjacent_logs
from headcount.lab.audit.adjacent_logs import Pair

Pairs = Callable[[int], Iterable[Pair]]
"""Makes neighbours for a limit on a person's records."""

_SAMPLE = "the other half is spent on a sample that is not published"
_TOTAL = "what is fitted carries the noise of the total as well, which has a twentieth of ε"

_SPREAD = (
    "some is spent on a total, or what a person adds is spread over several numbers: no answer shows it alone"
)


@dataclass(frozen=True)
class Case:
    """How one method is audited: ``more`` are pairs beside those of its family, ``only`` are in their place.

    ``copies`` says that the method treats every item and every person by themselves, but for what is the same in
    all copies of a pair, so that many copies may be run in one release. ``once`` says that Gaussian noise is for
    people who count once per item, ``one_by_one`` that queries are looked at one after the other. ``runs`` is for
    methods so slow that the usual number would take more than a minute. ``rates`` is for models of people and
    items: whether they need ratings.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    visible: Decimal = Decimal(1)
    reason: str = ""
    with_delta: tuple[Decimal, str] | None = None
    """What is visible with δ, and why, where that is something else."""
    more: Pairs | None = None
    only: Pairs | None = None
    copies: bool = False
    once: bool = False
    one_by_one: bool = False
    rates: bool = True
    runs: int | None = None

    def visible_at(self, delta: Decimal) -> tuple[Decimal, str]:
        """Return how much of ε can show, and why."""
        return self.with_delta if delta and self.with_delta is not None else (self.visible, self.reason)


CASES: Mapping[str, Case] = {
    "adaptive": Case(
        visible=Decimal("0.8"),
        reason="some is spent on the histogram, and a count has noise of a group that the person is not in, too",
        more=lambda limit: [adjacent_logs.crowded(limit)],
        once=True,
        runs=2_000,
    ),
    "lpa": Case(copies=True),
    "sra": Case(copies=True),
    "hpa": Case(
        visible=Decimal("0.7"),
        reason="the scores, which have nearly half, are not published, and show through what they choose alone",
        more=lambda limit: [adjacent_logs.swaying(limit)],
        copies=True,
    ),
    "lpa-published": Case(copies=True),
    "hpa-published": Case(more=lambda limit: [adjacent_logs.swaying(limit)], copies=True),
    "fpa": Case(visible=Decimal("0.9"), reason="the rest is spent on choosing the number of coefficients"),
    "gs-s": Case(visible=Decimal("0.5"), reason=_SAMPLE),
    "gs": Case(visible=Decimal("0.5"), reason=_SAMPLE),
    "top-k": Case(
        {"k": 1},
        visible=Decimal("0.84"),
        reason="of ten items that nobody else has, the person's is the first that much likelier",
        with_delta=(
            Decimal("0.35"),
            "a single pick loses at most √(8ρ), which is less than half of ε; δ is for many of them",
        ),
        more=lambda _: [Pair("a new item", "a person with the only record of ten items", 10, (), (0,))],
    ),
    "selection": Case(visible=Decimal("0.8"), reason="of items that few people have, hardly any is selected"),
    "quantiles": Case(
        {"quantiles": (500,), "shares": {"users": "0.01", "records": "0.01", "sum": "0.01", "quantiles": "0.97"}},
        visible=Decimal("0.4"),
        reason="no value is much likelier than all others are, so that a few thousand runs show less than half",
        only=adjacent_logs.measured,
    ),
    "private": Case(
        {"relations": True},
        visible=Decimal(0),
        reason="what a person adds is spread over all items they rated: a few thousand runs show nothing of it",
        runs=2_000,
    ),
    "visits": Case(
        visible=Decimal(0),
        reason="what a person adds is spread over ten items or more: a few thousand runs show nothing of it",
        only=lambda _: adjacent_logs.visitors(),
        rates=False,
        runs=2_000,
    ),
    "co-counts": Case(
        {"limit": 1, "items": adjacent_logs.PAIRED},
        visible=Decimal("0.9"),
        reason="the rest is spent on how many people have each item",
        only=lambda _: adjacent_logs.collectors(),
        rates=False,
    ),
    "pncf-published": Case(only=lambda _: (pair for pair in adjacent_logs.raters() if pair.items < 10)),
    "pncf-predictions-published": Case(
        {"by": "user", "asked": (("1", "3"),)},
        only=lambda _: (pair for pair in adjacent_logs.raters() if pair.items > 3),
    ),
    "tag-model": Case(
        visible=Decimal("0.55"),
        reason="of tags measured twice the average is published, and some is spent on the number of people",
    ),
    "pritop-published": Case({"topics": 2}),
    "auto": Case(
        visible=Decimal("0.6"),
        reason=_SPREAD,
        more=lambda limit: [adjacent_logs.crowded(limit), *adjacent_logs.scattered(limit)],
    ),
    "histogram": Case(more=lambda limit: [adjacent_logs.crowded(limit)]),
    "residuals": Case(
        visible=Decimal("0.25"),
        reason=_SPREAD,
        more=lambda limit: [adjacent_logs.crowded(limit), *adjacent_logs.scattered(limit)],
    ),
    "mwem": Case(visible=Decimal(0), reason=_TOTAL, more=lambda limit: [adjacent_logs.crowded(limit)]),
    "pairs": Case(
        visible=Decimal(0),
        reason="columns are made to sum to one total, and pairs are drawn towards what is expected of them",
        more=lambda limit: [adjacent_logs.crowded(limit), *adjacent_logs.scattered(limit)],
        runs=2_000,
    ),
    "pmw": Case(
        {"updates": 1},
        visible=Decimal(0),
        reason=_TOTAL,
        more=lambda limit: [adjacent_logs.crowded(limit), adjacent_logs.refuting()],
        one_by_one=True,
        runs=2_000,
    ),
    "cim-published": Case(
        more=lambda limit: [adjacent_logs.crowded(limit), adjacent_logs.refuting()], one_by_one=True
    ),
}


def case_of(name: str) -> Case:
    """Return what is special about a method; nothing is where it is not listed."""
    return CASES.get(name, Case())
