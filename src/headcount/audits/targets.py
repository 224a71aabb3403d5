"""What can be audited by name: every registered method, direct rankings, item selection, totals and families.

How much of ε an attacker can see at all depends on the method: what is spent on numbers that are not published
themselves shows only through what they lead to. ``VISIBLE`` says which part of ε the published numbers of a small
log carry, and why it is less than everything where it is; an audit is sharp if its bound comes near that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

from headcount.audits.neighbours import Pair, crafted, swaying
from headcount.audits.observing import SELECT_LIMIT, Target
from headcount.audits.querying import ONE_BY_ONE, QUERYING, QueryTarget, refuting
from headcount.budget import Grant
from headcount.counts.totals import Totals
from headcount.errors import UnknownNameError, UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Standing
from headcount.method import Method
from headcount.noise import threshold_for
from headcount.rankings.top_k import DirectTopK
from headcount.registry import FAMILIES, METHODS, TAG_METHODS, build
from headcount.selection import Selection

OTHERS = ("top-k", "selection", "totals", "neighbours", "co-counts", *QUERYING)
"""What is audited beside the registered methods for counts."""

NAMES = (*METHODS, *OTHERS, *TAG_METHODS)

_TAG_PAIRS = ("at the limit", "of many items", "among busy people", "a tie")

DELTA = Decimal("1e-6")
"""What selection takes where no δ is given."""

VISIBLE: Mapping[str, tuple[Decimal, str]] = {
    "hpa": (Decimal("0.53"), "the scores, which have the rest, are not published"),
    "fpa": (Decimal("0.9"), "the rest is spent on choosing the number of coefficients"),
    "gs-s": (Decimal("0.5"), "the other half is spent on a sample that is not published"),
    "gs": (Decimal("0.5"), "the other half is spent on a sample that is not published"),
    "adaptive": (
        Decimal("0.8"),
        "some is spent on the histogram, and a count also carries noise of a group that the person is not in",
    ),
    "top-k": (Decimal("0.84"), "of ten items that nobody else has, the person's is the first that much likelier"),
    "selection": (Decimal("0.8"), "of items that few people have, hardly any is selected"),
    "totals": (Decimal(1), ""),
    "neighbours": (
        Decimal(0),
        "what a person adds is spread over all items they rated: a few thousand runs show nothing of it",
    ),
    "co-counts": (Decimal("0.9"), "the rest is spent on how many people have each item"),
    "tag-model": (
        Decimal("0.55"),
        "where tags are measured twice their average is published, and some is spent on the number of people",
    ),
    "mwem": (Decimal(0), "what is fitted carries the noise of the total as well, which has a twentieth of ε"),
    "pmw": (Decimal(0), "what is fitted carries the noise of the total as well, which has a twentieth of ε"),
}
"""Which part of ε shows in the published numbers of a small log, where that is not everything.

The shares of the adaptive method and of families but co-counts are not derived: they were set after measuring.
Those of fpa and selection are what the method spends on its counts, and may be more than can be seen.
"""


def target(name: str, limit: int, epsilon: Decimal, delta: Decimal = Decimal(0)) -> Target:
    """Return what a name stands for; with δ, methods that can have Gaussian noise do.

    >>> target("top-k", 2, Decimal(1)).parameters
    {'k': 1}
    """
    if name not in NAMES:
        raise UnknownNameError.among("method", name, NAMES)
    if name == "top-k":
        return Target(name, {"k": 1}, epsilon, make=_top_k)
    if name == "totals":
        return Target(name, {"limit": limit}, epsilon, make=_totals)
    if name == "neighbours":
        return Target("private", {"relations": False}, epsilon, delta, make=_neighbours, called=name, reads=rated)
    if name == "co-counts":
        return Target(name, {"limit": 1}, epsilon, delta, make=_neighbours)
    if name in TAG_METHODS:
        parameters = {"topics": 2} if name == "pritop-published" else {}
        return Target(name, parameters, epsilon, delta, contexts=True, make=_tags)
    if name == "selection":
        made = Target("sra", {"limit": limit}, epsilon, delta or DELTA, selects=True)
        return replace(made, called=name)
    if name in QUERYING:
        if delta:
            raise UsageError(f"method {name} has no gaussian noise, so it takes no delta", remedy="leave it out")
        return QueryTarget.named(name, limit, epsilon)
    made = Target.of(name, limit, epsilon, delta)
    if not delta:
        return made
    if "noise" not in METHODS[name].__dataclass_fields__:  # type: ignore[attr-defined]
        raise UsageError(f"method {name} has no gaussian noise, so it takes no delta", remedy="leave it out")
    weighs = name == "adaptive"  # and then Gaussian noise is for one record a cell
    return replace(made, parameters={**made.parameters, "noise": "gaussian"}, once=weighs)


def pairs_for(
    name: str, limit: int, epsilon: Decimal = Decimal(1), delta: Decimal = Decimal(0)
) -> tuple[Pair, ...]:
    """Return the neighbours that a target is attacked with.

    >>> [pair.name for pair in pairs_for("top-k", 1)][-1]
    'a new item'
    """
    more: tuple[Pair, ...] = ()
    if name in TAG_METHODS:  # how often a person gave the same tag to the same resource makes no difference
        return tuple(pair for pair in crafted(limit) if pair.name in _TAG_PAIRS)
    if name.startswith("hpa"):
        more = (swaying(limit),)
    if name in ("adaptive", *QUERYING):
        story = "a person among many with one record: counts so large that hardly anything is shrunk away"
        more = (Pair("in a crowd", story, 2, ((0,),) * 300, (0,) * limit),)
    if name in ONE_BY_ONE:
        more = (*more, refuting())
    if name == "top-k":
        more = (Pair("a new item", "a person with the only record of ten items", 10, (), (0,)),)
    if name == "selection":
        first, _ = Selection(limit=SELECT_LIMIT).split(Grant(epsilon, delta or DELTA))
        crowd = ((0,),) * threshold_for(SELECT_LIMIT, first).people
        more = (
            Pair("nearly selected", "a person without whom one is missing for an item", 2, crowd[1:], (0,)),
            Pair("surely selected", "a person who has what is selected anyway", 2, crowd * 2, (0,) * limit),
        )
    if name == "neighbours":
        return tuple(_raters())
    if name == "co-counts":
        return tuple(_collectors())
    return (*crafted(limit), *more)


def is_proven(name: str) -> bool:
    """Say whether the promise is proven, so that a violation would be a fault."""
    known = next((methods for methods in FAMILIES.values() if name in methods), None)
    return known is None or known[name].standing is Standing.PROVEN


def _raters() -> Iterator[Pair]:
    """Pairs for sums of ratings: a person at their limit, far above it, and among others."""
    yield Pair("rates one", "a person with a single rating", 2, ((1,),), (0,))
    yield Pair("rates some", "a person whose ratings just count in full", 6, (), tuple(range(6)))
    yield Pair("rates much", "a person whose ratings must be made smaller to count", 200, (), tuple(range(200)))
    yield Pair("among others", "a person who rates what all others do", 4, ((0, 1, 2),) * 5, (0, 1, 2, 3))


def _collectors() -> Iterator[Pair]:
    """Pairs for co-counts: a person with one pair of items, with many, and among others."""
    yield Pair("two items", "a person with one pair of items", 2, (), (0, 1))
    yield Pair("many items", "a person with far more pairs than count", 30, (), tuple(range(30)))
    yield Pair("among others", "a person who has what all others have", 4, ((0, 1, 2),) * 5, (0, 1))


@lru_cache(maxsize=64)
def rated(pair: Pair, present: bool) -> EventLog:
    """Return the log of a pair with ratings; the person's are far from their mean, 5 stars and 1 in turns."""
    records = pair.records(present=present)
    rows = [(user, item, 3 if user else 5 - 4 * (item % 2)) for user, item in records]
    return EventLog.of(rows, items=list(range(pair.items)), value_range=(1, 5))


def _neighbours(name: str, parameters: Mapping[str, Any]) -> Method:
    return build(name, parameters, "neighbours")


def _top_k(name: str, parameters: Mapping[str, Any]) -> Method:  # noqa: ARG001
    return DirectTopK(**parameters)


def _totals(name: str, parameters: Mapping[str, Any]) -> Method:  # noqa: ARG001
    return Totals(**parameters)


def _tags(name: str, parameters: Mapping[str, Any]) -> Method:
    return build(name, parameters, "tags")
