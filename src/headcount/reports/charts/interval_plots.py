"""Interval plots of an error metric: curves over ε or the contribution bound, or dots by group.

Each point is a mean with its 95 % interval, drawn in the colour and shape of its method. At most eight curves are
seen at once. Which, is the parameter :data:`SHOWN` of the chart: a page lets its reader choose (``page.js``), and
the scale follows the curves that are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import altair as alt

from headcount.reports.charts._line_layout import ENDS, HIGHEST, LOWEST, LineScale, named_ends, room_for
from headcount.reports.charts.release_charts import layered
from headcount.reports.charts.styles import encodings, in_order, key, method_styles
from headcount.reports.page import Figure

HEIGHT = 300
_ROW = 17  # pixels of each method in a group of dots
MOST_LINES = 8
SHOWN = "shown"

# 0.01, 20, -5k, 2M, 3bn
AXIS_LABEL = (
    "abs(datum.value) < 1000 ? format(datum.value, '.3~g') : replace(format(datum.value, '.3~s'), 'G', 'bn')"
)
# of a logarithmic axis 1, 2 and 5 and their tenfolds, or all marks where there are few
LOG_LABEL = f"{HIGHEST} / {LOWEST} < 4 || test(/^[125]/, format(datum.value, '.0e')) ? ({AXIS_LABEL}) : ''"


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
    shown: Sequence[str] = (),
) -> alt.LayerChart:
    """Draw ``mean`` over ``x``, one curve for each ``method``, with a bar from ``low`` to ``high`` at each point.

    Rows hold x, method, mean, low and high (None: no bar), and may hold ``limit``, which is shown with the point.
    Rows where x is None belong to methods that have no such parameter: a level line over the whole width. A
    logarithmic scale is even around zero where there are means of zero or less. ``share``: means are shares, shown
    in percent. ``ticks`` are the names of 1, 2, … on the x axis. ``shown`` are the methods that are seen at first,
    by default as many as can be. A name stands at the end of each line.
    """
    names = in_order(row["method"] for row in rows)
    inside = [row for row in rows if row[x] is not None]
    level = _levels([row for row in rows if row[x] is None], sorted({row[x] for row in inside}), x)
    values = [rounded(row) for row in [*inside, *level]]
    drawn = encodings(names, legend=False)
    marks = sorted({row[x] for row in values})
    ends = [marks[0], marks[-1]] if len(marks) > 1 else [marks[0] / 2, marks[0] * 2]
    tooltip = [alt.Tooltip("method:N"), alt.Tooltip(f"{x}:Q", title=x_title)]
    tooltip += [alt.Tooltip("limit:Q")] if any("limit" in row for row in values) and x != "limit" else []
    tooltip += [alt.Tooltip(f"{name}:Q", format=",.4~g") for name in ("mean", "low", "high")]
    scale = LineScale.for_means(values, logarithmic=logarithmic_y, unit=not (share and ticks))
    written: dict[str, Any] = {"labelExpr": LOG_LABEL if scale.kind == "log" else AXIS_LABEL}
    y = alt.Y("mean:Q", title=y_title).scale(**scale.encoded())
    y = y.axis(**({"format": ".0%"} if share else written), tickCount=6, domain=False, ticks=False)
    plain = alt.Chart().encode(
        x=alt.X(f"{x}:Q", title=x_title)
        .scale(type="log" if logarithmic_x else "linear", domain=ends, nice=False, padding=14)
        .axis(values=marks, grid=False, ticks=True, labelOverlap=True, **_labels(ticks)),
        tooltip=tooltip,
    )
    base = plain.encode(color=drawn["color"])
    lines = base.mark_line(strokeWidth=1.8, clip=True).encode(y=y, strokeDash=drawn["strokeDash"])
    points = base.mark_point(filled=False, size=46, strokeWidth=1.8, clip=True).encode(y=y, shape=drawn["shape"])
    above = (4, "up", f"datum.high > {HIGHEST}")
    below = (HEIGHT - 4, "down", f"isValid(datum.low) && datum.low < {LOWEST}")
    layers = [_bars(base), lines, points, *_arrows(base, "y", 45, [above, below])]
    layers += named_ends(plain, drawn["color"], x, scale, HEIGHT)
    description = f"Curves of {y_title} over {x_title} for {len(names)} methods: {', '.join(names)}."
    chart = layered(layers, HEIGHT, title, description, right=room_for(names))
    shown_parameter = {"name": SHOWN, "value": in_order(shown or names[:MOST_LINES])}
    parameters = [alt.param(**parameter) for parameter in (shown_parameter, *scale.parameters(values, SHOWN))]
    chosen: alt.LayerChart = chart.add_params(*parameters)
    filtered = chosen.transform_filter(f"indexof({SHOWN}, datum.method) >= 0")
    filtered.data = alt.InlineData(values=values)  # last: every step before copies all there is
    return filtered


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
    layers = [bars.transform_filter("isValid(datum.low)"), points]
    if begin is not None and end is not None:
        left = (3, "left", f"isValid(datum.low) && datum.low < {begin!r}")
        right = (alt.ExprRef("width - 3"), "right", f"isValid(datum.high) && datum.high > {end!r}")
        layers += _arrows(base, "x", 40, [left, right])
    return layered(layers, height, title, description, values)


def narrowed(figure: Figure) -> Figure:
    """Return a figure of curves as it is drawn on a narrow screen, too: with a legend and no names at the ends."""
    legend = key(in_order(row["method"] for row in figure.rows()), alt.ExprRef(SHOWN)).to_dict()
    layers = [
        {**layer, "encoding": {name: _with_legend(channel, legend) for name, channel in layer["encoding"].items()}}
        for layer in figure.spec["layer"]
        if layer.get("name") not in ENDS
    ]
    padding = {**figure.spec["padding"], "right": 20}
    return replace(figure, narrow={**figure.spec, "layer": layers, "padding": padding})


def _with_legend(channel: Any, legend: dict[str, Any]) -> Any:
    return {**channel, "legend": legend} if "legend" in channel else channel


def lines_of(names: Sequence[str], shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return what a page lets its reader choose from: how each line is drawn, and whether it is seen at first."""
    return (
        [{**style, "shown": style["name"] in shown} for style in method_styles(names)]
        if len(names) > MOST_LINES
        else []
    )


def in_turns(figure: Figure) -> list[Figure]:
    """Return a figure of curves as often as it takes to see all its lines, with those seen at first first."""
    parameters = figure.spec["params"]
    first = next(parameter["value"] for parameter in parameters if parameter["name"] == SHOWN)
    names = in_order(row["method"] for row in figure.rows())
    rest = [name for name in names if name not in first]
    turns = [first, *(rest[at : at + MOST_LINES] for at in range(0, len(rest), MOST_LINES))]
    return [
        replace(
            figure,
            name=figure.name if number == 1 else f"{figure.name}-{number}",
            spec={
                **figure.spec,
                "params": [
                    {**parameter, "value": turn} if parameter["name"] == SHOWN else parameter
                    for parameter in parameters
                ],
            },
        )
        for number, turn in enumerate(turns, 1)
    ]


def _bars(base: alt.Chart) -> alt.Chart:
    """Return the intervals, as far as the scale goes: low may be zero or less, which not every scale has."""
    drawn: alt.Chart = (
        base.mark_rule(strokeWidth=1.3)
        .encode(y=alt.Y("foot:Q"), y2="head:Q")
        .transform_filter("isValid(datum.low)")
        .transform_calculate(foot=f"max(datum.low, {LOWEST})", head=f"min(datum.high, {HIGHEST})")
    )
    return drawn


def _arrows(base: alt.Chart, channel: str, size: int, edges: Sequence[tuple[Any, str, str]]) -> list[alt.Chart]:
    """Return arrows at the edges where an interval goes on: each with its place, direction and condition."""
    arrow = base.mark_point(filled=True, size=size, opacity=1)
    return [
        arrow.encode(**{channel: alt.value(at)}, shape=alt.value(f"triangle-{direction}")).transform_filter(beyond)
        for at, direction, beyond in edges
    ]


def _labels(ticks: Sequence[str]) -> dict[str, Any]:
    """Return how numbers on the x axis are written: as they are, or by name."""
    return {"labelExpr": f"{list(ticks)!r}[datum.value - 1]" if ticks else AXIS_LABEL}


def _levels(rows: Sequence[dict[str, Any]], ends: Sequence[float], x: str) -> list[dict[str, Any]]:
    """Put rows without an x at both ends of the axis, so that they make a level line."""
    both = dict.fromkeys([ends[0], ends[-1]] if ends else [1])
    return [{**row, x: end} for row in rows for end in both]


def scale_around(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a logarithmic scale around the means."""
    values = [row["mean"] for row in rows]
    positive = [value for value in values if value > 0]
    if not positive:
        return {"nice": True}
    if min(values) <= 0:
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
    tens = [mark for mark in powers if low <= mark <= high]
    if len(tens) > 3:
        return tens
    some = [float(f"{mark:g}") for ten in powers for mark in (ten, 2 * ten, 5 * ten) if low <= mark <= high]
    if len(some) > 2:
        return some
    step = float(f"{(high - low) / 4:.1g}")
    return [float(f"{step * n:.6g}") for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Round for the page."""
    return {name: float(f"{value:.6g}") if isinstance(value, float) else value for name, value in row.items()}
