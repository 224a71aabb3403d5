"""Ranges that nobody declares: found where people are, never a failure, and paid for."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.budget import Grant, Price
from headcount.bounds import UNDRAWN
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.methods.totals.totals import Totals
from headcount.methods.totals.value_range import fixed_range, found_range, ladder, range_bound
from headcount.noise import SeededNoise, add


def log_of(values: list[float]) -> hc.EventLog:
    table = pa.table(
        {
            "who": [f"u{n}" for n in range(len(values))],
            "what": ["x"] * len(values),
            "v": pa.array(values, pa.float64()),
        }
    )
    return hc.read_events(table, user="who", item="what", value="v")


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ([4.5] * 400 + [9e9], ("4", "8")),
        ([1.0, 5.0] * 400, ("0", "8")),
        ([-3.0, 60.0] * 400, ("-4", "64")),
        ([-100.0, -3.0] * 400, ("-128", "0")),
        ([0.0] * 400, ("0", "0.00390625")),
    ],
)
def test_a_range_is_where_people_are(values: list[float], found: tuple[str, str]) -> None:
    release = Totals(limit=1).release(log_of(values), Grant("2"), SeededNoise(3))
    told = release.chosen["range"]
    assert (Decimal(told["low"]), Decimal(told["high"])) == tuple(map(Decimal, found))
    assert f"between {Decimal(told['low']):f} and" in release.explain()
    assert "What lies beyond counts as if" in release.explain()
    mean = release.totals.to_pylist()[3]
    inside = np.clip(values, float(told["low"]), float(told["high"]))
    assert mean["low"] <= inside.mean() <= mean["high"]


HOSTILE = [
    [],
    [math.nan],
    [math.inf] * 3,
    [1e308, -1e308] * 50,
    [5e-324] * 9,
    [2.0**53] * 2000,
    [-(2.0**60)] * 2000,
]


@pytest.mark.parametrize("values", HOSTILE, ids=lambda values: f"{len(values)} of {values[:1]}")
@pytest.mark.parametrize("epsilon", ["0.001", "1", "1000"])
def test_there_is_a_range_whatever_the_values(values: list[float], epsilon: str) -> None:
    for seed in range(3):
        method = Totals(limit=7, quantiles=(500,))
        release = method.release(log_of(values), Grant(epsilon), SeededNoise(seed))
        assert Decimal(release.chosen["range"]["low"]) < Decimal(release.chosen["range"]["high"])


def test_every_range_that_can_be_found_can_be_summed_at_its_price() -> None:
    for limit, price in ((1, "0.00001"), (50, "0.3"), (65536, "1"), (3, "1000")):
        ends = ladder(limit, Price.of(price))
        for low, high in (*itertools.pairwise(ends), (ends[0], ends[-1])):
            assert fixed_range((low, high), limit, Price.of(price)).reach >= 1
        assert range_bound(ends).grid.size == len(ends) - 1
    with pytest.raises(UsageError, match="more than can be drawn"):
        ladder(1000, Price.of("0.0000001"))


def test_noise_alone_hardly_ever_widens_a_range() -> None:
    """1,000 ranges of one value, 1 wider on average: more than 9 once in 10⁶; without the threshold, all are."""
    ends = ladder(1, Price.of("1"))
    exact = LocalEngine(threads=1).measure(log_of([5.0] * 300), range_bound(ends), UNDRAWN)
    found = [found_range(ends, add(exact, Grant("0.2"), SeededNoise(seed))) for seed in range(1000)]
    assert sum(each != (Decimal(4), Decimal(8)) for each in found) <= 9
    noisy = add(exact, Grant("0.2"), SeededNoise(1))
    assert (noisy.values > 0).sum() > 20  # so many cells would be in it


def test_other_requests_still_need_a_range() -> None:
    log = log_of([4.0])
    with pytest.raises(UsageError, match="without value_range="):
        hc.fit_neighbours(hc.read_events(log.source, user="who", item="what", items="x", value="v"), epsilon=1)
