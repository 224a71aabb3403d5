"""``Part`` and ``Excerpt``: what a family of methods contributes to a release's page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from headcount.methods.family import resolved
from headcount.methods.registry import family_releasing, table
from headcount.releases.formatting import some
from headcount.releases.release import Release
from headcount.reports.sentences import bound, noise_words

SHOWN = 200
"""So many rows of a table are on a page; all are in the release."""


@dataclass(frozen=True)
class Excerpt:
    """Some rows of a table: texts come first, then numbers."""

    title: str
    caption: str
    more: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    texts: int


@dataclass(frozen=True)
class Part:
    """What a page is called, how it begins, and which tables it shows."""

    title: str
    lede: str
    excerpts: Sequence[Excerpt] = ()


WholePage = Callable[[str], str]
"""A page that a family makes all by itself, of the title that is asked for or none."""


def part_of(release: Release) -> Part | WholePage:
    """Return what the release's family shows of it, or its whole page; or the first rows of all tables."""
    family = family_releasing(release.tables)
    if family is None or not family.report:
        return plain_part(release)
    make = cast("Callable[[Release], Part | WholePage]", resolved(__package__, family.report))
    return make(release)


def plain_part(release: Release) -> Part:
    """Return the first rows of all tables, as they are."""
    shown = []
    for name, held in release.tables.items():
        texts = sum(not isinstance(entry, float) for entry in next(iter(held.to_pylist()), {}).values())
        rows = [
            tuple(f"{cell:,.4g}" if isinstance(cell, float) else str(cell) for cell in row.values())
            for row in held.slice(0, SHOWN).to_pylist()
        ]
        noun = table(name).noun
        headings = tuple(entry.capitalize() for entry in held.column_names)
        shown.append(Excerpt(f"Each {noun}", some(held.num_rows, noun), "", headings, rows, texts))
    first = next(iter(release.tables), "")
    lede = f"Of {bound(release)}. Everything was made from numbers that carry random {noise_words(release)}."
    return Part(table(first).title or f"Each {table(first).noun}", lede, shown)
