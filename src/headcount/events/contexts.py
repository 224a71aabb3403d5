"""Contexts: a public grouping key with a declared domain per record, and one cell for unlisted values.

A context is one column, several columns taken together, or the weekday, hour or month of a time. Its values
are public: known by themselves for times, declared for columns. A value outside the domain, or a missing one,
counts in the unknown cell, so that edges sum to items.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Codes
from headcount.errors import DataError, NotSelectedError, UsageError, param
from headcount.events.encode.column_types import InexactError, cast_exactly, check_column_type, check_comparable
from headcount.events.encode.id_table import Listed, LookUp
from headcount.events.encode.text_columns import is_text, plain_type, value_type
from headcount.events.times import LABELS, Part, TimeFormat

SEPARATOR = "|"


@dataclass(frozen=True)
class Context:
    """Which columns make the context, and which values each may take.

    >>> Context(("sex", "age"), (("F", "M"), ("0-24", "25+"))).labels
    ('F|0-24', 'F|25+', 'M|0-24', 'M|25+')
    """

    columns: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    part: Part | None = None
    time: TimeFormat = field(default_factory=TimeFormat)

    @property
    def name(self) -> str:
        """The name: ``weekday of time``, or the columns."""
        return f"{self.part} of {self.columns[0]}" if self.part else SEPARATOR.join(self.columns)

    @property
    def specification(self) -> str:
        """The context as ``--context`` writes it."""
        return f"{self.part}:{self.columns[0]}" if self.part else ",".join(self.columns)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the known contexts, in order; the unknown one comes after them."""
        return tuple(SEPARATOR.join(values) for values in itertools.product(*self.domains))

    @property
    def size(self) -> int:
        """How many known contexts there are, without listing them."""
        return math.prod(len(domain) for domain in self.domains)

    def codes(self, batch: pa.RecordBatch) -> Codes:
        """Return the position of each row's context in ``labels``, or -1 if it is unknown."""
        if self.part is not None:
            return self.time.part(batch.column(self.columns[0]), self.part)
        code = positions(batch.column(self.columns[0]), self.domains[0], self.columns[0])
        for name, domain in zip(self.columns[1:], self.domains[1:], strict=True):
            position = positions(batch.column(name), domain, name)
            code = np.where((code < 0) | (position < 0), np.int32(-1), code * np.int32(len(domain)) + position)
        return code

    def look_up(self, batch: pa.RecordBatch) -> LookUp | None:
        """Return how the codes are looked up, where no value need be read or searched for."""
        if self.part is not None or len(self.columns) > 1:
            return None
        column = batch.column(self.columns[0])
        if not pa.types.is_integer(column.type) or column.null_count:
            return None
        return _places(self.domains[0], column.type, self.columns[0]).look_up(column)

    def check(self, type_of: Callable[[str], pa.DataType]) -> None:
        """Refuse domains and times that do not fit their columns, before any row is read."""
        if self.part is None:
            for name, domain in zip(self.columns, self.domains, strict=True):
                check_comparable(type_of(name), name, partial(positions, domain=domain, name=name))
            return
        kind = type_of(self.columns[0])
        self.time.check(kind, self.columns[0])
        if self.part == "hour" and pa.types.is_date(value_type(kind)):
            raise DataError(
                f"column {self.columns[0]!r} holds dates, which have no hour", remedy="use weekday: or month:"
            )


class UnknownContext(Context):
    """A context column whose values are still to be selected: there is nothing to be had from it but its name.

    >>> UnknownContext("city").name
    'city'
    >>> UnknownContext("city").labels
    Traceback (most recent call last):
    headcount.errors.NotSelectedError: the values of 'city' are still to be selected; use headcount.release or \
headcount.rank, which select them first
    """

    def __init__(self, column: str) -> None:
        """Hold the column alone."""
        object.__setattr__(self, "columns", (column,))
        object.__setattr__(self, "time", TimeFormat())

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotSelectedError(
            f"the values of {self.columns[0]!r} are still to be selected",
            remedy="use headcount.release or headcount.rank, which select them first",
        )

    def check(self, type_of: Callable[[str], pa.DataType]) -> None:
        """Refuse a column that holds neither text nor whole numbers."""
        check_column_type(type_of(self.columns[0]), "context", self.columns[0])

    def listing(self, selected: Sequence[str] | Sequence[int]) -> Context:
        """Return the context with the values that were selected; there may be none."""
        return Context(self.columns, (tuple(map(str, selected)),))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnknownContext) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash((UnknownContext, self.columns))

    def __repr__(self) -> str:
        return f"UnknownContext({self.columns[0]!r})"


def positions(column: pa.Array, domain: tuple[str, ...], name: str) -> Codes:
    """Return where each value stands in the domain, or -1."""
    kind = column.type
    if pa.types.is_integer(kind) and column.null_count == 0:
        return _places(domain, kind, name).codes(column)
    values = cast_domain(domain, kind, name)
    if pa.types.is_dictionary(kind):
        places = pc.fill_null(pc.index_in(column.dictionary, values.cast(column.dictionary.type)), -1).to_numpy()
        of_value = np.append(places, np.int32(-1))  # a missing value is the last entry
        codes = column.indices.cast(pa.int64()).fill_null(len(places)).to_numpy()
        return np.asarray(of_value[codes], dtype=np.int32)
    if is_text(kind):  # compared in the column's own layout, which holds whatever is in it
        values = values.cast(kind)
    places = pc.index_in(column.cast(values.type), values)
    return np.asarray(pc.fill_null(places, -1), dtype=np.int32)


@lru_cache(maxsize=64)
def _places(domain: tuple[str, ...], kind: pa.DataType, name: str) -> Listed:
    return Listed(cast_domain(domain, kind, name))


def cast_domain(domain: Sequence[str], kind: pa.DataType, name: str) -> pa.Array:
    """Cast declared values exactly to the type of their column: ``"7"`` is 7, ``"007"`` is not."""
    try:
        values = cast_exactly(domain, kind)
    except InexactError as error:
        raise DataError(
            f"the context {error.value!r} cannot be a value of column {name!r}, which holds {plain_type(kind)}",
            remedy=f"correct {param.contexts}",
        ) from error
    if not is_text(kind) and len(pc.unique(values)) < len(values):
        raise UsageError(
            f"two contexts of column {name!r} are the same value, in {', '.join(domain)}", remedy="remove one"
        )
    return values


def weekday(column: str) -> Context:
    """The day of the week of a time column, Monday to Sunday."""
    return Context((column,), (LABELS["weekday"],), "weekday")


def hour(column: str) -> Context:
    """The hour of a time column, 0 to 23."""
    return Context((column,), (LABELS["hour"],), "hour")


def month(column: str) -> Context:
    """The month of a time column, January to December."""
    return Context((column,), (LABELS["month"],), "month")


_PARTS = {"weekday": weekday, "hour": hour, "month": month}


def read_context(
    context: Any, contexts: Any = None, time: TimeFormat | None = None, *, select: bool = False
) -> Context | None:
    """Make a context from ``COL``, ``COL,COL``, ``weekday:COL``… and its values, if they are declared.

    >>> read_context("sex,age", {"sex": ["F", "M"], "age": ["0-24", "25+"]}).name
    'sex|age'
    >>> read_context("sex")
    Traceback (most recent call last):
    headcount.errors.UsageError: the values of context column 'sex' must be public; \
list them with --contexts A,B,C; or, if there is no public list, add --select-contexts and --delta 1e-6, \
which releases those that enough people have
    """
    if context is None:
        for flag, given in ((param.contexts, contexts), (param.select_contexts(True), select)):
            if given:
                raise UsageError(
                    f"{flag} is given without {param.context}", remedy=f"name the column with {param.context}"
                )
        return None
    part, colon, column = context.partition(":") if isinstance(context, str) else ("", "", "")
    if isinstance(context, Context) or (colon and part in _PARTS):
        result = context if isinstance(context, Context) else _PARTS[part](column)
        for flag, given in ((param.contexts, contexts), (param.select_contexts(True), select)):
            if given:
                raise UsageError(
                    f"the values of {result.specification!r} are known by themselves", remedy=f"leave out {flag}"
                )
        return replace(result, time=time) if time is not None else result
    columns = tuple(context.split(",")) if isinstance(context, str) else tuple(context)
    if not columns or not all(isinstance(column, str) and column for column in columns):
        raise UsageError(
            f"{param.context} must name one or several columns", given=context, remedy="such as day,city"
        )
    if len(set(columns)) < len(columns):
        raise UsageError(f"{param.context} names a column twice", given=context, remedy="name it once")
    if select:
        return _to_be_selected(columns, contexts)
    declared = _declared(columns, contexts)
    return Context(columns, tuple(_domain(name, declared.get(name), columns) for name in columns))


def _to_be_selected(columns: tuple[str, ...], contexts: Any) -> Context:
    """Return a context whose values are to be selected, of one column."""
    if contexts:
        raise UsageError(
            f"{param.contexts} and {param.select_contexts(True)} are both given",
            remedy="leave one out: a public list is never worse",
        )
    if len(columns) > 1:
        raise UsageError(
            f"{param.select_contexts(True)} selects the values of one column",
            given=",".join(columns),
            remedy=f"name one column, or list the values of all of them with {param.contexts('COL=A,B,C')}",
        )
    return UnknownContext(columns[0])


def _declared(columns: tuple[str, ...], contexts: Any) -> Mapping[str, Any]:
    """Return the declared values by column, from a mapping, ``A,B,C``, ``COL=A,B,C``, or a list of these."""
    if contexts is None:
        return {}
    if isinstance(contexts, Mapping):
        declared: Mapping[str, Any] = contexts
    else:
        listed = [contexts] if isinstance(contexts, str) else list(contexts)
        named = [text.partition("=") for text in listed if isinstance(text, str) and "=" in text]
        if named and len(named) == len(listed) and (len(columns) > 1 or named[0][0] in columns):
            declared = {name: values for name, _, values in named}
            if len(declared) < len(named):
                raise UsageError(f"{param.contexts} lists a column twice", given=listed, remedy="list it once")
        else:
            declared = {columns[0]: listed[0] if len(listed) == 1 else listed}
    for name in declared:
        if name not in columns:
            raise UsageError(
                f"{param.contexts} names {name!r}, which is not a context column",
                remedy=f"the context columns are {', '.join(columns)}",
            )
    return declared


def _domain(name: str, values: Any, columns: Sequence[str]) -> tuple[str, ...]:
    flag = param.contexts("A,B,C") if len(columns) == 1 else f"{param.contexts} {name}=A,B,C"
    if values is None:
        part, colon, column = name.partition(":")
        suggestion = f", or use weekday:{column}, hour:{column} or month:{column}" if colon and part else ""
        if len(columns) == 1:
            select = f"add {param.select_contexts(True)} and {param.delta('1e-6')}"
            suggestion += (
                f"; or, if there is no public list, {select}, which releases those that enough people have"
            )
        raise UsageError(
            f"the values of context column {name!r} must be public", remedy=f"list them with {flag}{suggestion}"
        )
    if isinstance(values, str):
        values = [value.strip() for value in values.split(",")]
    elif not isinstance(values, Sequence):
        values = list(values) if hasattr(values, "__iter__") else [values]
    listed = tuple(map(str, values))
    if not listed or "" in listed:
        raise UsageError(f"the contexts of column {name!r} hold an empty value", remedy=f"write {flag}")
    if len(set(listed)) < len(listed):
        twice = next(value for value in listed if listed.count(value) > 1)
        raise UsageError(f"the contexts of column {name!r} list {twice!r} twice", remedy="remove one of them")
    if len(columns) > 1 and any(SEPARATOR in value for value in listed):
        odd = next(value for value in listed if SEPARATOR in value)
        raise UsageError(
            f"the context {odd!r} contains {SEPARATOR!r}, which joins the values of several columns",
            remedy="rename it in the log",
        )
    return listed
