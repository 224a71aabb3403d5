"""Query methods under attack: CIM falls to 200 rounds without an update, proven methods stand on that pair."""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import product

import pytest

from headcount.errors import UsageError
from headcount.lab.audit.adjacent_logs import COLUMNS_CELLS, refuting
from headcount.lab.audit.audit import audit
from headcount.lab.audit.query_targets import ROUNDS, QueryTarget
from headcount.lab.audit.targets import NAMES, is_proven, pairs_for, target
from headcount.noise import SeededNoise


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
