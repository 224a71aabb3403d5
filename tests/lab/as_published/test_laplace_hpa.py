"""LPA and HPA as published: what they read from the data, and that this gives users away."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Standing
from headcount.events.log import EventLog
from headcount.lab.as_published.laplace_hpa import (
    HandPickedPublished,
    LaplacePerturbationPublished,
    records_per_user,
)
from headcount.noise import SeededNoise
from tests.contracts.support.engine_checks import batches_of
from tests.contracts.support.method_checks import town
from tests.contracts.support.method_facts import Special
from tests.support.small_logs import Case, cases, scale_of

SPECIAL = {
    "lpa-published": Special({"reach": 5}),
    "hpa-published": Special({"stages": ("scores", "items", "edges")}),
}


@given(cases())
def test_records_per_user_counts_what_is_in_the_catalogue(case: Case) -> None:
    expected: dict[int, int] = {}
    for user, item, _, times in case.rows:
        if item < case.listed:
            expected[user] = expected.get(user, 0) + (times if case.times else 1)
    for rows in (1 << 20, 2):
        with batches_of(rows):
            measured = records_per_user(case.log())
        assert sorted(measured[measured > 0].tolist()) == sorted(n for n in expected.values() if n)


def test_the_scale_of_lpa_as_published_gives_the_most_active_user_away() -> None:
    rows = [("ann", "tea")] * 9 + [("bob", "tea")]
    scales = [
        scale_of(
            LaplacePerturbationPublished()
            .release(EventLog.of(given_rows, items=["tea"]), Grant("1"), SeededNoise(1))
            .noise["items"]
        )
        for given_rows in (rows, rows[9:])
    ]
    assert scales == [9, 1]


def test_hpa_as_published_samples_the_fewest_records_anybody_has() -> None:
    release = HandPickedPublished(limit=3).release(town(), Grant("1"), SeededNoise(1))
    assert "Popularity was estimated from at most 1 record per person" in release.explain()
    three = [(user, "tea") for user in ("ann", "bob") for _ in range(3)]
    release = HandPickedPublished(limit=3).release(EventLog.of(three, items=["tea"]), Grant("1"), SeededNoise(1))
    assert "at most 3 records per person" in release.explain()


def test_both_work_on_an_empty_log() -> None:
    for method in (LaplacePerturbationPublished(), HandPickedPublished(limit=3)):
        release = method.release(town(users=0), Grant("1"), SeededNoise(1))
        assert release.guarantee.standing is Standing.CLAIMED
        assert np.isfinite(release.items["count"].to_numpy()).all()
