"""Whatever is registered can be audited: a method that cannot be is a red test here."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from headcount.errors import UsageError
from headcount.lab.audit.adjacent_logs import PAIRED, RELATED, Pair
from headcount.lab.audit.method_cases import CASES
from headcount.lab.audit.outcome_sets import MISSING
from headcount.lab.audit.targets import BESIDE, NAMES, TARGETS, has_edges, pairs_for, runs_for, target
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
