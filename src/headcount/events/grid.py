"""Public bins of a table's columns and their product grid: every record falls into one cell or none.

Bins are declared, in a file or in words, before any record is read. Numbers are cut to the declared range and fall
into half-open bins; values are listed one by one. Missing and unlisted values are in no cell, unless there is
a bin for everything else. Nothing about the grid comes from the data.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from headcount.errors import DataError, UnknownNameError, UsageError, param

MOST_CELLS = 10_000_000
"""Of a grid that is counted whole."""

WIDEST = 1 << 62
"""How many cells there may be at all: a cell is a number."""

MOST_COLUMNS = 60
_EXAMPLE = 'for example [age] edges = [0, 18, 65, 120], or [job] values = ["clerk", "cook"]'


@dataclass(frozen=True)
class NumberBins:
    """Half-open bins [e0, e1), [e1, e2), … of a number, which is cut to the range from e0 to the last edge first.

    Where all edges are whole numbers, so are the values, rounded down: ``age <= 29`` is ``age < 30``.

    >>> NumberBins("age", (0, 18, 65)).names
    ('0..17', '18..64')
    """

    column: str
    edges: tuple[float, ...]

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.edges) - 1

    @property
    def is_whole(self) -> bool:
        """Whether the values are whole numbers."""
        return all(isinstance(edge, int) for edge in self.edges)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bins."""
        pairs = zip(self.edges[:-1], self.edges[1:], strict=True)
        if self.is_whole:
            return tuple(f"{low}..{high - 1}" if high - low > 1 else f"{low}" for low, high in pairs)
        return tuple(f"{low:g} to {high:g}" for low, high in pairs)

    def below(self, bound: float, *, inclusive: bool) -> int:
        """Return how many bins lie wholly below a bound; refuse one that cuts a bin.

        >>> NumberBins("age", (0, 18, 65)).below(17, inclusive=True)
        1
        >>> NumberBins("age", (0, 18, 65)).below(30, inclusive=False)
        Traceback (most recent call last):
        headcount.errors.UsageError: a condition on 'age' cuts the bin 18..64 at 30, and the edges are 0, 18, 65; \
compare with one of these, or add 30 to the edges of 'age'
        """
        start = bound
        if self.is_whole:  # the first value that is not below
            start = math.floor(bound) + 1 if inclusive else math.ceil(bound)
        if start < self.edges[0] or (start == self.edges[0] and (self.is_whole or not inclusive)):
            return 0
        if start > self.edges[-1] or (start == self.edges[-1] and (self.is_whole or not inclusive)):
            return self.size
        if start not in self.edges or (inclusive and not self.is_whole):
            self._refuse(bound, start)
        return self.edges.index(start)

    def _refuse(self, bound: float, start: float) -> None:
        place = sum(edge <= bound for edge in self.edges[1:-1])
        shown = ", ".join(f"{edge:g}" for edge in self.edges[:12]) + (", …" if len(self.edges) > 12 else "")
        remedy = f"compare with one of these, or add {start:g} to the edges of {self.column!r}"
        if start in self.edges:
            remedy = "bins hold their lower edge and not their upper one: write < or >= instead of <= or >"
        raise UsageError(
            f"a condition on {self.column!r} cuts the bin {self.names[place]} at {bound:g}, and the edges are "
            f"{shown}",
            remedy=remedy,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the bins as plain data."""
        return {"edges": list(self.edges)}


@dataclass(frozen=True)
class ValueBins:
    """One bin for each listed value, and with ``other`` one more for everything else, missing values included.

    >>> ValueBins("job", ("clerk", "cook"), other=True).size
    3
    """

    column: str
    values: tuple[str, ...] | tuple[int, ...]
    other: bool = False

    @property
    def size(self) -> int:
        """How many bins there are."""
        return len(self.values) + self.other

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bins."""
        return (*map(str, self.values), *(("(other)",) if self.other else ()))

    def place(self, value: str | int | float) -> int:
        """Return the bin of a listed value, or of the one that is spelt alike; refuse others.

        >>> ValueBins("sex", ("Female", "Male")).place("male")
        1
        """
        listed: Sequence[str | int | float] = self.values
        if value in listed:
            return list(listed).index(value)
        for alike in (str, _spelling):
            matches = [place for place, candidate in enumerate(listed) if alike(candidate) == alike(value)]
            if len(matches) == 1:
                return matches[0]
        raise UnknownNameError.among(
            "value", str(value), [str(candidate) for candidate in listed], where=self.column
        )

    def to_json(self) -> dict[str, Any]:
        """Return the bins as plain data."""
        return {"values": list(self.values), **({"other": True} if self.other else {})}


Bins = NumberBins | ValueBins


@dataclass(frozen=True)
class Grid:
    """The bins of several columns; a cell is one bin of each, the last column running quickest.

    >>> described = {"age": {"edges": [0, 18, 65]}, "job": {"values": ["clerk", "cook"], "other": True}}
    >>> grid = Grid.from_mapping(described)
    >>> grid.shape, grid.cells
    ((2, 3), 6)
    """

    bins: tuple[Bins, ...]

    @classmethod
    def from_mapping(cls, described: Mapping[str, Any]) -> Grid:
        """Read a grid from plain data, column by column."""
        if not described:
            raise UsageError("no bins are given", remedy=_EXAMPLE)
        grid = cls(tuple(_read(column, description) for column, description in described.items()))
        if len(grid.bins) > MOST_COLUMNS:
            raise UsageError(
                f"there are bins of {len(grid.bins)} columns, more than {MOST_COLUMNS}", remedy="use fewer columns"
            )
        if grid.cells > WIDEST:
            raise UsageError(grid.too_many(WIDEST), remedy="use fewer columns or coarser bins")
        return grid

    @property
    def is_wide(self) -> bool:
        """Whether there are too many cells to count all of them."""
        return self.cells > MOST_CELLS

    def too_many(self, most: int) -> str:
        """Say that there are more cells than there may be."""
        sizes = " × ".join(str(size) for size in self.shape)
        return f"{sizes} bins are {self.cells:,} cells, more than {most:,}"

    def check_narrow(self) -> None:
        """Refuse more cells than can be counted one by one."""
        if self.is_wide:
            raise UsageError(
                self.too_many(MOST_CELLS),
                remedy=f"use {param.method('pairs')}, which counts pairs of columns, fewer columns or coarser "
                "bins",
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many bins each column has."""
        return tuple(bins.size for bins in self.bins)

    @property
    def cells(self) -> int:
        """How many cells there are: known before any record is read."""
        return math.prod(self.shape)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that have bins."""
        return tuple(bins.column for bins in self.bins)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {bins.column: place for place, bins in enumerate(self.bins)}

    def place(self, column: str) -> int:
        """Return which of the columns a name is; refuse one without bins."""
        if column not in self._places:
            raise UnknownNameError.among("column", column, self.columns, where="the bins")
        return self._places[column]

    def to_json(self) -> dict[str, Any]:
        """Return the grid as plain data, as :meth:`from_mapping` reads it."""
        return {bins.column: bins.to_json() for bins in self.bins}


def read_bins(bins: object) -> Grid:
    """Read a grid from a file ``bins.toml``, or from plain data."""
    if isinstance(bins, Grid):
        return bins
    if isinstance(bins, Mapping):
        return Grid.from_mapping(bins)
    if not isinstance(bins, str | os.PathLike):
        raise UsageError("bins must be a file or a mapping", given=bins, remedy=_EXAMPLE)
    path = Path(bins)
    try:
        described = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error})", remedy="name a file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path} is not a TOML file ({error})", remedy=_EXAMPLE) from error
    return Grid.from_mapping(described)


def _read(column: str, described: Any) -> Bins:
    """Read the bins of one column."""
    if not isinstance(described, Mapping):
        raise UsageError(f"the bins of column {column!r} must be a table", given=described, remedy=_EXAMPLE)
    names = set(described)
    if names == {"edges"}:
        return NumberBins(column, _edges(column, described["edges"]))
    if names == {"from", "to", "bins"}:
        return NumberBins(column, _equal(column, *(described[name] for name in ("from", "to", "bins"))))
    if "values" in names and names <= {"values", "other"}:
        return ValueBins(column, _values(column, described["values"]), bool(described.get("other", False)))
    raise UsageError(
        f"the bins of column {column!r} must have edges; or from, to and bins; or values, and other if need be",
        given=", ".join(described),
        remedy=_EXAMPLE,
    )


def _edges(column: str, given: Any) -> tuple[float, ...]:
    numbers = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    sound = all(_is_number(number) for number in numbers) and len(numbers) > 1
    if not sound or any(low >= high for low, high in pairwise(numbers)):
        raise UsageError(f"the edges of column {column!r} must be rising numbers", given=given, remedy=_EXAMPLE)
    return tuple(numbers)


def _equal(column: str, low: Any, high: Any, bins: Any) -> tuple[float, ...]:
    """Return the edges of bins of equal width: whole numbers where these come out."""
    sound = _is_number(low) and _is_number(high) and isinstance(bins, int) and not isinstance(bins, bool)
    if not sound or low >= high or bins < 1:
        raise UsageError(
            f"the bins of column {column!r} must go from a number up to a larger one", remedy=_EXAMPLE
        )
    if isinstance(low, int) and isinstance(high, int) and (high - low) % bins == 0:
        return tuple(range(low, high + 1, (high - low) // bins))
    return tuple(low + (high - low) * place / bins for place in range(bins + 1))


def _values(column: str, given: Any) -> tuple[str, ...] | tuple[int, ...]:
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else []
    texts = [value for value in listed if isinstance(value, str)]
    wholes = [value for value in listed if isinstance(value, int) and not isinstance(value, bool)]
    if not listed or len(set(listed)) != len(listed) or len(listed) not in (len(texts), len(wholes)):
        raise UsageError(
            f"the values of column {column!r} must be different texts, or different whole numbers",
            given=given,
            remedy=_EXAMPLE,
        )
    return tuple(texts) if texts else tuple(wholes)


def _spelling(value: object) -> str:
    """Return a value without capitals and the spaces around it."""
    return str(value).strip().casefold()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
