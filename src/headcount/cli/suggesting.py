"""What a command has to be told to read a file, as far as it can be guessed; what is printed must run."""

from __future__ import annotations

from typing import NamedTuple

from headcount.events.guessing import guess
from headcount.events.preview import Preview

CATALOGUE, BINS, QUERIES = "catalogue.csv", "bins.toml", "queries.sql"
"""Names that are refused until there are such files: nothing but the curator can say what is public."""

_UNGUESSED = "COL"


class Suggestion(NamedTuple):
    """A command, what it is told to read, and what the curator should look at."""

    command: str
    read: list[str]
    doubt: str | None = None

    @property
    def parts(self) -> list[str]:
        """The command that releases."""
        out = "answers" if self.command == "query" else "release"
        return ["headcount", self.command, *self.read, "--epsilon", "1", "--out", out]


def suggestion(events: list[str], seen: Preview, text_flags: list[str]) -> Suggestion:
    """Suggest a command for what was seen of a file; ``text_flags`` say how text is written."""
    found = guess(seen.columns, seen.days)
    if found.reads == "people":
        own = [] if found.user is None else ["--user", found.user]
        return Suggestion("query", [*events, *own, *text_flags, "--bins", BINS, "--queries", QUERIES])
    parts = [*events, "--user", found.user or _UNGUESSED, "--item", found.item or _UNGUESSED]
    if found.when is not None:
        parts += ["--context", f"weekday:{found.when}"]
        parts += [] if found.time_format is None else ["--time-format", found.time_format]
    return Suggestion("release", [*parts, *text_flags, "--items", CATALOGUE], found.doubt)
