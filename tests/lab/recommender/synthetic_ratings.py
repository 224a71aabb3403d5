"""Synthetic ratings with known groups, and reference similarities."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog, read_events
from headcount.lab.recommender.ratings import Ratings
from headcount.lab.recommender.similarity import Metric


def ratings(seed: int = 1, users: int = 30, items: int = 12, share: float = 0.4, step: float = 1.0) -> Ratings:
    draws = np.random.Generator(np.random.PCG64(seed))
    who, what = np.nonzero(draws.random((users, items)) < share)
    values = 1 + step * draws.integers(0, round(4 / step) + 1, who.size)
    return Ratings.from_pairs(who, what, values, n_items=items, n_users=users)


def log_of(ratings: Ratings, labels: list[str] | None = None) -> EventLog:
    """A log of people u0, u1, … who rated films f0, f1, …"""
    films = Catalogue.of([f"f{n}" for n in range(ratings.n_items)], labels)
    rows = {
        "who": [f"u{n}" for n in ratings.users],
        "film": [f"f{n}" for n in ratings.items],
        "stars": ratings.values,
    }
    return read_events(pa.table(rows), user="who", item="film", items=films, value="stars", value_range="1,5")


def co_rated(ratings: Ratings, i: int, j: int) -> tuple[list[float], list[float]]:
    """The ratings of both items by those who rated both."""
    left, right = (dict(zip(*ratings.transposed.of_user(index), strict=True)) for index in (i, j))
    both = sorted(set(left) & set(right))
    return [left[x] for x in both], [right[x] for x in both]


def alike(left: list[float], right: list[float], metric: Metric) -> float:
    if not left or (metric == "pcc" and (np.ptp(left) == 0 or np.ptp(right) == 0)):
        return 0.0
    if metric == "pcc":
        return float(np.corrcoef(left, right)[0, 1])
    return float(np.dot(left, right) / np.linalg.norm(left) / np.linalg.norm(right))


def changes(left: list[float], right: list[float], metric: Metric) -> list[float]:
    """By how much the similarity changes if one co-rater leaves, for each of them."""
    whole = alike(left, right, metric)
    rest = [(left[:x] + left[x + 1 :], right[:x] + right[x + 1 :]) for x in range(len(left))]
    return [abs(whole - alike(*without_user, metric)) for without_user in rest]


def lemma_1(left: list[float], right: list[float]) -> float:
    """The bound of Lemma 1 by its two terms, cut to 1."""
    a, b = np.array(left), np.array(right)
    differences = []
    for x in range(a.size):
        without = np.linalg.norm(np.delete(a, x)) * np.linalg.norm(np.delete(b, x))
        whole = np.linalg.norm(a) * np.linalg.norm(b)
        differences += [a[x] * b[x] / without, a @ b * (whole - without) / (whole * without)]
    return float(min(1.0, max(differences)))
