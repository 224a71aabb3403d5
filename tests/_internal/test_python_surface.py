"""What errors say to a caller in Python, and still say on the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pytest

import headcount as hc
from headcount.cli.main import main, program

SOURCE = Path(hc.__file__).parent
LOG = hc.EventLog.of([("ann", "tea", "AM"), ("bob", "rye", "PM")], items=["rye", "tea"], contexts=["AM", "PM"])


def _texts_with_flags() -> list[str]:
    """Return every text below the command line that an error could carry and that holds a flag."""
    texts = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] != "cli":
            tree = ast.parse(path.read_text(encoding="utf-8"))
            raised = [node.exc for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None]
            texts += [
                text.value
                for error in raised
                for text in ast.walk(error)
                if isinstance(text, ast.Constant) and isinstance(text.value, str)
            ]
    return [text for text in texts if re.search(r"(?<![\w`-])--[a-z]", re.sub("`[^`]*`", "", text))]


def test_errors_below_the_command_line_name_parameters_and_no_flags() -> None:
    assert not _texts_with_flags()


OTHER_NAMES = {"data", "each", "header", "help", "max", "option", "remote", "user_ratings"}
"""Names of options that their commands hold under another one, and of flags that only the studio has."""


def _parameters_in_source() -> set[str]:
    names = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "param":
                names.add(node.attr)
    return names


def test_named_parameters_are_options_of_a_command() -> None:
    options = {option.name for command in _commands(program) for option in command.params}
    assert _parameters_in_source() - options <= {
        "each",
        "header",
        "help",
        "option",
        "data",
        "remote",
        "max",
        "user_ratings",
    }


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            child = command.get_command(click.Context(command), name)
            assert child is not None
            yield from _commands(child)


def _save_twice(folder: Path) -> None:
    release = hc.release(LOG, epsilon=1)
    release.save(folder / "out")
    release.save(folder / "out")


CALLS: dict[str, tuple[Any, str]] = {
    "release": (
        lambda _: hc.release(LOG, epsilon=1, method="sra"),
        "method sra needs limit=; for example limit=10",
    ),
    "read_events": (lambda _: hc.read_events("x.csv", item="i"), "user= is missing"),
    "rank": (lambda _: hc.rank(LOG, k=0, epsilon=1), "k must be a whole number"),
    "Release.top": (lambda _: hc.rank(LOG, k=1, epsilon=1).top(context="AM"), "leave context= out"),
    "Release.edges": (
        lambda _: hc.release(LOG, epsilon=1, what="items", method="sra", limit=1).edges,
        'release again with what="both"',
    ),
    "Release.save": (_save_twice, "choose another folder, or add force=True"),
    "Ledger.create": (
        lambda folder: hc.Ledger(f"sqlite:///{folder}/l.db").create("visits", epsilon=1, lifetime=2),
        'leave it out, or add window="30d"',
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_python_callers_read_keywords_instead_of_flags(name: str, tmp_path: Path) -> None:
    call, words = CALLS[name]
    with pytest.raises(hc.HeadcountError, match=words) as caught:
        call(tmp_path)
    assert "--" not in f"{caught.value} {caught.value.problem} {caught.value.remedy} {caught.value.to_json()}"


def test_a_check_speaks_of_keywords() -> None:
    table = pa.table({"who": ["ann", "bob"], "what": ["tea", "tea"], "many": [1, -1], "when": ["1.2.2026", None]})
    log = hc.read_events(table, user="who", item="what", items=["tea"], times="many", context="weekday:when")
    report = hc.check(log)
    message = f"{report} {report.problems}"
    assert "(times=)" in message
    assert 'add time_format="%d.%m.%Y"' in message
    assert "--" not in message
    assert 'count="users" is more accurate' in hc.check(LOG).hints[0]


def test_the_command_line_speaks_of_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even of what a method says that Python's callers use as well."""
    hc.rank(LOG, k=1, epsilon=1).save(tmp_path / "ranking")
    assert main(["top", str(tmp_path / "ranking"), "--context", "AM"]) == 2
    assert "leave --context out" in capsys.readouterr().err
