"""Contracts for whole classes of bugs that the suite once missed; ``mutants.py`` has some, and each is rejected.

Nothing here is a statistical test: scores, compositions and contributions are exact, and noise is forced.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headcount.bounds import Bound
from tests.contracts.support import terminal_output
from tests.contracts.support.accounting import CHECKS, accounting_functions
from tests.contracts.support.charged_commands import Command
from tests.contracts.support.contribution_bounds import REACHES, check_limits, limited_bounds
from tests.contracts.support.joint_choices import check_choices, check_directions
from tests.contracts.support.mechanisms import MECHANISMS, check_mechanism, mechanisms_of_noise
from tests.mutants.once_missed import MUTANTS, Mutant, lot_cases, quantile_cases, replayed

COMMANDS = tuple(terminal_output.commands())


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with terminal_output.opened_ledger(tmp_path_factory.mktemp("ledger")) as url:
        yield url


# The mutants


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant.name))
def test_a_mutant_is_rejected(mutant: Mutant, tmp_path: Path) -> None:
    with mutant.planted(), pytest.raises(AssertionError) as rejected:
        mutant.check(tmp_path)
    assert str(rejected.value), "the check does not say what is wrong"


# The sound code


def test_no_user_moves_a_joint_choice_further_than_declared() -> None:
    check_directions()
    check_choices()


@pytest.mark.parametrize("cases", [lot_cases, quantile_cases], ids=["lots", "high quantiles"])
def test_replays_accept_the_sound_code(cases: Any, tmp_path: Path) -> None:
    assert next(cases(), None) is not None, "there is no such case"
    replayed(cases)(tmp_path)


@pytest.mark.parametrize("check", list(dict.fromkeys(CHECKS.values())), ids=lambda check: str(check.__name__))
def test_accounting_allows_no_more_than_an_independent_composition(check: Any) -> None:
    check()


def test_every_accounting_function_has_a_check() -> None:
    assert set(accounting_functions()) == set(CHECKS)


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_returns_a_function_of_its_noisy_numbers(name: str) -> None:
    check_mechanism(name)


def test_every_mechanism_has_a_check() -> None:
    assert set(mechanisms_of_noise()) == set(MECHANISMS)


@pytest.mark.parametrize("kind", REACHES, ids=lambda kind: str(kind.__name__))
def test_one_user_adds_up_to_every_limit_and_no_more(kind: type[Bound[Any]]) -> None:
    check_limits(kind)


def test_every_bound_with_a_limit_has_a_check() -> None:
    assert set(limited_bounds()) == set(REACHES)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: "-".join(command.path))
def test_a_charged_command_shows_no_progress_under_a_ledger(command: Command, tmp_path: Path, ledger: str) -> None:
    terminal_output.check_discreet(command, tmp_path, ledger)


def test_progress_without_a_ledger_is_visible_to_the_check(tmp_path: Path) -> None:
    shown = terminal_output.bars_of(COMMANDS[0], tmp_path, None)
    assert any(terminal_output.STEP.search(line) for line in shown), "the check could not fail"


def test_an_analyst_sees_no_progress_of_a_job() -> None:
    terminal_output.check_studio()
