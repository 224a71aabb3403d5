"""The replay contract finds every planted bug, in the same cases in which it finds nothing without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.errors import GrantError
from headcount.lab.audit.replay import wrapped_noise
from headcount.lab.audit.sensitivity_replay import Violation
from tests.contracts.replay.case import Case
from tests.contracts.replay.test_replay import NEIGHBOURS
from tests.contracts.rows import neighbouring_logs
from tests.mutants.planted import ISSUE, PLANTS, Plant
from tests.reference.engine import ReferenceEngine


@pytest.fixture(autouse=True, scope="module")
def _wrapped() -> Iterator[None]:
    with wrapped_noise((LocalEngine, ReferenceEngine)):
        yield


def find_case(plant: Plant) -> Case | neighbouring_logs.Case | None:
    """Return the first case that finds a bug."""
    with plant.planted():
        for case in plant.cases:
            try:
                case.check(NEIGHBOURS)
            except (Violation, GrantError):  # replaying sees it, or the grant refuses to pay for it
                return case
    return None


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: str(plant.name))
def test_a_mutant_is_rejected(plant: Plant) -> None:
    case = find_case(plant)
    assert case is not None, "the contract does not see it"
    case.check(NEIGHBOURS)  # and without the bug there is nothing to see


def test_every_family_has_its_bugs() -> None:
    own = Counter(plant.family for plant in PLANTS if plant not in ISSUE)
    families = ("counts", "rankings", "selection", "totals", "neighbours", "tags", "queries", "sources")
    assert all(own[family] >= 3 for family in families)
    assert len(ISSUE) == 4
