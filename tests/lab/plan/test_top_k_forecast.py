"""Forecasts of a top K: as the commands fare, from figures alone. All noise is seeded: nothing is by chance."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.accounting.budget import Grant, Price
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.lab.compare.comparison import compare
from headcount.lab.compare.rankings import RankingComparison
from headcount.lab.compare.trials import Truth
from headcount.lab.plan import top_k_forecast as outlooks
from headcount.lab.plan.predicted_errors import Figures, released_figures
from headcount.lab.plan.top_k_forecast import Expected, _Made, outlook, popularities
from headcount.lab.synthetic.from_figures import log_like
from headcount.lab.synthetic.logs import checkins
from headcount.methods.prediction.errors import TableShape, activity_of
from headcount.methods.prediction.popularity import ReleasedCounts, share_for, shifted, through
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.reports.charts.tidy_table import means


def figures(users: int = 4000, items: int = 150, *, width: int = 1, median: int = 6, most: int = 60) -> Figures:
    """Figures with one law of popularity, as if released: a third of the time that three take."""
    shape = TableShape(activity_of(users, median, most), items, distinct=True)
    counts = 10_000 * shifted(items, 20.0, 0.8)
    shapes = {"items": shape, **({"edges": shape} if width > 1 else {})}
    return Figures(shapes=shapes, width=width, popularity=ReleasedCounts(counts, counts))


def by_way(found: list[Expected]) -> dict[tuple[str, str, float], Expected]:
    return {(each.way, each.table, each.epsilon): each for each in found}


def test_more_budget_finds_more_and_all_in_the_end() -> None:
    found = by_way(outlook(figures(width=3), ["0.01", "0.2", "50"], 20, runs=2))
    for way in ("rank", "release"):
        for table in ("items", "edges"):
            little, some, much = (found[way, table, epsilon] for epsilon in (0.01, 0.2, 50.0))
            assert little.right < 7 < some.right + 5
            assert little.right < some.right <= much.right
            assert much.right > 18.5
            assert little.low <= little.right <= little.high


def test_what_is_told_apart_is_what_the_law_of_the_noise_says() -> None:
    """Peeling takes the lesser of two items first with probability e^(-difference · ε / k) / 2."""
    exact = 5 / 0.25 * math.log(10)
    rank, release = outlook(figures(), ["0.25"], 5, runs=24)
    assert rank.apart is not None
    assert exact / 1.5 < rank.apart < exact * 1.5
    assert rank.readable is None
    assert release.readable is not None
    counts = outlook(figures(), ["1"], 5, runs=4)[1].readable
    assert counts is not None
    assert counts < release.readable


@pytest.mark.slow
def test_a_smaller_log_at_a_larger_epsilon_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = figures(users=12_000), ["0.1"], 20
    whole = outlook(*asked, runs=6)
    monkeypatch.setattr(outlooks, "MOST_RECORDS", 20_000)
    less = outlook(*asked, runs=6)
    for one, other in zip(whole, less, strict=True):
        assert other.grain > one.grain == 1
        assert other.right == pytest.approx(one.right, abs=2.5)


@pytest.mark.slow
def test_a_forecast_from_a_release_is_near_what_the_commands_find(tmp_path: Path) -> None:
    """A log that no law fits: a few landmarks belong to everybody, and the twentieth place is the last of them."""
    city = checkins(tmp_path, users=3000, venues=400, events=40_000)
    study = RankingComparison(methods=("adaptive",), epsilons=("0.2", "1"), tops=(20,), runs=4)
    log = study.compared(hc.read_events(city.visits, user="user", item="venue", items=city.venues))
    table, _ = compare(log, study, tmp_path / "parts", processes=1)
    measured = {(each.label, each.epsilon): 20 * each.mean for each in means(table)}
    released = released_figures(build("adaptive", {}).release(log, Grant("0.5"), SeededNoise(1)))
    for each in outlook(released, ["0.2", "1"], 20, runs=4):
        label = "rank" if each.way == "rank" else "adaptive"
        assert each.right == pytest.approx(measured[label, each.epsilon], abs=3)


def test_a_made_up_log_is_like_its_figures() -> None:
    activity, shares = activity_of(5000, 6, 60), shifted(300, 20.0, 0.8)
    log = log_like(activity, shares, people=5000, distinct=True, contexts=3)
    truth = Truth.of(log, LocalEngine())
    assert truth.users == 5000
    assert truth.items.sum() == pytest.approx(activity.total_records, rel=0.03)
    assert np.sort(truth.items)[::-1][:50] == pytest.approx(shares[:50] * truth.items.sum(), rel=0.15)
    assert truth.edges[:, :3].sum(axis=0) == pytest.approx(np.full(3, truth.items.sum() / 3), rel=0.05)
    assert truth.edges[:, 3].sum() == 0
    assert np.argmax(truth.items) > 0, "popular items have no places of their own"


def test_the_law_goes_through_the_place_that_is_known() -> None:
    activity = EstimatedActivity(np.array([1.0, 30.0]), np.array([3000.0, 1000.0]))
    law = through(200, 5, share_for(activity, 900), 1 / 3)
    people = np.sort(Truth.of(log_like(activity, law, people=4000, distinct=True), LocalEngine()).items)[::-1]
    assert people[4] == pytest.approx(900, rel=0.1)
    assert people[0] > people[4] > people[9]


def test_figures_of_records_do_not_go_with_numbers_of_people() -> None:
    shape = TableShape(activity_of(900, 3, 30), 30)
    with pytest.raises(UsageError, match="--count users"):
        outlook(Figures(shapes={"items": shape}), ["1"], 5, known=50)


def test_a_release_tells_how_popular_items_are_where_it_knows() -> None:
    shape = TableShape(activity_of(900, 3, 30), 3, distinct=True)
    known = ReleasedCounts(np.array([10.0, 600.0, 300.0]), np.array([0.0, 500.0, 200.0]))
    assert popularities(Figures(shapes={"items": shape}, popularity=known), 2, None) == [
        pytest.approx(known.shares())
    ]
    assert len(popularities(Figures(shapes={"items": shape}, popularity=known), 3, None)) == 3, "laws in its place"


def test_where_popularity_is_not_known_the_range_tells_what_hangs_on_it() -> None:
    unknown = Figures(shapes=figures().shapes)
    found = [outlook(each, ["0.1"], 20, runs=2) for each in (unknown, figures())]
    for each, known in zip(*found, strict=True):
        assert each.right == known.right, "the usual law comes first"
        assert each.high - each.low > known.high - known.low


@pytest.mark.parametrize(("k", "known", "said"), [(151, None, "at most 150"), (20, 3999, "more than people have")])
def test_what_cannot_be_is_refused(k: int, known: int | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        outlook(figures(), ["1"], k, known=known)


def test_a_histogram_that_shows_nobody_is_refused() -> None:
    nobody = TableShape(EstimatedActivity(np.empty(0), np.empty(0)), 30, distinct=True)
    with pytest.raises(UsageError, match="shows nobody"):
        outlook(Figures(shapes={"items": nobody}), ["1"], 5)


def test_fewer_people_have_more_rho_by_the_square() -> None:
    """Noise that costs ρ is smaller by as much as there are fewer people."""
    price, made = Price.of("0.5", "1e-6"), _Made.of(figures(), popularities(figures(), 5, None)[0])
    assert replace(made, stands_for=1.0)._scaled(price) == price.epsilon
    scaled = Price.of(replace(made, stands_for=3.0)._scaled(price), "1e-6")
    assert float(scaled.rho) == pytest.approx(9 * float(price.rho), rel=1e-6)
