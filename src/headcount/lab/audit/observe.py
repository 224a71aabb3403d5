"""What an attacker observes of a release: everything published, as a category and a vector of numbers.

Rows of numbers must have the same places in all runs. So tables whose rows hang on what was released before, such
as the items of a selection or the pairs of a model, are laid out over all rows there could be: what is not there
has the number MISSING, so that whether it is there is seen.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.outcome_sets import MISSING, Observations
from headcount.releases.release import Release

_INTERVALS = frozenset({"low", "high", "rank_low", "rank_high"})  # as far off as laws and released numbers say
_WORKED_OUT = frozenset({"model/topics"})  # from numbers of other tables, without any noise of its own
_PERHAPS = {
    ("model/tags", "weight"): ("model/pairs", "model/together"),
    ("model/items", "offset"): ("model/factors",),
}
"""Tables that a release with a column of another table may have or not, as released numbers say."""

Row = tuple[Hashable, ...]


def observe_release(release: Release, pair: Pair) -> Observations:
    """Return everything of a release that an attacker sees, in the order of the catalogue."""
    words, names, numbers = [kind_of(release)], list[str](), list[NDArray[np.float64]]()
    for name in _tables(release):
        table = release.tables.get(name)
        if table is not None and name == "model/assignments":  # how many people there are is seen at once
            words.append(f"{len(set(table['user'].to_pylist()))} people")
            continue
        if table is not None and name == "ranking":
            words.append("ranked " + ", ".join(map(str, table["item"].to_pylist())))
        if table is not None and name == "items" and table.num_rows < pair.items:
            words.append("selected " + (", ".join(map(str, sorted(table["item"].to_pylist()))) or "nothing"))
        for column, values in _numbers(name, release, pair):
            names += _names(column, values.size, name)
            numbers.append(values)
    for name, value in _amounts(release):
        names.append(name)
        numbers.append(np.array([value]))
    row = np.concatenate(numbers) if numbers else np.empty(0)
    return Observations(np.array(["; ".join(filter(None, words))]), row[None, :], tuple(names))


@lru_cache(maxsize=256)
def _names(column: str, size: int, table: str) -> tuple[str, ...]:
    return tuple(f"{column} {number} of {table}" for number in range(size))


def kind_of(release: Release) -> str:
    """Return what is published beside the numbers."""
    laws = [f"{name} with {law.in_words()}" for name, law in release.noise.items()]
    amounts = {name for name, _ in _amounts(release)}
    rest = {
        name: {key: value for key, value in values.items() if f"{key} of {name}" not in amounts}
        for name, values in release.chosen.items()
    }
    chosen = [f"{name}: {json.dumps(value, default=str)}" for name, value in rest.items()]
    return "; ".join([*laws, *chosen, *([release.bounded] if release.bounded else [])])


def _tables(release: Release) -> list[str]:
    """Return the names of all tables that are there, or might be."""
    columns = [(name, column) for name, table in release.tables.items() for column in table.column_names]
    perhaps = [name for column in columns for name in _PERHAPS.get(column, ())]
    surely = [name for name in release.tables if name not in perhaps]
    return [name for name in (*surely, *perhaps) if name not in _WORKED_OUT]


def _numbers(name: str, release: Release, pair: Pair) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Return the columns of a table that hold numbers or answers of yes and no, laid out where rows vary."""
    table = release.tables.get(name)
    keys, column, rows = _layout(name, release, pair)
    if rows is not None:
        listed = [] if table is None else list(zip(*(table[key].to_pylist() for key in keys), strict=True))
        value_by_row = {} if table is None else dict(zip(listed, _column(table, column), strict=True))
        yield column, np.array([value_by_row.get(row, MISSING) for row in rows], dtype=np.float64)
    elif table is not None:
        for field in table.schema:
            kind = pa.types.is_floating(field.type) or pa.types.is_boolean(field.type)
            if kind and field.name not in _INTERVALS:
                yield field.name, _column(table, field.name)


def _layout(name: str, release: Release, pair: Pair) -> tuple[tuple[str, ...], str, Iterable[Row] | None]:
    """Return the columns that name the rows of a table, that of its numbers, and all rows there could be."""
    items = range(pair.items)
    if name == "items":
        return ("item",), "count", ((item,) for item in items)
    if name == "model/factors":
        return ("item",), "factors", ((item,) for item in items)
    if name == "model/neighbours":
        return ("item", "neighbour"), "similarity", itertools.permutations(items, 2)
    if name == "model/pairs" and "model/tags" not in release.tables:
        return ("item", "other"), "count", itertools.combinations(items, 2)
    if name in ("model/pairs", "model/together"):
        tags = release.tables["model/tags"]["tag"].to_pylist()
        if name == "model/pairs":
            return ("resource", "tag"), "noisy", itertools.product(map(str, items), tags)
        return ("tag", "other"), "noisy", itertools.combinations_with_replacement(tags, 2)
    return (), "", None


def _column(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return a column as numbers: of a list its length, which is the same however its numbers are turned."""
    if pa.types.is_list(table.schema.field(name).type):
        return np.array([float(np.linalg.norm(vector)) for vector in table[name].to_pylist()])
    return np.asarray(table[name].to_numpy(zero_copy_only=False), dtype=np.float64)


def _amounts(release: Release) -> list[tuple[str, float]]:
    """Return the released amounts that stand beside the tables."""
    return [
        (f"{key} of {name}", value)
        for name, values in release.chosen.items()
        for key, value in values.items()
        if isinstance(value, float)
    ]
