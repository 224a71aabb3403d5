"""Rules about the shape of a curve: where it is lowest, and which way it goes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from headcount.lab.papers.judging import (
    Judgement,
    MethodByMethod,
    OfMetric,
    all_hold,
    clearly,
    lowest_places,
    place_shown,
    places_shown,
)
from headcount.lab.papers.results import Estimate, Points, Results


class Valley(MethodByMethod):
    """A point between the ends must lie clearly below both; it fails if an end is clearly below all others."""

    rule: Literal["valley"]

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Look at the shape of the curve."""
        curve = list(self.found(results, dataset, table, method).items())
        (first, last), inner = (curve[0][1], curve[-1][1]), [each for _, each in curve[1:-1]]
        lowest = min(curve, key=lambda each: each[1].mean)
        holds = None
        if any(clearly(each, first) and clearly(each, last) for each in inner):
            holds = True
        elif any(all(clearly(end, each) for each in inner) for end in (first, last)):
            holds = False
        return Judgement(holds, f"from {first.shown} to {last.shown}, lowest {place_shown(lowest)}")


class LowestAt(MethodByMethod):
    """The point must lie clearly below all others; it fails if another lies clearly below it."""

    rule: Literal["lowest at"]
    at: float

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Hold the point against all others of the curve."""
        curve = self.found(results, dataset, table, method)
        here = next(each for (_, x), each in curve.items() if x == self.at)
        others = [each for (_, x), each in curve.items() if x != self.at]
        holds = True if all(clearly(here, each) for each in others) else None
        if any(clearly(each, here) for each in others):
            holds = False
        lowest = min(curve.items(), key=lambda each: each[1].mean)
        return Judgement(holds, f"{here.shown} there, lowest {place_shown(lowest)}")


class LowestEarlier(MethodByMethod):
    """One curve must have its lowest point clearly before the other: so for all points that may be the lowest."""

    rule: Literal["lowest earlier"]
    by: Literal["table", "epsilon"]
    earlier: str
    later: str

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Compare where two curves may have their lowest points."""
        first, second = (
            lowest_places(self._curve(results, dataset, table, method, which))
            for which in (self.earlier, self.later)
        )
        holds = True if max(first) < min(second) else False if min(first) >= max(second) else None
        said = f"lowest at {places_shown(first)} ({self.earlier}) and {places_shown(second)} ({self.later})"
        return Judgement(holds, said)

    def _curve(self, results: Results, dataset: str, table: str, method: str, which: str) -> Points:
        if self.by == "table":
            return self.found(results, dataset, which, method)
        found = self.found(results, dataset, table, method)
        return {key: each for key, each in found.items() if key[0] == float(which)}


class Trend(MethodByMethod):
    """At the last point the metric must lie clearly below (falls) or above (rises) that at the first."""

    rule: Literal["falls", "rises"]

    def seen(self, results: Results, dataset: str, table: str, method: str) -> Judgement:
        """Compare both ends of the curve."""
        curve = list(self.found(results, dataset, table, method).values())
        holds = clearly(curve[-1], curve[0], 1.0 if self.rule == "falls" else -1.0)
        return Judgement(holds, f"from {curve[0].shown} to {curve[-1].shown}")


class FallsSlower(OfMetric):
    """The fall from the first to the last point, run by run, must be clearly smaller than that of the others."""

    rule: Literal["falls slower"]
    than: Annotated[list[str], Field(min_length=1)]

    def judge(self, results: Results, dataset: str, table: str) -> Judgement:
        """Compare by how much curves fall."""
        ours, others = (
            {each: self._fall(self.found(results, dataset, table, each)) for each in side}
            for side in (self.methods, self.than)
        )
        outcomes = [clearly(a, b) for a in ours.values() for b in others.values()]
        said = "; ".join(f"{name} falls by {each.shown}" for name, each in (ours | others).items())
        return Judgement(all_hold(outcomes), said)

    @staticmethod
    def _fall(points: Points) -> Estimate:
        curve = list(points.values())
        return Estimate.of([first - last for first, last in zip(curve[0].runs, curve[-1].runs, strict=True)])
