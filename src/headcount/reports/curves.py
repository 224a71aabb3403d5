"""Curves of a metric over ε, over the limit, or over anything else: one for each method, with 95 % intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from headcount.reports.palette import encodings, in_order, is_claimed
from headcount.reports.plots import layered

HEIGHT = 300

# 0.01, 20, -5k, 2M, 3bn
AXIS_LABEL = (
    "abs(datum.value) < 1000 ? format(datum.value, '.3~g') : replace(format(datum.value, '.3~s'), 'G', 'bn')"
)


def curves(
    rows: Sequence[dict[str, Any]],
    *,
    title: str,
    x: str,
    x_title: str,
    y_title: str,
    logarithmic_x: bool = True,
    logarithmic_y: bool = True,
    share: bool = False,
    ticks: Sequence[str] = (),
    whole: bool = False,
) -> alt.LayerChart:
    """Draw ``mean`` over ``x``, one curve for each ``method``, with a bar from ``low`` to ``high`` at each point.

    Rows hold x, method, mean, low and high (None: no bar), and may hold ``limit``, which is shown with the point.
    Rows where x is None belong to methods that have no such parameter: a level line over the whole width. A
    logarithmic scale is even around zero where there are means of zero or less. ``share``: means are shares, shown
    in percent. ``ticks`` are the names of 1, 2, … on the x axis. ``whole``: no mean is cut off.
    """
    names = in_order(row["method"] for row in rows)
    inside = [row for row in rows if row[x] is not None]
    level = _levels([row for row in rows if row[x] is None], sorted({row[x] for row in inside}), x)
    values = [rounded(row) for row in [*inside, *level]]
    drawn = encodings(names)
    marks = sorted({row[x] for row in values})
    tooltip = [alt.Tooltip("method:N"), alt.Tooltip(f"{x}:Q", title=x_title)]
    tooltip += [alt.Tooltip("limit:Q")] if any("limit" in row for row in values) and x != "limit" else []
    tooltip += [alt.Tooltip(f"{name}:Q", format=",.4~g") for name in ("mean", "low", "high")]
    y = alt.Y("mean:Q", title=y_title)
    if logarithmic_y:
        scale = scale_around(values, whole=whole)
        y = y.scale(**scale).axis(labelExpr=AXIS_LABEL, values=axis_marks(scale), domain=False, ticks=False)
    else:
        unit = all(row["mean"] <= 1 for row in values) and not (share and ticks)
        y = y.scale(domain=[0, 1] if unit else alt.Undefined)
        shown: dict[str, Any] = {"format": ".0%"} if share else {"labelExpr": AXIS_LABEL}
        y = y.axis(**shown, domain=False, ticks=False)
    base = alt.Chart(alt.InlineData(values=values)).encode(
        x=alt.X(f"{x}:Q", title=x_title)
        .scale(type="log" if logarithmic_x else "linear", nice=False, padding=14)
        .axis(values=marks, grid=False, ticks=True, labelOverlap=True, **_labels(ticks)),
        color=drawn["color"],
        tooltip=tooltip,
    )
    lines = base.mark_line(strokeWidth=1.8, clip=True).encode(y=y, strokeDash=drawn["strokeDash"])
    points = base.mark_point(filled=False, size=46, strokeWidth=1.8, clip=True).encode(y=y, shape=drawn["shape"])
    bars = base.mark_rule(strokeWidth=1.3, clip=True).encode(y=alt.Y("low:Q"), y2="high:Q")
    said = f"Curves of {y_title} over {x_title} for {len(names)} methods: {', '.join(names)}."
    return layered([bars.transform_filter("isValid(datum.low)"), lines, points], HEIGHT, title, said, values)


def _labels(ticks: Sequence[str]) -> dict[str, Any]:
    """Return how numbers on the x axis are written: as they are, or by name."""
    return {"labelExpr": f"{list(ticks)!r}[datum.value - 1]" if ticks else AXIS_LABEL}


def _levels(rows: Sequence[dict[str, Any]], ends: Sequence[float], x: str) -> list[dict[str, Any]]:
    """Put rows without an x at both ends of the axis, so that they make a level line."""
    both = dict.fromkeys([ends[0], ends[-1]] if ends else [1])
    return [{**row, x: end} for row in rows for end in both]


def scale_around(rows: Sequence[dict[str, Any]], *, whole: bool = False) -> dict[str, Any]:
    """Return a logarithmic scale around the means: all, or of private methods, with what is far beyond cut off."""
    private = [row["mean"] for row in rows if whole or not is_claimed(row["method"])]
    seen = private or [row["mean"] for row in rows]
    positive = [each for each in seen if each > 0]
    if not positive:
        return {"nice": True}
    if min(seen) <= 0:
        return {"type": "symlog", "constant": min(positive), "nice": False}
    low, high = math.log10(min(positive)), math.log10(max(positive))
    around = max(0.06 * (high - low), 0.1)
    return {"type": "log", "domain": [10 ** (low - around), 10 ** (high + around)], "nice": False}


def axis_marks(scale: dict[str, Any]) -> Any:
    """Return where a logarithmic axis is marked: at powers of ten, at 1, 2 and 5 times them, or in even steps.

    >>> axis_marks({"type": "log", "domain": [80, 3000]}), axis_marks({"type": "log", "domain": [0.5, 20_000]})
    ([100.0, 200.0, 500.0, 1000.0, 2000.0], [1.0, 10.0, 100.0, 1000.0, 10000.0])
    >>> axis_marks({"type": "log", "domain": [206, 327]})
    [210.0, 240.0, 270.0, 300.0]
    """
    if scale.get("type") != "log":
        return alt.Undefined
    low, high = scale["domain"]
    powers = [10.0**power for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]
    tens = [each for each in powers if low <= each <= high]
    if len(tens) > 3:
        return tens
    some = [float(f"{each:g}") for ten in powers for each in (ten, 2 * ten, 5 * ten) if low <= each <= high]
    if len(some) > 2:
        return some
    step = float(f"{(high - low) / 4:.1g}")
    return [float(f"{step * n:.6g}") for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Round for the page; a bar that would reach below zero on a logarithmic axis ends just above it."""
    shown = {name: float(f"{each:.6g}") if isinstance(each, float) else each for name, each in row.items()}
    if shown.get("low") is not None and shown["mean"] > 0:
        shown["low"] = max(shown["low"], shown["mean"] / 1000)
    return shown
