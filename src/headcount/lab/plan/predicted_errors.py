"""Predicted errors of each count method without data, from noise distributions and the estimators' models.

The noise is asked of the methods themselves, as ``release --dry-run`` does. What the limit cuts off, and what
DPSense and the adaptive method would choose, comes from :mod:`headcount.methods.prediction.errors` and
:mod:`headcount.adaptive.threshold_choice`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from headcount.accounting.budget import Cost
from headcount.accounting.noise_distributions import DiscreteLaplace, NoiseDistribution
from headcount.adaptive.activity_histogram import estimate_activity
from headcount.adaptive.threshold_choice import best_threshold, cell_errors
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.lab.plan.theorem_2 import Alike
from headcount.methods.counts import FAMILY
from headcount.methods.counts.adaptive import PROFILE_SHARE
from headcount.methods.counts.dpsense import SHARES
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.methods.family import fields_of
from headcount.methods.method import tables_of
from headcount.methods.prediction.errors import (
    Prediction,
    TableShape,
    dpsense_threshold,
    lognormal_activity,
    predict_grouped,
    predict_hand_picked,
    predict_truncated,
)
from headcount.methods.prediction.popularity import ReleasedCounts
from headcount.noise import noise_norm
from headcount.releases.reconcile import Weights
from headcount.releases.release import Release

MODELLED = "noise exact; what the limit cuts off is modelled"
PICKED = "noise exact; what is picked is modelled, as if the popularity of items were known"
GROUPED = "noise exact; smoothing of random groups is modelled"
CHOSEN = "limit and what it cuts off are modelled"
ADAPTIVE = "the method's own prediction, by which it chooses its limit"
UNKNOWN = "cannot be predicted from these figures"

MODELS = {
    "sampled": "noise, and what the limit cuts off under these laws",
    "picked": "the same, as if the popularity of items were known when records are picked",
    "weighed": "the same, at the limit that it would choose most likely",
    "grouped": "the same, and what smoothing random groups does under Zipf's law",
    "adaptive": "its own prediction, by which it chooses its limit, as if its histogram had no noise",
}
"""What errors can be predicted by, as the ``foreseen`` of a method says; anything else says why they cannot be."""

_ITEMS, _EDGES = "items", "edges"
_USUAL_ERROR = 0.8  # of a standard deviation: what errors of a bell-shaped law are on average
_CANDIDATES = [1 << power for power in range(21)]


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """What to expect of a method at a limit: errors, and how they are known; None: not predicted.

    Beside SRA stands the limit that Fan and Jin's theorem 2 gives for the table, whichever is predicted for.
    """

    method: str
    epsilon: float
    table: str
    limit: int | None
    mse: float | None
    mae: float | None
    known: str
    theorem_2: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Public figures of a log: a shape for each of its tables, and how many cells an item has.

    ``popularity`` are counts of items, where a release holds them.
    """

    shapes: Mapping[str, TableShape]
    width: int = 1
    popularity: ReleasedCounts | None = None

    def log(self) -> EventLog:
        """Return an empty log that methods tell their noise for: it hangs on the kind of log, not on its size."""
        contexts = ["x"] if self.width > 1 else None
        distinct = self.shapes[_ITEMS].distinct
        return EventLog.of([], items=["x"], contexts=contexts, counting="users" if distinct else "records")


def predictions(
    figures: Figures, epsilon: str, limits: Sequence[int], delta: str | None = None
) -> list[Predicted]:
    """Predict every method but those as published, at every limit where it takes one; with δ, Gaussian noise."""
    predicted = []
    for name in FAMILY.methods:
        kind = FAMILY.kind(name)
        paid = delta if "noise" in fields_of(kind) else None
        for table in tables_of(None, figures.log()):
            plan = _Plan(name, figures, table, epsilon, paid)
            try:
                predicted += plan.predictions(limits)
            except UsageError as refusal:
                predicted.append(plan.predicted_row(None, None, f"refused: {refusal}"))
    return predicted


def theorem_2(figures: Figures, table: str, epsilon: str) -> int:
    """Return the limit for SRA that Fan and Jin's theorem 2 gives if all people were alike, with Laplace noise.

    >>> from headcount.methods.prediction.errors import lognormal_activity
    >>> figures = Figures(shapes={"items": TableShape(lognormal_activity(500_000, 96, 17_000), 17_770)})
    >>> [theorem_2(figures, "items", epsilon) for epsilon in ("0.001", "0.01", "0.1")]
    [17, 165, 180]
    """
    shape = figures.shapes[table]
    if not shape.activity.total_records > 0:  # a released histogram may show nobody: then there is noise alone
        return 1
    return Alike.from_shape(shape).limit(float(epsilon) / len(figures.shapes))


def sensible_limits(most: float) -> list[int]:
    """Return 1, 3, 10, 30, … up to the first that cuts nothing off.

    >>> sensible_limits(50), sensible_limits(1)
    ([1, 3, 10, 30, 100], [1])
    """
    steps = [step * 10**power for power in range(7) for step in (1, 3)]
    return [step for place, step in enumerate(steps) if place == 0 or steps[place - 1] < most]


@dataclass(frozen=True)
class _Plan:
    """One method on one table for one ε."""

    method: str
    figures: Figures
    table: str
    epsilon: str
    delta: str | None

    @property
    def foreseen(self) -> str:
        """By which model its errors are predicted; or why they cannot be."""
        return str(getattr(FAMILY.kind(self.method), "foreseen", "it does not say how its errors come about"))

    @property
    def shape(self) -> TableShape:
        """The table's own."""
        return self.figures.shapes[self.table]

    @property
    def _price(self) -> Cost:
        return Cost.of(self.epsilon, self.delta)

    def predictions(self, limits: Sequence[int]) -> list[Predicted]:
        """Predict at every limit, or at the one that the method would choose."""
        if self.foreseen == "weighed":
            return [self.predicted_row(*self._weighed(), CHOSEN)]
        if self.foreseen == "adaptive":
            return [self.predicted_row(*self._adaptive(), ADAPTIVE)]
        if self.foreseen == "picked" and self.table != _ITEMS:
            return [self.predicted_row(None, None, f"{UNKNOWN}: for item-by-context counts, it picks by item")]
        if self.foreseen in ("sampled", "picked", "grouped"):
            return [self.predicted_row(limit, *self._limited(limit)) for limit in limits]
        return [self.predicted_row(None, None, f"{UNKNOWN}: {self.foreseen}")]

    def predicted_row(self, limit: int | None, prediction: Prediction | None, basis: str) -> Predicted:
        """Put a prediction into words."""
        mse, mae = (None, None) if prediction is None else (prediction.mse, prediction.mae)
        return Predicted(
            method=self.method,
            epsilon=float(self.epsilon),
            table=self.table,
            limit=limit,
            mse=mse,
            mae=mae,
            known=basis,
            theorem_2=self._theorem_2,
        )

    @property
    def _theorem_2(self) -> int | None:
        return theorem_2(self.figures, self.table, self.epsilon) if self.method == SimpleRandom.name else None

    def _limited(self, limit: int) -> tuple[Prediction, str]:
        deviation, gaussian = self._deviation(limit), self.delta is not None
        if self.foreseen == "grouped":
            return predict_grouped(self.shape, limit, deviation), GROUPED
        if self.foreseen == "picked":
            return predict_hand_picked(self.shape, limit, deviation, gaussian=gaussian), PICKED
        return predict_truncated(self.shape, limit, deviation, gaussian=gaussian), MODELLED

    def _laws(self, limit: int) -> Mapping[str, NoiseDistribution]:
        """Ask the method itself for its noise."""
        noise = {} if self.delta is None else {"noise": "gaussian"}
        method = FAMILY.build(self.method, {"limit": limit, **noise})
        return method.noise_distributions(self.figures.log(), self._price)

    def _deviation(self, limit: int) -> float:
        """Return the standard deviation of the noise, reconciled with the other table where methods do so."""
        laws, width = self._laws(limit), self.figures.width
        if self.foreseen == "grouped" or len(laws) < 2 or self.shape.distinct:
            return float(laws[self.table].variance ** 0.5)
        items, edges = laws[_ITEMS].variance, laws[_EDGES].variance
        weights = Weights.by_precision(items_variance=items, edges_variance=edges, contexts=width)
        best = weights.item**2 * items + weights.edges**2 * width * edges
        reconciled = best if self.table == _ITEMS else edges * (1 - 1 / width) + best / width**2
        return float(reconciled**0.5)

    def _weighed(self) -> tuple[int, Prediction]:
        """Return the θ that DPSense would choose, most likely, and its errors."""
        paying = float(self.epsilon) / len(self.figures.shapes) * float(SHARES["counts"])
        theta = dpsense_threshold(self.shape, paying)
        return theta, predict_truncated(self.shape, theta, 2**0.5 * theta / paying, sampled=False)

    def _adaptive(self) -> tuple[int, Prediction]:
        """Return the limit that the method would choose over all its tables, and what it expects of this one."""
        predictions_by_table: dict[str, list[Prediction]] = {table_name: [] for table_name in self.figures.shapes}
        candidates: list[int] = []
        measured = 1 / (float(self.epsilon) * float(PROFILE_SHARE))
        for limit in _CANDIDATES:
            try:
                laws = self._laws(limit)
            except UsageError:  # more noise than can be drawn: the method does not consider such limits either
                if not candidates:
                    raise
                break
            candidates.append(limit)
            for table_name, shape in self.figures.shapes.items():
                deviation, norm = laws[table_name].variance ** 0.5, noise_norm(self._price)
                copies, errors = cell_errors(
                    shape.activity, limit, deviation, shape.cells, norm, distinct=True, measured=measured
                )
                mse, mae = (copies @ part / shape.cells for part in (errors, _USUAL_ERROR * np.sqrt(errors)))
                predictions_by_table[table_name].append(Prediction(float(mse), float(mae)))
        limit = best_threshold(
            candidates, [[prediction.mse for prediction in mine] for mine in predictions_by_table.values()]
        )
        return limit, predictions_by_table[self.table][candidates.index(limit)]


def public_figures(users: int, items: int, median: int, most: int, *, width: int = 1, distinct: bool) -> Figures:
    """Make figures of what is known in public: how many people and items, and how active people are, about.

    >>> figures = public_figures(1000, 50, 3, 20, width=8, distinct=False)
    >>> {name: shape.cells for name, shape in figures.shapes.items()}
    {'items': 50, 'edges': 400}
    """
    if median > most:
        raise UsageError("the median cannot be larger than the maximum", given=f"{median} > {most}")
    activity = lognormal_activity(users, median, min(most, items * width) if distinct else most)
    shapes = {_ITEMS: TableShape(activity, items, distinct)}
    if width > 1:
        shapes[_EDGES] = TableShape(activity, items * width, distinct)
    return Figures(shapes=shapes, width=width)


def released_figures(
    release: Release,
    *,
    counting: str | None = None,
    users: int | None = None,
    items: int | None = None,
    contexts: int | None = None,
) -> Figures:
    """Take figures from a release that holds a histogram of activity; what is given besides wins.

    With ``users`` the histogram is scaled to so many people.
    """
    law = release.noise.get("activity")
    if "activity" not in release.tables or not isinstance(law, DiscreteLaplace):
        raise UsageError(
            "this release holds no histogram of activity",
            remedy=f"release with {param.method('adaptive')}, or give {param.users}, {param.median} and "
            f"{param.max}",
        )
    if counting is not None and counting != release.counts:
        raise UsageError(f"the release counts {release.counts}", given=counting, remedy=f"leave {param.count} out")
    cells = items or ("items" in release.tables and release.items.num_rows) or None
    if cells is None:
        raise UsageError("the release holds no items", remedy=f"add {param.items}, the size of the catalogue")
    width = 1 + (len(release.contexts or ()) if contexts is None else contexts)
    distinct = release.counts == "users"
    bins = release.tables["activity"].to_pylist()
    kinds = dict.fromkeys(row["of"] for row in bins)
    shapes: dict[str, TableShape] = {}
    for table, size in {_ITEMS: cells, **({_EDGES: cells * width} if width > 1 else {})}.items():
        kind = "pairs" if table == _EDGES and "pairs" in kinds else next(iter(kinds))
        noisy = np.array([row["users"] for row in bins if row["of"] == kind])
        activity = estimate_activity(noisy, float(law.scale), size if distinct else None)
        if users is not None and activity.total_users > 0:
            activity = replace(activity, users=activity.users * users / activity.total_users)
        shapes[table] = TableShape(activity, size, distinct)
    return Figures(shapes=shapes, width=width, popularity=_popularity(release, cells))


def _popularity(release: Release, items: int) -> ReleasedCounts | None:
    """Return released counts of items; None where there are none, or of other items than are planned for."""
    if "items" not in release.tables or release.items.num_rows != items:
        return None
    return ReleasedCounts(release.items["count"].to_numpy(), release.items["low"].to_numpy())
