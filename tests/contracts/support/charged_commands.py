"""Every charged command with every method, run on raw rows as a curator or an analyst.

Which commands are charged is asked of the program itself: they take an ε and a ledger.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import click
import pyarrow.parquet as pq
import pytest

from headcount.accounting.guarantee import Standing
from headcount.cli.main import main, program
from headcount.methods.family import Family, example_of, needed_by
from headcount.methods.registry import FAMILIES
from headcount.methods.request import flags_of
from tests.contracts.rows.raw_files import Format, Row, written
from tests.contracts.rows.roles import Role
from tests.contracts.support.measurements import ITEMS, PLACES, Kind, called

BINS = f'[age]\nedges = [0, 18, 65, 120]\n[place]\nvalues = ["{PLACES[0]}", "{PLACES[1]}"]\nother = true\n'
QUERIES = "SELECT COUNT(*) FROM people WHERE age >= 18; SELECT place, COUNT(*) FROM people GROUP BY place;"
EPSILON = "20"
DATASET = "everyone"


@dataclass(frozen=True)
class Command:
    """A charged command with some of its flags, and what it reads its log for."""

    name: str
    path: tuple[str, ...]
    kind: Kind
    flags: tuple[str, ...] = ()
    proven: bool = True
    keeps: bool = True  # whether it writes a folder unless told otherwise
    epsilon: str = EPSILON


def _offered(command: click.Command) -> set[str | None]:
    """Return the parameters that a command shows, not those that it only refuses in words."""
    return {parameter.name for parameter in command.params if not getattr(parameter, "hidden", False)}


def charged_paths() -> set[tuple[str, ...]]:
    """Return the commands of the program that take an ε and a ledger."""

    def below(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            subcommand = group.get_command(context, name)
            if isinstance(subcommand, click.Group):
                yield from below(subcommand, (*path, name))
            elif subcommand is not None and {"epsilon", "ledger", "dry_run"} <= _offered(subcommand):
                yield (*path, name)

    return set(below(program, ()))


def _method_flags(family: Family, name: str) -> tuple[str, ...]:
    """Return how a method is asked for, with what it needs.

    Methods of queries get all that their class names to try them with: how many rounds there are hangs on a
    released number otherwise, and with none of them a key is missing.
    """
    kind, flags = family.kind(name), flags_of(family.request_kind())
    flags_given = ["--method", name] if "method" in flags else []
    for parameter, value in example_of(kind).items():
        if parameter in flags and parameter in needed_by(kind):
            flags_given += [flags[parameter].named(parameter), str(value)]
        elif parameter not in flags and family.reads == "people":
            flags_given += ["--option", f"{parameter}={value}"]
    return (*flags_given, *(["--research"] if kind.standing is Standing.CLAIMED else []))


_KINDS: Mapping[str, Kind] = {"events": "counts", "ratings": "ratings", "people": "people", "tags": "tags"}
_OTHER_KINDS: Mapping[str, Kind] = {"totals": "totals", "co-counts": "counts", "visits": "counts"}
_CERTAIN = {
    "auto": "2000"
}  # whether a table is fitted hangs on a released number: here it has no noise to speak of
_MORE = {"people": ("--groups", "home", "--max-group", "3")}


def _methods() -> Iterator[Command]:
    """Yield every method of every family."""
    for family in FAMILIES.values():
        for name, method in family.kinds().items():
            kind = _OTHER_KINDS.get(name, _KINDS[family.reads])
            flags = (*_method_flags(family, name), *_MORE.get(family.reads, ()))
            proven = method.standing is Standing.PROVEN
            called, amount = f"{' '.join(family.command)} {name}", _CERTAIN.get(name, EPSILON)
            yield Command(called, family.command, kind, flags, proven, epsilon=amount)


_SRA = ("--method", "sra", "--limit", "3")
_SELECT = ("--select-items", "--delta", "1e-6", "--select-limit", "2")
_RANKS = ("-k", "2", "--per-context")
_PLACES, TAGS = ("--context", "place", "--select-contexts"), "--select-tags"
_QUANTILES = ("--what", "totals", "--limit", "3", "--quantiles", "0.5,0.9", "--by", "items", "--distinct")
_GAUSSIAN = ("--noise", "gaussian", "--delta", "1e-6")
COMMANDS: Mapping[str, Command] = {
    command.name: command
    for command in (
        *_methods(),
        Command("release with Gaussian noise", ("release",), "counts", (*_SRA, *_GAUSSIAN)),
        Command("release of people", ("release",), "counts", (*_SRA, "--count", "users")),
        Command("release of selected items", ("release",), "select", (*_SRA, *_SELECT)),
        Command("release of quantiles by item", ("release",), "totals", _QUANTILES),
        Command("rank with counts", ("rank",), "counts", ("-k", "2", "--with-counts")),
        Command("rank per context", ("rank",), "counts", ("-k", "2", "--per-context")),
        Command("rank of selected items", ("rank",), "select", ("-k", "2", *_SELECT)),
        Command("release of selected contexts", ("release",), "select", (*_SRA, *_SELECT, *_PLACES)),
        Command("rank of selected contexts", ("rank",), "select", (*_RANKS, *_SELECT, *_PLACES)),
        Command("release of selected tags", ("tags", "release"), "tags", ("--delta", "1e-6", TAGS)),
        Command("tags release with delta", ("tags", "release"), "tags", ("--delta", "1e-6")),
    )
}  # fmt: skip

QUICKEST: Mapping[Kind, str] = {
    "counts": "release sra", "select": "release of selected items", "totals": "release totals",
    "ratings": "neighbours fit private", "tags": "tags release tag-model", "people": "query histogram",
}  # fmt: skip
"""The command with which most rows are tried, by what it reads a log for."""


def reads(command: Command, role: Role) -> bool:
    """Models of items know no contexts, and neither do rankings of everything."""
    return _in_contexts(command) or "context" not in role.options


def _in_contexts(command: Command) -> bool:
    return "neighbours" not in command.path and ("rank" not in command.path or "--per-context" in command.flags)


def options_of(command: Command, role: Role) -> dict[str, Any]:
    """Return how the rows are read: with a context where the command asks for one."""
    options = dict(role.options)
    if command.kind == "counts" and "context" not in options and _in_contexts(command):
        options |= {"context": "place", "contexts": "F,M"}
    return options


@dataclass(frozen=True)
class Outcome:
    """What can be seen of a run without looking at a number."""

    code: int
    files: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    printed: frozenset[str] = frozenset()
    message: str = ""


Naming = Literal["flag", "environment", "config"]
"""How a command line names a ledger. There is no default: without any of these nothing is charged."""


@contextlib.contextmanager
def naming(ledger: str | None, how: Naming, command: Command, folder: Path) -> Iterator[tuple[str, ...]]:
    """Name the ledger, and yield the flags that go with it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HEADCOUNT_LEDGER", raising=False)
        if ledger is None:
            yield ()
            return
        flags: tuple[str, ...] = ("--ledger", ledger)
        if how == "environment":
            patch.setenv("HEADCOUNT_LEDGER", ledger)
            flags = ()
        elif how == "config":
            config = folder / "config.toml"
            config.write_text(f"[{command.path[0]}]\nledger = {json.dumps(ledger)}\n", encoding="utf-8")
            flags = ("--config", str(config))
        yield (*flags, "--dataset", DATASET, "--again")


def run(command: Command, kind: Format, rows: Sequence[Row], options: Mapping[str, Any], folder: Path,
        ledger: str | None, screen: io.StringIO | None = None, how: Naming = "flag") -> Outcome:  # fmt: skip
    """Run a command on raw rows; what is said on standard error is seen where there is a ledger.

    A ``screen`` is what standard error goes to.
    """
    events = written(kind, folder / "events", rows)
    out, err = io.StringIO(), screen or io.StringIO()
    line = arguments(command, kind, events, options, folder)
    with (
        naming(ledger, how, command, folder) as charged,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = main([*line, *charged])
    message = re.sub(r"entry\s+\d+", "entry N", err.getvalue().replace(str(folder), "."))
    if code != 0:
        return Outcome(code, message=message)
    files = {
        str(path.relative_to(folder)): _public(path) for path in (folder / "out").rglob("*") if path.is_file()
    }
    return Outcome(0, files, frozenset(keys(json.loads(out.getvalue()))), message if ledger else "")


def arguments(
    command: Command, kind: Format, events: Sequence[str], options: Mapping[str, Any], folder: Path
) -> list[str]:
    """Return the command line that releases from events into a folder; a store says itself how it is read."""
    return [
        *command.path, *events, *_reading(command, kind, folder, options), *command.flags,
        *_predicting(command, folder), "--epsilon", command.epsilon, "--out", str(folder / "out"), "--json",
    ]  # fmt: skip


def _predicting(command: Command, folder: Path) -> list[str]:
    """Return the flag that says which ratings to predict, of a method that needs it."""
    if "pncf-predictions-published" not in command.flags:
        return []
    (folder / "asked.csv").write_text(f"user,item\nu1,{ITEMS[0]}\n", encoding="utf-8")
    return ["--asked", str(folder / "asked.csv")]


def _reading(command: Command, raw: Format, folder: Path, options: Mapping[str, Any]) -> list[str]:
    """Return the flags that say how to read."""
    if raw.packs:
        return []
    reading_options, kind = {**raw.options, **called(options, raw)}, command.kind
    if not reading_options.pop("header", True):
        reading_options["no_header"] = True
    user, item, place, stars = map(raw.column, ("user", "item", "place", "stars"))
    flags = ["--user", user]
    if kind == "people":
        (folder / "bins.toml").write_text(BINS, encoding="utf-8")
        (folder / "queries.sql").write_text(QUERIES, encoding="utf-8")
        flags += ["--bins", str(folder / "bins.toml"), "--queries", str(folder / "queries.sql")]
    elif kind == "tags":
        items = ",".join(map(str, reading_options.pop("items", ITEMS)))
        flags += ["--resource", item, "--tag", place, "--resources", items]
        flags += [] if TAGS in command.flags else ["--vocabulary", ",".join(PLACES)]
    else:
        flags += ["--item", item]
        reading_options = ({} if kind == "select" else {"items": ITEMS}) | reading_options
    if kind in ("totals", "ratings"):
        reading_options = {"value": stars, "value_range": "1,5"} | reading_options
    for name, value in reading_options.items():
        if value is True:
            flags.append(f"--{name.replace('_', '-')}")
        elif value is not None:
            listed = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            flags += [f"--{name.replace('_', '-')}", listed]
    return flags


def _public(path: Path) -> frozenset[Any]:
    """Return what a file must look like whatever the rows say: its columns and types, or its keys."""
    if path.suffix == ".parquet":
        return frozenset((at, field.name, str(field.type)) for at, field in enumerate(pq.read_schema(path)))
    return frozenset(keys(json.loads(path.read_text(encoding="utf-8"))))


def keys(data: object, above: str = "") -> set[str]:
    """Return the places of all keys of a JSON document.

    >>> sorted(keys({"a": [{"b": 1}]}))
    ['.a', '.a[].b']
    """
    if isinstance(data, Mapping):
        return {f"{above}.{key}" for key in data}.union(
            *(keys(value, f"{above}.{key}") for key, value in data.items())
        )
    if isinstance(data, list):
        return set[str]().union(*(keys(value, f"{above}[]") for value in data))
    return set()
