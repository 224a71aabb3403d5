"""What can be audited by name: every registered method; beside them direct rankings, item selection and totals.

A method that is registered is a name here by itself, audited as its family's others are: as counts of items, as a
model of ratings or of tags, or by its answers to queries. What is special about one of them stands in
:mod:`headcount.lab.audits.cases`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, cast

from headcount.budget import Grant
from headcount.counts.totals import Totals
from headcount.errors import UnknownNameError, UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Standing
from headcount.lab.audits.adjacent import Pair, crafted, raters
from headcount.lab.audits.cases import case_of
from headcount.lab.audits.observing import SELECT_LIMIT, Target
from headcount.lab.audits.querying import QueryTarget
from headcount.method import Method
from headcount.noise import threshold_for
from headcount.rankings.top_k import DirectTopK
from headcount.registry import FAMILIES, METHODS, build, family_of
from headcount.selection import Selection

DELTA = Decimal("1e-6")
"""What selection takes where no δ is given."""

COPIED_RUNS, RUNS = 200_000, 4_000
"""How many runs there are by default: where many copies are run in one release, and where not."""

_TAG_PAIRS = ("at the limit", "of many items", "among busy people", "a tie")


def target(name: str, limit: int, epsilon: Decimal, delta: Decimal = Decimal(0)) -> Target:
    """Return what a name stands for; with δ, methods that can have Gaussian noise do.

    >>> target("top-k", 2, Decimal(1)).parameters
    {'k': 1}
    """
    if name not in NAMES:
        raise UnknownNameError.among("method", name, NAMES)
    if delta and not _takes_delta(name):
        raise UsageError(f"method {name} has no gaussian noise, so it takes no delta", remedy="leave it out")
    makes = _BESIDE[name] if name in _BESIDE else FAMILY_TARGETS[family_of(name)]
    return makes(name, limit, epsilon, delta)


def pairs_for(
    name: str, limit: int, epsilon: Decimal = Decimal(1), delta: Decimal = Decimal(0)
) -> tuple[Pair, ...]:
    """Return the neighbours that a target is attacked with.

    >>> [pair.name for pair in pairs_for("top-k", 1)][-1]
    'a new item'
    """
    case = case_of(name)
    if case.only is not None:
        return tuple(case.only(limit))
    family = None if name in _BESIDE else family_of(name)
    pairs = _FAMILY_PAIRS[family](limit) if family in _FAMILY_PAIRS else crafted(limit)
    more = () if case.more is None else case.more(limit)
    return (*pairs, *more, *(_selected(limit, epsilon, delta) if name == "selection" else ()))


def runs_for(name: str, *, copies: bool) -> int:
    """Return how many runs of each log of the best pairs there are, where nobody says."""
    return COPIED_RUNS if copies else case_of(name).runs or RUNS


def is_proven(name: str) -> bool:
    """Say whether the promise is proven, so that a violation would be a fault."""
    return name in _BESIDE or FAMILIES[family_of(name)][name].standing is Standing.PROVEN


def reason_for(name: str) -> str | None:
    """Say why what is claimed does not hold, if it is merely claimed."""
    return None if name in _BESIDE else FAMILIES[family_of(name)][name].reason


def has_edges(name: str) -> bool:
    """Say whether item-by-context counts can be audited, too."""
    return name in METHODS


def _takes_delta(name: str) -> bool:
    """Say whether there is noise that δ pays for."""
    if name in _BESIDE:
        return name == "selection"
    family = family_of(name)
    if family == "counts":
        return "noise" in _fields(name)
    return family != "queries" and is_proven(name)


def _fields(name: str) -> set[str]:
    method = FAMILIES[family_of(name)][name]
    return {field.name for field in dataclasses.fields(cast("Any", method))}


def _counts(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    parameters: dict[str, Any] = {"limit": limit} if "limit" in _fields(name) else {}
    parameters |= {"noise": "gaussian"} if delta else {}
    once = bool(delta) and name == "adaptive"  # whose Gaussian noise is for one record a cell
    return Target(name, {**parameters, **case_of(name).parameters}, epsilon, delta, once=once,
                  copies=case_of(name).copies)  # fmt: skip


def _neighbours(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:  # noqa: ARG001 - limits are its own
    make = partial(build, family="neighbours")
    reads = rated if case_of(name).rates else None
    return Target(name, case_of(name).parameters, epsilon, delta, make=make, reads=reads)


def _tags(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:  # noqa: ARG001 - there is none
    make = partial(build, family="tags")
    return Target(name, case_of(name).parameters, epsilon, delta, contexts=True, make=make)


def _queries(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    make = partial(build, family="queries")
    return QueryTarget(name, case_of(name).parameters, epsilon, delta, make=make, limit=limit)


def _top_k(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:  # noqa: ARG001 - it has no limit
    return Target(name, case_of(name).parameters, epsilon, delta, make=_direct)


def _totals(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    return Target(name, {"limit": limit}, epsilon, delta, make=_total)


def _selection(name: str, limit: int, epsilon: Decimal, delta: Decimal) -> Target:
    return Target("sra", {"limit": limit}, epsilon, delta or DELTA, selects=True, called=name)


def _selected(limit: int, epsilon: Decimal, delta: Decimal) -> Iterator[Pair]:
    """Pairs around the number of people that lets an item be selected."""
    first, _ = Selection(limit=SELECT_LIMIT).split(Grant(epsilon, delta or DELTA))
    crowd = ((0,),) * threshold_for(SELECT_LIMIT, first).people
    yield Pair("nearly selected", "a person without whom one is missing for an item", 2, crowd[1:], (0,))
    yield Pair("surely selected", "a person who has what is selected anyway", 2, crowd * 2, (0,) * limit)


@lru_cache(maxsize=64)
def rated(pair: Pair, present: bool) -> EventLog:
    """Return the log of a pair with ratings; the person's are far from their mean, 5 stars and 1 in turns."""
    records = pair.records(present=present)
    rows = [(user, item, 3 if user else 5 - 4 * (item % 2)) for user, item in records]
    return EventLog.of(rows, items=list(range(pair.items)), value_range=(1, 5))


def _direct(name: str, parameters: Mapping[str, Any]) -> Method:  # noqa: ARG001
    return DirectTopK(**parameters)


def _total(name: str, parameters: Mapping[str, Any]) -> Method:  # noqa: ARG001
    return Totals(**parameters)


_Makes = Callable[[str, int, Decimal, Decimal], Target]

FAMILY_TARGETS: Mapping[str, _Makes] = {
    "counts": _counts,
    "neighbours": _neighbours,
    "tags": _tags,
    "queries": _queries,
}
"""How the methods of each registered family become targets."""

_FAMILY_PAIRS: Mapping[str | None, Callable[[int], tuple[Pair, ...]]] = {
    "neighbours": lambda _: tuple(raters()),
    # how often a person gave the same tag to the same resource makes no difference
    "tags": lambda limit: tuple(pair for pair in crafted(limit) if pair.name in _TAG_PAIRS),
}

_BESIDE: Mapping[str, _Makes] = {"top-k": _top_k, "selection": _selection, "totals": _totals}

BESIDE = tuple(_BESIDE)
"""What is audited beside the registered methods."""

NAMES = (*(name for methods in FAMILIES.values() for name in methods), *BESIDE)
