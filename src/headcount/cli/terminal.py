"""What a person sees: tables on standard output, notes and progress on standard error."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

_PATIENCE = 1.0  # seconds before a bar appears


def console() -> Console:
    """Return a console on standard output; it heeds NO_COLOR and pipes."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def say_numbered(sentences: Sequence[str]) -> None:
    """Print numbered sentences, wrapped to the terminal."""
    width = min(100, shutil.get_terminal_size((100, 24)).columns)
    for number, sentence in enumerate(sentences, 1):
        start = f"{number:>3}. "
        click.echo(textwrap.fill(sentence, width, initial_indent=start, subsequent_indent=" " * len(start)))


def note(text: str, *, quiet: bool = False) -> None:
    """Say something on standard error."""
    if not quiet:
        click.echo(text, err=True)


def print_json(data: Any) -> None:
    """Print one JSON document on standard output."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def print_table(title: str | None, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; columns are (heading, ``left`` or ``right``)."""
    table = Table(
        title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False
    )
    for heading, side in columns:
        table.add_column(heading, justify="right" if side == "right" else "left", overflow="fold")
    for row in rows:
        table.add_row(*["" if each is None else str(each) for each in row])
    console().print(table)


def whole(number: float) -> str:
    """Write a count for people: whole, with thousands separators.

    >>> whole(12345.6), whole(-0.2)
    ('12,346', '0')
    """
    return f"{round(number) or 0:,}"


class Bar:
    """A progress bar on standard error, shown only on a terminal and only if the work takes a while."""

    def __init__(self, *, quiet: bool) -> None:
        self._wanted = not quiet and sys.stderr.isatty()
        self._begin = time.monotonic()
        self._progress: Progress | None = None
        self._tasks: dict[str, Any] = {}

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Show how far a stage has come."""
        if not self._wanted or time.monotonic() - self._begin < _PATIENCE:
            return
        if self._progress is None:
            self._progress = Progress(
                SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._progress.start()
        if stage not in self._tasks:
            self._tasks[stage] = self._progress.add_task(stage, total=total)
        self._progress.update(self._tasks[stage], completed=done, total=total)
