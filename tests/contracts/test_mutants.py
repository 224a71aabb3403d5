"""The checks bite: every broken twin turns the named check red, and its sound sibling keeps all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from headcount.engines.engine import Engine
from headcount.methods.counts.simple_random import SimpleRandom
from tests.contracts.support import engine_checks, method_checks
from tests.contracts.support.method_checks import Subject
from tests.mutants import engines, methods

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _no_shrinking() -> Iterator[None]:
    settings.load_profile("twins")
    yield
    settings.load_profile("headcount")


BROKEN_ENGINES: list[tuple[type[Engine], Callable[[Engine], None]]] = [
    (engines.LimitOffByOne, engine_checks.check_sensitivity),
    (engines.LimitOffByOne, engine_checks.check_keeps_all_it_may),
    (engines.OneRecordShort, engine_checks.check_keeps_all_it_may),
    (engines.DrawsByRow, engine_checks.check_sensitivity),
    (engines.DrawsByRow, engine_checks.check_layout_has_no_effect),
    (engines.DrawsByCode, engine_checks.check_sensitivity),
    (engines.DrawsByCode, engine_checks.check_layout_has_no_effect),
    (engines.DrawsByCode, engine_checks.check_equals_reference),
    (engines.DrawsSharedByAll, engine_checks.check_law_of_the_choice),
    (engines.DrawsWithoutSecret, engine_checks.check_secrets_matter),
    (engines.HashOfTheRecordAlone, engine_checks.check_law_of_the_choice),
    (engines.HashOfTheRecordAlone, engine_checks.check_secrets_matter),
    (engines.TieBreakDependsOnOtherUsers, engine_checks.check_sensitivity),
    (engines.ContextDrawsShared, engine_checks.check_law_of_the_choice),
    (engines.ContextByMajority, engine_checks.check_sensitivity),
    (engines.DropsTheUnknownContext, engine_checks.check_keeps_all_it_may),
    (engines.CountsUserOncePerTable, engine_checks.check_sensitivity),
    (engines.ForgetsTheFirstBatch, engine_checks.check_layout_has_no_effect),
    (engines.LotFromTheRecords, engine_checks.check_law_of_the_choice),
    (engines.LotFromTheContexts, engine_checks.check_law_of_the_choice),
    (engines.LotForEachRecord, engine_checks.check_law_of_the_choice),
    (engines.LotSharedByAll, engine_checks.check_law_of_the_choice),
    (engines.LotInTurns, engine_checks.check_law_of_the_choice),
    (engines.LotInTurns, engine_checks.check_sensitivity),
    (engines.LotWithoutSecret, engine_checks.check_secrets_matter),
    (engines.LotWithoutSecret, engine_checks.check_layout_has_no_effect),
    (engines.RoundsWeightsUp, engine_checks.check_sensitivity),
    (engines.RoundsWeightsUp, engine_checks.check_keeps_all_it_may),
    (engines.RoundsWeightsUp, engine_checks.check_equals_reference),
    (engines.ForgetsTheActive, engine_checks.check_keeps_all_it_may),
    (engines.WeighsEveryoneAlike, engine_checks.check_sensitivity),
    (engines.WeighsItemsAsPairs, engine_checks.check_keeps_all_it_may),
    (engines.CountsTheActiveTwice, engine_checks.check_sensitivity),
    (engines.CountsTheActiveTwice, engine_checks.check_keeps_all_it_may),
    (engines.CountsTheActiveTwice, engine_checks.check_equals_reference),
    (engines.RoundsRootsUp, engine_checks.check_sensitivity),
    (engines.RoundsRootsUp, engine_checks.check_keeps_all_it_may),
    (engines.RoundsRootsUp, engine_checks.check_equals_reference),
    (engines.RootsOfRecords, engine_checks.check_sensitivity),
    (engines.RootsOfRecords, engine_checks.check_keeps_all_it_may),
    (engines.SquaresOfPairs, engine_checks.check_sensitivity),
    (engines.SquaresOfPairs, engine_checks.check_keeps_all_it_may),
    (engines.CountsUsersInEachBatch, engine_checks.check_layout_has_no_effect),
    (engines.CountsTheIdle, engine_checks.check_keeps_all_it_may),
    (engines.CountsTheIdle, engine_checks.check_empty_log),
    (engines.CountsUsersUpTo, engine_checks.check_sensitivity),
    (engines.ForgetsTheMostActive, engine_checks.check_keeps_all_it_may),
    (engines.RowsUncut, engine_checks.check_sensitivity),
    (engines.RowsUncut, engine_checks.check_keeps_all_it_may),
    (engines.RowsCutToTheFirst, engine_checks.check_layout_has_no_effect),
    (engines.RowsCutToTheFirst, engine_checks.check_equals_reference),
    (engines.SparseOncePerRecord, engine_checks.check_sensitivity),
    (engines.SparseOncePerRecord, engine_checks.check_keeps_all_it_may),
    (engines.SparseInEachBatch, engine_checks.check_layout_has_no_effect),
    (engines.SparseInEveryContext, engine_checks.check_keeps_all_it_may),
    (engines.SharesUndivided, engine_checks.check_sensitivity),
    (engines.SharesUndivided, engine_checks.check_keeps_all_it_may),
    (engines.SharesAtBothPowers, engine_checks.check_sensitivity),
    (engines.SharesAtTheLowerPower, engine_checks.check_keeps_all_it_may),
    (engines.SharesOfEveryone, engine_checks.check_keeps_all_it_may),
    (engines.SharesBeyondTheMost, engine_checks.check_keeps_all_it_may),
    (engines.SharesInEachBatch, engine_checks.check_layout_has_no_effect),
    (engines.RefinementOfAllItems, engine_checks.check_equals_reference),
    (engines.RefinementUnderTheNextThreshold, engine_checks.check_sensitivity),
    (engines.RefinementUnderTheNextThreshold, engine_checks.check_equals_reference),
    (engines.RefinementPerBatch, engine_checks.check_layout_has_no_effect),
    (engines.RemembersAFailedRead, engine_checks.check_forgets_a_failed_read),
]

BROKEN_METHODS: list[tuple[type[SimpleRandom], Callable[[Subject], None]]] = [
    (methods.HalfNoise, method_checks.check_noise_is_as_declared),
    (methods.HalfNoise, method_checks.check_edges_sum_to_items),
    (methods.HalfTheSensitivity, method_checks.check_noise_pays),
    (methods.HalfTheSensitivity, method_checks.check_plans_what_it_does),
    (methods.SpendsTwice, method_checks.check_spends_exactly),
    (methods.SpendsTwice, method_checks.check_noise_pays),
    (methods.LeavesAPart, method_checks.check_spends_exactly),
    (methods.NeverSpends, method_checks.check_spends_exactly),
    (methods.NeverSpends, method_checks.check_refuses_a_spent_grant),
    (methods.CatalogueFromTheData, method_checks.check_covers_catalogue),
    (methods.CatalogueFromTheData, method_checks.check_hides_the_log),
    (methods.DropsSmallCounts, method_checks.check_covers_catalogue),
    (methods.TooNarrow, method_checks.check_intervals),
    (methods.TooWide, method_checks.check_intervals),
    (methods.TellsHowMany, method_checks.check_hides_the_log),
    (methods.ClaimsInSilence, method_checks.check_says_its_standing),
    (methods.ClaimsInSilence, method_checks.check_is_documented),
    (methods.UnderstatedGuarantee, method_checks.check_promises_the_grant),
    (methods.HidesTheSeed, method_checks.check_marks_simulation),
    (methods.IgnoresShares, method_checks.check_shares),
    (methods.KeepsLessInABlock, method_checks.check_engines_agree),
    (methods.AsksForMore, method_checks.check_asks_for_what_it_declares),
]


@pytest.mark.parametrize(
    ("twin", "check"), BROKEN_ENGINES, ids=[f"{twin.__name__}-{check.__name__}" for twin, check in BROKEN_ENGINES]
)
def test_broken_engine_is_caught(twin: type[Engine], check: Callable[[Engine], None]) -> None:
    with pytest.raises(AssertionError):
        check(twin())


@pytest.mark.parametrize("check", engine_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_sound_sibling_of_the_engines_passes(check: Callable[[Engine], None]) -> None:
    check(engines.Sound())


@pytest.mark.parametrize(
    ("twin", "check"), BROKEN_METHODS, ids=[f"{twin.__name__}-{check.__name__}" for twin, check in BROKEN_METHODS]
)
def test_broken_method_is_caught(twin: type[SimpleRandom], check: Callable[[Subject], None]) -> None:
    with pytest.raises(AssertionError):
        check(Subject(twin, {"limit": 3}))


def test_nearly_every_check_has_been_red() -> None:
    """A check that has never been red proves nothing; these two are about errors, not about privacy."""
    red = {check.__name__ for _, check in BROKEN_ENGINES} | {check.__name__ for _, check in BROKEN_METHODS}
    every = {check.__name__ for check in (*engine_checks.CHECKS, *method_checks.CHECKS)}
    assert every - red == {"check_needs_a_context_for_edges", "check_round_trips"}
