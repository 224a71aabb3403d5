"""One spelling of per cent, in pages and in what is printed: a number, a space and the sign."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
SOURCES = [file for kind in ("py", "jinja") for file in sorted((ROOT / "src").rglob(f"*.{kind}"))]
SOURCES += sorted((ROOT / "tools").rglob("*.py"))

CLOSE = re.compile(r"[0-9]%(?![0-9A-Fa-f]{2})")
"""95%, but no letter of an address, such as %20."""

FORMATTED = re.compile(r"\{[^{}]*:[^{}]*[^ {}]%\}")
"""What Python writes so, such as {share:.0%}: per_cent writes it."""

IN_PLOTS = re.compile(r"\"\.[0-9]%\"|\bwidth: [0-9]+%")
"""Formats of plots, which a locale gives their sign (see test_release_charts.py), and widths in CSS."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_spell_per_cent_alike(page: Path) -> None:
    assert CLOSE.findall(page.read_text(encoding="utf-8")) == []


def test_what_is_printed_spells_per_cent_alike() -> None:
    for file in SOURCES:
        text = IN_PLOTS.sub("", file.read_text(encoding="utf-8"))
        assert CLOSE.findall(text) == [], file.name
        assert FORMATTED.findall(text.replace("{%", "")) == [], file.name


def test_another_spelling_of_percent_is_detected() -> None:
    assert CLOSE.search("with 95% intervals")
    assert FORMATTED.search('f"{share:.1%} of all"')
    assert not CLOSE.search("95 % of s3%20cret")
