"""Whatever is registered can be audited: a method that cannot be is a red test here."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from itertools import product
from typing import Any

import numpy as np
import pytest

from headcount.bounds import Bound, Measured_co
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.lab.audit.adjacent_logs import COLUMNS_CELLS, PAIRED, RELATED, Pair, refuting
from headcount.lab.audit.audit import audit
from headcount.lab.audit.method_cases import CASES
from headcount.lab.audit.outcome_sets import MISSING
from headcount.lab.audit.target_registry import (
    BESIDE,
    NAMES,
    ROUNDS,
    TARGETS,
    QueryTarget,
    has_edges,
    is_proven,
    pairs_for,
    runs_for,
    target,
)
from headcount.lab.audit.targets_under_audit import log_of
from headcount.methods.registry import FAMILIES, describe
from headcount.noise import SeededNoise

REGISTERED = [str(description["name"]) for description in describe()]


def test_names_are_those_of_the_families_and_few_more() -> None:
    assert tuple(REGISTERED) == NAMES[: len(REGISTERED)]
    assert set(NAMES) - set(REGISTERED) == set(BESIDE)
    assert len(set(NAMES)) == len(NAMES), "two things have the same name"
    assert set(CASES) <= set(NAMES), "something is said about a method that is not there"
    assert set(TARGETS) == {family.reads for family in FAMILIES.values()}, "a family cannot be audited"


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_registered_can_be_audited(name: str) -> None:
    """Runs of all its pairs, with the person and without, have the same numbers in the same places."""
    audit_target = target(name, 2, Decimal(1))
    assert audit_target.shown == name
    assert 100 <= runs_for(name, copies=audit_target.copies) <= 200_000
    pairs = pairs_for(name, 2)
    assert len({pair.name for pair in pairs}) == len(pairs) >= 3
    for pair in pairs:
        there, not_there = (
            audit_target.observe(pair, SeededNoise(1), 2, present=present) for present in (True, False)
        )
        assert there.names == not_there.names
        assert there.numbers.shape == (2, len(there.names))


def test_a_ranking_with_delta_is_picked() -> None:
    audit_target = target("top-k", 2, Decimal(1), Decimal("1e-6"))
    release = audit_target.release(log_of(pairs_for("top-k", 2)[-1], present=True), SeededNoise(1))
    assert "the exponential mechanism" in release.explain()
    assert release.guarantee.delta == Decimal("1e-6")
    assert CASES["top-k"].visible_at(Decimal("1e-6")) != CASES["top-k"].visible_at(Decimal(0))


@pytest.mark.parametrize("name", ["totals", "pncf-published", "pritop-published", "mwem", "gs-r"])
def test_what_cannot_use_a_delta_refuses_it(name: str) -> None:
    with pytest.raises(UsageError, match="takes no delta"):
        target(name, 2, Decimal(1), Decimal("1e-6"))


def test_edges_are_of_counts_alone() -> None:
    assert [name for name in NAMES if has_edges(name)] == list(FAMILIES["counts"].kinds())


def test_tags_keep_their_tags() -> None:
    """A tag log is made of contexts: without them there is nothing to release."""
    assert all(target(name, 2, Decimal(1)).contexts for name in FAMILIES["tags"].kinds())


# What is seen of models


def test_correlations_of_ratings_are_observed() -> None:
    """Of 61 items relations are of 60: which one is left out, and how far all others stand out, are numbers."""
    pair = pairs_for("private", 2)[-1]
    assert pair.items == RELATED + 1
    runs = target("private", 2, Decimal(1)).observe(pair, SeededNoise(1), 3, present=True)
    places = [place for place, name in enumerate(runs.names) if name.endswith("of model/factors")]
    assert len(places) == pair.items
    assert ((runs.numbers[:, places] == MISSING).sum(axis=1) == 1).all()
    assert "people of model" in runs.names


def test_co_counts_are_of_fewer_items_than_there_are_and_reach_their_limit() -> None:
    """Three pairs at limit 1; where there is one item too many, which one is left out is seen."""
    audit_target = target("co-counts", 2, Decimal(10**6))
    pairs = {pair.name: pair for pair in pairs_for("co-counts", 2)}
    runs = [
        audit_target.observe(pairs["three items"], SeededNoise(1), 1, present=present) for present in (True, False)
    ]
    places = [place for place, name in enumerate(runs[0].names) if name.endswith("of model/pairs")]
    moved = np.abs(runs[0].numbers - runs[1].numbers)[0, places]
    assert moved.tolist() == pytest.approx([1 / 3] * 3, abs=0.01)
    more = audit_target.observe(pairs["one item too many"], SeededNoise(1), 1, present=True)
    assert (more.numbers == MISSING).sum() == PAIRED, "one item is left out, with a pair for each of the others"


def test_a_pair_that_decides_what_is_related_is_the_only_one_there() -> None:
    for name in ("private", "co-counts"):
        pair: Pair = pairs_for(name, 2)[-1]
        assert (pair.name, pair.crowd) == ("one item too many", ())


def test_names_and_standing() -> None:
    assert {"histogram", "mwem", "pmw", "cim-published"} < set(NAMES)
    assert [is_proven(name) for name in ("histogram", "mwem", "pmw", "cim-published")] == [True, True, True, False]
    assert isinstance(target("pmw", 2, Decimal(1)), QueryTarget)
    assert "200 rounds" in [pair.name for pair in pairs_for("pmw", 2)]
    with pytest.raises(UsageError, match="no delta"):
        target("mwem", 2, Decimal(1), Decimal("1e-6"))


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_pairs_are_chosen_and_counted_under_attack(delta: str) -> None:
    """Which were taken is seen; with δ noise is Gaussian."""
    pair = next(pair for pair in pairs_for("pairs", 2) if pair.items == COLUMNS_CELLS)
    observed = target("pairs", 2, Decimal(8), Decimal(delta)).observe(pair, SeededNoise(1), 8, present=True)
    assert all('{"pairs": [["column' in kind for kind in observed.kinds.tolist())
    assert len(set(observed.kinds.tolist())) > 1
    assert all(("Gaussian" in kind) == (delta != "0") for kind in observed.kinds.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_pairs_stand(delta: str) -> None:
    """Seeded, so that it never fails by chance; unseeded it would, once in a thousand times at most."""
    result = audit(target("pairs", 2, Decimal(1), Decimal(delta)), pairs_for("pairs", 2), 200)
    assert not result.violation, result.sentence()


def test_the_absence_of_updates_is_observed() -> None:
    observed = target("cim-published", 1, Decimal(1)).observe(refuting(), SeededNoise(1), 40, present=True)
    kinds = set(observed.kinds.tolist())
    assert any(f"no update in {ROUNDS} rounds" in kind for kind in kinds)
    assert any("the first update within" in kind for kind in kinds)


def test_the_automatic_choice_is_observed_on_every_branch() -> None:
    """With a fit and without, and the number of records that decides, which is a number of its own."""
    scattered = [pair for pair in pairs_for("auto", 2) if pair.items == COLUMNS_CELLS]
    assert len(scattered) == 2
    ways = set()
    for pair, epsilon in product(scattered, (Decimal(1), Decimal(20))):
        observed = target("auto", 2, epsilon).observe(pair, SeededNoise(1), 60, present=True)
        assert "total of choice" in observed.names
        ways |= {choice for kind in observed.kinds.tolist() for choice in re.findall(r'"fits": (\w+)', kind)}
    assert ways == {"true", "false"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pmw", "histogram"])
def test_proven_methods_stand_on_the_pair_that_refutes_cim(name: str) -> None:
    result = audit(target(name, 1, Decimal(1)), [refuting()], 300)
    assert not result.violation, result.sentence()


class ForgetsToShorten(LocalEngine):
    """Counts all of a person's pairs, however many there are."""

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Count everything, and say that it was bounded."""
        if not isinstance(bound, RatingCovariance):
            return super().measure(log, bound, secret)
        longer = replace(bound, limit=10**5)
        cooccurrences: Any = bound.seal(super().measure(log, longer, secret).sensitive_values.copy())
        measured: Measured_co = cooccurrences
        return measured


@pytest.mark.slow
def test_a_forgotten_contribution_bound_is_detected() -> None:
    pairs = [pair for pair in pairs_for("co-counts", 2) if pair.name == "many items"]
    sound = target("co-counts", 2, Decimal(1))
    broken = audit(replace(sound, engine=ForgetsToShorten), pairs, 400)
    assert broken.violation, broken.sentence()
    result = audit(sound, pairs, 200)
    assert not result.violation, result.sentence()


@pytest.mark.parametrize("name", ["private", pytest.param("visits", marks=pytest.mark.slow)])
def test_a_model_of_ratings_or_visits_stands(name: str) -> None:
    """What a person adds is spread over so many numbers that even a forgotten limit is hard to see.

    That nobody adds more than the limit is checked from inside, without chance, in ``tests/engines`` and
    ``tests/bounding``.
    """
    result = audit(target(name, 2, Decimal(1)), pairs_for(name, 2)[:2], 300)
    assert not result.violation, result.sentence()


@pytest.mark.slow
def test_one_pair_of_items_shows_as_much_as_it_may() -> None:
    """A person's only pair moves one number by all that one person may: 0.9 ε at most."""
    pairs = [pair for pair in pairs_for("co-counts", 2) if pair.name == "two items"]
    result = audit(target("co-counts", 2, Decimal(3)), pairs, 1_000)
    assert not result.violation
    assert result.lower_bound > 0.5 * 0.9 * 3
