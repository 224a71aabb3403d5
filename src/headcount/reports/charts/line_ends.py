"""Labels at the ends of chart lines, moved apart where they would overlap.

Ends are taken from the uppermost to the lowest. The n-th name stands as low as its own end and a line below each
name above it, p(n) = max over j ≤ n of y(j) + (n − j) · gap, which is a running maximum; and no lower than leaves
room for those below it. Charts do this themselves, since readers choose which lines are shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from headcount.reports.charts.line_scales import LineScale

ENDS = ("leaders", "names")
"""The names of the layers."""

_GAP = 14  # pixels from name to name
_LEADER = 12  # pixels between the plot and a name
_LETTER = 6.6  # pixels of a letter, on average


def room_for(names: Sequence[str]) -> int:
    """Return how many pixels names take, with what leads to them."""
    return round(_LETTER * max(map(len, names), default=0)) + _LEADER + 12


def named_ends(base: alt.Chart, colour: alt.Color, x: str, scale: LineScale, height: int) -> list[alt.Chart]:
    """Return layers that name each line where it ends, with a short line from there to its name."""
    by_end: list[alt.SortField | dict[str, str]] = [alt.SortField("end", order="ascending")]
    placed = (
        base.transform_joinaggregate(last=f"max({x})", groupby=["method"])
        .transform_filter(f"datum['{x}'] === datum.last")
        .transform_calculate(end=f"clamp({scale.pixel('datum.mean', height)}, 0, {height})")
        .transform_window(place="row_number()", sort=by_end)
        .transform_calculate(apart=f"datum.end - datum.place * {_GAP}")
        .transform_window(lowest_yet="max(apart)", sort=by_end, frame=[None, 0])
        .transform_joinaggregate(many="count()")
        .transform_calculate(
            at=f"min(datum.lowest_yet + datum.place * {_GAP}, {height} - (datum.many - datum.place) * {_GAP})"
        )
    )
    at = alt.Y("at:Q", scale=None, axis=None)
    leader = placed.mark_rule(strokeWidth=1, opacity=0.8).encode(
        x2=alt.value(alt.ExprRef(f"width + {_LEADER}")),
        y=alt.Y("end:Q", scale=None, axis=None),
        y2="at:Q",
        color=colour,
    )
    words = placed.mark_text(style="words", align="left", dx=_LEADER + 4)
    named = words.encode(x=alt.value("width"), y=at, text="method:N")
    return [layer.properties(name=name) for layer, name in zip((leader, named), ENDS, strict=True)]
