"""Small worlds of people who tag, for tests."""

from __future__ import annotations

import numpy as np

from headcount.events.tag_log import Tagging, TagLog

RESOURCES = [f"r{place}" for place in range(40)]
WORDS = [f"t{place}" for place in range(24)]


def crowd(people: int, seed: int = 1) -> list[tuple[str, str, str]]:
    """Return people of two tastes: each tags its half of the resources with its half of the tags."""
    draws = np.random.default_rng(seed)
    records = []
    for person in range(people):
        taste = person % 2
        for resource in draws.integers(0, 20, 4):
            tag = taste * 12 + int(12 * draws.random() ** 2)
            records.append((f"u{person}", RESOURCES[taste * 20 + resource], WORDS[tag]))
    return records


def log_of(records: list[tuple[str, str, str]]) -> TagLog:
    """Return a log over all resources and tags of the world."""
    return TagLog.listing(records, resources=RESOURCES, vocabulary=WORDS)


def drawn(seed: int, people: int = 6, resources: int = 5, tags: int = 4, size: int = 30) -> Tagging:
    """Return random assignments."""
    draws = np.random.default_rng(seed)
    columns = (draws.integers(0, many, size) for many in (people, resources, tags))
    return Tagging.from_codes(*columns, people=people, resources=resources, tags=tags)
