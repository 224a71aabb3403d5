"""The checks bite: every broken twin turns the named check red, and its sound sibling keeps all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import settings

from headcount.counts.simple_random import SimpleRandom
from headcount.engines.engine import Engine
from tests.contracts import engine_checks, engine_twins, method_checks, twins
from tests.contracts.method_checks import Subject

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _no_shrinking() -> Iterator[None]:
    settings.load_profile("twins")
    yield
    settings.load_profile("headcount")


BROKEN_ENGINES: list[tuple[type[Engine], Callable[[Engine], None]]] = [
    (engine_twins.LimitOffByOne, engine_checks.check_sensitivity),
    (engine_twins.LimitOffByOne, engine_checks.check_keeps_all_it_may),
    (engine_twins.OneRecordShort, engine_checks.check_keeps_all_it_may),
    (engine_twins.DrawsByRow, engine_checks.check_sensitivity),
    (engine_twins.DrawsByRow, engine_checks.check_layout_has_no_effect),
    (engine_twins.DrawsByCode, engine_checks.check_sensitivity),
    (engine_twins.DrawsByCode, engine_checks.check_layout_has_no_effect),
    (engine_twins.DrawsByCode, engine_checks.check_equals_reference),
    (engine_twins.DrawsSharedByAll, engine_checks.check_law_of_the_choice),
    (engine_twins.DrawsWithoutSecret, engine_checks.check_secrets_matter),
    (engine_twins.HashOfTheRecordAlone, engine_checks.check_law_of_the_choice),
    (engine_twins.HashOfTheRecordAlone, engine_checks.check_secrets_matter),
    (engine_twins.TieBreakLooksAtOthers, engine_checks.check_sensitivity),
    (engine_twins.ContextDrawsShared, engine_checks.check_law_of_the_choice),
    (engine_twins.ContextByMajority, engine_checks.check_sensitivity),
    (engine_twins.DropsTheUnknownContext, engine_checks.check_keeps_all_it_may),
    (engine_twins.CountsUserOncePerTable, engine_checks.check_sensitivity),
    (engine_twins.ForgetsTheFirstBatch, engine_checks.check_layout_has_no_effect),
    (engine_twins.LotFromTheRecords, engine_checks.check_law_of_the_choice),
    (engine_twins.LotFromTheContexts, engine_checks.check_law_of_the_choice),
    (engine_twins.LotForEachRecord, engine_checks.check_law_of_the_choice),
    (engine_twins.LotSharedByAll, engine_checks.check_law_of_the_choice),
    (engine_twins.LotInTurns, engine_checks.check_law_of_the_choice),
    (engine_twins.LotInTurns, engine_checks.check_sensitivity),
    (engine_twins.LotWithoutSecret, engine_checks.check_secrets_matter),
    (engine_twins.LotWithoutSecret, engine_checks.check_layout_has_no_effect),
    (engine_twins.RoundsWeightsUp, engine_checks.check_sensitivity),
    (engine_twins.RoundsWeightsUp, engine_checks.check_keeps_all_it_may),
    (engine_twins.RoundsWeightsUp, engine_checks.check_equals_reference),
    (engine_twins.ForgetsTheActive, engine_checks.check_keeps_all_it_may),
    (engine_twins.WeighsEveryoneAlike, engine_checks.check_sensitivity),
    (engine_twins.WeighsItemsAsPairs, engine_checks.check_keeps_all_it_may),
    (engine_twins.CountsTheActiveTwice, engine_checks.check_sensitivity),
    (engine_twins.CountsTheActiveTwice, engine_checks.check_keeps_all_it_may),
    (engine_twins.CountsTheActiveTwice, engine_checks.check_equals_reference),
    (engine_twins.RoundsRootsUp, engine_checks.check_sensitivity),
    (engine_twins.RoundsRootsUp, engine_checks.check_keeps_all_it_may),
    (engine_twins.RoundsRootsUp, engine_checks.check_equals_reference),
    (engine_twins.RootsOfRecords, engine_checks.check_sensitivity),
    (engine_twins.RootsOfRecords, engine_checks.check_keeps_all_it_may),
    (engine_twins.SquaresOfPairs, engine_checks.check_sensitivity),
    (engine_twins.SquaresOfPairs, engine_checks.check_keeps_all_it_may),
    (engine_twins.CountsUsersInEachBatch, engine_checks.check_layout_has_no_effect),
    (engine_twins.CountsTheIdle, engine_checks.check_keeps_all_it_may),
    (engine_twins.CountsTheIdle, engine_checks.check_empty_log),
    (engine_twins.CountsUsersUpTo, engine_checks.check_sensitivity),
    (engine_twins.ForgetsTheMostActive, engine_checks.check_keeps_all_it_may),
    (engine_twins.RowsUncut, engine_checks.check_sensitivity),
    (engine_twins.RowsUncut, engine_checks.check_keeps_all_it_may),
    (engine_twins.RowsCutToTheFirst, engine_checks.check_layout_has_no_effect),
    (engine_twins.RowsCutToTheFirst, engine_checks.check_equals_reference),
    (engine_twins.SparseOncePerRecord, engine_checks.check_sensitivity),
    (engine_twins.SparseOncePerRecord, engine_checks.check_keeps_all_it_may),
    (engine_twins.SparseInEachBatch, engine_checks.check_layout_has_no_effect),
    (engine_twins.SparseInEveryContext, engine_checks.check_keeps_all_it_may),
    (engine_twins.SharesUndivided, engine_checks.check_sensitivity),
    (engine_twins.SharesUndivided, engine_checks.check_keeps_all_it_may),
    (engine_twins.SharesAtBothPowers, engine_checks.check_sensitivity),
    (engine_twins.SharesAtTheLowerPower, engine_checks.check_keeps_all_it_may),
    (engine_twins.SharesOfEveryone, engine_checks.check_keeps_all_it_may),
    (engine_twins.SharesBeyondTheMost, engine_checks.check_keeps_all_it_may),
    (engine_twins.SharesInEachBatch, engine_checks.check_layout_has_no_effect),
    (engine_twins.LooksAtEverything, engine_checks.check_equals_reference),
    (engine_twins.LooksUnderTheNextLimit, engine_checks.check_sensitivity),
    (engine_twins.LooksUnderTheNextLimit, engine_checks.check_equals_reference),
    (engine_twins.LooksInEachBatch, engine_checks.check_layout_has_no_effect),
    (engine_twins.RemembersAFailedRead, engine_checks.check_forgets_a_failed_read),
]

BROKEN_METHODS: list[tuple[type[SimpleRandom], Callable[[Subject], None]]] = [
    (twins.HalfNoise, method_checks.check_noise_is_as_declared),
    (twins.HalfNoise, method_checks.check_edges_sum_to_items),
    (twins.HalfTheSensitivity, method_checks.check_noise_pays),
    (twins.HalfTheSensitivity, method_checks.check_plans_what_it_does),
    (twins.SpendsTwice, method_checks.check_spends_exactly),
    (twins.SpendsTwice, method_checks.check_noise_pays),
    (twins.LeavesAPart, method_checks.check_spends_exactly),
    (twins.NeverSpends, method_checks.check_spends_exactly),
    (twins.NeverSpends, method_checks.check_refuses_a_spent_grant),
    (twins.CatalogueFromTheData, method_checks.check_covers_catalogue),
    (twins.CatalogueFromTheData, method_checks.check_hides_the_log),
    (twins.DropsSmallCounts, method_checks.check_covers_catalogue),
    (twins.TooNarrow, method_checks.check_intervals),
    (twins.TooWide, method_checks.check_intervals),
    (twins.TellsHowMany, method_checks.check_hides_the_log),
    (twins.ClaimsInSilence, method_checks.check_says_its_standing),
    (twins.ClaimsInSilence, method_checks.check_is_documented),
    (twins.PromisesMore, method_checks.check_promises_the_grant),
    (twins.HidesTheSeed, method_checks.check_marks_simulation),
    (twins.IgnoresShares, method_checks.check_shares),
    (twins.KeepsLessInABlock, method_checks.check_engines_agree),
    (twins.AsksForMore, method_checks.check_asks_for_what_it_declares),
]


@pytest.mark.parametrize(
    ("twin", "check"), BROKEN_ENGINES, ids=[f"{twin.__name__}-{check.__name__}" for twin, check in BROKEN_ENGINES]
)
def test_broken_engine_is_caught(twin: type[Engine], check: Callable[[Engine], None]) -> None:
    with pytest.raises(AssertionError):
        check(twin())


@pytest.mark.parametrize("check", engine_checks.CHECKS, ids=lambda check: str(check.__name__))
def test_sound_sibling_of_the_engines_passes(check: Callable[[Engine], None]) -> None:
    check(engine_twins.Sound())


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
