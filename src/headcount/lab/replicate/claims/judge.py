"""The base of all claim rules: selecting measured points, comparing intervals, and formatting findings.

All rules go by the 95 % intervals of the means over runs. *Clearly below* means that one interval ends before the
other begins. A case holds, fails, or stays open where intervals overlap; a rule about several methods or points
holds if it does for all of them, and fails if it does for one.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat

from headcount.lab.replicate.results import Estimate, Key, Points, Results, number

Holds = bool | None
"""True: it holds; False: it fails; None: the runs do not decide."""

_LISTED = 8  # numbers that are given one by one


@dataclass(frozen=True)
class Judgement:
    """What a rule saw in one case."""

    holds: Holds
    measured: str


class Judged(BaseModel, ABC):
    """What all rules need: which numbers to look at."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    testable: ClassVar[bool] = True

    rule: str
    experiment: str
    methods: Annotated[list[str], Field(min_length=1)]

    def statement(self) -> str:
        """Say how the rule judges."""
        return " ".join(inspect.cleandoc(type(self).__doc__ or "").replace("``", "").split())

    @abstractmethod
    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Look at one case."""


class OfMetric(Judged):
    """What looks at one metric, at all points or at some."""

    metric: str
    epsilon: list[PositiveFloat] = []
    x: list[float] = []

    def select_points(
        self, results: Results, dataset: str, table: str, method: str, metric: str | None = None
    ) -> Points:
        """Return the estimates of one method in one case."""
        return results.points(
            experiment=self.experiment,
            dataset=dataset,
            table=table,
            metric=metric or self.metric,
            method=method,
            epsilon=self.epsilon,
            x=self.x,
        )

    def select_methods(
        self, results: Results, dataset: str, table: str, methods: Sequence[str]
    ) -> dict[str, Points]:
        """Return the estimates of several methods in one case."""
        return {method: self.select_points(results, dataset, table, method) for method in methods}


class MethodByMethod(OfMetric):
    """What looks at each method alone."""

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Look at each method, and sum up."""
        judgements = [self.judge_method(results, dataset, table, method) for method in self.methods]
        text = "; ".join(
            f"{method} {judgement.measured}" for method, judgement in zip(self.methods, judgements, strict=True)
        )
        return Judgement(all_hold(judgement.holds for judgement in judgements), text)

    @abstractmethod
    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look at one method."""


def clearly(a: Estimate, b: Estimate, sign: float = 1.0, factor: float = 1.0) -> Holds:
    """Tell whether a lies clearly below factor × b (for sign -1: above), clearly not, or neither."""
    low, high = factor * b.low, factor * b.high
    if sign < 0:
        return True if a.low > high else False if a.high < low else _tied(a, b)
    return True if a.high < low else False if a.low > high else _tied(a, b)


def _tied(a: Estimate, b: Estimate) -> Holds:
    """Two points at the same place are not apart, and no more runs would part them."""
    return False if a.low == a.high == b.low == b.high else None


def within(a: Estimate, bound: Estimate, sign: float) -> Holds:
    """Tell whether an interval lies on the right side of a value, which belongs to it."""
    if sign < 0:
        return True if a.low >= bound.mean else False if a.high < bound.mean else None
    return True if a.high <= bound.mean else False if a.low > bound.mean else None


def all_hold(outcomes: Iterable[Holds]) -> Holds:
    """Sum up: one failure fails all, and what is open stays so.

    >>> all_hold([True, True]), all_hold([True, None]), all_hold([None, False])
    (True, None, False)
    """
    listed = list(outcomes)
    return False if False in listed else None if None in listed else True


def lowest_places(curve: Points) -> list[float]:
    """Return where a curve may have its lowest point: all that are not clearly above the lowest mean."""
    best = min(curve.values(), key=lambda estimate: estimate.mean)
    return [x for (_, x), estimate in curve.items() if x is not None and estimate.low <= best.high]


def format_places(places: Sequence[float]) -> str:
    """Say where something may be."""
    return number(places[0]) if len(places) == 1 else f"{number(min(places))} to {number(max(places))}"


def place_shown(point: tuple[Key, Estimate]) -> str:
    """Say where a number was found."""
    (_, x), estimate = point
    return f"at {number(x or 0)} with {estimate.shown}"


def format_points(points: Points) -> str:
    """Say where each number was found, or of many numbers which is the smallest and which the largest."""
    several = [len({key[place] for key in points}) > 1 for place in (0, 1)]

    def format_key(key: Key) -> str:
        at = [f"ε = {number(key[0])}"] if several[0] and key[0] is not None else []
        at += [number(key[1])] if several[1] and key[1] is not None else []
        return points[key].shown + (f" at {' and '.join(at)}" if at else "")

    if len(points) <= _LISTED:
        return ", ".join(map(format_key, points))
    order = sorted(points, key=lambda key: points[key].mean)
    return f"from {format_key(order[0])} to {format_key(order[-1])} ({len(points)} points)"


def format_methods(points_by_method: Mapping[str, Points]) -> str:
    """Say what was found of each method."""
    return ", ".join(f"{name} {format_points(points)}" for name, points in points_by_method.items())
