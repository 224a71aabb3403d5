"""Names of venues and films in synthetic logs, and the busy hours of each kind of venue.

Nothing here is taken from a real register: names are put together from the words in ``words.toml``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Kind:
    """A kind of venue: how common it is, when people go (Monday first), and how it is named.

    ``hours`` are relative weights of the hours from ``opens`` on; hours past midnight belong to the night
    that began on the day before.
    """

    label: str
    share: int
    week: tuple[int, ...]
    opens: int
    hours: tuple[int, ...]
    patterns: Sequence[str]


_WORDS: dict[str, Any] = tomllib.loads(
    resources.files("headcount.lab.synthetic").joinpath("words.toml").read_text(encoding="utf-8")
)
KINDS = tuple(
    Kind(
        entry["label"],
        entry["share"],
        tuple(entry["week"]),
        entry["opens"],
        tuple(entry["hours"]),
        entry["patterns"],
    )
    for entry in _WORDS["kind"]
)
LANDMARKS: tuple[tuple[str, str], ...] = tuple((name, label) for name, label in _WORDS["landmarks"])
DISTRICTS: list[str] = _WORDS["districts"]
_STREETS = [f"{first} {second}" for second in _WORDS["streets"][1] for first in _WORDS["streets"][0]]


def venue_names(
    rng: np.random.Generator, kinds: Sequence[int] | NDArray[np.int64], districts: NDArray[np.int64]
) -> list[str]:
    """Return a distinct name for each venue, given its kind and district; none is a landmark's.

    >>> rng = np.random.Generator(np.random.PCG64(1))
    >>> len(set(venue_names(rng, [0] * 500, np.zeros(500, dtype=np.int64))))
    500
    """
    taken = {name: 1 for name, _ in LANDMARKS}
    return [
        _fresh(rng, KINDS[kind].patterns, DISTRICTS[district % len(DISTRICTS)], taken, " No. {}")
        for kind, district in zip(kinds, districts, strict=True)
    ]


def film_titles(rng: np.random.Generator, many: int) -> list[str]:
    """Return ``many`` distinct film titles, each with a year.

    >>> titles = film_titles(np.random.Generator(np.random.PCG64(1)), 3)
    >>> len(set(titles)), all(title.endswith(")") for title in titles)
    (3, True)
    """
    taken: dict[str, int] = {}
    years = 2026 - np.floor(70 * rng.random(many) ** 2).astype(np.int64)
    return [_fresh(rng, _WORDS["titles"], None, taken, " Part {}") + f" ({year})" for year in years]


def _fresh(
    rng: np.random.Generator, patterns: Sequence[str], district: str | None, taken: dict[str, int], numbered: str
) -> str:
    """Fill a pattern until the name is new; after a few tries, number the last one."""
    name = ""
    for _ in range(12):
        draws = rng.random(8)
        adjective = _pick(_WORDS["adjectives"], draws[0])
        noun, other_noun = _pick_two(_WORDS["nouns"], draws[1], draws[2])
        person, other_person = _pick_two(_WORDS["people"], draws[3], draws[4])
        name = _pick(patterns, draws[5]).format(
            adjective=adjective,
            noun=noun,
            other_noun=other_noun,
            sign=f"{adjective} {noun}",
            person=person,
            other_person=other_person,
            street=_pick(_STREETS, draws[6]),
            plural=_pick(_WORDS["plurals"], draws[7]),
            district=district or _pick(DISTRICTS, draws[7]),
        )
        if name not in taken:
            taken[name] = 1
            return name
    plain = name
    while name in taken:
        taken[plain] += 1
        name = plain + numbered.format(taken[plain])
    taken[name] = 1
    return name


def _pick(words: Sequence[str], draw: float) -> str:
    return words[int(draw * len(words))]


def _pick_two(words: Sequence[str], draw: float, other: float) -> tuple[str, str]:
    first = int(draw * len(words))
    return words[first], words[(first + 1 + int(other * (len(words) - 1))) % len(words)]
