"""Co-counts: how many people have both, and what belongs together."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.recommender.co_occurrence import CoOccurrence
from headcount.methods.recommender.factors import Cooccurrence
from headcount.methods.recommender.recommender import NeighbourModel
from headcount.noise import SeededNoise
from tests.contracts.support.method_facts import Special
from tests.support.distributions import LEVEL, fits_gaussian, fits_laplace

UNITS = 1 << 16
SPECIAL = {
    "co-counts": Special(
        nearly={
            # each of 12 weights near 1 is cut down to a whole multiple of 2^-16
            ("add", 1): 1 - 12 / (10 * UNITS),
            ("add_gaussian", 1): 1 - 2 / UNITS,
            # both factors of a pair are cut down to multiples of 1/256, from just below 1
            ("add", 2): (255 / 256) ** 2,
            ("add_gaussian", 2): (255 / 256) ** 2,
        }
    )
}


SAMPLINGS: tuple[Literal["sra", "hpa"] | None, ...] = (None, "sra", "hpa")


def clubs(people: int = 400) -> EventLog:
    """Everybody has the item "all", and four of one of two clubs of six."""
    rng = np.random.default_rng(3)
    rows = [(person, "all") for person in range(people)]
    for person in range(people):
        rows += [(person, f"{'ab'[person % 2]}{n}") for n in rng.choice(6, 4, replace=False)]
    return EventLog.of(rows, items=["all", *(f"{club}{n}" for club in "ab" for n in range(6))])


@pytest.mark.parametrize("delta", ["1e-6", None])
def test_without_noise_to_speak_of_the_counts_are_exact(delta: str | None) -> None:
    log = EventLog.of([(n, item) for n in range(9) for item in ("tea", "rye")[: 1 + n % 2]], items=["rye", "tea"])
    release = CoOccurrence().release(log, Grant("10000", delta), SeededNoise(1))
    assert release.tables["model/pairs"]["count"][0].as_py() == pytest.approx(4, abs=0.1)
    assert release.tables["model/items"]["count"].to_pylist() == pytest.approx([4, 9], abs=0.1)


def test_a_user_with_many_items_weighs_no_more_than_the_limit() -> None:
    log = EventLog.of([(1, n) for n in range(50)], items=list(range(50)))
    counts = CoOccurrence(limit=10).release(log, Grant("100000"), SeededNoise(1)).tables["model/pairs"]["count"]
    assert 8 < sum(counts.to_pylist()) <= 10.1


@pytest.mark.parametrize("delta", ["1e-6", None])
@pytest.mark.parametrize("sampling", ["sra", "hpa"])
def test_of_a_sample_all_pairs_count(sampling: Any, delta: str | None) -> None:
    """50 items, 4 of which are kept: 6 pairs, each of 1; the four that most have if it goes by that."""
    common = [(who, item) for who in range(2, 90) for item in range(44, 48)]
    log = EventLog.of([*common, *((1, item) for item in range(50))], items=list(range(50)))
    method = CoOccurrence(limit=4, sampling=sampling)
    release = method.release(log, Grant("10000", delta), SeededNoise(1))
    counts = {(row["item"], row["other"]): row["count"] for row in release.tables["model/pairs"].to_pylist()}
    rest = {pair: count for pair, count in counts.items() if not set(pair) <= set(range(44, 48))}
    assert sum(counts.values()) == pytest.approx(6 * 89, abs=1)
    assert (sum(rest.values()) > 0.5) == (sampling == "sra")
    assert release.bounded == "all pairs of at most 4 items per person"


@pytest.mark.parametrize(("delta", "wanted"), [(None, 45 / 0.9), ("1e-6", None)])
def test_a_sample_costs_noise_for_its_pairs(delta: str | None, wanted: float | None) -> None:
    """10 items, 45 pairs: L1 = 45, and √45 in L2, where weighted pairs have 10."""
    noise = {
        sampling: CoOccurrence(sampling=sampling).release(clubs(), Grant("1", delta), SeededNoise(1)).noise
        for sampling in SAMPLINGS
    }
    deviations = {
        sampling: noise_by_table["model/pairs"].variance ** 0.5 for sampling, noise_by_table in noise.items()
    }
    assert deviations["sra"] == deviations["hpa"]
    if wanted is not None:
        assert deviations["sra"] == pytest.approx(2**0.5 * wanted, rel=0.001)
    else:
        assert deviations["sra"] / deviations[None] == pytest.approx(45**0.5 / 10, rel=0.001)


@pytest.mark.parametrize(
    ("words", "message"), [({"sampling": "best"}, "sampling"), ({"sampling": "sra", "limit": 1}, "no pairs")]
)
def test_samples_that_make_no_sense_are_refused(words: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CoOccurrence(**words)


def test_cooccurring_items_are_related() -> None:
    model = NeighbourModel(CoOccurrence().release(clubs(), Grant("8", "1e-6"), SeededNoise(1)))
    rows = model.related("a0", 5)
    assert [row["rank"] for row in rows] == [1, 2, 3, 4, 5]
    assert {row["item"][0] for row in rows} == {"a"}
    assert rows[0]["score"] >= rows[-1]["score"] > 0


def test_only_the_most_common_items_are_paired() -> None:
    release = CoOccurrence(items=3).release(clubs(), Grant("100", "1e-6"), SeededNoise(1))
    assert release.tables["model/pairs"].num_rows == 3
    model = NeighbourModel(release)
    released_items = set(release.tables["model/pairs"]["item"].to_pylist()) | {
        *release.tables["model/pairs"]["other"].to_pylist()
    }
    assert "all" in released_items
    missing = next(item for item in (f"a{n}" for n in range(6)) if item not in released_items)
    with pytest.raises(UsageError, match="not among the items"):
        model.related(missing)


def test_co_counts_predict_no_ratings_and_take_none() -> None:
    model = NeighbourModel(CoOccurrence().release(clubs(), Grant("1"), SeededNoise(1)))
    with pytest.raises(UsageError, match="knows no ratings"):
        model.predict({"all": 3})
    log = EventLog.of([(1, "tea", 3)], items=["tea", "rye"], value_range=(1, 5))
    with pytest.raises(UsageError, match="no use to co-counts"):
        CoOccurrence().release(log, Grant("1"), SeededNoise(1))


@pytest.mark.parametrize("delta", ["1e-6", None])
def test_noise_is_as_declared(delta: str | None) -> None:
    """On a log without people; a wrong law passes once in ten million, and 1.3 × it never."""
    log = EventLog.of([], items=list(range(80)))
    release = CoOccurrence(items=80).release(log, Grant("1", delta), SeededNoise(1))
    law = release.noise["model/pairs"]
    steps = np.rint(release.tables["model/pairs"]["count"].to_numpy() / float(law.step)).astype(np.int64)
    fits = fits_gaussian if delta else fits_laplace
    scale = getattr(law, "sigma" if delta else "scale") / law.step
    assert fits(steps, scale) > LEVEL
    assert fits(steps, scale * 13 / 10) < LEVEL


def test_noise_alone_relates_nothing() -> None:
    """The largest eigenvalue of pure noise exceeds its limit by 5 % with far less than one in a million."""
    rng = np.random.default_rng(1)
    counts = rng.normal(0, 10, 300 * 299 // 2)
    lifts = Cooccurrence(counts, 300, 10 * 1.05).lifts(0)
    assert np.abs(lifts).max() == pytest.approx(0, abs=1e-6)


def test_rare_items_are_not_related_to_everything() -> None:
    """Ten popular items belong together, and 190 meet by chance alone; the seeds are fixed.

    With half a deviation beside chance, none of the first three of any is one of the ten.
    """
    weights = 1 / np.arange(1, 201)
    meets = 4000 * np.outer(weights, weights)
    meets[:10, :10] *= 1.6
    counts = meets[np.triu_indices(200, 1)]
    related_items = [
        Cooccurrence(counts + np.random.default_rng(seed).normal(0, 20, counts.size), 200, 20.0).related(item)[0][
            :3
        ]
        for seed in range(3)
        for item in range(5)
    ]
    assert np.mean(np.array(related_items) < 10) > 0.3


@pytest.mark.parametrize("items", [1, 9000])
def test_absurd_numbers_of_items_are_refused(items: int) -> None:
    with pytest.raises(UsageError, match="items must lie between"):
        CoOccurrence(items=items)
