"""Synthetic users of the recorded releases, from a generator independent of NumPy's version."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import cache
from typing import Any

Row = tuple[Any, ...]

ITEMS = [f"i{place:02}" for place in range(16)]
CONTEXTS = ["day", "dusk", "dawn"]
ELSEWHERE = ["night", None]
RESOURCES = [f"r{place:02}" for place in range(12)]
WORDS = [f"t{place:02}" for place in range(40)]
JOBS = ["clerk", "cook", "smith"]

EVENT_COLUMNS = ("user", "item", "context", "times", "stars", "number", "person")
TAG_COLUMNS = ("user", "resource", "tag")
USER_COLUMNS = ("id", "household", "age", "job", "hours")

BINS: Mapping[str, Any] = {
    "age": {"from": 0, "to": 96, "bins": 8},
    "job": {"values": JOBS, "other": True},
    "hours": {"from": 0, "to": 80, "bins": 8},
}


@cache
def events(people: int) -> list[Row]:
    """Return who had what where, how often and how they liked it; few people have most of it."""
    draw = random.Random(people)
    rows: list[Row] = []
    for person in range(people):
        many = 60 if person % 40 == 7 else 1 + int(12 * draw.random() ** 3)
        for _ in range(many):
            place = int(len(ITEMS) * draw.random() ** 2)
            item = None if draw.random() < 0.02 else "unlisted" if draw.random() < 0.03 else ITEMS[place]
            context = draw.choice([*CONTEXTS, *CONTEXTS, *ELSEWHERE])
            rows.append(
                (
                    f"u{person}",
                    item,
                    context,
                    draw.randrange(4),
                    draw.randrange(13) / 2,
                    7_000_000_000 + place,
                    3 * person - 90,
                )
            )
    draw.shuffle(rows)
    return rows


@cache
def tags(people: int) -> list[Row]:
    """Return who gave which tag to which resource: people of two tastes, some of whom tag a great deal."""
    draw = random.Random(people)
    rows: list[Row] = []
    for person in range(people):
        taste = person % 2
        for _ in range(40 if person % 30 == 4 else 1 + draw.randrange(6)):
            resource, word = (
                RESOURCES[6 * taste + draw.randrange(6)],
                WORDS[20 * taste + int(20 * draw.random() ** 2)],
            )
            rows.append((f"u{person}", "unlisted" if draw.random() < 0.03 else resource, word))
    draw.shuffle(rows)
    return rows


@cache
def town(people: int) -> list[Row]:
    """Return who lives where, how old they are and what they do; hours follow from age, in steps."""
    draw = random.Random(people)
    rows: list[Row] = []
    for person in range(people):
        for _ in range(6 if person % 9 == 0 else 1):
            age = draw.randrange(100)
            home = (
                None if draw.random() < 0.05 else f"h{person // 4}" if draw.random() < 0.9 else f"h{person // 7}"
            )
            rows.append((f"p{person}", home, age, draw.choice([*JOBS, "pilot"]), age // 12 * 3 % 8 * 10 + 5))
    draw.shuffle(rows)
    return rows
