"""DPSense and DPSense-S as printed: the exponent of Algorithm 1, no negative counts, a split that can be told."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Standing
from headcount.bounds import Scored, bounded
from headcount.errors import UsageError
from headcount.lab.as_published.dpsense import ScaledSensitivityControlPublished, SensitivityControlPublished
from headcount.methods.counts.dpsense import SensitivityControl
from headcount.methods.counts.dpsense_scaled import ScaledSensitivityControl
from headcount.methods.registry import family_of
from headcount.noise import SeededNoise
from headcount.noise.laplace import scale_for
from tests.contracts.support.method_facts import Special, forced
from tests.methods.counts.test_dpsense import SENSE, choosing, people
from tests.reference.engine import ReferenceEngine
from tests.support.synthetic_logs import counts_of, town, watched

CLIPPED = {**SENSE, "clipped": True}
SPECIAL = {
    "dpsense-published": Special(
        {**CLIPPED, "forced": {"headcount.methods.counts.dpsense.choose_candidate": forced(lambda _: 2)}},
        {("choose", 1): 0.4, ("choose", 3): 0.4},  # the halving that is not needed
    ),
    "dpsense-s-published": Special(
        {
            **CLIPPED,
            "forced": {"headcount.methods.counts.dpsense_scaled.choose_candidate": forced(lambda _: 2 * 101 + 25)},
        },
        {("choose", 1): 0.49, ("choose", 3): 0.49},  # as of dpsense-s
        audit_runs=6000,
    ),
}

BOTH = (SensitivityControlPublished, ScaledSensitivityControlPublished)
OURS = (SensitivityControl, ScaledSensitivityControl)


def quality(sizes: list[int], theta: int, d: int, epsilon: Fraction) -> Fraction:
    """Equation 3: the average column count under the limit, less the noise."""
    return Fraction(sum(min(size, theta) for size in sizes), d) - theta / epsilon


@pytest.mark.parametrize("repeats", [1, 2])
def test_limits_are_chosen_with_the_printed_probabilities(repeats: int) -> None:
    """Line 8 of Algorithm 1: ∝ exp(ε₁ q / 2); with cells of up to r, whose sensitivity is r, ∝ exp(ε₁ q / 2r)."""
    sizes, d, pays = [1] * 9 + [2] * 7 + [5] * 3 + [20], 6, Fraction(9, 10)
    with choosing() as choices:
        SensitivityControlPublished(repeats=repeats).release(people(*sizes, d=d), Grant("1"), SeededNoise(1))
    [scored] = choices
    wanted = np.array([float(quality(sizes, theta, d, pays)) for theta in range(1, d * repeats + 1)])
    exponents = -scored.sensitive_gaps / float(scale_for(scored.spread, Fraction(1, 10)))
    printed = Fraction(1, 10) * (wanted - wanted.max()) / (2 * repeats)
    assert np.allclose(
        exponents, printed.astype(np.float64), atol=0.1 / (2 * repeats * d)
    )  # noise in whole records
    assert scored.spread == 2 * d * repeats


def test_a_weaker_guarantee_can_be_declared_and_a_stronger_is_refused() -> None:
    scored = Scored(np.array([7, 9, 4]), 5, bounded.SEAL)
    assert scored.loosened(9).spread == 9
    assert scored.loosened(9).sensitive_gaps.tolist() == scored.sensitive_gaps.tolist() == [2, 0, 5]
    with pytest.raises(ValueError, match="spread of 5"):
        scored.loosened(4)


@pytest.mark.parametrize(("published", "ours"), list(zip(BOTH, OURS, strict=True)))
def test_negative_counts_become_zero_and_nothing_else_changes(published: Any, ours: Any) -> None:
    log, grants = town(40, 8, 3), [Grant("0.5"), Grant("0.5")]
    with choosing(3):
        zeroed, plain = (
            kind().release(log, grant, SeededNoise(1))
            for kind, grant in zip((published, ours), grants, strict=True)
        )
    for table in ("items", "edges"):
        assert counts_of(plain, table).min() < 0
        assert np.array_equal(counts_of(zeroed, table), np.maximum(counts_of(plain, table), 0))
        assert zeroed.noise[table] == plain.noise[table]
    assert (
        "Negative counts were set to 0" in zeroed.explain() or "negative counts were set to 0" in zeroed.explain()
    )


@pytest.mark.parametrize(("kind", "module"), list(zip(BOTH, ("dpsense", "dpsense_scaled"), strict=True)))
@pytest.mark.parametrize("choice", ["0.1", 0.25, "0.5"])
def test_the_budget_split_can_be_declared(kind: Any, module: str, choice: Any) -> None:
    with (
        watched(f"methods.counts.{module}.choose_candidate") as chosen,
        watched("methods.counts.dpsense.add_noise") as added,
    ):
        kind(choice=choice).release(people(3, 1, d=4), Grant("2"), SeededNoise(1), ReferenceEngine())
    share = Fraction(str(choice))
    assert (chosen[0].given[1].exact, added[0].given[1].exact) == (2 * share, 2 * (1 - share))


@pytest.mark.parametrize("kind", BOTH)
def test_a_tenth_by_default_and_what_is_no_share_is_refused(kind: Any) -> None:
    assert kind() == kind(choice="0.1") == kind(choice=Decimal("0.1"))
    for wrong in (0, 1, "1.5", -0.1, "most", True, "1e-40"):
        with pytest.raises(UsageError, match="choice must be"):
            kind(choice=wrong)


@pytest.mark.parametrize("kind", BOTH)
def test_what_the_paper_proves_is_called_proven(kind: Any) -> None:
    """As printed it keeps its promise, and is kept among what is published all the same."""
    assert kind.standing is Standing.PROVEN
    assert kind.name not in family_of(kind.name).methods
