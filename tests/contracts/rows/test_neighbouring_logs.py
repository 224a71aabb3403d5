"""An analyst sees the same of two neighbouring logs, in every format and through every source, from raw bytes on.

Only noise covers a difference. Here every draw comes out alike, so that nothing may differ: whether a command
succeeds, what it says, warns of and shows, which files it writes, how large they are, and what the ledger notes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import pytest

from headcount.events.encode.passes import EncodedLog
from headcount.lab.audit.replay import Tape, check_same, replayed, wrapped_noise
from headcount.lab.audit.sensitivity_replay import Violation
from headcount.run import query_session
from tests.contracts.rows.neighbouring_logs import (
    MANY,
    NEIGHBOURS,
    ON_SPARK,
    SOURCES,
    Case,
    Observed,
    left_behind,
    place,
    run_line,
    standing_clocks,
)  # fmt: skip
from tests.contracts.rows.raw_files import COLUMNS, Format, Row
from tests.contracts.rows.roles import ROLES, Role, fields_of
from tests.contracts.support.charged_commands import BINS, COMMANDS, DATASET, QUICKEST, TAGS, Command, reads
from tests.contracts.support.measurements import Kind, opened

pytestmark = pytest.mark.long

PROVEN = [command for command in COMMANDS.values() if command.proven]


@pytest.fixture(autouse=True, scope="module")
def _wrapped() -> Iterator[None]:
    with wrapped_noise():
        yield


def _roles(command: Command, kind: Format) -> list[Role]:
    """Return the roles to try a command in: stores hold listed items and tags, some commands name columns."""
    in_store = command.kind in ("counts", "tags") and TAGS not in command.flags
    if (kind.packs and not in_store) or (not kind.header and set(COLUMNS) & set(command.flags)):
        return []
    return [
        role
        for role in ROLES.values()
        if role.kind == command.kind and reads(command, role) and _may_be_typed(kind, role)
    ]


def _may_be_typed(kind: Format, role: Role) -> bool:
    """Say whether what ordinary users write in a role has the type of its column, if that is declared."""
    return kind.shape != "typed" or bool(fields_of(kind, role)) or (role.types and not role.ordinary)


def _every_case() -> Iterator[Case]:
    """Yield every command on every source, each with the next role in turn."""
    for first, kind in enumerate(SOURCES.values()):
        for number, command in enumerate(PROVEN, first):
            roles = _roles(command, kind)
            if roles:
                yield Case(command, kind, roles[number % len(roles)])


def _quick() -> Iterator[Case]:
    """Yield counts from every source, another kind of log from every third, and one command after another."""
    every, turns = {(case.format.name, case.command.name): case for case in _every_case()}, Counter[Kind]()
    others = [kind for kind in get_args(Kind) if kind != "counts"]
    for number, source in enumerate(SOURCES):
        turn = number // 2 % len(others)
        rotated = [kind for kind in others[turn:] + others[:turn] if (source, QUICKEST[kind]) in every]
        for kind in ("counts", *rotated[: number % 3 % 2]):
            commands = [name for at, name in every if at == source and COMMANDS[name].kind == kind]
            yield every[source, commands[turns[kind] % len(commands)]]
            turns[kind] += 1


QUICK = {case.name: case for case in _quick()}


@pytest.mark.parametrize("name", QUICK)
def test_neighbouring_logs_give_the_same_public_outcome(name: str) -> None:
    QUICK[name].check()


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
def test_neighbouring_logs_give_every_command_the_same_public_outcome(source: str) -> None:
    for case in _every_case():
        if case.format.name == source:
            try:
                replace(case, many=3 * MANY).check()
            except Violation as violation:
                raise Violation(f"{case.name}: {violation}") from violation


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("command", [*QUICKEST.values(), "rank top-k"])
@pytest.mark.parametrize("source", ON_SPARK)
def test_neighbouring_logs_give_the_same_public_outcome_on_spark(source: str, command: str) -> None:
    kind = ON_SPARK[source]
    Case(COMMANDS[command], kind, _roles(COMMANDS[command], kind)[0], many=300).check()


def test_every_source_and_every_family_is_here() -> None:
    assert {case.format.name for case in QUICK.values()} == SOURCES.keys()
    assert {case.command.path for case in QUICK.values()} == {command.path for command in PROVEN}


@pytest.mark.parametrize("source", [name for name, kind in SOURCES.items() if not kind.packs])
def test_a_user_of_many_rows_needs_more_batches(source: str) -> None:
    """Else the contract would be kept by logs that are all read at once."""
    case, batches = Case(COMMANDS["release sra"], SOURCES[source], ROLES["item"]), list[int]()
    sound = EncodedLog._sound

    def noted(log: Any, raw: Any) -> Any:
        batches.append(raw.num_rows)
        return sound(log, raw)

    with mock.patch.object(EncodedLog, "_sound", noted):
        case.run(next(NEIGHBOURS["with many rows"](case)), Tape(1))
    assert len(batches) > 12
    assert max(batches) < len(case.log)


# What costs nothing is answered alike as well


@pytest.mark.parametrize("source", [name for name, kind in SOURCES.items() if not kind.packs])
def test_a_column_that_is_not_there_is_answered_alike(source: str) -> None:
    """Formats that name no columns find the column missing in every row, and charge for that."""
    case = Case(COMMANDS["release sra"], SOURCES[source], ROLES["item"])

    def run(rows: list[Row], tape: Tape) -> Observed:
        with case.laid_out(rows) as (line, events):
            result = run_line([*line, "--where", "colour == red"], tape, events)
            return {"exit code": str(result.code).encode(), **result.outputs}

    others = [rows for neighbour in NEIGHBOURS.values() for rows in neighbour(case)]
    (first, _), *rest = replayed(run, case.log, others, 7)
    assert (first["exit code"] == b"0") == (case.format.shape == "json")
    for again, _ in rest:
        check_same(first, again)


@pytest.mark.parametrize("source", ["csv", "jsonl files", "parquet row groups", "duckdb", "sqlite view"])
def test_sessions_over_neighbouring_logs_give_the_same_public_outcome(source: str, tmp_path: Path) -> None:
    case = Case(COMMANDS["query histogram"], SOURCES[source], ROLES["bins of numbers"])
    (tmp_path / "bins.toml").write_text(BINS, encoding="utf-8")

    def run(rows: list[Row], tape: Tape) -> Observed:
        with case.laid_out(rows) as (line, events):
            named = events if events is not None else line[1 : line.index("--user")]
            log = opened("people", named[0] if len(named) == 1 else named, case.format, {})
            spend: dict[str, Any] = {"ledger": place().ledger, "dataset": DATASET, "analyst": "ann"}
            groups: dict[str, Any] = {"groups": "home", "max_group": 3}
            with (
                standing_clocks(),
                mock.patch.object(query_session, "OperatingSystemNoise", return_value=tape),
                query_session.QuerySession(
                    log, epsilon="20", bins=tmp_path / "bins.toml", **groups, **spend
                ) as session,
            ):
                replies = [session.ask(f"SELECT COUNT(*) FROM people WHERE age >= {age}") for age in (0, 18, 65)]
                session.release().save(place().rows / "out")
            return {"replies": repr(replies).encode(), **left_behind()}

    others = [rows for neighbour in NEIGHBOURS.values() for rows in neighbour(case)]
    (first, _), *rest = replayed(run, case.log, others, 7)
    for again, _ in rest:
        check_same(first, again)
