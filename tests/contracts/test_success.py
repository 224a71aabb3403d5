"""Whether a charged command succeeds, and what its output looks like, does not depend on what anybody wrote.

An error that one row can cause is an answer without noise about that row.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.run.query_session import QuerySession
from tests.contracts.rows.hostile_values import Field
from tests.contracts.rows.raw_files import FORMATS, Row, written
from tests.contracts.rows.roles import ROLES, Case, crowd, every_case
from tests.contracts.support.charged_commands import (
    BINS,
    COMMANDS,
    DATASET,
    QUICKEST,
    Command,
    Outcome,
    charged_paths,
    options_of,
    reads,
    run,
)  # fmt: skip
from tests.contracts.support.measurements import opened

MAIN = ("csv", "jsonl", "parquet text")
SHARE = 17
"""One of so many fields in a role is tried with a command in the quick run; the slow one tries them all."""


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return a ledger with a budget that no test uses up."""
    folder = tmp_path_factory.mktemp("ledger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        for name in ("HEADCOUNT_LEDGER", "HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
            patch.delenv(name, raising=False)
        url = f"sqlite:///{folder}/ledger.db"
        budget = ("--epsilon", "1000000", "--delta", "0.5")
        assert main(["ledger", "create", "--dataset", DATASET, "--ledger", url, *budget, "--json"]) == 0
        yield url


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory, ledger: str) -> Callable[..., Outcome]:
    """Return what is seen of a run without any hostile row."""

    @cache
    def outcome_without(command: str, kind: str, role: str, charged: bool) -> Outcome:
        rows, folder = crowd(ROLES[role]), tmp_path_factory.mktemp("without")
        options = options_of(COMMANDS[command], ROLES[role])
        outcome = run(COMMANDS[command], FORMATS[kind], rows, options, folder, ledger if charged else None)
        assert outcome.code == 0, outcome.message
        return outcome

    return outcome_without


def check_succeeds(case: Case, command: Command, folder: Path, ledger: str | None, without: Outcome) -> None:
    """Run a command with one hostile row, the first or another, and see no difference."""
    rows, odd = crowd(case.role), case.others()[0]
    rows.insert(case.number % 2 * 50, odd)
    outcome = run(command, case.format, rows, options_of(command, case.role), folder, ledger)
    assert outcome.code == 0, outcome.message
    assert set(outcome.files) == set(without.files)
    for name, public in outcome.files.items():
        assert public ^ without.files[name] == set(), f"{name} is not what it is without that row"
    assert outcome.printed ^ without.printed == set(), "the JSON is not what it is without that row"
    assert outcome.message == without.message


# Every command, with some rows


def _field(role: str, name: str) -> Field:
    return next(field for field in ROLES[role].fields if field.name == name)


SOME: Mapping[str, list[tuple[str, str]]] = {
    "counts": [
        ("user", "missing"), ("item", "missing"), ("hour in Zurich", "offset Z"), ("weekday", "no day"),
        ("where a number", "five"), ("times", "0.5"), ("context", "NUL"), ("since", "year 10000"),
    ],
    "select": [("item, selected", "missing"), ("item, selected numbers", "five"), ("item, selected", "10 kB"),
               ("context, selected", "missing"), ("context, selected", "NUL")],
    "totals": [("value", "five"), ("value", "missing"), ("value", "1e400")],
    "ratings": [("rating", "five"), ("rating", "missing"), ("rating", "NaN")],
    "people": [("bins of numbers", "five"), ("group", "missing"), ("bins and other", "NUL")],
    "tags": [("tag", "missing"), ("resource", "missing"), ("tag", "NUL")],
}  # fmt: skip


def _command_cases() -> Iterator[tuple[str, str, str, str, bool]]:
    """Yield every command with two hostile rows of its kind, in turn, and a ledger for each other one."""
    for number, command in enumerate(COMMANDS.values()):
        rows = [role_name for role_name in SOME[command.kind] if reads(command, ROLES[role_name[0]])]
        for turn in range(2):
            role, name = rows[(2 * number + turn) % len(rows)]
            yield command.name, MAIN[(number + turn) % 3], role, name, command.proven and (number + turn) % 2 == 0


CASES_BY_NAME = {
    "-".join([*map(str, case[:4]), "ledger" if case[4] else "no ledger"]): case for case in _command_cases()
}


@pytest.mark.parametrize("name", CASES_BY_NAME)
def test_every_command_succeeds_on_hostile_fields(
    name: str, tmp_path: Path, ledger: str, without: Callable[..., Outcome]
) -> None:
    command, kind, role, field_name, charged = CASES_BY_NAME[name]
    case = Case(FORMATS[kind], ROLES[role], _field(role, field_name))
    before = without(command, kind, role, charged)
    check_succeeds(case, COMMANDS[command], tmp_path, ledger if charged else None, before)


def test_every_charged_command_is_here() -> None:
    assert {command.path for command in COMMANDS.values()} == charged_paths()


def test_every_charged_function_is_a_command_or_a_session() -> None:
    """What Python alone can charge must be tried here by itself."""
    charged = set()
    for name in hc.__all__:
        function = getattr(hc, name)
        if callable(function) and {"ledger", "epsilon"} <= set(inspect.signature(function).parameters):
            charged.add(name)
    assert charged == {"release", "rank", "query", "release_tags", "fit_neighbours", "QuerySession"}


# Every role, with many rows


def _field_cases() -> Iterator[tuple[str, Case, bool]]:
    for number, case in enumerate(case for case in every_case() if case.format.name in MAIN):
        if number % SHARE == 0:
            charged = number // SHARE % 2 == 0
            yield f"{case.name}-{'ledger' if charged else 'no ledger'}", case, charged


FIELDS = {name: (case, charged) for name, case, charged in _field_cases()}


def _check_field(case: Case, charged: bool, folder: Path, ledger: str, without: Callable[..., Outcome]) -> None:
    command = COMMANDS[QUICKEST[case.role.kind]]
    before = without(command.name, case.format.name, case.role.name, charged)
    check_succeeds(case, command, folder, ledger if charged else None, before)


@pytest.mark.parametrize("name", FIELDS)
def test_no_field_makes_a_release_fail(
    name: str, tmp_path: Path, ledger: str, without: Callable[..., Outcome]
) -> None:
    _check_field(*FIELDS[name], tmp_path, ledger, without)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", MAIN)
def test_no_field_at_all_makes_a_release_fail(
    kind: str, role: str, tmp_path: Path, ledger: str, without: Callable[..., Outcome]
) -> None:
    failures = []
    for case in every_case():
        if (case.format.name, case.role.name) == (kind, role):
            try:
                _check_field(case, case.number % 2 == 0, tmp_path / str(case.number), ledger, without)
            except AssertionError as error:  # all of them are told, not the first alone
                failures.append(f"{case.name}: {error}")
    assert not failures, "\n".join(failures)


# Sessions


@pytest.mark.parametrize("charged", [False, True], ids=["no ledger", "ledger"])
@pytest.mark.parametrize(("role", "field_name"), SOME["people"])
@pytest.mark.parametrize("kind", MAIN)
def test_a_session_begins_on_hostile_fields(
    kind: str, role: str, field_name: str, charged: bool, tmp_path: Path, ledger: str
) -> None:
    case = Case(FORMATS[kind], ROLES[role], _field(role, field_name))
    (tmp_path / "bins.toml").write_text(BINS, encoding="utf-8")
    spend: dict[str, Any] = {"ledger": ledger, "dataset": DATASET} if charged else {}
    for odd in ([], case.others()[:1]):
        events = written(case.format, tmp_path / str(len(odd)), [*odd, *crowd(case.role)])
        log = opened("people", events, case.format, {})
        groups: dict[str, Any] = {"groups": "home", "max_group": 3}
        with QuerySession(log, epsilon="20", bins=tmp_path / "bins.toml", **groups, **spend) as session:
            assert session.ask("SELECT COUNT(*) FROM people WHERE age >= 18").answer is not None


# The oracle


@pytest.mark.parametrize("charged", [False, True], ids=["no ledger", "ledger"])
@pytest.mark.parametrize("kind", MAIN)
def test_success_does_not_depend_on_a_row(kind: str, charged: bool, tmp_path: Path, ledger: str) -> None:
    """Sum up a column that is no number, of the rows that fulfil conditions: it fails where there is one."""
    plain = crowd(ROLES["item"], 5)
    alice = Row({**plain[0].cells, "user": "alice", "place": "hiv"})
    options = {"value": "user", "value_range": "0,1"}
    totals_command = COMMANDS["release totals"]
    where = ("--where", "user == alice", "--where", "place == hiv")
    command = Command(
        totals_command.name, totals_command.path, totals_command.kind, (*totals_command.flags, *where)
    )
    outcomes = [
        run(command, FORMATS[kind], rows, options, tmp_path / str(number), ledger if charged else None)
        for number, rows in enumerate((plain, [*plain, alice]))
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    assert outcomes[0] == outcomes[1]
