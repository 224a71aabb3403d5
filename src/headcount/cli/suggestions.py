"""What a command has to be told to read a file, as far as it can be guessed; what is printed must run."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from headcount.events.inspect.preview import Preview
from headcount.events.inspect.suggest_roles import guess

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
        each = ["--per-context"] if "--context" in self.read else []
        return ["headcount", "rank", *self.read, "-k", "20", *each, *_SELECTED, "--epsilon", "1", "--out", "best"]


def suggestion(events: list[str], seen: Preview, text_flags: list[str]) -> Suggestion:
    """Suggest a command for what was seen of a file; ``text_flags`` say how text is written."""
    found = guess(seen.columns, seen.days, seen.texts)
    text_flags = text_flags + [
        part for name, marks in found.numbers.items() for mark in marks for part in (f"--{name}", mark)
    ]
    if found.reads == "people":
        own = [] if found.user is None else ["--user", found.user]
        return Suggestion("query", [*events, *own, *text_flags], ["--bins", BINS, "--queries", QUERIES])
    parts = [*events, "--user", found.user or _UNGUESSED, "--item", found.item or _UNGUESSED]
    if found.when is not None:
        parts += ["--context", f"weekday:{found.when}"]
        parts += [] if found.time_format is None else ["--time-format", found.time_format]
    return Suggestion("release", [*parts, *text_flags], ["--items", CATALOGUE], found.doubt)


def first_bins(seen: Preview, user: str | None) -> tuple[list[str], str]:
    """Return how bins of the first columns are written, and a query that asks for them together.

    The names and types of columns are all that is taken from the file: which bins there are must be public.
    """
    columns = [each for each in seen.columns if each["name"] != user]
    number = next((each["name"] for each in columns if each["type"] != "text"), None)
    text = next((each["name"] for each in columns if each["type"] == "text"), None)
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
