"""The y scale of line charts, and the names at the ends of their lines, as Vega expressions.

Readers choose which lines are shown, so charts compute both themselves. Names are taken from the uppermost end to
the lowest. The n-th name stands as low as its own end and a line below each name above it,
p(n) = max over j ≤ n of y(j) + (n − j) · gap, which is a running maximum; and no lower than leaves room for those
below it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import altair as alt

LOWEST, HIGHEST = "lowest", "highest"
"""The parameters of a chart that say where its scale begins and ends."""

_ROOM = 0.06  # of a scale, above and below what is shown
_LEAST_ROOM = 0.1  # in powers of ten
_NOWHERE = 1e300


@dataclass(frozen=True)
class LineScale:
    """Logarithmic, even around zero and logarithmic beyond ``constant`` (symlog), even, or even from 0 to 1."""

    kind: Literal["log", "symlog", "linear", "unit"]
    constant: float = 1.0

    @classmethod
    def for_means(cls, rows: Sequence[dict[str, Any]], *, logarithmic: bool, unit: bool) -> LineScale:
        """Choose a scale for means; ``unit``: where all are shares, it may go from 0 to 1.

        >>> LineScale.for_means([{"mean": 3.0}, {"mean": 0.0}], logarithmic=True, unit=False)
        LineScale(kind='symlog', constant=3.0)
        """
        means = [row["mean"] for row in rows]
        positive = [mean for mean in means if mean > 0]
        if logarithmic and positive:
            return cls("log") if min(means) > 0 else cls("symlog", min(positive))
        return cls("unit" if unit and all(0 <= mean <= 1 for mean in means) else "linear")

    def encoded(self) -> dict[str, Any]:
        """Return the scale as a channel takes it."""
        ends = {"domainMin": alt.ExprRef(LOWEST), "domainMax": alt.ExprRef(HIGHEST), "nice": False}
        if self.kind == "log":
            return {"type": "log", **ends}
        if self.kind == "symlog":
            return {"type": "symlog", "constant": self.constant, **ends}
        return {"type": "linear", "zero": False, **ends}

    def parameters(self, rows: Sequence[dict[str, Any]], shown: str) -> list[dict[str, Any]]:
        """Return the parameters that say where the scale ends; ``shown`` is the one that says which are shown."""
        if self.kind == "unit":
            return [{"name": LOWEST, "value": 0}, {"name": HIGHEST, "value": 1}]
        least, most = (_extreme(rows, end, shown) for end in (min, max))
        extremes = [{"name": "least", "expr": least}, {"name": "most", "expr": most}]
        if self.kind == "log":
            room = f"pow(10, max({_ROOM} * log(most / least) / LN10, {_LEAST_ROOM}))"
            ends = (f"least / {room}", f"most * {room}")
        else:
            room = f"max({_ROOM} * (most - least), 1e-9)"
            ends = (f"min(0, least - (least < 0 ? {room} : 0))", f"most + {room}")
        return [*extremes, {"name": LOWEST, "expr": ends[0]}, {"name": HIGHEST, "expr": ends[1]}]

    def pixel(self, value: str, height: int) -> str:
        """Return an expression for how far below the upper edge a value lies."""
        along = {
            "log": "log({})",
            "symlog": f"(({{0}}) < 0 ? -1 : 1) * log(1 + abs({{0}}) / {self.constant!r})",
        }.get(self.kind, "({})")
        at, low, high = (along.format(position) for position in (value, LOWEST, HIGHEST))
        return f"{height} * ({high} - {at}) / ({high} - {low})"


def _extreme(rows: Sequence[dict[str, Any]], end: Any, shown: str) -> str:
    """Return an expression for the least or largest mean of what is shown."""
    means: dict[str, list[float]] = {}
    for row in rows:
        means.setdefault(row["method"], []).append(row["mean"])
    nowhere = _NOWHERE if end is min else -_NOWHERE
    expressions = [
        f"(indexof({shown}, {json.dumps(name)}) < 0 ? {nowhere!r} : {end(method_means)!r})"
        for name, method_means in means.items()
    ]
    return f"{end.__name__}({', '.join(expressions)})"


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
