"""``hc.plan``: predict the errors of each method from public figures, without any data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pyarrow as pa

from headcount._internal.parameters import whole_number
from headcount.accounting.budget import Amount, amount, probability
from headcount.errors import Parameter, UsageError, param
from headcount.lab.plan.predicted_errors import (
    Figures,
    predictions,
    public_figures,
    released_figures,
    sensible_limits,
)
from headcount.lab.plan.top_k_forecast import forecast_top_k
from headcount.releases.release import Release


def plan(
    *,
    epsilon: Amount | Sequence[Amount],
    users: int | None = None,
    items: int | None = None,
    contexts: int | None = None,
    median: int | None = None,
    max: int | None = None,  # noqa: A002  (the name of the flag)
    activity: Release | None = None,
    delta: Amount | None = None,
    limits: Sequence[int] | None = None,
    count: Literal["records", "users"] | None = None,
    k: int | None = None,
    kth: int | None = None,
) -> pa.Table:
    """Predict the errors of each method from public figures, or from a released histogram, without any data.

    The rows are predictions: of each method, ε, table and limit the errors, None where they cannot be predicted.
    With ``k``, they say how many of the top K will be right, by `rank` and by `release` with `top`. Use only
    figures that are public: what is read off a private log is not.

    >>> predicted = plan(users=500_000, items=17_770, median=96, max=17_000, epsilon="1")
    >>> predicted.column_names[:4], predicted.num_rows > 20
    (['method', 'epsilon', 'table', 'limit'], True)

    Parameters:
        epsilon: The privacy budget to predict for, or several.
        users: How many people there are, about.
        items: How many items the catalogue has.
        contexts: How many contexts there are; by default none.
        median: How many records the median person has, about.
        max: How many records the most active person has, about.
        activity: A release with a histogram of activity, in place of figures.
        delta: Predict noise with this δ: Gaussian, for methods that have it.
        limits: Limits to try; by default 1, 3, 10, … up to the maximum.
        count: Count records, or distinct users; by default records, or as the release does.
        k: Will the top K be right? Forecast that, in place of errors.
        kth: For k: how many people have the item at place K, about.
    """
    listed = [epsilon] if isinstance(epsilon, str) or not isinstance(epsilon, Sequence) else list(epsilon)
    epsilons = [f"{amount(entry):f}" for entry in listed]
    exact = None if delta is None else f"{probability(delta):f}"
    figures = figures_of(count, activity, users=users, items=items, contexts=contexts, median=median, max=max)
    predicted: list[Any]
    if k is not None:
        if limits is not None:
            raise UsageError(
                f"{param.limits} is of no use with {param.k}", remedy="leave it out: what is best is worked out"
            )
        kth_count = None if kth is None else whole_number(kth, "kth")
        predicted = list(forecast_top_k(figures, epsilons, whole_number(k, "k"), delta=exact, kth_count=kth_count))
    else:
        if kth is not None:
            raise UsageError(
                f"{param.kth} is given without {param.k}", remedy=f"add {param.k(20)}, or leave it out"
            )
        tried = _tried(figures) if limits is None else [whole_number(entry, "limits") for entry in limits]
        predicted = [entry for budget in epsilons for entry in predictions(figures, budget, tried, exact)]
    return pa.Table.from_pylist([entry.to_json() for entry in predicted])


def _tried(figures: Figures) -> list[int]:
    """Return limits to try, up to what the most active person has."""
    return sensible_limits(max(float(shape.activity.records.max(initial=1)) for shape in figures.shapes.values()))


def figures_of(count: str | None = None, activity: Release | None = None, **numbers: int | None) -> Figures:
    """Return figures to predict from: those of a release, or numbers by the names that ``plan`` has for them."""
    given = {name: whole_number(number, name) for name, number in numbers.items() if number is not None}
    if activity is not None:
        if "median" in given or "max" in given:
            raise UsageError(
                f"{param.median} and {param.max} are of no use beside {param.activity}", remedy="leave them out"
            )
        return released_figures(activity, counting=count, **given)
    for name in ("users", "items", "median", "max"):
        if name not in given:
            raise UsageError(
                f"{Parameter(name)} is missing",
                remedy=f"give {param.users}, {param.items}, {param.median} and {param.max}, or "
                f"{param.activity('RELEASE')}",
            )
    users, items, median, most = (given[name] for name in ("users", "items", "median", "max"))
    width = 1 + given.get("contexts", 0)
    return public_figures(users, items, median, most, width=width, distinct=count == "users")
