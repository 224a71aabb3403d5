"""Whether everything can be told from its ground, in light and dark: WCAG 2.2, level AA."""

from __future__ import annotations

import re
from importlib import resources
from itertools import pairwise

import pytest

from headcount.methods.counts import FAMILY
from headcount.reports.charts.styles import DEEP, THEMES, method_styles

TEXT, SHAPE = 4.5, 3.0
STYLE = resources.files("headcount.reports").joinpath("templates", "page.css").read_text(encoding="utf-8")
SCHEMES = {
    scheme: dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", block))
    for scheme, block in zip(("light", "dark"), re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL), strict=False)
}


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, other: str) -> float:
    dark, bright = sorted((luminance(first), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def test_black_on_white_is_21_to_1() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_on_a_page(scheme: str) -> None:
    page = SCHEMES[scheme]
    for word, grounds in {"ink": ("ground", "paper"), "muted": ("ground", "paper"), "accent": ("ground", "paper"),
                          "good": ("good-ground",), "bad": ("bad-ground",)}.items():  # fmt: skip
        for ground in grounds:
            assert contrast(page[word], page[ground]) >= TEXT, (word, ground)
    assert contrast(page["edge"], page["paper"]) >= SHAPE, "the edges of what can be typed into"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_marks_and_words_of_charts(scheme: str) -> None:
    theme = THEMES[scheme]
    paper, style = theme["background"], theme["style"]
    for mark in ("count", "interval", "curve", "alarm", "claim"):
        assert contrast(style[mark]["color"], paper) >= SHAPE, mark
    assert contrast(style["interval"]["color"], style["count"]["color"]) >= SHAPE, "a line on a bar"
    for word in (style["words"]["color"], style["remark"]["color"], theme["axis"]["labelColor"]):
        assert contrast(word, paper) >= TEXT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_numbers_in_every_cell_of_a_heat_map(scheme: str) -> None:
    ramp, style = THEMES[scheme]["range"]["heatmap"], THEMES[scheme]["style"]
    knots = [place / (len(ramp) - 1) for place in range(len(ramp))]
    assert DEEP in knots
    brightness = [luminance(colour) for colour in ramp]
    steps = [after - before for before, after in pairwise(brightness)]
    assert all(step > 0 for step in steps) or all(step < 0 for step in steps), "between knots nothing is worse"
    for place, colour in zip(knots, ramp, strict=True):
        for word, there in (("on-few", place <= DEEP), ("on-many", place >= DEEP)):
            assert not there or contrast(style[word]["color"], colour) >= TEXT, (word, colour)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_lines_of_methods(scheme: str) -> None:
    for look in [*method_styles(list(FAMILY.kinds())), *method_styles([f"no method {n}" for n in range(5)])]:
        assert contrast(look["colour"], THEMES[scheme]["background"]) >= SHAPE, look
