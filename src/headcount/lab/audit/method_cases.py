"""Audit settings of each method: parameters, adjacent logs, the visible part of ε, number of runs.

A method that is not listed is audited as its family's others are: see :mod:`headcount.lab.audit.target_registry`.

How much of ε an attacker can see at all depends on the method: what is spent on numbers that are not published
themselves shows only through what they lead to. ``visible`` says which part of ε the published numbers of a small
log carry, and ``reason`` why that is less than everything; an audit is sharp if its bound comes near that.
The parts of the adaptive method, of auto, quantiles, residuals and models but co-counts are not derived: they were
set after measuring. Those of fpa and selection are what the method spends on its counts, and may be more than can
be seen.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from importlib import resources
from typing import Any

from headcount.lab.audit import adjacent_logs
from headcount.lab.audit.adjacent_logs import Pair

Pairs = Callable[[int], Iterable[Pair]]
"""Makes neighbours for a limit on a person's records."""

_PAIRS: Mapping[str, Pairs] = {
    "collectors": lambda _: adjacent_logs.collectors(),
    "crowded": lambda limit: [adjacent_logs.crowded(limit)],
    "measured": adjacent_logs.measured,
    "new_item": lambda _: [Pair("a new item", "a person with the only record of ten items", 10, (), (0,))],
    "raters_of_few_items": lambda _: (pair for pair in adjacent_logs.raters() if pair.items < 10),
    "raters_of_several_items": lambda _: (pair for pair in adjacent_logs.raters() if pair.items > 3),
    "refuting": lambda _: [adjacent_logs.refuting()],
    "scattered": adjacent_logs.scattered,
    "swaying": lambda limit: [adjacent_logs.swaying(limit)],
    "visitors": lambda _: adjacent_logs.visitors(),
}
"""Pairs by the names that method_cases.toml has for them."""


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


def parse_case(fields: Mapping[str, Any]) -> Case:
    """Read one table of method_cases.toml.

    >>> case = parse_case({"parameters": {"quantiles": [500]}, "visible": "0.4", "more": ["refuting"]})
    >>> case.parameters, case.visible, case.more is not None
    ({'quantiles': (500,)}, Decimal('0.4'), True)
    """
    parsed = dict(fields)
    if "parameters" in fields:
        parsed["parameters"] = {name: _frozen(value) for name, value in fields["parameters"].items()}
    if "visible" in fields:
        parsed["visible"] = Decimal(fields["visible"])
    if "with_delta" in fields:
        parsed["with_delta"] = Decimal(fields["with_delta"]["visible"]), fields["with_delta"]["reason"]
    for role in ("more", "only"):
        if role in fields:
            parsed[role] = _joined([_PAIRS[name] for name in fields[role]])
    return Case(**parsed)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _joined(makers: list[Pairs]) -> Pairs:
    return lambda limit: [pair for maker in makers for pair in maker(limit)]


_LIST = resources.files("headcount.lab.audit").joinpath("method_cases.toml").read_text(encoding="utf-8")
CASES: Mapping[str, Case] = {name: parse_case(fields) for name, fields in tomllib.loads(_LIST).items()}


def case_of(name: str) -> Case:
    """Return what is special about a method; nothing is where it is not listed."""
    return CASES.get(name, Case())
