"""Counting queries in SQL (``SELECT COUNT(*) FROM t WHERE …``), parsed to cells of a public grid.

Conditions compare columns that have bins with numbers or values, joined by AND, OR and NOT; IN and BETWEEN are
understood. A condition must go along the edges of bins: one that cuts a bin cannot be answered, and is refused
before anything is spent. GROUP BY asks for every cell of the columns it names, a marginal.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import inf, isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headcount.errors import CallerError, UsageError
from headcount.events.grid import Bins, Grid, NumberBins

Mask = NDArray[np.bool_]
"""Which cells a condition takes: one axis a column, of length 1 where the condition does not look at it."""

_SHAPE = "write SELECT COUNT(*) FROM people WHERE …, with GROUP BY if all cells of some columns are wanted"


Cell = tuple[tuple[str, str], ...]
"""A cell of a GROUP BY: of each column that is named there, its bin."""


def cell_text(cell: Cell) -> str | None:
    """Name a cell; where nothing is grouped there is none.

    >>> cell_text((("job", "cook"), ("age", "0..17"))), cell_text(())
    ('job = cook, age = 0..17', None)
    """
    return ", ".join(f"{column} = {named}" for column, named in cell) or None


@dataclass(frozen=True)
class Counting:
    """One count that is asked for: the statement, the cell of its GROUP BY, if any, and the cells it takes."""

    statement: str
    cell: Cell
    mask: Mask


def split_statements(text: str) -> tuple[str, ...]:
    r"""Split a file into its statements, each in one line; comments are left out.

    >>> split_statements("SELECT COUNT(*) FROM t; -- all\nSELECT COUNT(*)\n  FROM t WHERE age < 18;")
    ('SELECT COUNT(*) FROM t', 'SELECT COUNT(*) FROM t WHERE age < 18')
    """
    bare = re.sub(r"('(?:[^']|'')*'|\"[^\"]*\")|--[^\n]*|/\*.*?\*/", lambda m: m[1] or " ", text, flags=re.DOTALL)
    parts = re.findall(r"(?:'(?:[^']|'')*'|\"[^\"]*\"|[^;'\"])+", bare)
    return tuple(shown for part in parts if (shown := " ".join(part.split())))


@dataclass(frozen=True)
class TableCounts:
    """All counts that a statement asks for, as groups of the cells of one table over few columns.

    ``groups`` says of each cell of the table to which count it belongs; what is in none has the last number.
    """

    statement: str
    places: tuple[int, ...]
    groups: NDArray[np.int64]
    cells: tuple[Cell, ...]


def table_counts(statement: str, grid: Grid, most: int) -> TableCounts:
    """Return what a statement asks for, over no more columns than it names; refuse a table of too many cells.

    >>> grid = Grid.from_mapping({name: {"values": ["no", "yes"]} for name in "abcdefghij"})
    >>> counts = table_counts("SELECT COUNT(*) FROM t WHERE c = 'yes' GROUP BY a", grid, 100)
    >>> counts.places, counts.groups.tolist(), counts.cells
    ((0, 2), [2, 0, 2, 1], ((('a', 'no'),), (('a', 'yes'),)))
    """
    taken, grouped = _read_soundly(statement, grid)
    places = tuple(place for place, size in enumerate(taken.shape) if size > 1 or place in grouped)
    shape = tuple(grid.shape[place] for place in places)
    if prod(shape) > most:
        raise UsageError(
            f"{statement!r} looks at {len(places)} columns of {prod(shape):,} cells together, more than {most:,}",
            remedy="name fewer columns in one statement, or use coarser bins",
        )
    numbers = np.zeros((1,) * len(places), dtype=np.int64)
    for place in grouped:
        size = grid.bins[place].size
        own = np.arange(size).reshape([size if place == at else 1 for at in places])
        numbers = numbers * size + own
    cells = tuple(named for named, _ in _cells(grid, grouped))
    mask = np.broadcast_to(taken.reshape([taken.shape[place] for place in places]), shape)
    groups = np.where(mask, np.broadcast_to(numbers, shape), len(cells)).ravel()
    return TableCounts(statement, places, groups, cells)


def counts_of(statement: str, grid: Grid) -> Iterator[Counting]:
    """Yield the counts that a statement asks for, one, or one for each cell of its GROUP BY.

    >>> grid = Grid.from_mapping({"age": {"edges": [0, 18, 65, 120]}, "job": {"values": ["clerk", "cook"]}})
    >>> [query.mask.sum() for query in counts_of("SELECT COUNT(*) FROM t WHERE age >= 18 AND job = 'cook'", grid)]
    [np.int64(2)]
    >>> [query.cell for query in counts_of("SELECT COUNT(*) FROM t GROUP BY job", grid)]
    [(('job', 'clerk'),), (('job', 'cook'),)]
    """
    taken, grouped = _read_soundly(statement, grid)
    for named, bins in _cells(grid, grouped):
        mask = taken
        for place, at in zip(grouped, bins, strict=True):
            mask = mask & _at(grid, place, slice(at, at + 1))
        yield Counting(statement, named, np.broadcast_to(mask, grid.shape).ravel())


def _cells(grid: Grid, grouped: list[int]) -> Iterator[tuple[Cell, tuple[int, ...]]]:
    """Yield the cells of a GROUP BY, the last column running quickest: what each is called, and its bins."""
    columns = [grid.bins[place] for place in grouped]
    called = [[(column_bins.column, name) for name in column_bins.names] for column_bins in columns]
    for bins in product(*(range(column_bins.size) for column_bins in columns)):
        yield tuple(names[at] for names, at in zip(called, bins, strict=True)), bins


def _read_soundly(statement: str, grid: Grid) -> tuple[Mask, list[int]]:
    """Read a statement, and refuse one that is too much to read."""
    try:
        return _read(statement, grid)
    except RecursionError:
        pass  # refused below, with the stack unwound
    except CallerError as error:
        unquoted = _unquoted(statement, grid)
        if unquoted is None:
            raise
        raise UsageError(
            f"{statement!r} names the column {unquoted}, which SQL reads as something else",
            remedy=f'write it in double quotes: "{unquoted}"',
        ) from error
    raise UsageError(
        f"{statement[:60]!r}… is nested too deeply",
        remedy="leave parentheses out, or write IN (…) in place of many conditions",
    )


def _unquoted(statement: str, grid: Grid) -> str | None:
    """Return a column that a statement names without the quotes that its name needs, if there is one."""
    bare = re.sub(r"'(?:[^']|'')*'|\"[^\"]*\"", " ", statement)
    odd = [column for column in grid.columns if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", column)]
    longest = sorted(odd, key=len, reverse=True)
    return next((name for name in longest if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", bare, re.I)), None)


def _read(statement: str, grid: Grid) -> tuple[Mask, list[int]]:
    """Return the cells that the condition of a statement takes, and the columns that it groups by."""
    select = _parsed(statement)
    where = select.args.get("where")
    everything = np.ones((1,) * len(grid.bins), dtype=bool)
    taken = everything if where is None else _condition(where.this, grid)
    return taken, _grouped(select, grid)


def _parsed(statement: str) -> Any:
    """Parse a statement, and refuse what is no plain count."""
    import sqlglot
    from sqlglot import expressions as sql

    try:
        select = sqlglot.parse_one(statement)
    except sqlglot.errors.SqlglotError as error:
        reason = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).split("\n")[0].rstrip(".")
        raise UsageError(f"{statement!r} is not understood ({reason})", remedy=_SHAPE) from error
    if not isinstance(select, sql.Select):
        raise UsageError(f"{statement!r} is no SELECT", remedy=_SHAPE)
    _check_words(statement, select)
    origin = select.args.get("from_") or select.args.get("from")
    table = None if origin is None else origin.this
    if not isinstance(table, sql.Table) or not isinstance(table.this, sql.Identifier):
        raise UsageError(f"{statement!r} names no table, which a counting query must", remedy=_SHAPE)
    for expression in select.find_all(sql.Column):
        if expression.table and expression.table.lower() not in (table.name.lower(), table.alias.lower()):
            raise UsageError(
                f"{expression.sql()} in {statement!r} is a column of another table than {table.name}",
                remedy=_SHAPE,
            )
    counted = [expression for expression in select.expressions if not isinstance(expression, sql.Column)]
    plain = len(counted) == 1 and isinstance(counted[0], sql.Count) and isinstance(counted[0].this, sql.Star)
    named = {expression.name for expression in select.expressions if isinstance(expression, sql.Column)}
    grouped = {expression.name for expression in _group_columns(select)}
    if not plain or not named <= grouped:
        raise UsageError(f"{statement!r} asks for something else than COUNT(*)", remedy=_SHAPE)
    return select


_WORDS: Mapping[str, frozenset[str]] = {
    "Select": frozenset({"expressions", "from", "from_", "where", "group"}),
    "Table": frozenset({"this", "alias"}),
    "TableAlias": frozenset({"this"}),
    "Group": frozenset({"expressions"}),
    "Count": frozenset({"this", "big_int"}),
    "Star": frozenset(),
    "Column": frozenset({"this", "table"}),
    "In": frozenset(
        {"this", "expressions", "query", "unnest", "field"}
    ),  # without expressions it is refused later
    "Between": frozenset({"this", "low", "high"}),
}
"""Which parts a piece of a statement may have: all that are read below. Others would be ignored, silently."""


def _check_words(statement: str, select: Any) -> None:
    """Refuse whatever a statement has beyond what is understood, such as a sample, a rollup or a version."""
    for node in select.walk():
        supported = _WORDS.get(type(node).__name__)
        extra = set() if supported is None else {name for name, value in node.args.items() if value} - supported
        if extra:
            words = ", ".join(sorted(name.strip("_") for name in extra))
            raise UsageError(f"{statement!r} has {words}, which a counting query cannot", remedy=_SHAPE)


def _group_columns(select: Any) -> list[Any]:
    group = select.args.get("group")
    return [] if group is None else list(group.expressions)


def _grouped(select: Any, grid: Grid) -> list[int]:
    from sqlglot import expressions as sql

    places = []
    for column in _group_columns(select):
        if not isinstance(column, sql.Column):
            raise UsageError(f"GROUP BY takes columns alone, not {column.sql()}", remedy=_SHAPE)
        places.append(grid.place(column.name))
    if len(set(places)) != len(places):
        raise UsageError("GROUP BY names a column twice", remedy="name it once")
    return places


def _condition(node: Any, grid: Grid) -> Mask:
    """Return the cells that a condition takes."""
    from sqlglot import expressions as sql

    if isinstance(node, sql.Paren):
        return _condition(node.this, grid)
    if isinstance(node, sql.Not):
        return ~_condition(node.this, grid)
    if isinstance(node, sql.And):
        return _condition(node.left, grid) & _condition(node.right, grid)
    if isinstance(node, sql.Or):
        return _condition(node.left, grid) | _condition(node.right, grid)
    if isinstance(node, sql.In) and node.expressions:
        place = _column(node.this, grid)
        taken = _at(grid, place, slice(0, 0))
        for operand in node.expressions:
            taken = taken | _equal(grid, place, _literal(operand))
        return taken
    if isinstance(node, sql.Between):
        place = _column(node.this, grid)
        low, high = _literal(node.args["low"]), _literal(node.args["high"])
        return _compared(grid, place, ">=", low) & _compared(grid, place, "<=", high)
    signs = {sql.EQ: "=", sql.NEQ: "<>", sql.LT: "<", sql.LTE: "<=", sql.GT: ">", sql.GTE: ">="}
    sign = signs.get(type(node))
    if sign is None:
        raise UsageError(
            f"the condition {node.sql()} is not understood",
            remedy="compare columns with =, <>, <, <=, >, >=, IN or BETWEEN, joined by AND, OR and NOT",
        )
    if isinstance(node.left, sql.Column):
        return _compared(grid, _column(node.left, grid), sign, _literal(node.right))
    turned = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
    return _compared(grid, _column(node.right, grid), turned, _literal(node.left))


def _column(node: Any, grid: Grid) -> int:
    from sqlglot import expressions as sql

    if not isinstance(node, sql.Column):
        raise UsageError(f"{node.sql()} is no column", remedy="compare a column that has bins with a constant")
    return grid.place(node.name)


def _literal(node: Any) -> float | str:
    from sqlglot import expressions as sql

    if isinstance(node, sql.Neg):
        inner = _literal(node.this)
        if isinstance(inner, int | float):
            return -inner
    if isinstance(node, sql.Literal):
        if node.is_string:
            return str(node.this)
        return _constant(str(node.this))
    raise UsageError(f"{node.sql()} is no constant", remedy="compare columns with numbers or 'values'")


def _constant(text: str) -> float:
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        number = inf
    if not isfinite(number):
        raise UsageError(f"{text[:40]} is no number that could be compared", remedy="such as 65 or 1.5e3")
    return number


def _compared(grid: Grid, place: int, sign: str, value: float | str) -> Mask:
    bins = grid.bins[place]
    if sign == "=":
        return _equal(grid, place, value)
    if sign == "<>":
        return ~_equal(grid, place, value)
    number = _number(bins, sign, value)
    end = number.below(float(value), inclusive=sign in ("<=", ">"))
    taken = slice(0, end) if sign in ("<", "<=") else slice(end, bins.size)
    return _at(grid, place, taken)


def _equal(grid: Grid, place: int, value: float | str) -> Mask:
    bins = grid.bins[place]
    if not isinstance(bins, NumberBins):
        at = bins.place(value)
        return _at(grid, place, slice(at, at + 1))
    number = _number(bins, "=", value)
    first, end = (number.below(float(value), inclusive=inclusive) for inclusive in (False, True))
    return _at(grid, place, slice(first, end))


def _number(bins: Bins, sign: str, value: float | str) -> NumberBins:
    """Return the bins of a column that is compared with a number; refuse another comparison."""
    if isinstance(bins, NumberBins) and not isinstance(value, str):
        return bins
    what = "has bins of numbers" if isinstance(bins, NumberBins) else "has bins of values, which have no order"
    raise UsageError(
        f"column {bins.column!r} {what}: it cannot be compared as {sign} {value!r}",
        remedy="compare numbers with numbers, and values with =, <> or IN",
    )


def _at(grid: Grid, place: int, taken: slice) -> Mask:
    """Return the mask of some bins of one column."""
    size = grid.bins[place].size
    own = np.zeros(size, dtype=bool)
    own[taken] = True
    return own.reshape([size if at == place else 1 for at in range(len(grid.bins))])
