"""Charts of released tables: ranking bars, heat map, histogram, rank-size curve.

Every chart carries a title that says what is seen, a description in words for those who cannot see it, and
the light theme; a page takes the theme out again and puts in the one the reader prefers. Colours of marks
are named by style (``count``, ``interval``, …) and live in :mod:`headcount.reports.charts.styles` alone.

Columns that count are ``count``, ``low`` and ``high``; a row is shown by its ``name``. In a heat map
rows with the same name (the first 44 characters) are one row, so names there had best begin with a rank.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import numpy as np
import pyarrow as pa

from headcount.releases.formatting import per_cent, whole
from headcount.reports.charts.styles import DEEP, LIGHT

UNKNOWN = "unknown"
LONGEST_NAME = 44  # characters of a name on an axis
CURVE_POINTS = 300  # a curve of many thousand ranks is drawn through this many of them
MOST_NUMBERED = 12  # with more columns than this, a heat map has no room for numbers in its cells
FURTHEST_DRAWN = 2.5  # times the largest count: lopsided intervals are drawn so far, and an arrow says they go on

_WHOLE = ",.0f"
_CROWDED = 100_000  # from here on, a number is too long for a cell on a narrow screen
_FLAT_BINS = 6  # with more bins than this, their names stand at an angle


def ranking(table: pa.Table, *, title: str, counted: str, narrow: bool = False) -> alt.LayerChart:
    """Draw counts as bars in the order of the table, each with its interval and its number.

    Names and numbers stand before the bars; on a narrow screen above them, so that bars keep its whole width.

    >>> rows = pa.table({"name": ["tea"], "count": [1234.4], "low": [1200.5], "high": [1268.3]})
    >>> ranking(rows, title="The largest count", counted="count of records").to_dict()["description"]
    'Bar chart, 1 bar. Largest: tea with 1,234 (1,200 to 1,269).'
    """
    rows = [
        {"rank": rank, **row, "name": f"{rank}. {clip(row['name'], LONGEST_NAME)}"}
        for rank, row in enumerate(_outward(table), 1)
    ]
    lowest = min(0, *(row["low"] for row in rows))
    highest = max(1, *(row["high"] for row in rows))
    cutoff = interval_cutoff(table)
    if cutoff is not None:
        highest = cutoff
    for row in rows:
        row["end"] = min(row["high"], highest)
    widest = 7 * max(len(whole(row["count"])) for row in rows) + 16  # pixels for the numbers before the bars
    base = alt.Chart(_inline(rows)).encode(
        y=_names_above() if narrow else _names_before(260, widest),
        tooltip=[alt.Tooltip("name:N", title="item"), *_numbers()],
    )
    amount = (
        alt.X("count:Q", title=counted)
        .scale(domain=[lowest, highest], nice=False)
        .axis(format=_WHOLE, tickCount=alt.ExprRef("width / 100"), domain=False, ticks=False, labelFlush=narrow)
    )
    bars = base.mark_bar(style="count").encode(x=amount)
    spans = base.mark_rule(style="interval").encode(x=alt.X("low:Q"), x2="end:Q")
    tick = base.mark_tick(style="interval", thickness=1.6, size=9)
    ends = [tick.encode(x=alt.X("low:Q")), tick.encode(x=alt.X("end:Q"))]
    if cutoff is not None:
        on = base.mark_point(style="interval", shape="triangle-right", filled=True, size=40, opacity=1)
        beyond = "datum.high > datum.end"
        ends[1] = ends[1].transform_filter(f"!({beyond})")
        ends.append(on.encode(x=alt.X("end:Q")).transform_filter(beyond))
    number = alt.Text("count:Q", format=_WHOLE)
    if narrow:
        words = [_above(base, room=widest).encode(text="name:N"), _above(base, at="width").encode(text=number)]
    else:
        before = base.mark_text(style="words", align="right", dx=-8)
        words = [before.encode(x=alt.value(0), text=number)]
    bar_count = "1 bar" if len(rows) == 1 else f"{len(rows)} bars"
    description = f"Bar chart, {bar_count}. {_extreme(table)}"
    return layered([bars, spans, *ends, *words], (40 if narrow else 24) * len(rows), title, description)


def heat_map(
    table: pa.Table, *, title: str, counted: str, contexts: Sequence[str], narrow: bool = False
) -> alt.LayerChart:
    """Draw names × contexts as a grid of colours, in the order of the table; a null context comes last.

    A number stands in a cell whose interval lies above zero, where there is room for numbers. On a narrow screen
    names stand above the cells.
    """
    last = unknown_beside(contexts)
    rows = [{**row, "context": last if row["context"] is None else row["context"]} for row in _outward(table)]
    shown = [*contexts, *([last] if any(row["context"] == last for row in rows) else [])]
    for row in rows:
        row["name"] = clip(row["name"], LONGEST_NAME)
    order = list(dict.fromkeys(row["name"] for row in rows))
    deepest = max(1, *(row["count"] for row in rows))
    flat = sum(len(name) for name in shown) <= (30 if narrow else 80)
    base = alt.Chart(_inline(rows)).encode(
        x=alt.X("context:N", sort=shown, title=None)
        .axis(orient="top", labelAngle=0 if flat else -45, labelLimit=120, ticks=False, domain=False)
        .scale(paddingInner=0.03),
        y=_names_above(order) if narrow else _names_before(220, 8, order).scale(paddingInner=0.06),
        tooltip=[alt.Tooltip("name:N", title="item"), alt.Tooltip("context:N"), *_numbers()],
    )
    colour = (
        alt.Color("count:Q", title=counted)
        .scale(domain=[0, deepest], clamp=True, nice=False)
        .legend(orient="bottom", format=_WHOLE, gradientLength=220, tickCount=4, titleLimit=260 if narrow else 400)
    )
    layers: list[alt.Chart] = [base.mark_rect(cornerRadius=2).encode(color=colour)]
    if len(shown) <= MOST_NUMBERED:
        for style, side in (("on-few", "<"), ("on-many", ">=")):
            shape = ".2~s" if narrow and deepest >= _CROWDED else _WHOLE
            numbers = base.mark_text(style=style).encode(text=alt.Text("count:Q", format=shape))
            layers.append(numbers.transform_filter(f"datum.low > 0 && datum.count {side} {DEEP * deepest!r}"))
    if narrow:
        layers.append(_above(base).encode(text="name:N").transform_filter(f"datum.context === {shown[0]!r}"))
    description = f"Heat map of {len(order)} by {len(shown)} counts. {_extreme(table, last)}"
    return layered(layers, (48 if narrow else 26) * len(order), title, description)


def histogram(table: pa.Table, *, title: str, counted: str, unit: str) -> alt.LayerChart:
    """Draw people by how much they have, with intervals; columns from, to (null: open), users, low, high.

    >>> table = pa.table({"from": [1, 2], "to": [1, None], "users": [40.0, -3.0], "low": [9.5, -33.5],
    ...                   "high": [70.5, 27.5]})
    >>> histogram(table, title="Activity", counted="people", unit="records").to_dict()["description"]
    'Histogram of people by number of records, 2 bins. Largest: 1 with 40 (9 to 71).'
    """
    named = table.append_column("name", pa.array([bin_name(row) for row in table.to_pylist()], pa.string()))
    named = named.rename_columns(["count" if name == "users" else name for name in named.column_names])
    named = named.select(["name", "count", "low", "high"])
    rows = _outward(named)
    lowest, highest = min(0, *(row["low"] for row in rows)), max(1, *(row["high"] for row in rows))
    base = alt.Chart(_inline(rows)).encode(
        x=alt.X("name:O", sort=None, title=unit)
        .axis(labelAngle=-45 if len(rows) > _FLAT_BINS else 0, ticks=False, domain=False, labelLimit=120)
        .scale(paddingInner=0.28, paddingOuter=0.2),
        tooltip=[alt.Tooltip("name:O", title=unit), *_numbers("people")],
    )
    amount = (
        alt.Y("count:Q", title=counted)
        .scale(domain=[lowest, highest], nice=True)
        .axis(format=_WHOLE, tickCount=6, domain=False, ticks=False)
    )
    tick = base.mark_tick(style="interval", thickness=1.6, size=9, orient="horizontal")
    layers = [
        base.mark_bar(style="count").encode(y=amount),
        base.mark_rule(style="interval").encode(y=alt.Y("low:Q"), y2="high:Q"),
        *(tick.encode(y=alt.Y(f"{end}:Q")) for end in ("low", "high")),
    ]
    bins = "1 bin" if len(rows) == 1 else f"{len(rows)} bins"
    description = f"Histogram of people by number of {unit}, {bins}. {_extreme(named)}"
    return layered(layers, 240, title, description)


def bin_name(row: Mapping[str, Any]) -> str:
    """Name a bin by its ends.

    >>> [bin_name({"from": low, "to": high}) for low, high in ((1, 1), (3, 4), (1025, 2048), (1_048_577, None))]
    ['1', '3–4', '1,025–2,048', 'over 1,048,576']
    """
    low, high = row["from"], row["to"]
    if high is None:
        return f"over {low - 1:,.0f}"
    return f"{low:,.0f}" if low == high else f"{low:,.0f}–{high:,.0f}"


def rank_size(
    table: pa.Table, *, title: str, counted: str, level: float, noise_alone: bool = True
) -> alt.LayerChart:
    """Draw all counts from the largest to the smallest, and the band in which noise alone would put them.

    Few of many thousand ranks are kept, closer together where the curve is steep; both ends always are. Where
    intervals tell of more than noise, each rank has its own, and there is no band of noise.
    """
    order = np.argsort(-table["count"].to_numpy(), kind="stable")
    counts, low, high = (table[name].to_numpy()[order] for name in ("count", "low", "high"))
    half_width = noise_half_width(table) if noise_alone else float(np.median(counts)) / 10
    if noise_alone:
        low, high = counts - half_width, counts + half_width
    ranks = np.unique(np.geomspace(1, counts.size, num=min(counts.size, CURVE_POINTS)).round().astype(int))
    rows = [
        {"rank": int(rank), "count": round(float(counts[rank - 1]), 2)}
        | {"low": math.floor(low[rank - 1]), "high": math.ceil(high[rank - 1])}
        for rank in ranks
    ]
    x = alt.X("rank:Q", title="rank, from the largest count").scale(type="log", nice=False)
    x = x.axis(format=_WHOLE, values=_decades(counts.size), grid=False, ticks=False, labelFlush=False)
    y = alt.Y("count:Q", title=counted).scale(type="symlog", constant=max(1.0, half_width), nice=False)
    marks = _around_zero(float(low.min()), float(high.max()), half_width)
    y = y.axis(format=_WHOLE, values=marks, domain=False, ticks=False)
    base = alt.Chart(_inline(rows)).encode(x=x, tooltip=[alt.Tooltip("rank:Q", format=","), *_numbers()])
    noise = alt.Chart(_inline([{"low": -half_width, "high": half_width}]))
    words = f"{per_cent(level)} of pure noise falls into this band (±{half_width:,.0f})"
    layers = [
        base.mark_area(style="band").encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(style="curve").encode(y=y),
    ]
    description = f"Curve of {counts.size:,} counts from the largest to the smallest"
    if not noise_alone:
        return layered(layers, 260, title, f"{description}, from {counts[0]:,.0f} to {counts[-1]:,.0f}.")
    remark = noise.mark_text(style="remark", align="left", baseline="bottom", dx=8, dy=-5, text=words)
    layers = [
        noise.mark_rect(style="noise").encode(y=alt.Y("low:Q"), y2="high:Q"),
        *layers,
        remark.encode(x=alt.value(0), y=alt.Y("low:Q")),
    ]
    return layered(layers, 260, title, f"{description}; {count_significant(table):,} lie clear of the noise.")


def noise_half_width(table: pa.Table) -> float:
    """Return how far ``high`` lies above the count: the half-width of the usual interval."""
    return float(np.median(table["high"].to_numpy() - table["count"].to_numpy()))


def interval_cutoff(table: pa.Table) -> float | None:
    """Return where to cut intervals that reach far higher than any count, or None if all may be drawn whole.

    >>> wide = pa.table({"count": [100.0, 40.0], "low": [80.0, 20.0], "high": [900.0, 60.0]})
    >>> interval_cutoff(wide), interval_cutoff(wide.set_column(2, "high", [[120.0, 60.0]]))
    (250.0, None)
    """
    counts, low, high = (table[name].to_numpy() for name in ("count", "low", "high"))
    cutoff = FURTHEST_DRAWN * float(counts.max(initial=0.0))
    lopsided = float((high - counts).max(initial=0.0)) > FURTHEST_DRAWN * float((counts - low).max(initial=0.0))
    return cutoff if cutoff > 0 and lopsided and float(high.max()) > cutoff else None


def count_significant(table: pa.Table) -> int:
    """Return how many intervals lie above zero."""
    return int(np.count_nonzero(table["low"].to_numpy() > 0))


def unknown_beside(contexts: Sequence[str]) -> str:
    """Return the word for a missing context that is not itself the name of one.

    >>> unknown_beside(["Monday"]), unknown_beside(["unknown", "known"])
    ('unknown', '(unknown)')
    """
    word = UNKNOWN
    while word in contexts:
        word = f"({word})"
    return word


def clip(text: str, longest: int) -> str:
    r"""Cut a text to at most ``longest`` characters, on one line.

    >>> clip("a rather long\nname", 14)
    'a rather long…'
    """
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def spec_of(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the Vega-Lite description of a chart as plain data.

    It is not looked at once more as a whole, which would take longer than all the rest: tests compile every chart.
    """
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec


def _outward(table: pa.Table) -> list[dict[str, Any]]:
    """Return the rows with their intervals rounded outward, so that rounding never undercuts the level."""
    return [
        {
            **row,
            "count": round(row["count"], 2),
            "low": math.floor(row["low"]),
            "high": math.ceil(row["high"]),
        }
        for row in table.to_pylist()
    ]


def _extreme(table: pa.Table, missing: str = "") -> str:
    row = max(_outward(table), key=lambda row: float(row["count"]))
    where = f" in {row['context'] or missing}" if "context" in row else ""
    name = clip(row["name"], LONGEST_NAME)
    return f"Largest: {name}{where} with {row['count']:,.0f} ({row['low']:,} to {row['high']:,})."


def _names_before(limit: int, room: int, order: Sequence[str] | None = None) -> alt.Y:
    """Return an axis of names, with so many pixels of room after them."""
    names = alt.Y("name:N", sort=None if order is None else list(order), title=None)
    names = names.axis(labelLimit=limit, ticks=False, domain=False, labelPadding=room)
    return names.scale(paddingInner=0.32, paddingOuter=0.2)


def _names_above(order: Sequence[str] | None = None) -> alt.Y:
    """Return rows without an axis, with room above each for a line of words."""
    names = alt.Y("name:N", sort=None if order is None else list(order), title=None, axis=None)
    return names.scale(paddingInner=0.55, paddingOuter=0.55)


def _above(base: alt.Chart, *, room: int = 0, at: Literal["width"] | None = None) -> alt.Chart:
    """Return a line of words above each row: from the left, leaving some ``room``, or ending on the right."""
    words = base.mark_text(
        style="words",
        align="right" if at else "left",
        baseline="bottom",
        limit=alt.ExprRef(f"width - {room}"),
        dy=-3,
    )
    above: alt.Chart = words.encode(x=alt.value(at or 0), y=base.encoding.y.copy().bandPosition(0))
    return above


def _numbers(count: str = "count") -> list[alt.Tooltip]:
    titles = {"count": count, "low": "low", "high": "high"}
    return [alt.Tooltip(f"{name}:Q", title=title, format=_WHOLE) for name, title in titles.items()]


def _inline(rows: list[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=rows)


def _decades(most: float, least: float = 1) -> list[int]:
    """Return the powers of ten from ``least`` to ``most``.

    >>> _decades(500)
    [1, 10, 100]
    """
    return [10**n for n in range(20) if least <= 10**n <= most]


def _around_zero(low: float, high: float, half_width: float) -> list[int]:
    """Return axis marks for a scale that is even within the noise and goes by powers of ten beyond it."""
    return [*(-n for n in _decades(-low, half_width)), 0, *_decades(high, half_width)]


def layered(
    layers: list[alt.Chart],
    height: int,
    title: str,
    description: str,
    rows: list[dict[str, Any]] | None = None,
    right: int = 20,
) -> alt.LayerChart:
    """Put layers together as one chart, as wide as its place, with title, words and the light theme.

    ``rows`` are what layers without data of their own show; ``right`` are the pixels that are left there.
    """
    chart = alt.LayerChart(
        layer=layers,
        title=title,
        description=description,
        data=alt.Undefined if rows is None else _inline(rows),
        width="container",
        height=height,
        padding={"left": 0, "top": 4, "right": right, "bottom": 4},
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    themed: alt.LayerChart = chart.configure(**LIGHT)
    return themed
