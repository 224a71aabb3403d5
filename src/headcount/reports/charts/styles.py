"""Themes of charts, light and dark, and the order, colour, marker shape and dashes of each method.

Marks are named by style (``count``, ``interval``, …); only the themes say what a style looks like.

Methods of one family share a colour, of which there are seven, after Okabe and Ito but with orange and sky blue
darker, so that each stands out of a white page as of a black one (3 to 1). Shapes tell methods of one family
apart; methods as published have dashed lines and hollow marks. So no plot relies on colour alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt

from headcount.accounting.guarantee import Standing
from headcount.methods.registry import FAMILIES, family_of, method_names

PUBLISHED = "-published"

_STYLES = {
    name: (listing.colour, listing.shape)
    for family in FAMILIES.values()
    for name, listing in family.methods.items()
    if listing.colour
}
_SHORT = 16  # letters of a name, of which three fit side by side
_X = "M-.8,-.8L.8,.8M-.8,.8L.8,-.8"
_STAR = "M0,-1L.23,-.31L.95,-.31L.36,.12L.59,.81L0,.38L-.59,.81L-.36,.12L-.95,-.31L-.23,-.31Z"
_OTHERS = (
    ("#0072B2", "cross"),
    ("#B87A00", "triangle-left"),
    ("#009E73", "triangle-right"),
    ("#CC79A7", _X),
    ("#8A8A8A", _STAR),
)


_FONT = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Noto Sans', 'Liberation Sans', Arial, sans-serif"

_NUMBERS = {"decimal": ".", "thousands": ",", "grouping": [3], "currency": ["", ""], "percent": " %"}
"""How plots write numbers: per cent as :func:`~headcount.releases.formatting.per_cent` does."""


def _theme(
    *,
    paper: str,
    ink: str,
    muted: str,
    line: str,
    tint: str,
    strong: str,
    alarm: str,
    ramp: list[str],
    few: str,
    many: str,
) -> dict[str, Any]:
    axis = {
        "labelColor": muted, "titleColor": muted, "gridColor": line, "domainColor": line, "tickColor": line,
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "titlePadding": 10,
    }  # fmt: skip
    return {
        "locale": {"number": _NUMBERS},
        "font": _FONT,
        "background": paper,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"labelColor": ink},
        "legend": {"labelColor": muted, "titleColor": muted, "titleFontWeight": "normal"},
        "title": {"color": ink, "subtitleColor": muted, "anchor": "start", "fontSize": 15, "offset": 14},
        "range": {"heatmap": ramp},
        "style": {
            "count": {"color": tint, "cornerRadiusEnd": 2},
            "interval": {"color": strong, "strokeWidth": 1.6},
            "band": {"color": tint, "opacity": 0.35},
            "noise": {"color": muted, "opacity": 0.14},
            "curve": {"color": strong, "strokeWidth": 2},
            "words": {"color": ink, "fontSize": 12},
            "remark": {"color": muted, "fontSize": 12},
            "alarm": {"color": alarm},
            "claim": {"color": ink, "strokeWidth": 1.6, "strokeDash": [5, 4]},
            "on-few": {"color": few, "fontSize": 11},
            "on-many": {"color": many, "fontSize": 11},
        },
    }


DEEP = (
    0.6  # of the largest count: up to here, numbers in a heat map are black on a pale cell, or white on a dark one
)
_MIDDLE = "#3f7aaa"  # the colour there, on which black and white can be read equally well

LIGHT = _theme(
    paper="#ffffff", ink="#1c2530", muted="#5a6573", line="#e1e5ea", tint="#6696ba", strong="#123855",
    alarm="#b3201f", ramp=["#f2f6f9", "#c9dcea", "#92b8d3", _MIDDLE, "#265a82", "#143c5b"],
    few="#000000", many="#ffffff",
)  # fmt: skip
DARK = _theme(
    paper="#1a2029", ink="#e7eaee", muted="#a3adb9", line="#303945", tint="#44739b", strong="#d9e9f6",
    alarm="#f2857c", ramp=["#222b36", "#29435b", "#345f82", _MIDDLE, "#7fb1d8", "#c5e0f5"],
    few="#ffffff", many="#000000",
)  # fmt: skip
THEMES = {"light": LIGHT, "dark": DARK}


def in_order(names: Iterable[str]) -> list[str]:
    """Sort methods as they are always listed: known ones first, each before its published variant.

    >>> in_order({"sra", "hpa-published", "hpa", "adaptive", "original"})
    ['adaptive', 'sra', 'hpa', 'hpa-published', 'original']
    """
    method_names = list(_STYLES)

    def place(name: str) -> tuple[int, bool, str]:
        plain = name.removesuffix(PUBLISHED)
        return (method_names.index(plain) if plain in method_names else len(method_names), plain != name, name)

    return sorted(set(names), key=place)


def is_claimed(name: str) -> bool:
    """Say whether a name is that of a method as published whose promise is not proven, as far as is known.

    >>> is_claimed("gs-published"), is_claimed("dpsense-published"), is_claimed("sra"), is_claimed("x-published")
    (True, False, False, True)
    """
    if name not in method_names():
        return name.endswith(PUBLISHED)
    return family_of(name).kind(name).standing is Standing.CLAIMED


def method_styles(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return colour, shape and dashes of each of the names in order; a name that is no method looks like none.

    >>> method_styles(["gs-published"])
    [{'name': 'gs-published', 'colour': '#009E73', 'shape': 'circle', 'dash': [5, 4], 'hollow': True}]
    """
    strange = [name for name in names if name.removesuffix(PUBLISHED) not in _STYLES]
    styles = []
    for name in names:
        plain = name.removesuffix(PUBLISHED)
        colour, shape = _STYLES[plain] if plain in _STYLES else _other(strange.index(name))
        hollow = PUBLISHED in name  # also where something is said of a method, in brackets
        styles.append(
            {
                "name": name,
                "colour": colour,
                "shape": shape,
                "dash": [5, 4] if hollow else [1, 0],
                "hollow": hollow,
            }
        )
    return styles


def _other(place: int) -> tuple[str, str]:
    """Return colour and shape of a name that is no method: pairs of both, so that many can be told apart."""
    return _OTHERS[place % len(_OTHERS)][0], _OTHERS[(place + place // len(_OTHERS)) % len(_OTHERS)][1]


def key(names: Sequence[str], shown: alt.ExprRef | None = None) -> alt.Legend:
    """Return one legend for all channels, below the plot; it may leave out what an expression does not list."""
    return alt.Legend(
        orient="bottom",
        title=None,
        values=shown or alt.Undefined,
        columns=3 if max(map(len, names), default=0) <= _SHORT else 2,  # fits a phone; must not follow the width
        symbolSize=90,
        labelLimit=150,
    )


def encodings(names: Sequence[str], field: str = "method", *, legend: bool = True) -> dict[str, Any]:
    """Return Altair channels that draw each name as it is always drawn, with one legend below the plot or none."""
    drawn = method_styles(names)
    domain = [style["name"] for style in drawn]
    below = key(domain) if legend else None

    def scaled(values: list[Any]) -> alt.Scale:
        return alt.Scale(domain=domain, range=values)

    return {
        "color": alt.Color(f"{field}:N", scale=scaled([style["colour"] for style in drawn]), legend=below),
        "shape": alt.Shape(f"{field}:N", scale=scaled([style["shape"] for style in drawn]), legend=below),
        "fill": alt.Fill(
            f"{field}:N",
            scale=scaled(["transparent" if style["hollow"] else style["colour"] for style in drawn]),
            legend=below,
        ),
        "strokeDash": alt.StrokeDash(f"{field}:N", scale=scaled([style["dash"] for style in drawn]), legend=below),
    }
