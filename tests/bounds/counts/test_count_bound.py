"""Tables of light and of heavy users, taken apart: nobody is in both, and each moves no further than it says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.accounting.budget import Grant
from headcount.adaptive.measure import add_group_noise
from headcount.bounds import FIXED_POINT, Bounded, ItemSubset, Norm, SampleRecords, WeightToThreshold
from headcount.bounds.counts.count_bound import split_light_and_heavy
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.noise import SeededNoise
from tests.reference.engine import ReferenceEngine
from tests.support.small_logs import Case, cases

SECRET = bytes(16)
ENGINES = ReferenceEngine(), LocalEngine(threads=1)
LOG = EventLog.of([("ann", "tea"), ("bob", "rye"), ("bob", "oat")], items=["tea", "rye", "oat"])


def moves_no_further(table: Bounded) -> bool:
    """Say whether what one person adds is within the sensitivity, in every norm."""
    own, reach = np.abs(table.sensitive_values), table.sensitivity
    return bool(
        own.sum() <= reach.l1 and (own.astype(object) ** 2).sum() <= reach.l2_squared and own.max() <= reach.linf
    )


@given(cases(), st.integers(1, 4), st.sampled_from(("l1", "l2")))
def test_a_user_is_in_one_table_and_stays_within_its_sensitivity(case: Case, limit: int, norm: Norm) -> None:
    for engine in ENGINES:
        for user in case.everyone:
            counted = engine.measure(case.only(user).log(), WeightToThreshold(limit, norm, apart=True), SECRET)
            for measured in (counted.items, counted.edges):
                light, heavy = split_light_and_heavy(measured)
                assert not (light.sensitive_values.any() and heavy.sensitive_values.any())
                assert moves_no_further(light)
                assert moves_no_further(heavy)
                assert (light.unit, heavy.unit) == (1, FIXED_POINT)
                whole, weighed = measured.sensitive_values
                assert (light.sensitive_values * FIXED_POINT).tolist() == whole.tolist(), "nothing is cut off"
                assert heavy.sensitive_values.tolist() == weighed.tolist()


@given(cases(), st.integers(1, 4))
def test_of_some_items_alone_records_of_light_users_count_whole_too(case: Case, limit: int) -> None:
    some = ItemSubset(np.arange(len(case.log().catalogue.ids))[::2])
    for engine in ENGINES:
        for user in case.everyone:
            measured = engine.measure(
                case.only(user).log(), WeightToThreshold(limit, apart=True, among=some), SECRET
            ).items
            light, heavy = split_light_and_heavy(measured)
            assert not (light.sensitive_values.any() and heavy.sensitive_values.any())
            assert (light.sensitive_values * FIXED_POINT).tolist() == measured.sensitive_values[0].tolist()


@pytest.mark.parametrize("bound", [WeightToThreshold(2), WeightToThreshold(2, "l2"), SampleRecords(2)], ids=repr)
def test_one_table_of_all_users_cannot_be_divided(bound: Any) -> None:
    """Its rows are not groups of people: each would be paid for as if nobody were in both."""
    measured = ENGINES[0].measure(LOG, bound, SECRET).items
    with pytest.raises(TypeError, match="does not tell people within a limit from all others"):
        split_light_and_heavy(measured)
    with pytest.raises(TypeError, match="does not tell"):
        add_group_noise(measured, Grant("1"), SeededNoise(1))


def test_a_table_that_was_put_together_or_added_up_still_tells_them_apart() -> None:
    measured = ENGINES[1].measure(LOG, WeightToThreshold(1, apart=True), SECRET).items
    both = measured.with_others(measured)
    light, heavy = split_light_and_heavy(both)
    lighter, other = split_light_and_heavy(measured)
    assert light.sensitive_values.tolist() == (2 * lighter.sensitive_values).tolist()
    assert heavy.sensitivity == other.sensitivity
    with pytest.raises(ValueError, match="not of the same bound"):
        measured.with_others(ENGINES[1].measure(LOG, WeightToThreshold(1), SECRET).items)


def test_noise_of_some_cells_alone_is_on_the_same_cells_of_both() -> None:
    """At ε = 1,000 noise is next to nothing: light users as they are, heavy ones by their weights."""
    measured = ENGINES[1].measure(LOG, WeightToThreshold(1, apart=True), SECRET).items
    noisy = add_group_noise(measured, Grant("1000"), SeededNoise(1), [2, 0])
    assert noisy.counts.round(1).tolist() == [[0.0, 1.0], [0.5, 0.0]]
    assert (noisy.light.step, noisy.distribution.step) == (Fraction(1), Fraction(1, FIXED_POINT))
