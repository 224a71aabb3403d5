"""Vega-Lite themes, light and dark: colours, fonts and number formats.

Marks are named by style (``count``, ``interval``, …); what a style looks like is said here alone.
"""

from __future__ import annotations

from typing import Any

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
