"""Small CSV inputs of one or two columns: own items, own ratings, or pairs to predict."""

from __future__ import annotations

import csv
from pathlib import Path

from headcount.errors import DataError


def pairs_in(path: str, first: str, second: str) -> list[tuple[str, str]]:
    """Return the first two columns of a file with a header, each value as text."""
    rows = _rows(path, f"{first}s and {second}s")
    if not rows or any(len(row) < 2 for row in rows):
        raise DataError(
            f"{path} must have a header and at least two columns, {first} and {second}",
            remedy=f"for example the line {first},{second} and one for each {first}",
        )
    return [(row[0], row[1]) for row in rows[1:]]


def items_in(path: str) -> list[str]:
    """Return the first column of a file with a header, each item as text."""
    rows = _rows(path, "items")
    if not rows:
        raise DataError(f"{path} must have a header", remedy="for example the line item, and one for each item")
    return [row[0] for row in rows[1:]]


def _rows(path: str, what: str) -> list[list[str]]:
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as lines:
            return [row for row in csv.reader(lines) if row]
    except (OSError, UnicodeError) as error:
        raise DataError(f"{path} cannot be read ({error})", remedy=f"give a CSV file of {what}") from error
