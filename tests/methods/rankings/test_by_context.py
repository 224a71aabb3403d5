"""Rankings by context: looks at fewer and fewer items, what is found, and what is said where nothing is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import ActivityHistogram, ItemSubset, Noisy, WeightToThreshold
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog, read_events
from headcount.methods.counts.adaptive import Adaptive
from headcount.methods.rankings import by_context
from headcount.methods.rankings.ranking import ACTIVITY_SHARE
from headcount.methods.rankings.top_k import EVERYTHING, DirectTopK
from headcount.noise import SeededNoise
from headcount.releases.release import Release
from headcount.reports.release import release_page
from tests.contracts.support.method_checks import recorded_spending
from tests.reference.engine import ReferenceEngine

DAYS = ("Mon", "Tue", "Wed", "Sun")  # on Sundays nobody comes
ENGINE = LocalEngine(threads=1)


def shop(people: int = 1_200, items: int = 400, records_per_user: int = 25) -> EventLog:
    """People with so many items each, by Zipf's law; what sells best differs a little from day to day."""
    random = np.random.default_rng(1)
    size = records_per_user * people
    weights = 1 / np.arange(1, items + 1) ** 0.8
    bought = random.choice(items, size, p=weights / weights.sum())
    days = (random.random(size) * 3 + 0.3 * (bought % 3 == 0)).astype(np.int64) % 3
    order = random.permutation(items)  # a catalogue in which places say nothing
    rows = pa.table(
        {
            "user": random.integers(0, max(people, 1), size),
            "item": pa.array([f"i{order[n]:03}" for n in bought], pa.string()),
            "day": pa.array([DAYS[n] for n in days], pa.string()),
        }
    )
    names = [f"i{n:03}" for n in range(items)]
    return read_events(
        rows, user="user", item="item", items=names, context="day", contexts=",".join(DAYS), count="users"
    )


SHOP = shop()
TEN = DirectTopK(k=10, per_context=True)


def ranked(log: EventLog, epsilon: str, seed: int, method: DirectTopK = TEN, engine: Any = ENGINE) -> Release:
    return method.release(log, Grant(epsilon), SeededNoise(seed), engine)


def overlap_of(log: EventLog, release: Release) -> float:
    """Return how much of the true top 10 of each day with people is found."""
    truth = ENGINE.measure(log, EVERYTHING, bytes(16)).edges.sensitive_values
    place = {item: at for at, item in enumerate(log.catalogue.ids)}
    return float(
        np.mean(
            [
                truth[place[row["item"]], day] >= np.sort(truth[:, day])[-10]
                for day, name in enumerate(DAYS[:3])
                for row in release.top(10, name)
            ]
        )
    )


def test_it_finds_more_than_counts_of_everything() -> None:
    """Of 3,000 items, with 60 a person; counts of all edges alone, as it used to be, would find still less."""
    log = shop(items=3_000, records_per_user=60)
    ours = np.mean([overlap_of(log, ranked(log, "1", seed)) for seed in range(5)])
    theirs = np.mean(
        [overlap_of(log, Adaptive().release(log, Grant("1"), SeededNoise(seed), ENGINE)) for seed in range(5)]
    )
    assert ours > theirs + 0.15, (ours, theirs)


def test_successive_measurements_cover_fewer_items_and_spend_the_grant() -> None:
    bounds: list[Any] = []

    class Noting(ReferenceEngine):
        def measure(self, log: EventLog, bound: Any, secret: bytes) -> Any:
            bounds.append(bound)
            return super().measure(log, bound, secret)

    log, grant = shop(300), Grant("1")
    with recorded_spending() as spent:
        TEN.release(log, grant, SeededNoise(1), Noting())
    assert grant.is_spent
    assert spent[0].exact == Fraction(ACTIVITY_SHARE)
    assert sum(grant.exact for grant in spent) == 1
    shares = [stage.share for stage in by_context.ranking_stages(log, 10, Cost.of("1"))]
    assert [float(bound.exact) for bound in spent[1:]] == pytest.approx([float(bound) * 0.98 for bound in shares])
    kinds = [(type(bound), getattr(bound, "table", None)) for bound in bounds]
    assert kinds == [
        (ActivityHistogram, "items"), (WeightToThreshold, None), (ActivityHistogram, "items"), (WeightToThreshold,
        None), (ActivityHistogram, "edges"), (WeightToThreshold, None),
    ]  # fmt: skip
    looked = [400 if bound.among is None else bound.among.places.size for bound in bounds]
    assert looked == [400, 400, 300, 300, 30, 30]
    kept = [set(bound.among.places.tolist()) for bound in bounds[1:]]
    assert kept[-1] < kept[1] < kept[0]
    assert kept[-1] == kept[-2]


def test_only_items_that_were_kept_are_ranked() -> None:
    release = ranked(SHOP, "1", 1, DirectTopK(k=30, per_context=True))
    assert release.chosen["ranking"]["candidates"] == 90
    assert len(set(release.ranking["item"].to_pylist())) <= 90


@pytest.mark.parametrize("with_counts", [False, True])
def test_a_context_without_users_lists_nothing_and_says_so(with_counts: bool) -> None:
    release = ranked(SHOP, "2", 3, replace(TEN, with_counts=with_counts))
    assert release.chosen["ranking"]["nothing told"] == ["Sun"]
    assert release.top(10, "Sun") == []
    assert [len(release.top(10, day)) for day in DAYS[:3]] == [10] * 3
    assert ("count" in release.ranking.column_names) is with_counts
    for text in (release.explain(), release_page(release)):
        assert "Nothing can be told of Sun" in text


def test_contexts_with_users_are_hardly_ever_empty() -> None:
    silent_contexts = [ranked(SHOP, "2", seed).chosen["ranking"].get("nothing told", []) for seed in range(8)]
    assert sum(contexts == ["Sun"] for contexts in silent_contexts) >= 7


def test_the_release_states_whether_measurements_agree() -> None:
    nobody, words = shop(0), "may be mere chance"
    doubted = [ranked(nobody, "1", seed) for seed in range(6)]
    assert sum(words in release.explain() for release in doubted) >= 5
    assert (words in doubted[0].explain()) is (words in release_page(doubted[0]))
    assert not any(words in ranked(SHOP, "2", seed).explain() for seed in range(3))


def test_a_packed_store_is_ranked_as_its_log(tmp_path: Path) -> None:
    log = shop(300)
    packed = hc.read_events(hc.pack(log, tmp_path / "store"), count="users")
    for engine in (ENGINE, LocalEngine(threads=2, memory=64)):
        assert ranked(packed, "1", 5, engine=engine).ranking.equals(ranked(log, "1", 5).ranking)


def test_counts_of_few_items_weigh_more() -> None:
    """What makes a look precise: beside a few items, a person's others weigh nothing down."""
    some = ItemSubset(np.arange(5))
    whole = ENGINE.measure(SHOP, WeightToThreshold(1), bytes(16)).items.sensitive_values[:5].sum()
    alone = ENGINE.measure(SHOP, WeightToThreshold(1, among=some), bytes(16)).items.sensitive_values[:5].sum()
    assert alone > 3 * whole


def test_what_little_is_expected_of_does_not_hide_that_a_context_is_empty() -> None:
    """60 items by Zipf's law, six days with sales and one without; noise of a plain sum would be too large."""
    expected = 600 / np.arange(1, 61)
    law = DiscreteLaplace(Fraction(40))
    counts = np.zeros((2, 60, 8))  # light and heavy users, seven days and the unknown one
    counts[:, :, :6] = expected[:, None] / 2
    hidden, plain = 0, 0
    for seed in range(200):
        noise = np.random.default_rng(seed).laplace(0, 40, counts.shape)
        noisy = Noisy(np.rint(counts + noise).astype(np.int64), law)
        is_silent = by_context._resolved_contexts(noisy, expected)
        assert is_silent[:6].all()
        hidden += not is_silent[6]
        plain += not by_context._resolved_contexts(noisy, np.ones(60))[6]
    assert hidden > 180  # about 95 of 100 are within two deviations
    assert plain < 120
