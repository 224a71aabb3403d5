"""The chart of an audit: the lower bound of ε of each pair of neighbouring logs beside the stated ε."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from headcount.reports.charts.release_charts import LONGEST_NAME, clip, layered

_ROW = 30  # pixels
_ROOM = 1.25  # how far the axis goes beyond what there is to see


def bounds(rows: Sequence[Mapping[str, Any]], *, claimed: float, title: str) -> alt.LayerChart:
    """Draw one dot for every pair, at what ε is at least, in the row of its name; a line stands at the claim.

    Rows have ``name``, ``pair``, ``bound``, ``runs`` and ``event``. Dots beyond the claim are violations.

    >>> rows = [{"name": "sra", "pair": "a tie", "bound": 0.9, "runs": 500, "event": "count 0 is at least 2"}]
    >>> bounds(rows, claimed=1.0, title="Found").to_dict()["description"]
    'Dots for 1 pair of neighbours in 1 row. Largest: sra, on a tie, with ε at least 0.90. Claimed: 1.'
    """
    shown = [
        {
            **row,
            "name": clip(row["name"], LONGEST_NAME),
            "bound": round(row["bound"], 3),
            "kind": "violation" if row["bound"] > claimed else "within the claim",
        }
        for row in rows
    ]
    names = list(dict.fromkeys(row["name"] for row in shown))
    most = _ROOM * max(claimed, *(row["bound"] for row in shown))
    base = alt.Chart(alt.InlineData(values=shown)).encode(
        x=alt.X("bound:Q", title="ε at least (dashed: claimed)")
        .scale(domain=[0, most], nice=False)
        .axis(domain=False, ticks=False, tickCount=alt.ExprRef("width / 90"), labelFlush=False),
        y=alt.Y("name:N", sort=names, title=None).axis(
            labelLimit=220, ticks=False, domain=False, labelPadding=8, grid=True
        ),
        tooltip=[
            alt.Tooltip("name:N", title="row"),
            alt.Tooltip("pair:N", title="neighbours"),
            alt.Tooltip("bound:Q", title="ε at least", format=".3f"),
            alt.Tooltip("runs:Q", format=","),
            alt.Tooltip("event:N"),
        ],
    )
    within = base.mark_point(style="interval", filled=True, size=90, opacity=0.85)
    beyond = base.mark_point(style="alarm", shape="diamond", filled=True, size=130, opacity=0.85)
    line = alt.Chart(alt.InlineData(values=[{"claimed": claimed}]))
    layers = [
        line.mark_rule(style="claim").encode(x=alt.X("claimed:Q")),
        within.transform_filter("datum.kind != 'violation'"),
        beyond.transform_filter("datum.kind == 'violation'"),
    ]
    best = max(rows, key=lambda row: float(row["bound"]))
    pairs = "1 pair" if len(rows) == 1 else f"{len(rows)} pairs"
    description = (
        f"Dots for {pairs} of neighbours in {len(names)} row{'s' * (len(names) > 1)}. Largest: {best['name']}, on "
        f"{best['pair']}, with ε at least {best['bound']:.2f}. Claimed: {claimed:g}."
    )
    return layered(layers, _ROW * len(names), title, description)
