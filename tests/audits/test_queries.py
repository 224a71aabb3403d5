"""Query methods under attack: CIM falls to 200 rounds without an update, proven methods stand on that pair."""

from __future__ import annotations

from decimal import Decimal

import pytest

from headcount.audits.auditing import audit
from headcount.audits.querying import ROUNDS, QueryTarget, refuting
from headcount.audits.targets import NAMES, is_proven, pairs_for, target
from headcount.errors import UsageError
from headcount.noise import SeededNoise


def test_names_and_standing() -> None:
    assert {"histogram", "mwem", "pmw", "cim-published"} < set(NAMES)
    assert [is_proven(name) for name in ("histogram", "mwem", "pmw", "cim-published")] == [True, True, True, False]
    assert isinstance(target("pmw", 2, Decimal(1)), QueryTarget)
    assert "200 rounds" in [pair.name for pair in pairs_for("pmw", 2)]
    with pytest.raises(UsageError, match="no delta"):
        target("mwem", 2, Decimal(1), Decimal("1e-6"))


def test_whether_anything_was_updated_is_seen() -> None:
    seen = target("cim-published", 1, Decimal(1)).observe(refuting(), SeededNoise(1), 40, present=True)
    kinds = set(seen.kinds.tolist())
    assert any(f"no update in {ROUNDS} rounds" in each for each in kinds)
    assert any("the first update within" in each for each in kinds)


@pytest.mark.parametrize("name", ["pmw", "histogram"])
def test_proven_methods_stand_on_the_pair_that_refutes_cim(name: str) -> None:
    found = audit(target(name, 1, Decimal(1)), [refuting()], 300)
    assert not found.violation, found.sentence()
