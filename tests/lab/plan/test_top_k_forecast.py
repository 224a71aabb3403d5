"""Forecasts of a top K: as the commands fare, from figures alone. All noise is seeded: nothing is by chance."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.lab.compare.comparison import compare
from headcount.lab.compare.rankings import RankingComparison
from headcount.lab.compare.trials import Truth
from headcount.lab.plan import top_k_forecast as outlooks
from headcount.lab.plan.predicted_errors import Figures, released_figures
from headcount.lab.plan.top_k_forecast import Expected, _SyntheticLog, forecast_top_k, popularity_distributions
from headcount.lab.synthetic.from_figures import log_like
from headcount.lab.synthetic.logs import checkins
from headcount.methods.prediction.errors import TableShape, lognormal_activity
from headcount.methods.prediction.popularity import ReleasedCounts, share_for, shares_through, shifted_zipf_shares
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.reports.charts.trial_means import means


def figures(users: int = 4000, items: int = 150, *, width: int = 1, median: int = 6, most: int = 60) -> Figures:
    """Figures with one law of popularity, as if released: a third of the time that three take."""
    shape = TableShape(lognormal_activity(users, median, most), items, distinct=True)
    counts = 10_000 * shifted_zipf_shares(items, 20.0, 0.8)
    shapes = {"items": shape, **({"edges": shape} if width > 1 else {})}
    return Figures(shapes=shapes, width=width, popularity=ReleasedCounts(counts, counts))


def by_way(forecasts: list[Expected]) -> dict[tuple[str, str, float], Expected]:
    return {(forecast.way, forecast.table, forecast.epsilon): forecast for forecast in forecasts}


def test_more_budget_finds_more_and_all_in_the_end() -> None:
    forecasts = by_way(forecast_top_k(figures(width=3), ["0.01", "0.2", "50"], 20, runs=2))
    for command in ("rank", "release"):
        for table in ("items", "edges"):
            little, some, much = (forecasts[command, table, epsilon] for epsilon in (0.01, 0.2, 50.0))
            assert little.right < 7 < some.right + 5
            assert little.right < some.right <= much.right
            assert much.right > 18.5
            assert little.low <= little.right <= little.high


def test_the_probability_of_distinguishing_items_follows_the_noise_distribution() -> None:
    """Peeling takes the lesser of two items first with probability e^(-difference · ε / k) / 2."""
    exact = 5 / 0.25 * math.log(10)
    rank, release = forecast_top_k(figures(), ["0.25"], 5, runs=24)
    assert rank.apart is not None
    assert exact / 1.5 < rank.apart < exact * 1.5
    assert rank.readable is None
    assert release.readable is not None
    counts = forecast_top_k(figures(), ["1"], 5, runs=4)[1].readable
    assert counts is not None
    assert counts < release.readable


@pytest.mark.slow
def test_a_smaller_log_at_a_larger_epsilon_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = figures(users=12_000), ["0.1"], 20
    whole = forecast_top_k(*arguments, runs=6)
    monkeypatch.setattr(outlooks, "MOST_RECORDS", 20_000)
    less = forecast_top_k(*arguments, runs=6)
    for small, other in zip(whole, less, strict=True):
        assert other.grain > small.grain == 1
        assert other.right == pytest.approx(small.right, abs=2.5)


@pytest.mark.slow
def test_a_forecast_from_a_release_is_near_what_the_commands_find(tmp_path: Path) -> None:
    """A log that no law fits: a few landmarks belong to everybody, and the twentieth place is the last of them."""
    city = checkins(tmp_path, users=3000, venues=400, events=40_000)
    study = RankingComparison(methods=("adaptive",), epsilons=("0.2", "1"), tops=(20,), runs=4)
    log = study.compared(hc.read_events(city.visits, user="user", item="venue", items=city.venues))
    table, _ = compare(log, study, tmp_path / "parts", processes=1)
    measured = {(mean_row.label, mean_row.epsilon): 20 * mean_row.mean for mean_row in means(table)}
    released = released_figures(build("adaptive", {}).release(log, Grant("0.5"), SeededNoise(1)))
    for forecast in forecast_top_k(released, ["0.2", "1"], 20, runs=4):
        label = "rank" if forecast.way == "rank" else "adaptive"
        assert forecast.right == pytest.approx(measured[label, forecast.epsilon], abs=3)


def test_a_synthetic_log_has_the_given_figures() -> None:
    activity, shares = lognormal_activity(5000, 6, 60), shifted_zipf_shares(300, 20.0, 0.8)
    log = log_like(activity, shares, people=5000, distinct=True, contexts=3)
    truth = Truth.count(log, LocalEngine())
    assert truth.users == 5000
    assert truth.items.sum() == pytest.approx(activity.total_records, rel=0.03)
    assert np.sort(truth.items)[::-1][:50] == pytest.approx(shares[:50] * truth.items.sum(), rel=0.15)
    assert truth.edges[:, :3].sum(axis=0) == pytest.approx(np.full(3, truth.items.sum() / 3), rel=0.05)
    assert truth.edges[:, 3].sum() == 0
    assert np.argmax(truth.items) > 0, "popular items have no places of their own"


def test_the_popularity_curve_passes_through_the_given_point() -> None:
    activity = EstimatedActivity(np.array([1.0, 30.0]), np.array([3000.0, 1000.0]))
    law = shares_through(200, 5, share_for(activity, 900), 1 / 3)
    people = np.sort(Truth.count(log_like(activity, law, people=4000, distinct=True), LocalEngine()).items)[::-1]
    assert people[4] == pytest.approx(900, rel=0.1)
    assert people[0] > people[4] > people[9]


def test_figures_of_records_do_not_go_with_numbers_of_users() -> None:
    shape = TableShape(lognormal_activity(900, 3, 30), 30)
    with pytest.raises(UsageError, match="--count users"):
        forecast_top_k(Figures(shapes={"items": shape}), ["1"], 5, kth_count=50)


def test_a_release_tells_how_popular_items_are_where_it_knows() -> None:
    shape = TableShape(lognormal_activity(900, 3, 30), 3, distinct=True)
    counts = ReleasedCounts(np.array([10.0, 600.0, 300.0]), np.array([0.0, 500.0, 200.0]))
    assert popularity_distributions(Figures(shapes={"items": shape}, popularity=counts), 2, None) == [
        pytest.approx(counts.shares())
    ]
    assert len(popularity_distributions(Figures(shapes={"items": shape}, popularity=counts), 3, None)) == 3, (
        "laws in its place"
    )


def test_without_popularity_the_forecast_gives_a_range() -> None:
    unknown = Figures(shapes=figures().shapes)
    forecasts = [forecast_top_k(shapes, ["0.1"], 20, runs=2) for shapes in (unknown, figures())]
    for without, informed in zip(*forecasts, strict=True):
        assert without.right == informed.right, "the usual law comes first"
        assert without.high - without.low > informed.high - informed.low


@pytest.mark.parametrize(
    ("k", "given_count", "message"), [(151, None, "at most 150"), (20, 3999, "more than people have")]
)
def test_what_cannot_be_is_refused(k: int, given_count: int | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        forecast_top_k(figures(), ["1"], k, kth_count=given_count)


def test_a_histogram_without_users_is_refused() -> None:
    nobody = TableShape(EstimatedActivity(np.empty(0), np.empty(0)), 30, distinct=True)
    with pytest.raises(UsageError, match="shows nobody"):
        forecast_top_k(Figures(shapes={"items": nobody}), ["1"], 5)


def test_fewer_users_have_more_rho_by_the_square() -> None:
    """Noise that costs ρ is smaller by as much as there are fewer people."""
    price, synthetic = (
        Cost.of("0.5", "1e-6"),
        _SyntheticLog.from_figures(figures(), popularity_distributions(figures(), 5, None)[0]),
    )
    assert replace(synthetic, stands_for=1.0)._scaled(price) == price.epsilon
    scaled = Cost.of(replace(synthetic, stands_for=3.0)._scaled(price), "1e-6")
    assert float(scaled.rho) == pytest.approx(9 * float(price.rho), rel=1e-6)
