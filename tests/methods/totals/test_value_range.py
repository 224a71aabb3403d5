"""Ranges that nobody declares: found where people are, never a failure, and paid for."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.bounds import NO_SECRET
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.methods.totals.totals import Totals
from headcount.methods.totals.value_range import estimate_range, fixed_range, range_bound, range_ends
from headcount.noise import SeededNoise, add_noise


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
    ("values", "ends"),
    [
        ([4.5] * 400 + [9e9], ("4", "8")),
        ([1.0, 5.0] * 400, ("0", "8")),
        ([-3.0, 60.0] * 400, ("-4", "64")),
        ([-100.0, -3.0] * 400, ("-128", "0")),
        ([0.0] * 400, ("0", "0.00390625")),
    ],
)
def test_a_range_encloses_the_users(values: list[float], ends: tuple[str, str]) -> None:
    release = Totals(limit=1).release(log_of(values), Grant("2"), SeededNoise(3))
    range_ends = release.chosen["range"]
    assert (Decimal(range_ends["low"]), Decimal(range_ends["high"])) == tuple(map(Decimal, ends))
    assert f"between {Decimal(range_ends['low']):f} and" in release.explain()
    assert "What lies beyond counts as if" in release.explain()
    mean = release.totals.to_pylist()[3]
    inside = np.clip(values, float(range_ends["low"]), float(range_ends["high"]))
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


def test_every_selectable_range_can_be_summed_at_its_cost() -> None:
    for limit, price in ((1, "0.00001"), (50, "0.3"), (65536, "1"), (3, "1000")):
        ends = range_ends(limit, Cost.of(price))
        for low, high in (*itertools.pairwise(ends), (ends[0], ends[-1])):
            assert fixed_range((low, high), limit, Cost.of(price)).half_width >= 1
        assert range_bound(ends).grid.size == len(ends) - 1
    with pytest.raises(UsageError, match="more than can be drawn"):
        range_ends(1000, Cost.of("0.0000001"))


def test_noise_alone_hardly_ever_widens_a_range() -> None:
    """1,000 ranges of one value, 1 wider on average: more than 9 once in 10⁶; without the threshold, all are."""
    ends = range_ends(1, Cost.of("1"))
    exact = LocalEngine(threads=1).measure(log_of([5.0] * 300), range_bound(ends), NO_SECRET)
    ranges = [estimate_range(ends, add_noise(exact, Grant("0.2"), SeededNoise(seed))) for seed in range(1000)]
    assert sum(ends != (Decimal(4), Decimal(8)) for ends in ranges) <= 9
    noisy = add_noise(exact, Grant("0.2"), SeededNoise(1))
    assert (noisy.values > 0).sum() > 20  # so many cells would be in it


def test_other_requests_still_need_a_range() -> None:
    log = log_of([4.0])
    with pytest.raises(UsageError, match="without value_range="):
        hc.fit_neighbours(hc.read_events(log.source, user="who", item="what", items="x", value="v"), epsilon=1)
