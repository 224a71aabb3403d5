"""Small logs for trials and grids."""

from __future__ import annotations

import numpy as np
import pytest

from headcount.events.log import EventLog

ITEMS = [f"item {n}" for n in range(12)]
DAYS = ["Monday", "Tuesday"]


@pytest.fixture(scope="session")
def log() -> EventLog:
    """A few hundred records of forty people, over items of falling popularity, on two days and on none."""
    generator = np.random.default_rng(3)
    chances = 1 / np.arange(1, 13)
    records = [
        (f"u{user}", ITEMS[item], [*DAYS, None][int(generator.integers(3))])
        for user in range(40)
        for item in generator.choice(12, size=int(generator.integers(1, 12)), p=chances / chances.sum())
    ]
    return EventLog.of(records, items=ITEMS, contexts=DAYS)
