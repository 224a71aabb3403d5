"""Predicted errors and top-K accuracy of a release, from public figures or an earlier release.

It opens no log: figures are typed in, or were released before; both are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headcount._internal.parameters import read_whole_number
from headcount.errors import Parameter, UsageError
from headcount.studio.forms.field import Choice, Field

_CELLS_MOST = 10**6
"""Most items times contexts of a forecast: with more, it takes over 20 seconds and a gigabyte."""
_K_MOST = 10**3
"""Largest k of a forecast: it compares all pairs of 2k items, which takes a gigabyte."""
_FIGURES = ("users", "items", "contexts", "median", "max")
_HELP = {
    "users": ("People", "About how many there are."),
    "items": ("Items", "How many the catalogue has."),
    "contexts": ("Contexts", "How many there are, if any."),
    "median": ("Records of a usual person", "Half of the people have fewer."),
    "max": ("Records of the most active person", "About."),
}


def figure_fields(releases: Sequence[tuple[str, str]] = ()) -> list[Field]:
    """Return the fields of a forecast: figures, or one of these releases, which tell how active people are."""
    fields = [
        Field(name, title, "number", help_text, read=_whole(name), shapes=(int,))
        for name, (title, help_text) in _HELP.items()
    ]
    k = Field("k", "Places", "number", "Will the top of so many be right?", default="20", read=_whole("k"))
    if not releases:
        return [*fields, k]
    choices = tuple(Choice(*release) for release in releases)
    activity_field = Field("activity", "Or from a release", "choice", "It tells how active people are.", choices)
    return [*fields, activity_field, k]


def forecast(figure_values: Mapping[str, Any], folder: Path | None = None) -> dict[str, Any]:
    """Predict the error of each method, and how many of the top K will be right; ``folder`` is of a release."""
    from headcount.lab.api import figures_of, plan
    from headcount.lab.plan.top_k_forecast import forecast_top_k, readable, sentences
    from headcount.releases.release import load

    epsilon, delta = str(figure_values.get("epsilon") or "1"), figure_values.get("delta")
    numbers = {name: figure_values[name] for name in _FIGURES if figure_values.get(name)}
    released = None if folder is None else load(folder)
    if released is not None and "activity" not in released.tables:
        raise UsageError("this release does not tell how active people are", remedy="type figures in")
    given = {"activity": released, **{k: v for k, v in numbers.items() if released is None or k in _FIGURES[:3]}}
    figures, k = figures_of(figure_values.get("count"), **given), int(figure_values.get("k") or 20)
    cells = figures.shapes["items"].cells * max(1, figures.width - 1)
    for name, size, most in (("items times contexts", cells, _CELLS_MOST), ("k", k, _K_MOST)):
        if size > most:
            raise UsageError(f"{name} must be at most {most:,}", given=size, remedy="give smaller figures")
    rows = plan(epsilon=epsilon, delta=delta, count=figure_values.get("count"), **given).to_pylist()
    k = min(k, figures.shapes["items"].cells)
    exact = None if delta is None else str(delta)
    predictions = [
        prediction
        for prediction in forecast_top_k(figures, [epsilon], k, delta=exact)
        if prediction.table == "items"
    ]
    return {
        "errors": best_per_method(rows),
        "top": {
            "k": k,
            "words": sentences(predictions).rstrip(":") + ".",
            "readable": readable(predictions[-1], epsilon),
        },
    }


def best_per_method(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return of each method and table the limit with the smallest error, the best method first.

    >>> row = {"method": "sra", "table": "items", "limit": 1, "mae": 3.0}
    >>> best_per_method([row, {**row, "limit": 3, "mae": 2.0}, {**row, "mae": None}])
    [{'method': 'sra', 'table': 'items', 'limit': 3, 'mae': 2.0}]
    """
    best: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = (row["table"], row["method"])
        if row["mae"] is not None and (key not in best or row["mae"] < best[key]["mae"]):
            best[key] = {name: row[name] for name in ("method", "table", "limit", "mae")}
    return sorted(best.values(), key=lambda best_row: (best_row["table"] != "items", best_row["mae"]))


def _whole(name: str) -> Any:
    return lambda text: read_whole_number(text, Parameter(name))
