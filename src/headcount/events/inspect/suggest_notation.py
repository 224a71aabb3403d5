"""Suggest the decimal and thousands separators of text columns from their values; curator only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from headcount.errors import Parameter
from headcount.events.notation import PLAIN, Notation, Notations
from headcount.events.sources.files.scalar import numbers

_OTHER_THOUSANDS = ("'", "\u2019", " ", "\u00a0", "\u202f")
_CANDIDATES = (
    PLAIN,
    Notation(".", ","),
    Notation(","),
    Notation(",", "."),
    *(Notation(decimal, thousands) for decimal in ".," for thousands in _OTHER_THOUSANDS),
)


def guess_notations(texts: Sequence[str]) -> list[Notation]:
    """Return the notations that read the most of some texts, one for each reading; none unless most are numbers.

    >>> guess_notations(["1.234,50", "15,30", "n/a"])
    [Notation(decimal=',', thousands='.')]
    >>> guess_notations(["1,234", "7"])
    [Notation(decimal='.', thousands=','), Notation(decimal=',', thousands=None)]
    >>> guess_notations(["tea", "7"])
    []
    """
    column = pa.array(texts, pa.string())
    most, readings = len(texts) // 2 + 1, dict[bytes, Notation]()
    for notation in _CANDIDATES:
        values, there = numbers(notation.plain(column))
        if (number := int(there.sum())) > most:
            most, readings = number, {}
        if number == most:
            readings.setdefault(values.tobytes() + there.tobytes(), notation)
    return list(readings.values())


def guess_numbers(texts: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """Return ``--decimal`` and ``--thousands`` for columns with these texts, and doubts about them.

    >>> guess_numbers({"paid": ["15,30"], "age": ["7"]}), guess_numbers({"paid": ["15,30"], "rate": ["0.5"]})
    (({'decimal': [',']}, []), ({'decimal': ['paid=,']}, []))
    """
    guesses = {name: notations for name, column in texts.items() if (notations := guess_notations(column))}
    doubts = [
        f"In {name!r}, {doubt(name, notations)}." for name, notations in guesses.items() if len(notations) > 1
    ]
    other = {name: notations[0] for name, notations in guesses.items() if notations[0] != PLAIN}
    general = next(iter(other.values()), PLAIN)
    if all(_same_numbers(texts[name], notations[0], general) for name, notations in guesses.items()):
        other = {"": general}
    return Notations.of_columns(other).describe(), doubts


def _same_numbers(texts: Sequence[str], *notations: Notation) -> bool:
    column = pa.array(texts, pa.string())
    readings = [np.concatenate(numbers(notation.plain(column))) for notation in notations]
    return all(np.array_equal(readings[0], reading) for reading in readings)


def doubt(column: str, notations: Sequence[Notation]) -> str:
    """Name the notations that a column may have.

    >>> from headcount.errors import command_line, render
    >>> print(render(doubt("n", guess_notations(["1,234"])), command_line))
    its decimal point may be a thousands separator: choose --thousands "n=," or --decimal "n=,"
    """
    ways = " or ".join(flags_of(column, notation) or "no flag" for notation in notations)
    return f"its decimal point may be a thousands separator: choose {ways}"


def remedy(column: str, texts: Sequence[str]) -> str | None:
    """Say which flags read the numbers in texts that are not read."""
    notations = [notation for notation in guess_notations(texts) if notation != PLAIN]
    if len(notations) > 1:
        return doubt(column, notations)
    return f"add {flags_of(column, notations[0])}" if notations else None


def flags_of(column: str, notation: Notation) -> str:
    """Write the notation of a column as flags."""
    described = Notations.of_columns({column: notation}).describe()
    return " ".join(str(Parameter(flag, f'"{mark}"')) for flag, marks in described.items() for mark in marks)
