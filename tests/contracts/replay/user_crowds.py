"""Users and their rows for the replay contract: small logs of awkward shape, and joining users."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.events.log import EventLog, read_events
from headcount.events.tag_log import TagLog, read_tags
from headcount.events.user_table import read_people

Row = tuple[Any, ...]
RowsByUser = Mapping[str, Sequence[Row]]

ITEMS = [f"i{place:02}" for place in range(12)]
CONTEXTS = ["day", "dusk"]
ELSEWHERE = ["night", None]
"""Contexts that nobody listed."""


@dataclass(frozen=True)
class Crowd:
    """Some people, and others who might join: each with all the rows of theirs."""

    people: RowsByUser
    newcomers: RowsByUser

    def neighbours(self, most: int, seed: int) -> list[RowsByUser]:
        """Return crowds that differ in one person, who joins or leaves: as many of these as of those."""
        order = np.random.default_rng(seed).permutation
        joining: list[RowsByUser] = [
            {**self.people, name: self.newcomers[name]} for name in order(sorted(self.newcomers))
        ]
        leaving: list[RowsByUser] = [
            {n: self.people[n] for n in self.people if n != removed} for removed in order(sorted(self.people))
        ]
        turns = [step for pair in zip(joining, leaving, strict=False) for step in pair]
        rest = joining[len(leaving) :] + leaving[len(joining) :]
        return [*turns, *rest][:most]


def rows_of(people: RowsByUser) -> list[tuple[Any, ...]]:
    """Return everybody's rows, one person's among the others'; nobody's place hangs on who else is there."""
    rows = [((who, at), (who, *row)) for who, own in people.items() for at, row in enumerate(own)]
    return [row for _, row in sorted(rows, key=lambda row: zlib.crc32(repr(row[0]).encode()))]


# Events: (item, context, times, stars)


def events(shape: str, seed: int) -> Crowd:
    """Return a crowd of one shape: nobody, one, alike (all ties), with heavy users,
    random, or busy (everybody has everything)."""
    rng = np.random.default_rng([seed, zlib.crc32(shape.encode())])

    def row(item: Any = None, context: Any = "any") -> Row:
        places = [*CONTEXTS, *CONTEXTS, *ELSEWHERE]
        return (
            item or ITEMS[int(len(ITEMS) * rng.random() ** 2)],
            places[rng.integers(len(places))] if context == "any" else context,
            int(rng.integers(1, 4)),
            float(rng.integers(0, 13)) / 2,  # beyond the range of 1 to 5, too
        )

    def some(most: int) -> list[Row]:
        return [row() for _ in range(rng.integers(1, most + 1))]

    alike = [row(item, "day") for item in ITEMS[:3]]
    people: dict[str, dict[str, list[Row]]] = {
        "nobody": {},
        "one": {"ann": some(9)},
        "alike": {f"u{n}": alike for n in range(6)},
        "heavy": {"bob": [row() for _ in range(60)], "eve": [row(item) for item in ITEMS] * 2, "ann": some(2)},
        "random": {f"u{n}": some(5 if n % 4 else 20) for n in range(9)},
        "busy": {f"u{n}": [row(item) for item in ITEMS] for n in range(12)},
    }
    newcomers = {
        "once": [row()],
        "one item again and again": [row(ITEMS[2], "day")] * 32,
        "everything": [row(item, context) for item in ITEMS for context in (*CONTEXTS, *ELSEWHERE)],
        "every item": [row(item, "dusk") for item in ITEMS] * 3,
        "what nobody has": [row(f"new{n}") for n in range(9)] + [row("new0")],
        "eight items": [row(item, "day") for item in ITEMS[:8]],
        "nowhere": [row(item, None) for item in ITEMS[:2]],
        "like the others": alike,
        "extreme ratings": [(item, "day", 1, stars) for item, stars in zip(ITEMS, [9.0, -9.0] * 6, strict=True)],
    }
    return Crowd(people[shape], newcomers)


WIDE = [f"w{place:02}" for place in range(72)]
"""More items than relations are ever released among at the least."""


def raters(people: int, seed: int) -> Crowd:
    """Return people who each rated some of many items, hardly any item more often than the next."""
    rng = np.random.default_rng(seed)

    def some(many: int) -> list[Row]:
        picked = rng.choice(len(WIDE), many, replace=False)
        return [(WIDE[item], "day", 1, float(rng.integers(1, 6))) for item in picked]

    newcomers = {
        "a few": some(5),
        "half": some(36),
        "all, extremely": [(tag, "day", 1, 1.0 + 4 * (at % 2)) for at, tag in enumerate(WIDE)],
        "the last ones": [(tag, "day", 1, 5.0) for tag in WIDE[-20:]],
    }
    return Crowd({f"u{n}": some(12) for n in range(people)}, newcomers)


SHAPES = ("nobody", "one", "alike", "heavy", "random", "busy")

FORMS: Mapping[str, Mapping[str, Any]] = {
    "records": {},
    "users": {"count": "users"},
    "contexts": {"context": "context"},
    "contexts of users": {"context": "context", "count": "users"},
    "one context each": {"context": "context", "context_of": "user"},
    "one context each, users": {"context": "context", "context_of": "user", "count": "users"},
    "times": {"times": "times", "context": "context"},
    "conditions": {"where": ["stars >= 2", "item != i01"]},
}
"""How a log is read: all that the flags of events can ask for, but file formats."""


@dataclass(frozen=True)
class Reading:
    """How a crowd becomes a log: the words of ``read_events``."""

    words: Mapping[str, Any] = field(default_factory=dict)
    selects: bool = False
    items: Sequence[str] = tuple(ITEMS)

    def __call__(self, people: RowsByUser) -> EventLog:
        """Read a crowd."""
        kinds = (pa.string(), pa.string(), pa.string(), pa.int64(), pa.float64())
        names = ("user", "item", "context", "times", "stars")
        rows = rows_of(people)
        columns = {name: pa.array([row[at] for row in rows], kinds[at]) for at, name in enumerate(names)}
        words: dict[str, Any] = {"select_items": True} if self.selects else {"items": self.items}
        if "context" in self.words and "select_contexts" not in self.words:
            words["contexts"] = CONTEXTS
        return read_events(pa.table(columns), user="user", item="item", **words, **self.words)


# Tags: (resource, tag)

RESOURCES = [f"r{place:02}" for place in range(12)]
WORDS = [f"t{place:02}" for place in range(40)]
"""So few resources that they stand out easily, and more words than are kept at the least."""


def taggers(people: int, seed: int) -> Crowd:
    """Return people of two tastes, some of whom tag everything."""
    rng = np.random.default_rng(seed)

    def pairs(taste: int, many: int) -> list[Row]:
        places = rng.integers(0, 6, many), (20 * rng.random(many) ** 2).astype(int)
        return [(RESOURCES[taste * 6 + r], WORDS[taste * 20 + t]) for r, t in zip(*places, strict=True)]

    crowd = {f"u{n}": pairs(n % 2, int(rng.integers(1, 30 if n % 9 == 0 else 5))) for n in range(people)}
    newcomers = {
        "once": pairs(0, 1),
        "one tag everywhere": [(tag, WORDS[3]) for tag in RESOURCES],
        "every tag on one": [(RESOURCES[5], tag) for tag in WORDS],
        "everything": [(resource, word) for resource in RESOURCES for word in WORDS],
        "unlisted": [("r99", WORDS[0]), (RESOURCES[0], "t99"), ("r99", "t99")],
        "again and again": pairs(1, 1) * 30,
        "four by four": [(resource, word) for resource in RESOURCES[:4] for word in WORDS[:4]],
    }
    return Crowd(crowd, newcomers)


def tag_log(people: RowsByUser) -> TagLog:
    """Read taggers."""
    return TagLog.listing(rows_of(people), resources=RESOURCES, vocabulary=WORDS)


def selecting_tags(people: RowsByUser) -> TagLog:
    """Read taggers whose words nobody lists."""
    rows, names = rows_of(people), ("user", "film", "word")
    table = pa.table({name: pa.array([row[at] for row in rows], pa.string()) for at, name in enumerate(names)})
    return read_tags(table, user="user", resource="film", tag="word", resources=RESOURCES, select_tags=True)


# Tables of people: (household, age, job, hours)

BINS: Mapping[str, Any] = {
    "age": {"from": 0, "to": 96, "bins": 8},
    "job": {"values": ["clerk", "cook", "smith"], "other": True},
    "hours": {"from": 0, "to": 80, "bins": 8},
}


def town(people: int, seed: int, *, correlated: bool = False) -> Crowd:
    """Return people in households; ``correlated``: hours follow from age, in steps that neither shows alone."""
    rng = np.random.default_rng(seed)

    def row(home: str) -> Row:
        age = int(rng.integers(0, 96))
        hours = age // 12 * 3 % 8 * 10 + 5 if correlated else int(rng.integers(0, 80))
        return home, age, ["clerk", "cook", "smith", "pilot"][rng.integers(4)], hours

    crowd = {f"p{n}": [row(f"h{n // 4}") for _ in range(1 if n % 5 else 6)] for n in range(people)}
    newcomers = {
        "one": [row("h new")],
        "many records": [row("h new") for _ in range(30)],
        "the same again": [("h new", 30, "cook", 40)] * 9,
        "beyond the edges": [("h new", 500, "king", -4), ("h new", -1, "cook", 900)],
        "in another's house": [row("h0")],
        "a corner": [("h new", 0, "clerk", 0)] * 9,
        "in every job": [("h new", 50, job, 15) for job in ("clerk", "cook", "smith", "king")],
    }
    return Crowd(crowd, newcomers)


def households(crowd: Crowd) -> Crowd:
    """Return the same crowd where whoever joins or leaves is a whole household."""
    homes: dict[str, list[Row]] = {}
    for who, own in crowd.people.items():
        homes.setdefault(own[0][0], []).extend((who, *row) for row in own)
    large = [(f"n{n}", "h large", 9 * n % 96, "cook", 8 * n % 80) for n in range(12)]
    return Crowd(homes, {"large": large, "all alike": [(f"n{n}", "h alike", 50, "cook", 15) for n in range(5)]})


def town_log(people: RowsByUser) -> EventLog:
    """Read a table of people."""
    return _table(rows_of(people))


def household_log(homes: RowsByUser) -> EventLog:
    """Read a table of people that is made of whole households."""
    return _table([row[1:] for row in rows_of(homes)])


def _table(rows: Sequence[Row]) -> EventLog:
    names = ("id", "household", "age", "job", "hours")
    kinds = (pa.string(), pa.string(), pa.int64(), pa.string(), pa.int64())
    return read_people(
        pa.table({name: pa.array([row[at] for row in rows], kinds[at]) for at, name in enumerate(names)}),
        user="id",
    )
