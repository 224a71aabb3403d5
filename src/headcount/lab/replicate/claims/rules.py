"""Claim rules that compare values: order, factor, bound, range and equality.

Rules about the shape of a curve are in :mod:`headcount.lab.replicate.claims.curve_rules`, and the base of all
rules in :mod:`headcount.lab.replicate.claims.judge`. A rule's docstring is printed on the report.
"""

from __future__ import annotations

import inspect
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, model_validator

from headcount.lab.replicate.claims.curve_rules import FallsSlower, LowestAt, LowestEarlier, Trend, Valley
from headcount.lab.replicate.claims.judge import (
    Holds,
    Judged,
    Judgement,
    MethodByMethod,
    OfMetric,
    all_hold,
    clearly,
    format_methods,
    format_points,
    within,
)
from headcount.lab.replicate.results import Estimate, Key, Results, number


class Order(OfMetric):
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
        ours, others = (
            self.select_methods(results, dataset, table, methods) for methods in (self.methods, self.than)
        )
        sign = 1.0 if self.rule == "below" else -1.0
        outcomes: list[tuple[Holds, Key]] = []
        for key in next(iter(ours.values())):
            left, right = ([points[key] for points in side.values()] for side in (ours, others))
            if self.best:
                left, right = ([min(side, key=lambda estimate: sign * estimate.mean)] for side in (left, right))
            outcomes += [(clearly(a, b, sign, self.factor), key) for a in left for b in right]
        held = f" {number(self.factor)} times" if self.factor != 1 else ""
        text = f"{format_methods(ours)} against{held} {format_methods(others)}"
        return Judgement(all_hold(holds for holds, _ in outcomes), text)


class WithinFactor(OfMetric):
    """Each method must lie within the factor of each it is held against, above and below, at every point.

    So for whole intervals; it fails if two are clearly further apart, on either side.
    """

    rule: Literal["within factor"]
    than: Annotated[list[str], Field(min_length=1)]
    factor: Annotated[float, Field(gt=1.0)]

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare all pairs, on both sides."""
        ours, others = (
            self.select_methods(results, dataset, table, methods) for methods in (self.methods, self.than)
        )
        outcomes = [self._near(a[key], b[key]) for a in ours.values() for b in others.values() for key in a]
        text = (
            f"{format_methods(ours)} against {format_methods(others)} (within a factor of {number(self.factor)})"
        )
        return Judgement(all_hold(outcomes), text)

    def _near(self, a: Estimate, b: Estimate) -> Holds:
        if a.high <= self.factor * b.low and b.high <= self.factor * a.low:
            return True
        return False if a.low > self.factor * b.high or b.low > self.factor * a.high else None


class MetricOrder(MethodByMethod):
    """Of each method, one metric must lie clearly below the other."""

    rule: Literal["metric below"]
    than_metric: str

    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:  # noqa: ARG002
        """Compare the metric of edges with the other metric of items."""
        lower = self.select_points(results, dataset, "edges", method)
        upper = self.select_points(results, dataset, "items", method, self.than_metric)
        holds = all_hold(clearly(lower[key], upper[key], 1.0) for key in lower)
        return Judgement(holds, f"{format_points(lower)} against {format_points(upper)}")


class AgainstValue(OfMetric):
    """The whole interval of each method must lie on the right side of the value; on the wrong side it fails.

    With ``best`` this is asked of the best method alone.
    """

    rule: Literal["at least", "at most"]
    value: NonNegativeFloat
    best: bool = False

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Hold every interval against the value."""
        points_by_method = self.select_methods(results, dataset, table, self.methods)
        sign = 1.0 if self.rule == "at most" else -1.0
        fixed = Estimate.from_runs([self.value])
        outcomes: list[Holds] = []
        for key in next(iter(points_by_method.values())):
            there = [points[key] for points in points_by_method.values()]
            if self.best:
                there = [min(there, key=lambda estimate: sign * estimate.mean)]
            outcomes += [within(estimate, fixed, sign) for estimate in there]
        return Judgement(
            all_hold(outcomes), f"{format_methods(points_by_method)} ({self.rule} {number(self.value)})"
        )


class Between(OfMetric):
    """The whole interval of each method must lie between two values; it fails if it lies outside."""

    rule: Literal["between"]
    low: float
    high: float

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.low >= self.high:
            raise ValueError("low must be below high")
        return self

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Hold every interval against both values."""
        points_by_method = self.select_methods(results, dataset, table, self.methods)
        low, high = Estimate.from_runs([self.low]), Estimate.from_runs([self.high])
        outcomes = [
            all_hold([within(estimate, low, -1.0), within(estimate, high, 1.0)])
            for points in points_by_method.values()
            for estimate in points.values()
        ]
        text = f"{format_methods(points_by_method)} (between {number(self.low)} and {number(self.high)})"
        return Judgement(all_hold(outcomes), text)


class Drawn(MethodByMethod):
    """The paper shows one outcome: it must lie within the range of our runs, and fails if it does not."""

    rule: Literal["drawn"]
    value: float

    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look whether a single outcome is one that we could have had."""
        runs = [
            run
            for estimate in self.select_points(results, dataset, table, method).values()
            for run in estimate.runs
        ]
        text = f"{number(min(runs))} to {number(max(runs))}, on average {Estimate.from_runs(runs).shown}"
        return Judgement(min(runs) <= self.value <= max(runs), text)


class Equals(Judged):
    """The numbers must be exactly those of the paper: no chance is involved."""

    rule: Literal["equals"]
    metrics: Annotated[dict[str, float], Field(min_length=1)]

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare number by number."""
        outcomes: list[Holds] = []
        texts = []
        for metric, value in self.metrics.items():
            for method in self.methods:
                points = results.points(
                    experiment=self.experiment, dataset=dataset, table=table, metric=metric, method=method
                )
                [estimate] = points.values()
                outcomes.append(set(estimate.runs) == {value})
                texts.append(f"{metric} {estimate.mean:,.10g}")
        return Judgement(all_hold(outcomes), ", ".join(texts))


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
    | WithinFactor
    | MetricOrder
    | AgainstValue
    | Between
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
