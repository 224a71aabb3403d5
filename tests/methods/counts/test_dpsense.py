"""DPSense and DPSense-S: a limit chosen privately, everyone weighted to it, and scaled up again.

Comparisons of errors are on a seeded world with seeded noise: they come out the same in every run. That they are
not by chance is tested as well, at ``laws.LEVEL`` = 1e-7.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np
import pytest
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds import Scored, WeightToThreshold
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.dpsense import SensitivityControl, largest_limit
from headcount.methods.counts.dpsense_scaled import ScaledSensitivityControl
from headcount.noise import NoiseSource, SeededNoise
from headcount.releases.release import Release
from tests.contracts.support.method_facts import Special, forced
from tests.reference.engine import ReferenceEngine
from tests.support.distributions import LEVEL
from tests.support.small_logs import scale_of
from tests.support.synthetic_logs import Floats, Watching, by_chance, counts_of, log_of, town, truth, watched, zipf


def _theta(release: Release, table: str, cells: int) -> Fraction:
    chosen = release.chosen[table]
    return Fraction(chosen["theta"]) * Fraction(chosen.get("alpha", 1))


def _weighted(log: EventLog, release: Release, table: str) -> NDArray[np.float64]:
    """The counts of all records under the limit that was chosen, scaled up."""
    chosen = release.chosen[table]
    exact = getattr(ReferenceEngine().measure(log, WeightToThreshold(chosen["theta"]), bytes(16)), table)
    values: NDArray[np.float64] = exact.sensitive_values.ravel() / exact.unit * float(chosen.get("alpha", 1))
    return values


SENSE = {"paying": Fraction(9, 10), "reach_of": _theta, "truth": _weighted, "reconciles": False}
SPECIAL = {
    "dpsense": Special(
        {**SENSE, "forced": {"headcount.methods.counts.dpsense.choose_candidate": forced(lambda _: 2)}}
    )
}

UNIT = 1 << 16
BOTH = (SensitivityControl, ScaledSensitivityControl)


def people(*sizes: int, d: int) -> EventLog:
    """Users with so many records each, of the first items, in turn."""
    users = np.repeat(np.arange(len(sizes)), sizes)
    return log_of(users, np.concatenate([np.arange(size) % d for size in sizes]), d)


@contextmanager
def choosing(index: int | None = None) -> Iterator[list[Scored]]:
    """Have one candidate chosen, or the best one; remember what there was to choose from."""
    scored_candidates: list[Scored] = []

    def choose(scored: Scored, grant: Grant, noise: NoiseSource) -> int:
        grant.spend()
        scored_candidates.append(scored)
        return int(np.argmin(scored.sensitive_gaps)) if index is None else index

    with (
        mock.patch("headcount.methods.counts.dpsense.choose_candidate", choose),
        mock.patch("headcount.methods.counts.dpsense_scaled.choose_candidate", choose),
    ):
        yield scored_candidates


def weighed(sizes: Sequence[int], theta: int, d: int) -> Floats:
    """Each record of a user with r > θ of them counts as θ / r, cut down to whole multiples of 2^-16."""
    counts = [Fraction(0)] * d
    for size in sizes:
        for record in range(size):
            counts[record % d] += Fraction(UNIT * theta // size, UNIT) if size > theta else 1
    return np.array([float(count) for count in counts])


# The limit


def test_the_best_limit_weighs_records_against_noise() -> None:
    """θ is where as many users have more records as there are columns, divided by ε₂."""
    sizes = [1] * 40 + [2] * 30 + [4] * 20 + [7] * 5 + [9] * 2
    for epsilon, best in (("0.5", 1), ("1", 2), ("2", 4), ("10", 7), ("50", 9)):
        quality = {
            theta: sum(min(size, theta) for size in sizes) - 30 * theta / (Fraction(epsilon) * Fraction(9, 10))
            for theta in range(1, 31)
        }
        assert max(quality, key=lambda theta: quality[theta]) == best
        with choosing() as scored:
            release = SensitivityControl().release(people(*sizes, d=30), Grant(epsilon), SeededNoise(1))
        assert release.chosen["items"] == {"theta": best}
        gaps = [max(quality.values()) - quality[theta] for theta in range(1, 31)]
        assert np.allclose(scored[0].sensitive_gaps, np.array(gaps, dtype=np.float64), atol=1)
        assert scored[0].spread == 29


@pytest.mark.parametrize("seed", range(5))
def test_a_large_epsilon_chooses_a_bound_that_clips_no_user(seed: int) -> None:
    """Noise costs nothing, so 4 is as good as anything above it; 3 would lose 20 records."""
    sizes = [1] * 40 + [2] * 30 + [4] * 20
    release = SensitivityControl().release(people(*sizes, d=8), Grant("1000"), SeededNoise(seed))
    assert release.chosen["items"]["theta"] >= 4
    assert np.allclose(counts_of(release), truth(people(*sizes, d=8)), atol=0.1)


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("repeats", [1, 3])
def test_the_grid_of_limits_does_not_depend_on_the_data(kind: Any, repeats: int) -> None:
    """Neither on nobody, nor on a user with 1,000 records: 1 to d · r, for each table."""
    factors = 101 if kind is ScaledSensitivityControl else 1
    busy = log_of(np.zeros(1000, np.int64), np.arange(1000) % 8, 8, np.arange(1000) % 3)
    for log in (town(0, 8, 3), town(50, 8, 3), busy):
        with choosing(0) as scored_lists:
            kind(repeats=repeats).release(log, Grant("1"), SeededNoise(1))
        assert [scored.size for scored in scored_lists] == [8 * repeats * factors, 24 * repeats * factors]
        if kind is SensitivityControl:
            assert [scored.spread for scored in scored_lists] == [8 * repeats - 1, 24 * repeats - 1]


def test_spreads_do_not_depend_on_the_data() -> None:
    for kind in BOTH:
        spreads = set()
        for log in (town(0, 8, 3), town(50, 8, 3)):
            with choosing(0) as scored_lists:
                kind().release(log, Grant("1"), SeededNoise(1))
            spreads.add(tuple(scored.spread for scored in scored_lists))
        assert len(spreads) == 1


def test_repeats_are_of_no_use_where_users_are_counted() -> None:
    log = town(20, 8, 3, counting="users")
    for kind in BOTH:
        with pytest.raises(UsageError, match="nobody repeats"):
            kind(repeats=2).noise_distributions(log, Grant("1"))
        with pytest.raises(UsageError, match="nobody repeats"):
            kind(repeats=2).release(log, Grant("1"), SeededNoise(1))
        assert kind(repeats=1).release(log, Grant("1"), SeededNoise(1)).chosen["items"]["theta"] <= 8
        with pytest.raises(UsageError, match="repeats must be a whole number"):
            kind(repeats=0)


def test_a_grid_that_does_not_fit_is_refused_before_anything_is_read() -> None:
    """2 million items: DPSense weighs so many limits, DPSense-S not 101 times as many."""
    huge: Any = SimpleNamespace(
        catalogue=SimpleNamespace(ids=range(2_000_000)), cells=2_000_000, counting="records", context=None
    )
    assert largest_limit(huge, "items", 1) == 2_000_000
    assert SensitivityControl(what="items").noise_distributions(huge, Grant("1")) == {}
    with pytest.raises(UsageError, match="4,000,000,000 limits to weigh"):
        SensitivityControl(repeats=2_000, what="items").noise_distributions(huge, Grant("1"))
    grant = Grant("1")
    for act in (
        lambda: ScaledSensitivityControl(what="items").noise_distributions(huge, grant),
        lambda: ScaledSensitivityControl(what="items").release(huge, Grant("1"), SeededNoise(1), mock.Mock()),
    ):
        with pytest.raises(UsageError, match="101 candidates for each of 2,000,000 limits") as raised:
            act()
        assert "use dpsense" in str(raised.value)
    assert not grant.is_spent


# The counts


@pytest.mark.parametrize("theta", [1, 2, 5, 8])
def test_everyone_counts_weighted(theta: int) -> None:
    """Users above d records too: 50 of them, on 8 columns, weigh θ in all."""
    sizes = (1, 2, 3, 6, 8, 9, 50)
    engine = Watching()
    with choosing(theta - 1):
        release = SensitivityControl().release(people(*sizes, d=8), Grant("1000000"), SeededNoise(1), engine)
    assert [bound for bound, _ in engine.measured_bounds] == [WeightToThreshold(theta)]
    assert np.allclose(counts_of(release), weighed(sizes, theta, 8), atol=0.001)
    total = sum(min(size, theta) for size in sizes)
    assert total - 0.01 < counts_of(release).sum() < total + 0.01


def test_noise_of_scale_theta_in_steps_of_the_weights() -> None:
    with choosing(4):
        release = SensitivityControl().release(town(50, 8, 3), Grant("2"), SeededNoise(1))
    for table in ("items", "edges"):
        law = release.noise[table]
        assert scale_of(law) == 5 / Fraction(9, 10)  # 0.9 of half of ε
        assert law.step == Fraction(1, UNIT)
        steps = counts_of(release, table) * UNIT
        assert np.array_equal(steps, np.round(steps))
        assert (counts_of(release, table) % 1 != 0).any()
        assert release.chosen[table] == {"theta": 5}


def test_users_are_counted_by_different_items() -> None:
    """A user's 50 records about two items are two of them: within a limit of 2."""
    log = log_of(np.zeros(50, np.int64), np.arange(50) % 2, 8, counting="users")
    with choosing(1):
        release = SensitivityControl().release(log, Grant("1000000"), SeededNoise(1))
    assert np.allclose(counts_of(release), [1, 1, 0, 0, 0, 0, 0, 0], atol=0.001)


def test_a_single_column() -> None:
    for kind in BOTH:
        release = kind().release(people(3, 1, d=1), Grant("1000000"), SeededNoise(1))
        assert release.chosen["items"]["theta"] == 1
        assert 1.9 < counts_of(release)[0] < 4.1


def test_the_choice_takes_a_tenth() -> None:
    for kind, module in zip(BOTH, ("dpsense", "dpsense_scaled"), strict=True):
        with (
            watched(f"methods.counts.{module}.choose_candidate") as chosen,
            watched("methods.counts.dpsense.add_noise") as added,
        ):
            kind().release(people(3, 1, d=4), Grant("2"), SeededNoise(1), ReferenceEngine())
        assert chosen[0].given[1].exact == Fraction(2, 10)
        assert added[0].given[1].exact == Fraction(18, 10)


# What the papers found


class World:
    """3,000 users with 100 records and on average 300 more, of 2,000 items that follow Zipf's law; ε = 2.

    The MAE of a limit is exact: a count that is b too small, with Laplace noise of scale s, is off by
    b + s e^(-b/s) on average.
    """

    d, epsilon = 2_000, 2.0

    def __init__(self) -> None:
        self.records = 100 + np.random.default_rng(5).exponential(300, 3_000).astype(np.int64)
        self.log = zipf(self.records, self.d)
        self.exact = truth(self.log)
        self.limits = np.arange(1, self.d + 1)
        table = self.log.source.table  # type: ignore[attr-defined]
        matrix = np.zeros((self.records.size, self.d))
        np.add.at(matrix, (table["user"].to_numpy(), table["item"].to_numpy()), 1)
        weights = np.minimum(1, self.limits[:, None] / self.records)
        missing = self.exact - weights @ matrix
        scales = (self.limits / (0.9 * self.epsilon))[:, None]
        self.error = (missing + scales * np.exp(-missing / scales)).mean(axis=1)
        self.quality = np.minimum(self.records, self.limits[:, None]).sum(axis=1) / self.d - scales[:, 0]

    def releases(self, kind: Any, runs: int) -> list[Release]:
        return [kind().release(self.log, Grant("2"), SeededNoise(seed)) for seed in range(runs)]


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def by_dpsense(world: World) -> list[Release]:
    return world.releases(SensitivityControl, 25)


def test_the_chosen_limit_is_nearly_the_best(world: World, by_dpsense: list[Release]) -> None:
    """On average the MAE at the chosen θ is within 10 % of the smallest over all θ, and so is what was released.

    The choice loses about χ²₁ / 2 · 10/ε in quality, 2.5 in the mean, and the MAE is about 300: over 25 choices
    10 % would be more than 10 times what is expected, less than once in a million.
    """
    best = world.error.min()
    chosen = [release.chosen["items"]["theta"] for release in by_dpsense]
    assert world.error[np.array(chosen) - 1].mean() < 1.1 * best
    released = [np.abs(counts_of(release) - world.exact).mean() for release in by_dpsense]
    assert 0.97 * best < np.mean(released) < 1.1 * best
    at_best_quality = world.error[np.argmax(world.quality)]
    assert at_best_quality < 1.1 * best
    assert world.error[0] > 1.5 * best  # whereas the choice matters
    assert world.error[-1] > 1.5 * best


def test_quality_and_error_are_nearly_symmetric(world: World) -> None:
    """Figure 1: the average of both is about half of the average count, whatever the limit."""
    middle = (world.quality + world.error) / 2
    half = world.exact.mean() / 2
    assert np.abs(middle - half).max() < 0.2 * half
    assert np.corrcoef(world.quality, world.error)[0, 1] < -0.97
    assert np.ptp(world.error) > 5 * np.ptp(middle)


def test_scaling_corrects_the_undercount(world: World, by_dpsense: list[Release]) -> None:
    """Most people are above the limit, and all columns lose alike: α > 1 is chosen, and totals and counts gain."""
    scaled = world.releases(ScaledSensitivityControl, 25)
    for release in scaled:
        chosen = release.chosen["items"]
        assert float(chosen["alpha"]) > 1.2
        assert (world.records > chosen["theta"]).mean() > 0.3
    assert np.mean([(world.records > release.chosen["items"]["theta"]).mean() for release in scaled]) > 0.5
    total = world.exact.sum()
    errors, before = (
        np.array([abs(counts_of(release).sum() / total - 1) for release in releases])
        for releases in (scaled, by_dpsense)
    )
    assert by_chance(errors, before) < LEVEL
    assert errors.mean() < 0.3 * before.mean()
    assert all(counts_of(release).sum() < total for release in by_dpsense)
    error, error_before = (
        np.array([np.abs(counts_of(release) - world.exact).mean() for release in releases])
        for releases in (scaled, by_dpsense)
    )
    assert by_chance(error, error_before) < LEVEL
