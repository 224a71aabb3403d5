"""Suggest ``release``, ``rank`` and ``query`` commands from the columns that ``inspect`` read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from headcount.errors import command_line, render

if TYPE_CHECKING:
    from headcount.events.inspect.suggest import Preview

CATALOGUE, BINS, QUERIES = "catalogue.csv", "bins.toml", "queries.sql"
"""Names that are refused until there are such files: nothing but the curator can say what is public."""

_UNGUESSED = "COL"
_SELECTED = ["--select-items", "--shares", "selection=0.4", "--delta", "1e-6"]
"""In place of a catalogue; a ranking is never longer than what was found, so finding gets its part."""


class Suggestion(NamedTuple):
    """A command, what it is told to read and what is public of it, and what the curator should look at."""

    command: str
    read: list[str]
    public: list[str]
    doubt: str | None = None

    @property
    def parts(self) -> list[str]:
        """The command that releases."""
        out = "answers" if self.command == "query" else "release"
        return ["headcount", self.command, *self.read, *self.public, "--epsilon", "1", "--out", out]

    @property
    def check(self) -> list[str]:
        """The command that shows what would not be counted."""
        return ["headcount", "check", *self.read, *self.public]

    @property
    def ranking(self) -> list[str] | None:
        """The command that needs nothing but the log, if it is one of events."""
        if self.command == "query":
            return None
        context_flags = ["--per-context"] if "--context" in self.read else []
        return [
            "headcount",
            "rank",
            *self.read,
            "-k",
            "20",
            *context_flags,
            *_SELECTED,
            "--epsilon",
            "1",
            "--out",
            "best",
        ]


def suggestion(events: list[str], preview: Preview, text_flags: list[str]) -> Suggestion:
    """Suggest a command for what was seen of a file; ``text_flags`` say how text is written."""
    from headcount.events.inspect.suggest import guess

    guessed = guess(preview.columns, preview.days, preview.texts)
    text_flags = text_flags + [
        part for name, marks in guessed.numbers.items() for mark in marks for part in (f"--{name}", mark)
    ]
    if guessed.reads == "people":
        own = [] if guessed.user is None else ["--user", guessed.user]
        return Suggestion("query", [*events, *own, *text_flags], ["--bins", BINS, "--queries", QUERIES])
    parts = [*events, "--user", guessed.user or _UNGUESSED, "--item", guessed.item or _UNGUESSED]
    if guessed.when is not None:
        parts += ["--context", f"weekday:{guessed.when}"]
        parts += [] if guessed.time_format is None else ["--time-format", guessed.time_format]
    return Suggestion(
        "release", [*parts, *text_flags], ["--items", CATALOGUE], render(guessed.doubt or "", command_line) or None
    )


def first_bins(preview: Preview, user: str | None) -> tuple[list[str], str]:
    """Return how bins of the first columns are written, and a query that asks for them together.

    The names and types of columns are all that is taken from the file: which bins there are must be public.
    """
    columns = [column for column in preview.columns if column["name"] != user]
    number = next((column["name"] for column in columns if column["type"] != "text"), None)
    text = next((column["name"] for column in columns if column["type"] == "text"), None)
    lines = [] if number is None else [f"[{_toml(number)}]", "edges = [0, 10, 20, 50, 100]"]
    lines += [] if text is None else [f"[{_toml(text)}]", 'values = ["this", "that"]', "other = true"]
    names = ", ".join(f'"{name}"' for name in (number, text) if name is not None)
    return lines, f"SELECT COUNT(*) FROM people GROUP BY {names}"  # noqa: S608 - shown, never run


def _toml(name: str) -> str:
    """Write a name as TOML does.

    >>> _toml("age"), _toml("hours per week")
    ('age', '"hours per week"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
