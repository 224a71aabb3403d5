"""Under a ledger, an analyst reads nothing that depends on content, however the ledger is named.

Two logs differ in rows that Headcount drops or counts as unlisted. Exit code, standard output, standard error,
warnings, log messages and the outcome of a studio job must be equal for both, but for released numbers.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

import headcount as hc
from headcount.cli.main import main
from headcount.run.query_session import QuerySession
from headcount.studio.jobs import tasks
from headcount.studio.jobs.ipc import CancellationGate, ServerPipe, TaskMessage
from headcount.studio.settings import Settings
from tests.contracts.rows.raw_files import FORMATS, Row, written
from tests.contracts.rows.roles import ROLES, Case
from tests.contracts.support.charged_commands import BINS, COMMANDS, DATASET, Command, Naming, charged_paths, run
from tests.contracts.support.measurements import ITEMS, Kind, opened
from tests.mutants.planted import SILENCE, Plant

CSV = FORMATS["csv"]
DROPPED: Mapping[Kind, str] = {
    "counts": "item", "select": "item, selected", "totals": "value",
    "ratings": "rating", "people": "group", "tags": "tag",
}  # fmt: skip
"""The role in which a second log has rows that are dropped, by what a log is read for."""
WAYS: tuple[Naming, ...] = get_args(Naming)


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A ledger with a budget that no test uses up."""
    folder = tmp_path_factory.mktemp("ledger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
        for name in ("HEADCOUNT_LEDGER", "HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
            patch.delenv(name, raising=False)
        url = f"sqlite:///{folder}/ledger.db"
        budget = ("--epsilon", "1000000", "--delta", "0.5")
        assert main(["ledger", "create", "--dataset", DATASET, "--ledger", url, *budget, "--json"]) == 0
        yield url


def logs(kind: Kind) -> tuple[list[Row], list[Row]]:
    """Return the rows of a log, and those of another that has rows to drop as well."""
    role = ROLES[DROPPED[kind]]
    sound = Case(CSV, role, None)
    rows = [sound.row(f"a{number // 3}", number // 3 + number % 3 * 5) for number in range(120)]
    return rows, [*rows, *(Case(CSV, role, field).others()[0] for field in role.fields)]


# Commands


def check_command(command: Command, how: Naming, folder: Path, ledger: str) -> None:
    """Run a command on both logs, and see no difference."""
    runs = []
    for number, rows in enumerate(logs(command.kind)):
        (folder / str(number)).mkdir(parents=True)
        options = {**ROLES[DROPPED[command.kind]].options}
        if "--per-context" in command.flags and "--context" not in command.flags:
            options |= {"context": "place", "contexts": "F,M"}
        runs.append(run(command, CSV, rows, options, folder / str(number), ledger, how=how))
    before, after = runs
    assert before.code == after.code == 0, after.message
    assert "entry N" in after.message, "nothing was charged"
    assert after.message == before.message
    assert after.printed == before.printed
    assert ".seconds" not in after.printed


QUICK = {command.path: command for command in reversed([*COMMANDS.values()]) if command.proven}
"""One command for each path: the first that is proven."""


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("path", QUICK, ids=" ".join)
def test_a_charged_command_says_nothing_of_dropped_rows(
    path: tuple[str, ...], how: Naming, tmp_path: Path, ledger: str
) -> None:
    check_command(QUICK[path], how, tmp_path, ledger)


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if command.proven])
def test_no_charged_command_does(name: str, how: Naming, tmp_path: Path, ledger: str) -> None:
    check_command(COMMANDS[name], how, tmp_path, ledger)


def test_every_charged_command_is_here() -> None:
    assert set(QUICK) == charged_paths()


def test_without_a_ledger_the_curator_does_read_of_dropped_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command, (_, rows) = COMMANDS["release sra"], logs("counts")
    events = written(CSV, tmp_path / "events", rows)
    flags = ("--user", "user", "--item", "item", "--items", ",".join(map(str, ITEMS)), *command.flags)
    assert main([*command.path, *events, *flags, "--epsilon", "1", "--out", str(tmp_path / "out")]) == 0
    assert "For the curator only" in capsys.readouterr().err


def test_without_a_name_no_ledger_is_charged(tmp_path: Path, ledger: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with the default name of ``headcount ledger`` beside the log is no way to name a ledger."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)
    assert main(["ledger", "create", "--dataset", DATASET, "--epsilon", "9", "--json"]) == 0
    outcome = run(COMMANDS["release sra"], CSV, logs("counts")[0], ROLES["item"].options, tmp_path, None)
    assert outcome.code == 0
    assert hc.Ledger("sqlite:///headcount.db").show(DATASET).epsilon == 0


# Python


@dataclass
class Heard:
    """What a caller can hear of a call, beside its result."""

    printed: str
    warned: list[str]
    logged: list[str]


class _Listener(logging.Handler):
    """Keeps what is logged."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__()
        self._messages = messages

    def emit(self, record: logging.LogRecord) -> None:
        self._messages.append(record.getMessage())


@contextlib.contextmanager
def listening() -> Iterator[Heard]:
    """Hear everything that is printed, warned of or logged."""
    heard, text, root = Heard("", [], []), io.StringIO(), logging.getLogger()
    listener, level = _Listener(heard.logged), root.level
    root.addHandler(listener)
    root.setLevel(logging.DEBUG)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(text),
            contextlib.redirect_stderr(text),
        ):
            warnings.simplefilter("always")
            yield heard
        heard.printed, heard.warned = text.getvalue(), [str(warning.message) for warning in warned]
    finally:
        root.removeHandler(listener)
        root.setLevel(level)


def _session(log: Any, bins: Path, **spend: Any) -> None:
    with QuerySession(log, bins=bins, groups="home", max_group=3, **spend) as session:
        session.ask("SELECT COUNT(*) FROM people WHERE age >= 18")


_ADULTS = "SELECT COUNT(*) FROM people WHERE age >= 18"
CALLS: Mapping[str, tuple[Kind, Callable[..., object]]] = {
    "release": ("counts", lambda log, _, **spend: hc.release(log, **spend)),
    "rank": ("counts", lambda log, _, **spend: hc.rank(log, k=2, **spend)),
    "fit_neighbours": ("ratings", lambda log, _, **spend: hc.fit_neighbours(log, **spend)),
    "release_tags": ("tags", lambda log, _, **spend: hc.release_tags(log, delta="1e-6", **spend)),
    "query": ("people", lambda log, bins, **spend: hc.query(log, _ADULTS, bins=bins, **spend)),
    "QuerySession": ("people", _session),
}
NAMED = ("address", "object", "environment")


def check_call(name: str, named: str, folder: Path, ledger: str) -> None:
    """Call a function on both logs, and hear no difference, nor anything at all."""
    kind, call = CALLS[name]
    folder.mkdir(exist_ok=True)
    (folder / "bins.toml").write_text(BINS, encoding="utf-8")
    for number, rows in enumerate(logs(kind)):
        log = opened(kind, written(CSV, folder / str(number), rows), CSV, ROLES[DROPPED[kind]].options)
        spend: dict[str, Any] = {"epsilon": "20", "dataset": DATASET, "analyst": "ann"}
        spend |= {} if name == "QuerySession" else {"again": True}
        with pytest.MonkeyPatch.context() as patch, listening() as heard, hc.Ledger(ledger) as held:
            patch.setenv("HEADCOUNT_LEDGER", ledger if named == "environment" else "")
            spend |= {} if named == "environment" else {"ledger": ledger if named == "address" else held}
            call(log, folder / "bins.toml", **spend)
        assert heard == Heard("", [], [])


@pytest.mark.parametrize("named", NAMED)
@pytest.mark.parametrize("name", CALLS)
def test_a_charged_function_says_nothing_of_dropped_rows(
    name: str, named: str, tmp_path: Path, ledger: str
) -> None:
    check_call(name, named, tmp_path, ledger)


def test_every_charged_function_is_here() -> None:
    charged = {
        name
        for name in hc.__all__
        if callable(getattr(hc, name))
        and {"ledger", "epsilon"} <= set(inspect.signature(getattr(hc, name)).parameters)
    }
    assert charged == set(CALLS)


# The studio


def check_job(folder: Path, ledger: str) -> None:
    """Run a release of the studio on both logs: outcomes and files have the same names, and nothing is heard."""
    outcomes = []
    for number, rows in enumerate(logs("counts")):
        desk = Settings(folder / f"desk{number}")
        written(CSV, desk.files, rows)
        (events,) = (path.name for path in desk.files.iterdir())
        flags = {"user": "user", "item": "item", "items": list(ITEMS)}
        dataset = {"name": DATASET, "version": None, "reads": "events", "flags": flags}
        job_request = TaskMessage(
            "release", str(desk.data), ledger, dataset={**dataset, "source": {"files": [events]}}, family="counts",
            asked={"epsilon": "1", "method": "sra", "limit": 2, "again": True}, analyst="ann", by_curator=True,
            out=str(desk.releases / "one"),
        )  # fmt: skip
        line = ServerPipe(io.StringIO())
        with pytest.MonkeyPatch.context() as patch, listening() as heard:
            patch.chdir(desk.files)  # as a worker does
            outcome = tasks.JOB_TASKS["release"](job_request, line, CancellationGate(line))
        assert heard == Heard("", [], [])
        outcomes.append({**outcome, "digest": ""})
    assert outcomes[1] == outcomes[0]


def test_a_job_of_the_studio_says_nothing_of_dropped_rows(tmp_path: Path, ledger: str) -> None:
    check_job(tmp_path, ledger)


# Mutants


def _check_by(plant: Plant, folder: Path, ledger: str) -> None:
    if plant.family == "commands":
        how: Naming = next(naming for naming in WAYS if naming == plant.group)
        check_command(COMMANDS["release sra"], how, folder, ledger)
    elif plant.family == "python":
        check_call("release", "address", folder, ledger)
    else:
        check_job(folder, ledger)


@pytest.mark.parametrize("plant", SILENCE, ids=lambda plant: str(plant.name))
def test_a_mutant_that_tells_is_rejected(plant: Plant, tmp_path: Path, ledger: str) -> None:
    with plant.planted(), pytest.raises(AssertionError):
        _check_by(plant, tmp_path / "planted", ledger)
    _check_by(plant, tmp_path / "sound", ledger)
