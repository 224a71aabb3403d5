"""Terminal output: tables and sentences on standard output, notes and a progress bar on standard error."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

FOR_RESEARCH = "NOT PRIVATE: for research alone."
"""What is said wherever a result promises nothing."""

_PATIENCE = 1.0  # seconds before a bar appears
_MEMORY = 300.0  # seconds that the time left is estimated from: single steps may take minutes
_SENTENCE = 100  # columns after which a sentence is hard to read


def width() -> int:
    """Return how many columns there are: the terminal's, COLUMNS, or 120 in a pipe."""
    return max(40, shutil.get_terminal_size((120, 24)).columns)


def say(text: str, *, indent: str = "", bullet: str | None = None) -> None:
    """Print a sentence on standard output, wrapped to the terminal."""
    click.echo(_wrapped(text, indent, bullet))


def say_numbered(sentences: Sequence[str]) -> None:
    """Print numbered sentences."""
    for number, sentence in enumerate(sentences, 1):
        say(sentence, indent="     ", bullet=f"{number:>3}. ")


def note(text: str, *, quiet: bool = False) -> None:
    """Say something on standard error."""
    if not quiet:
        click.echo(_wrapped(text), err=True)


def note_commands(heading: str, *commands: Sequence[str]) -> None:
    """Show commands to copy on standard error, one a line and never wrapped."""
    click.echo("\n".join([heading, *(f"  {command_line(command)}" for command in commands)]), err=True)


def command_line(parts: Sequence[str]) -> str:
    """Write a command as the shell of this system reads it."""
    return subprocess.list2cmdline(parts) if os.name == "nt" else shlex.join(parts)


def print_json(data: Any) -> None:
    """Print one JSON document on standard output; plain ASCII where the output cannot hold more."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(data, ensure_ascii=not unicode, indent=2))


def print_table(headings: Sequence[str], sides: str, rows: Iterable[Sequence[Any]]) -> None:
    """Print a table; ``sides`` has a letter for each column, ``l`` or ``r``.

    Cells come from outside: they are shown letter by letter, never read as markup or terminal commands.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=None, pad_edge=False)
    for heading, side in zip(headings, sides, strict=True):
        table.add_column(heading, justify="right" if side == "r" else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text("" if cell is None else printable(str(cell))) for cell in row])
    console = Console(highlight=False, width=width())
    with console.capture() as captured:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in captured.get().rstrip("\n").split("\n")))


def printable(text: str) -> str:
    r"""Show white space as a space and anything that could steer a terminal as a replacement mark.

    >>> printable("Café\tBar\x1b[31m")
    'Café Bar�[31m'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _wrapped(text: str, indent: str = "", bullet: str | None = None) -> str:
    return textwrap.fill(
        text,
        min(_SENTENCE, width()),
        initial_indent=indent if bullet is None else bullet,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Bar:
    """A progress bar on standard error, shown only on a terminal and only if the work takes a while.

    It may be told how far things are from any thread, and it appears by itself if nothing tells it. Where it is to
    be discreet, it shows that there is work, and neither which nor how much.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._stage, self._done, self._total = "starting", 0, None  # type: tuple[str, int, int | None]
        self._timer = threading.Timer(_PATIENCE, self._appear)
        self._timer.daemon = True
        self._wanted = not quiet and sys.stderr.isatty()
        self._discreet = False

    def be_discreet(self) -> None:
        """Show no more of how long things take than cannot be hidden."""
        with self._lock:
            self._discreet = True
            if self._progress is not None:
                self._progress.columns = self._progress.columns[:2]

    def __enter__(self) -> Bar:
        if self._wanted:
            import rich.progress  # noqa: F401 - here, so that the bar appears on time

            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._wanted = False
            if self._progress is not None:
                self._progress.stop()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Show how far a stage has come; it may begin again. One that goes on from another keeps its time left."""
        if self._discreet:
            stage, done, total = "working", 0, None
        with self._lock:
            goes_on = stage == self._stage or (total is not None and total == self._total)
            again = not goes_on or done < self._done
            self._stage, self._done, self._total = stage, done, total
            if self._progress is not None and self._task is not None:
                if again:
                    self._progress.reset(self._task, total=total, description=stage)
                self._progress.update(self._task, completed=self._done, total=total, description=stage)

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

        with self._lock:
            if not self._wanted:
                return
            measured = () if self._discreet else (BarColumn(), TimeRemainingColumn())
            self._progress = Progress(
                SpinnerColumn(), TextColumn("{task.description}"), *measured,
                console=Console(stderr=True), transient=True, speed_estimate_period=_MEMORY,
            )  # fmt: skip
            self._task = self._progress.add_task(self._stage, total=self._total, completed=self._done)
            self._progress.start()
