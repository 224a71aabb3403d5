"""Dot plots of means with 95 % intervals: one row per group, one mark per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from headcount.reports.charts.curves import AXIS_LABEL, axis_marks, rounded, scale_around
from headcount.reports.charts.palette import encodings, in_order
from headcount.reports.charts.release_charts import layered

_ROW = 17  # pixels for each method of a group


def dots(
    rows: Sequence[dict[str, Any]],
    *,
    title: str,
    value: str,
    logarithmic: bool = False,
    share: bool = False,
) -> alt.LayerChart:
    """Draw ``mean`` of each ``method`` in each ``group``, with a bar from ``low`` to ``high`` (None: no bar).

    >>> row = {"group": "films", "method": "sra", "mean": 0.4, "low": 0.3, "high": 0.5}
    >>> dots([row], title="Top 10", value="precision", share=True).to_dict()["description"]
    'Marks of precision for 1 method in films.'
    """
    names = in_order(row["method"] for row in rows)
    groups = list(dict.fromkeys(row["group"] for row in rows))
    values = [rounded(row) for row in rows]
    drawn = encodings(names)
    amount = alt.X("mean:Q", title=value)
    scale = scale_around(values) if logarithmic else {}
    if logarithmic:
        amount = amount.scale(**scale).axis(
            labelExpr=AXIS_LABEL, values=axis_marks(scale), domain=False, ticks=False
        )
    else:
        amount = amount.scale(domainMin=0, nice=True).axis(
            format=".0%" if share else "~g", tickCount=alt.ExprRef("width / 90"), domain=False, ticks=False
        )
    shown = ".1%" if share else ",.4~g"
    base = alt.Chart().encode(
        y=alt.Y("group:N", sort=groups, title=None)
        .axis(ticks=False, domain=False, grid=False, labelPadding=8, labelLimit=110)
        .scale(paddingInner=0.12),
        yOffset=alt.YOffset("method:N", sort=names),
        color=drawn["color"],
        tooltip=[
            alt.Tooltip("group:N"),
            alt.Tooltip("method:N"),
            *(alt.Tooltip(f"{name}:Q", format=shown) for name in ("mean", "low", "high")),
        ],
    )
    bars = base.mark_rule(strokeWidth=1.6, clip=True).encode(x=alt.X("foot:Q"), x2="high:Q")
    begin, end = scale.get("domain", (None, None))
    bars = bars.transform_calculate(foot="datum.low" if begin is None else f"max(datum.low, {begin!r})")
    points = base.mark_point(size=58, strokeWidth=1.8).encode(x=amount, shape=drawn["shape"], fill=drawn["fill"])
    methods = "1 method" if len(names) == 1 else f"{len(names)} methods"
    description = f"Marks of {value} for {methods} in {', '.join(groups)}."
    height = _ROW * len(names) * len(groups) + 10 * len(groups)
    layers = [bars.transform_filter("isValid(datum.low)"), points, *_going_on(base, begin, end)]
    return layered(layers, height, title, description, values)


def _going_on(base: alt.Chart, begin: float | None, end: float | None) -> list[alt.Chart]:
    """Return arrows at the edges, where a bar goes on beyond."""
    if begin is None or end is None:
        return []
    arrow = base.mark_point(filled=True, size=40, opacity=1)
    left = arrow.encode(x=alt.value(3), shape=alt.value("triangle-left"))
    right = arrow.encode(x=alt.value(alt.ExprRef("width - 3")), shape=alt.value("triangle-right"))
    return [
        left.transform_filter(f"isValid(datum.low) && datum.low < {begin!r}"),
        right.transform_filter(f"isValid(datum.high) && datum.high > {end!r}"),
    ]
