"""Synthetic logs of extreme shapes (one record per user, bots), to test constants tuned on real logs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ITEMS = 5_000
_POPULARITY = 1 / np.arange(1, ITEMS + 1)
_POPULARITY /= _POPULARITY.sum()

Codes = NDArray[np.int64]
Drawn = tuple[Codes, Codes]


def _alike(random: np.random.Generator) -> Drawn:
    return _draw(random, np.full(20_000, 10))


def _two_kinds(random: np.random.Generator) -> Drawn:
    return _draw(random, np.where(random.random(20_000) < 0.9, 4, 400))


def _bots(random: np.random.Generator) -> Drawn:
    user, item = _draw(random, np.concatenate([random.geometric(0.2, 20_000), np.full(5, 20_000)]))
    bots = user >= 20_000
    item[bots] = random.integers(0, ITEMS, bots.sum())
    return user, item


def _few(random: np.random.Generator) -> Drawn:
    return _draw(random, random.geometric(0.05, 300))


def _one_record_per_user(random: np.random.Generator) -> Drawn:
    return _draw(random, np.full(50_000, 1))


def _repeats(random: np.random.Generator) -> Drawn:
    user, item = _draw(random, random.geometric(0.03, 8_000))
    favourites = random.choice(ITEMS, (8_000, 5), p=_POPULARITY)
    again = random.random(user.size) < 0.8
    item[again] = favourites[user[again], random.integers(0, 5, again.sum())]
    return user, item


SHAPES: Mapping[str, Callable[[np.random.Generator], Drawn]] = {
    "all alike": _alike,
    "two kinds": _two_kinds,
    "a few bots": _bots,
    "300 people": _few,
    "one record each": _one_record_per_user,
    "heavy repeats": _repeats,
}


def make_log(name: str) -> pa.Table:
    """Return the log of a shape: the same one every time."""
    user, item = SHAPES[name](np.random.default_rng(7))
    return pa.table({"user": user, "item": item})


def _draw(random: np.random.Generator, records: Codes) -> Drawn:
    user = np.repeat(np.arange(records.size), records)
    return user, random.choice(ITEMS, user.size, p=_POPULARITY)
