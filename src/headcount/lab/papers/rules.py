"""How claims are judged: each rule looks at one case, one data set and one table of counts, and says what it sees.

All rules go by the 95 % intervals of the means over runs. *Clearly below* means that one interval ends before the
other begins. A case holds, fails, or stays open where intervals overlap; a rule about several methods or points
holds if it does for all of them, and fails if it does for one.

The first paragraph of a rule's docstring is printed on the report.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat

from headcount.lab.papers.results import Estimate, Key, Points, Results, number

Holds = bool | None
"""True: it holds; False: it fails; None: the runs do not decide."""

_LISTED = 8  # numbers that are given one by one


@dataclass(frozen=True)
class Judgement:
    """What a rule saw in one case."""

    holds: Holds
    measured: str


class _Rule(BaseModel, ABC):
    """What all rules need: which numbers to look at."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    testable: ClassVar[bool] = True

    rule: str
    experiment: str
    methods: Annotated[list[str], Field(min_length=1)]

    def statement(self) -> str:
        """Say how the rule judges."""
        return " ".join(inspect.cleandoc(type(self).__doc__ or "").split("\n\n")[0].split())

    @abstractmethod
    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Look at one case."""


class _OfMetric(_Rule):
    metric: str
    epsilon: list[PositiveFloat] = []
    x: list[float] = []

    def found(self, results: Results, dataset: str, table: str, method: str, metric: str | None = None) -> Points:
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


class Order(_OfMetric):
    """Each method named first must lie clearly below (or above) each it is held against, at every point.

    With ``best`` the best of the first is held against the best of the others. ``factor`` multiplies the numbers
    that the methods are held against.
    """

    rule: Literal["below", "above"]
    than: Annotated[list[str], Field(min_length=1)]
    factor: PositiveFloat = 1.0
    best: bool = False

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare all pairs, or the best two."""
        ours = {each: self.found(results, dataset, table, each) for each in self.methods}
        others = {each: self.found(results, dataset, table, each) for each in self.than}
        sign = 1.0 if self.rule == "below" else -1.0
        outcomes: list[tuple[Holds, Key]] = []
        for key in next(iter(ours.values())):
            left, right = ([points[key] for points in side.values()] for side in (ours, others))
            if self.best:
                left, right = ([min(side, key=lambda each: sign * each.mean)] for side in (left, right))
            outcomes += [(_clearly(a, b, sign, self.factor), key) for a in left for b in right]
        held = f" {number(self.factor)} times" if self.factor != 1 else ""
        said = f"{_list(ours)} against{held} {_list(others)}"
        return Judgement(_all(holds for holds, _ in outcomes), said)


class _MethodByMethod(_OfMetric):
    """What looks at each method alone."""

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Look at each method, and sum up."""
        seen = [self.seen(results, dataset, table, method) for method in self.methods]
        said = "; ".join(f"{method} {each.measured}" for method, each in zip(self.methods, seen, strict=True))
        return Judgement(_all(each.holds for each in seen), said)

    @abstractmethod
    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look at one method."""


class MetricOrder(_MethodByMethod):
    """Of each method, one metric must lie clearly below the other."""

    rule: Literal["metric below"]
    than_metric: str

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:  # noqa: ARG002
        """Compare the metric of edges with the other metric of items."""
        lower = self.found(results, dataset, "edges", method)
        upper = self.found(results, dataset, "items", method, self.than_metric)
        holds = _all(_clearly(lower[key], upper[key], 1.0) for key in lower)
        return Judgement(holds, f"{_points(lower)} against {_points(upper)}")


class AgainstValue(_OfMetric):
    """The whole interval of each method must lie on the right side of the value; on the wrong side it fails.

    With ``best`` this is asked of the best method alone.
    """

    rule: Literal["at least", "at most"]
    value: NonNegativeFloat
    best: bool = False

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Hold every interval against the value."""
        found = {each: self.found(results, dataset, table, each) for each in self.methods}
        sign = 1.0 if self.rule == "at most" else -1.0
        fixed = Estimate.of([self.value])
        outcomes: list[Holds] = []
        for key in next(iter(found.values())):
            there = [points[key] for points in found.values()]
            if self.best:
                there = [min(there, key=lambda each: sign * each.mean)]
            outcomes += [_within(each, fixed, sign) for each in there]
        return Judgement(_all(outcomes), f"{_list(found)} ({self.rule} {number(self.value)})")


class Valley(_MethodByMethod):
    """A point between the ends must lie clearly below both; it fails if an end is clearly below all others."""

    rule: Literal["valley"]

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look at the shape of the curve."""
        curve = list(self.found(results, dataset, table, method).items())
        (first, last), inner = (curve[0][1], curve[-1][1]), [each for _, each in curve[1:-1]]
        lowest = min(curve, key=lambda each: each[1].mean)
        holds = None
        if any(_clearly(each, first) and _clearly(each, last) for each in inner):
            holds = True
        elif any(all(_clearly(end, each) for each in inner) for end in (first, last)):
            holds = False
        return Judgement(holds, f"from {first.shown} to {last.shown}, lowest {_at(lowest)}")


class LowestAt(_MethodByMethod):
    """The point must lie clearly below all others; it fails if another lies clearly below it."""

    rule: Literal["lowest at"]
    at: float

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Hold the point against all others of the curve."""
        curve = self.found(results, dataset, table, method)
        here = next(each for (_, x), each in curve.items() if x == self.at)
        others = [each for (_, x), each in curve.items() if x != self.at]
        holds = True if all(_clearly(here, each) for each in others) else None
        if any(_clearly(each, here) for each in others):
            holds = False
        lowest = min(curve.items(), key=lambda each: each[1].mean)
        return Judgement(holds, f"{here.shown} there, lowest {_at(lowest)}")


class LowestEarlier(_MethodByMethod):
    """One curve must have its lowest point clearly before the other: so for all points that may be the lowest."""

    rule: Literal["lowest earlier"]
    by: Literal["table", "epsilon"]
    earlier: str
    later: str

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Compare where two curves may have their lowest points."""
        first, second = (
            _lowest(self._curve(results, dataset, table, method, which)) for which in (self.earlier, self.later)
        )
        holds = True if max(first) < min(second) else False if min(first) >= max(second) else None
        said = f"lowest at {_choice(first)} ({self.earlier}) and {_choice(second)} ({self.later})"
        return Judgement(holds, said)

    def _curve(self, results: Results, dataset: str, table: str, method: str, which: str) -> Points:
        if self.by == "table":
            return self.found(results, dataset, which, method)
        found = self.found(results, dataset, table, method)
        return {key: each for key, each in found.items() if key[0] == float(which)}


class Trend(_MethodByMethod):
    """At the last point the metric must lie clearly below (falls) or above (rises) that at the first."""

    rule: Literal["falls", "rises"]

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Compare both ends of the curve."""
        curve = list(self.found(results, dataset, table, method).values())
        holds = _clearly(curve[-1], curve[0], 1.0 if self.rule == "falls" else -1.0)
        return Judgement(holds, f"from {curve[0].shown} to {curve[-1].shown}")


class FallsSlower(_OfMetric):
    """The fall from the first to the last point, run by run, must be clearly smaller than that of the others."""

    rule: Literal["falls slower"]
    than: Annotated[list[str], Field(min_length=1)]

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare by how much curves fall."""
        ours, others = (
            {each: self._fall(self.found(results, dataset, table, each)) for each in side}
            for side in (self.methods, self.than)
        )
        outcomes = [_clearly(a, b) for a in ours.values() for b in others.values()]
        said = "; ".join(f"{name} falls by {each.shown}" for name, each in (ours | others).items())
        return Judgement(_all(outcomes), said)

    @staticmethod
    def _fall(points: Points) -> Estimate:
        curve = list(points.values())
        return Estimate.of([first - last for first, last in zip(curve[0].runs, curve[-1].runs, strict=True)])


class Drawn(_MethodByMethod):
    """The paper shows one outcome: it must lie within the range of our runs, and fails if it does not."""

    rule: Literal["drawn"]
    value: float

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look whether a single outcome is one that we could have had."""
        runs = [run for each in self.found(results, dataset, table, method).values() for run in each.runs]
        said = f"{number(min(runs))} to {number(max(runs))}, on average {Estimate.of(runs).shown}"
        return Judgement(min(runs) <= self.value <= max(runs), said)


class Equals(_Rule):
    """The numbers must be exactly those of the paper: no chance is involved."""

    rule: Literal["equals"]
    metrics: Annotated[dict[str, float], Field(min_length=1)]

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare number by number."""
        outcomes: list[Holds] = []
        said = []
        for metric, value in self.metrics.items():
            for method in self.methods:
                points = results.points(
                    experiment=self.experiment, dataset=dataset, table=table, metric=metric, method=method
                )
                [found] = points.values()
                outcomes.append(set(found.runs) == {value})
                said.append(f"{metric} {found.mean:,.10g}")
        return Judgement(_all(outcomes), ", ".join(said))


class NotInTheText(BaseModel):
    """What we hold of the paper does not say what was found."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    testable: ClassVar[bool] = False

    rule: Literal["not in the text"]
    reason: str

    def statement(self) -> str:
        """Say why there is nothing to judge."""
        return inspect.cleandoc(type(self).__doc__ or "")


Rule = Annotated[
    Order
    | MetricOrder
    | AgainstValue
    | Valley
    | LowestAt
    | LowestEarlier
    | Trend
    | FallsSlower
    | Drawn
    | Equals
    | NotInTheText,
    Field(discriminator="rule"),
]


def _clearly(a: Estimate, b: Estimate, sign: float = 1.0, factor: float = 1.0) -> Holds:
    """Tell whether a lies clearly below factor × b (for sign -1: above), clearly not, or neither."""
    low, high = factor * b.low, factor * b.high
    if sign < 0:
        return True if a.low > high else False if a.high < low else _tied(a, b)
    return True if a.high < low else False if a.low > high else _tied(a, b)


def _tied(a: Estimate, b: Estimate) -> Holds:
    """Two points at the same place are not apart, and no more runs would part them."""
    return False if a.low == a.high == b.low == b.high else None


def _within(a: Estimate, bound: Estimate, sign: float) -> Holds:
    """Tell whether an interval lies on the right side of a value, which belongs to it."""
    if sign < 0:
        return True if a.low >= bound.mean else False if a.high < bound.mean else None
    return True if a.high <= bound.mean else False if a.low > bound.mean else None


def _all(outcomes: Iterable[Holds]) -> Holds:
    """Sum up: one failure fails all, and what is open stays so.

    >>> _all([True, True]), _all([True, None]), _all([None, False])
    (True, None, False)
    """
    listed = list(outcomes)
    return False if False in listed else None if None in listed else True


def _lowest(curve: Points) -> list[float]:
    """Return where a curve may have its lowest point: all that are not clearly above the lowest mean."""
    best = min(curve.values(), key=lambda each: each.mean)
    return [x for (_, x), each in curve.items() if x is not None and each.low <= best.high]


def _choice(places: Sequence[float]) -> str:
    return number(places[0]) if len(places) == 1 else f"{number(min(places))} to {number(max(places))}"


def _at(point: tuple[Key, Estimate]) -> str:
    (_, x), estimate = point
    return f"at {number(x or 0)} with {estimate.shown}"


def _points(points: Points) -> str:
    """Say where each number was found, or of many numbers which is the smallest and which the largest."""
    several = [len({key[place] for key in points}) > 1 for place in (0, 1)]

    def said(key: Key) -> str:
        at = [f"ε = {number(key[0])}"] if several[0] and key[0] is not None else []
        at += [number(key[1])] if several[1] and key[1] is not None else []
        return points[key].shown + (f" at {' and '.join(at)}" if at else "")

    if len(points) <= _LISTED:
        return ", ".join(map(said, points))
    order = sorted(points, key=lambda key: points[key].mean)
    return f"from {said(order[0])} to {said(order[-1])} ({len(points)} points)"


def _list(found: dict[str, Points]) -> str:
    return ", ".join(f"{name} {_points(points)}" for name, points in found.items())
