"""Claim rules about the shape of a curve: its minimum, trend and slope."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from headcount.lab.replicate.claims.judge import (
    Holds,
    Judgement,
    MethodByMethod,
    OfMetric,
    all_hold,
    clearly,
    format_places,
    lowest_places,
    place_shown,
)
from headcount.lab.replicate.results import ROUNDING, Estimate, MissingResultError, Points, Results, number

_FEWEST = 2  # points that a trend takes
_Point = tuple[float, Estimate]


class Valley(MethodByMethod):
    """A point between the ends must lie clearly below both; it fails if an end is clearly below all others.

    Where the claim says between which points the lowest is, all that may be the lowest must be there, and it fails
    if none of them is.
    """

    rule: Literal["valley"]
    between: tuple[float, float] | None = None

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.between is not None and self.between[0] > self.between[1]:
            raise ValueError("between goes from the smaller to the larger")
        return self

    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look at the shape of the curve."""
        points = self.select_points(results, dataset, table, method)
        curve = list(points.items())
        (first, last), inner = (curve[0][1], curve[-1][1]), [point for _, point in curve[1:-1]]
        lowest = min(curve, key=lambda point: point[1].mean)
        holds: Holds = None
        if any(clearly(point, first) and clearly(point, last) for point in inner):
            holds = True
        elif any(all(clearly(end, point) for point in inner) for end in (first, last)):
            holds = False
        holds = all_hold([holds, self._there(lowest_places(points))])
        return Judgement(holds, f"from {first.shown} to {last.shown}, lowest {place_shown(lowest)}")

    def _there(self, places: Sequence[float]) -> Holds:
        """Tell whether the lowest point is where it should be."""
        if self.between is None:
            return True
        low, high = self.between
        inside = [low <= place <= high for place in places]
        return True if all(inside) else None if any(inside) else False


class LowestAt(MethodByMethod):
    """The point must lie clearly below all others; it fails if another lies clearly below it."""

    rule: Literal["lowest at"]
    at: float

    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Hold the point against all others of the curve."""
        curve = self.select_points(results, dataset, table, method)
        here = next(point for (_, x), point in curve.items() if x == self.at)
        others = [point for (_, x), point in curve.items() if x != self.at]
        holds = True if all(clearly(here, point) for point in others) else None
        if any(clearly(point, here) for point in others):
            holds = False
        lowest = min(curve.items(), key=lambda point: point[1].mean)
        return Judgement(holds, f"{here.shown} there, lowest {place_shown(lowest)}")


class LowestEarlier(MethodByMethod):
    """One curve must have its lowest point clearly before the other: so for all points that may be the lowest."""

    rule: Literal["lowest earlier"]
    by: Literal["table", "epsilon"]
    earlier: str
    later: str

    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Compare where two curves may have their lowest points."""
        first, second = (
            lowest_places(self._curve(results, dataset, table, method, which))
            for which in (self.earlier, self.later)
        )
        holds = True if max(first) < min(second) else False if min(first) >= max(second) else None
        text = f"lowest at {format_places(first)} ({self.earlier}) and {format_places(second)} ({self.later})"
        return Judgement(holds, text)

    def _curve(self, results: Results, dataset: str, table: str, method: str, which: str) -> Points:
        if self.by == "table":
            return self.select_points(results, dataset, which, method)
        points = self.select_points(results, dataset, table, method)
        return {key: estimate for key, estimate in points.items() if key[0] == float(which)}


class Trend(MethodByMethod):
    """The line through all points must clearly fall (or rise), and no point clearly go back behind an earlier one.

    It fails if one does, or if the line clearly goes the other way, or nowhere in any run. The line is fitted to
    each run by least squares over the points in their order; its fall has a 95 % interval over the runs.
    """

    rule: Literal["falls", "rises"]

    def judge_method(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look at the whole curve."""
        curve = _curve(self.select_points(results, dataset, table, method))
        ends, sign = list(curve.values()), 1.0 if self.rule == "falls" else -1.0
        rise = _rise(ends)
        text = f"from {ends[0].shown} to {ends[-1].shown}, {_line(rise)}"
        back = _step_back(curve, sign)
        if back is None:
            return Judgement(clearly(rise, _NOTHING, sign), text)
        earlier, later = (f"{estimate.shown} at {number(place)}" for place, estimate in back)
        return Judgement(False, f"{text}, but {later} after {earlier}")


class FallsSlower(OfMetric):
    """The line through all points must fall by clearly less than the others'; it fails if one clearly rises.

    The line is fitted to each run by least squares over the points in their order.
    """

    rule: Literal["falls slower"]
    than: Annotated[list[str], Field(min_length=1)]

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare by how much curves fall."""
        ours, others = (
            {
                name: _rise(list(_curve(points).values()))
                for name, points in self.select_methods(results, dataset, table, methods).items()
            }
            for methods in (self.methods, self.than)
        )
        outcomes = [clearly(a, b, -1.0) for a in ours.values() for b in others.values()]
        if any(clearly(estimate, _NOTHING, -1.0) for estimate in (ours | others).values()):
            outcomes.append(False)
        text = "; ".join(f"{name}: {_line(estimate)}" for name, estimate in (ours | others).items())
        return Judgement(all_hold(outcomes), text)


_NOTHING = Estimate.from_runs([0.0])


def _curve(points: Points) -> dict[float, Estimate]:
    """Return a curve by its axis, which is ε or x, whichever has several values."""
    axes = [len({key[axis] for key in points}) for axis in (0, 1)]
    if min(axes) > 1:
        raise MissingResultError("a curve goes along ε or x, and this one along both: name those of one")
    if max(axes) < _FEWEST:
        raise MissingResultError("a trend takes two points at least, and there is one")
    along = axes.index(max(axes))
    return {key[along] or 0.0: estimate for key, estimate in points.items()}


def _rise(curve: Sequence[Estimate]) -> Estimate:
    """Return by how much the line through the points of each run rises from the first to the last.

    >>> _rise([Estimate.from_runs(runs) for runs in ([3.0, 4.0], [1.0, 2.0], [2.0, 3.0])]).mean
    -1.0
    """
    runs = np.array([estimate.runs for estimate in curve])
    place = np.arange(len(curve)) - (len(curve) - 1) / 2
    rises = (len(curve) - 1) * (place @ (runs - runs[0])) / (place @ place)
    rises[np.abs(rises) <= ROUNDING * np.abs(runs).max()] = 0.0
    return Estimate.from_runs(rises.tolist())


def _step_back(curve: Mapping[float, Estimate], sign: float) -> tuple[_Point, _Point] | None:
    """Return the widest step the wrong way that is clear, if there is one."""
    wrong = [(a, b) for a, b in combinations(curve.items(), 2) if clearly(b[1], a[1], -sign)]
    return max(wrong, key=lambda pair: abs(pair[1][1].mean - pair[0][1].mean), default=None)


def _line(rise: Estimate) -> str:
    if not any(rise.runs):
        return "the line through all points is level"
    fall = Estimate.from_runs([-run for run in rise.runs])
    return f"the line through all points {f'rises by {rise.shown}' if rise.mean > 0 else f'falls by {fall.shown}'}"
