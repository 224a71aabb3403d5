"""Neighbouring logs of raw bytes, and the public outcome of a charged command on them.

A log is written in some format, a neighbour of it has one user more or fewer, and that user's rows may need files,
row groups, batches, blocks of text and dictionary entries of their own. The command runs from end to end under a
ledger, with its noise on a tape: draws come out alike on both logs, so that all that is left must be the same.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import shutil
import sqlite3
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

from headcount.api.functions import pack
from headcount.bounds.ratings import rating_bound
from headcount.cli import charged, terminal
from headcount.cli.input_options import log_of as log_of_flags
from headcount.cli.main import main
from headcount.engines.local import engine as local
from headcount.engines.local import record_store
from headcount.events.encode import passes
from headcount.lab.audit.replay import Tape, check_same, replayed
from headcount.lab.audit.sensitivity_replay import Violation
from headcount.ledger.journal import entries
from headcount.releases import release
from headcount.run import curator, withhold
from tests.contracts.rows import hostile_values
from tests.contracts.rows.raw_files import FORMATS, Format, Row, small_batches, written
from tests.contracts.rows.roles import LINE_ROLES, ROLES, Role, begins_a_row, crowd, fields_of
from tests.contracts.rows.roles import Case as Rows
from tests.contracts.support.charged_commands import COMMANDS, DATASET, Command, arguments, options_of
from tests.contracts.support.measurements import opened
from tests.support import spark_session

MANY = 1_000
"""Rows of a user who needs row groups, files, batches and blocks of their own."""
GROUP_ROWS, FILE_ROWS, BATCH_ROWS, BLOCK_BYTES, FEW_ROWS, MEMORY = 50, 250, 64, 4_096, 500, 4_000
"""How small all of these are: the log of a crowd fits into one or a few, and a user of many rows needs more."""
NEWCOMER = "zzzzzzz"
"""An id of its own length, far from all others where ids are numbers."""

_QUERY = {"table": None, "query": "SELECT * FROM events WHERE item <> 'none' OR item IS NULL"}
SOURCES: Mapping[str, Format] = {
    **FORMATS,
    **{
        name: replace(FORMATS[name.split()[0]], name=name, **more)
        for name, more in (
            ("csv on standard input", {}), ("jsonl on standard input", {}), ("postgresql view", {"table": "seen"}),
            ("duckdb query", _QUERY), ("sqlite query", _QUERY), ("postgresql query", _QUERY),
        )
    },
}  # fmt: skip
"""All that a log can be read from on one machine."""


def _as_spark(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
    """Write rows as files that Spark makes a frame of."""
    return spark_session.session().read.parquet(*FORMATS["parquet files"].write(kind, folder, rows, one_by_one))


ON_SPARK: Mapping[str, Format] = {
    "spark frame": Format("spark frame", "arrow", _as_spark, parts=3),
    "spark files": replace(FORMATS["parquet files"], name="spark files"),
}
"""What Spark counts; a measure takes it a second, so the slow tests alone try it."""

Observed = Mapping[str, bytes]
"""All that an analyst sees of a run, by name."""


class Noon(datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Noon:
        """Return noon, always of the same day."""
        return cls(2026, 3, 6, 12, tzinfo=tz or UTC)


class Terminal(io.StringIO):
    """A standard error that shows progress."""

    def isatty(self) -> bool:
        """Say that somebody is looking."""
        return True


@dataclass(frozen=True)
class Place:
    """A folder with a new ledger: all runs have the same one, so that paths are no difference."""

    folder: Path

    @property
    def rows(self) -> Path:
        """Where a run writes what it reads and releases."""
        return self.folder / "run"

    @property
    def ledger(self) -> str:
        """The URL of the ledger."""
        return f"sqlite:///{self.folder}/home/ledger.db"

    def renew(self) -> None:
        """Remove what a run left, and put the first state of the ledger back."""
        for name in ("run", "home"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        shutil.copytree(self.folder / "first", self.folder / "home")
        self.rows.mkdir()

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        """Know this ledger alone."""
        given = {"XDG_CONFIG_HOME": str(self.folder / "home"), "HEADCOUNT_LEDGER": self.ledger}
        with mock.patch.dict(os.environ, given):
            for name in ("HEADCOUNT_LEDGER_KEY", "HEADCOUNT_LEDGER_ANCHOR"):
                os.environ.pop(name, None)
            yield


@cache
def place() -> Place:
    """Make the place of all runs of this process."""
    workplace = Place(Path(tempfile.mkdtemp(prefix="headcount-neighbours-")))
    atexit.register(shutil.rmtree, workplace.folder, ignore_errors=True)
    (workplace.folder / "home").mkdir()
    budget = ("--epsilon", "1000000", "--delta", "0.5")
    with workplace.environment(), contextlib.redirect_stdout(io.StringIO()):
        assert main(["ledger", "create", "--dataset", DATASET, *budget, "--json"]) == 0
    (workplace.folder / "home").rename(workplace.folder / "first")
    return workplace


@dataclass(frozen=True)
class Case:
    """A charged command on rows in some format, which play a role."""

    command: Command
    format: Format
    role: Role
    many: int = MANY

    @property
    def name(self) -> str:
        """The names of all three."""
        return f"{self.format.name}-{self.command.name}-{self.role.name}"

    def check(self, neighbours: int = 0) -> None:
        """Keep the contract on all neighbours, or the first few."""
        names = list(NEIGHBOURS)[: neighbours or None]
        others = [rows for name in names for rows in NEIGHBOURS[name](self)]
        runs = replayed(self.run, self.log, others, 7)
        first, _ = next(runs)
        for again, _ in runs:
            check_same(first, again)

    @property
    def log(self) -> list[Row]:
        """The rows of the log; that of a neighbour has one user more or fewer."""
        return crowd(self.role)

    def newcomer(self, number: int) -> Row:
        """Return an ordinary row of the one who is in a neighbour alone."""
        row = Rows(self.format, self.role, None).row(NEWCOMER, number)
        return Row({**row.cells, "home": "hz"})

    def run(self, rows: Sequence[Row], tape: Tape) -> Observed:
        """Plan and run the command with the noise of a tape, and return all that an analyst sees of it."""
        with self.laid_out(rows) as (line, events):
            if self.number % 2:
                line.remove("--json")
            return {
                **succeeded("plan", run_line([*line, "--dry-run"], Tape(0), events)),
                **succeeded("run", run_line(line, tape, events)),
                **left_behind(),
            }

    @contextlib.contextmanager
    def laid_out(self, rows: Sequence[Row]) -> Iterator[tuple[list[str], Any]]:
        """Write rows; give the command line that releases from them, and the events that it cannot name."""
        where = place()
        where.renew()
        with _small(), where.environment(), _engine(self.format):
            events = self._written(rows, where.rows)
            named = self._named(events)
            line = arguments(self.command, self.format, named, self._options, where.rows)
            if named == ["-"]:
                line += ["--format", "csv" if self.format.shape == "csv" else "jsonl"]
                events = Path(events[0])
            yield line, None if isinstance(events, str | list) else events

    @property
    def number(self) -> int:
        """A number that depends on the name alone."""
        return zlib.crc32(self.name.encode())

    @property
    def _options(self) -> dict[str, Any]:
        return options_of(self.command, self.role)

    def _written(self, rows: Sequence[Row], folder: Path) -> Any:
        """Write rows; of many there are more files, where a log may have several."""
        parts = -(-len(rows) // FILE_ROWS) if self.format.parts > 1 else 1
        kind = replace(self.format, parts=parts, group_rows=GROUP_ROWS)
        events = written(kind, folder / "events", rows)
        if not kind.packs:
            return events
        pack(opened(self.command.kind, events, kind, self._options), folder / "store")
        return str(folder / "store")

    def _named(self, events: Any) -> list[str]:
        """Return how a command line names events: files of a folder by the folder."""
        if self.format.name.endswith("standard input"):
            return ["-"]
        if self.format.parts > 1 and isinstance(events, list):
            return [str(Path(events[0]).parent)]
        return events if isinstance(events, list) else [events if isinstance(events, str) else "in memory"]


@contextlib.contextmanager
def _small() -> Iterator[None]:
    """Let a thousand rows get to where only millions do otherwise."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(small_batches(BATCH_ROWS, BLOCK_BYTES))
        for module in (passes, record_store, rating_bound):
            stack.enter_context(mock.patch.object(module, "FEW_ROWS", FEW_ROWS))
        engine = partial(local.LocalEngine, memory=MEMORY)
        stack.enter_context(mock.patch.object(local, "LocalEngine", engine))
        yield


@contextlib.contextmanager
def _engine(kind: Format) -> Iterator[None]:
    """Let Spark count what lies there, with the session of all tests."""
    if kind.name not in ON_SPARK:
        yield
        return

    @contextlib.contextmanager
    def chosen(flags: Any, _: Any) -> Iterator[Any]:
        yield spark_session.engine(), flags["events"]

    with mock.patch.object(charged, "chosen_engine", chosen):
        yield


@dataclass(frozen=True)
class Result:
    """The outputs of a command line, and its exit code."""

    code: int
    outputs: Observed


def succeeded(name: str, result: Result) -> Observed:
    """Refuse a command that failed, and return its outputs."""
    if result.code != 0:
        raise Violation(f"the {name} ends with exit code {result.code}: {result.outputs}")
    return {f"{what} of the {name}": output for what, output in result.outputs.items()}


def run_line(line: Sequence[str], tape: Tape, events: Any = None) -> Result:
    """Run a command line with noise from a tape; events are in memory, or the file to read as standard input."""
    out, err, shown, failures = io.StringIO(), Terminal(), set[str](), list[BaseException]()

    class Noted(contextlib.suppress):
        """Forgets an error as the product does, and notes it for the test alone."""

        def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool:
            failures.extend(() if error is None else (error,))
            return bool(super().__exit__(kind, error, trace))

    def log_of(kind: str, flags: Any, **more: Any) -> Any:
        named = events is None or isinstance(events, Path)
        return log_of_flags(kind, flags if named else {**flags, "events": events}, **more)

    def progress(bar: Any, *stage: Any) -> None:
        _PROGRESS(bar, *stage)
        shown.add(f"{bar._stage} {bar._done} {bar._total}")

    with contextlib.ExitStack() as stack:
        stack.enter_context(standing_clocks())
        for owner, name, other in (
            (withhold, "suppress", Noted),
            (curator, "Curator", partial(curator.Curator, noise=tape)),
            (charged, "log_of", log_of),
            (terminal.Bar, "__call__", progress),
            (terminal, "_PATIENCE", 3_600),  # what a bar would show is looked at before it is drawn
        ):
            stack.enter_context(mock.patch.object(owner, name, other))
        if isinstance(events, Path):
            file = stack.enter_context(events.open(encoding="utf-8", errors="replace"))
            stack.enter_context(mock.patch("sys.stdin", file))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        warned = stack.enter_context(warnings.catch_warnings(record=True))
        warnings.simplefilter("always")
        code = main([*line, "--dataset", DATASET, "--analyst", "ann"])
    for failure in failures:
        if isinstance(failure, Violation):
            raise failure
    if failures:
        raise Violation(f"a failure was withheld: {failures[0]!r}") from failures[0]
    outputs = {
        "standard output": out.getvalue(), "standard error": err.getvalue(),
        "warnings": repr([str(warning.message) for warning in warned]), "progress": repr(sorted(shown)),
    }  # fmt: skip
    return Result(code, {what: text.encode() for what, text in outputs.items()})


_PROGRESS = terminal.Bar.__call__


@contextlib.contextmanager
def standing_clocks() -> Iterator[None]:
    """Let releases and entries of the ledger be of the same time."""
    with mock.patch.object(release, "datetime", Noon), mock.patch.object(entries, "datetime", Noon):
        yield


def left_behind() -> Observed:
    """Return what a run left in the folder of its release and in the ledger."""
    return {**_files(place().rows / "out"), **_entries(place())}


def _files(folder: Path) -> Observed:
    """Return what is in all files of a folder, and who may open them."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    modes = {str(path.relative_to(folder)): oct(path.stat().st_mode) for path in (folder, *files)}
    return {"modes": repr(modes).encode()} | {str(path.relative_to(folder)): path.read_bytes() for path in files}


def _entries(where: Place) -> Observed:
    """Return what the ledger holds, and how large its files are."""
    home = where.folder / "home"
    sizes = {str(path.relative_to(home)): path.stat().st_size for path in sorted(home.rglob("*"))}
    with contextlib.closing(sqlite3.connect(home / "ledger.db")) as ledger:
        held = "\n".join(ledger.iterdump())
    return {"the ledger": held.encode(), "sizes of the ledger": repr(sizes).encode()}


# Neighbours


def _without(case: Case) -> Iterator[list[Row]]:
    """Yield the log without a user."""
    yield [row for row in case.log if row.cells["user"] != "a7"]


def _with_a_row(case: Case) -> Iterator[list[Row]]:
    """Yield the log with a user of one row, the first or the last."""
    rows = case.log
    rows.insert(0 if case.number % 2 else len(rows), case.newcomer(1))
    yield rows


def _with_many_rows(case: Case) -> Iterator[list[Row]]:
    """Yield the log with a user of many rows, most of whose texts nobody else wrote: first, last or spread."""
    own = [case.newcomer(number) for number in range(case.many)]
    if case.role.column in ("item", "place", "when") or case.role.measurement.startswith("sample"):
        column = "item" if case.role.column == "item" else "place"
        own = [
            Row({**row.cells, column: f"new {number}"}) if number % 3 else row for number, row in enumerate(own)
        ]
    rows, position = case.log, case.number % 3
    if position == 2:
        step = -(-len(own) // len(rows))
        yield [row for at, other in enumerate(rows) for row in (other, *own[at * step : (at + 1) * step])]
    else:
        yield own + rows if position else rows + own


def _with_hostile_rows(case: Case) -> Iterator[list[Row]]:
    """Yield the log with a user who writes every hostile field and line there is, or one that names the user."""
    fields = [field for field in fields_of(case.format, case.role) if not begins_a_row(case.format, field)]
    if case.role.column in ("user", "home"):  # with all of them this would be several users
        fields = fields[case.number % len(fields) :][:1]
    own = [Row({**case.newcomer(at).cells, case.role.column: field}) for at, field in enumerate(fields)]
    if case.role.name in LINE_ROLES and case.command.kind not in ("select", "people"):
        lines = {"csv": hostile_values.CSV_LINES, "json": hostile_values.JSON_LINES}.get(case.format.shape, {})
        own += [Row(case.newcomer(1).cells, line, case.role.column) for line in lines.values()]
    rows = case.log
    rows[len(rows) // 2 : len(rows) // 2] = own
    yield rows


NEIGHBOURS: Mapping[str, Callable[[Case], Iterator[list[Row]]]] = {
    "without a user": _without,
    "with many rows": _with_many_rows,
    "with hostile rows": _with_hostile_rows,
    "with a row": _with_a_row,
}
"""The neighbours of a log; those that need most of what a log can have more of come early."""


PLANTED: Mapping[str, Callable[[], Iterator[Case]]] = {
    source: partial(iter, [Case(COMMANDS["release sra"], SOURCES[source], ROLES["item"])]) for source in SOURCES
}
"""The case of each source that bugs are planted for."""
