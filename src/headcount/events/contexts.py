"""Contexts: a public domain of values per record, with one more cell for everything else.

A context is one column, several columns taken together, or the weekday, hour or month of a time. Its values
are public: known by themselves for times, declared for columns. A value outside the domain, or a missing one,
counts in the unknown cell, so that edges sum to items.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from headcount.errors import DataError, UsageError
from headcount.events.formats import is_text, plain_type
from headcount.events.ids import catalogue_codes
from headcount.events.times import LABELS, Part, TimeFormat, part_of

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
        """What to call it: ``weekday of time``, or the columns."""
        return f"{self.part} of {self.columns[0]}" if self.part else SEPARATOR.join(self.columns)

    @property
    def specification(self) -> str:
        """The context as ``--context`` writes it."""
        return f"{self.part}:{self.columns[0]}" if self.part else ",".join(self.columns)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the known contexts, in order; the unknown one comes after them."""
        return tuple(SEPARATOR.join(each) for each in itertools.product(*self.domains))

    def codes(self, batch: pa.RecordBatch) -> NDArray[np.int32]:
        """Return the position of each row's context in ``labels``, or ``len(labels)`` if it is unknown."""
        unknown = len(self.labels)
        if self.part is not None:
            column = batch.column(self.columns[0])
            if self.part == "hour" and pa.types.is_date(column.type):
                raise DataError(
                    f"column {self.columns[0]!r} holds dates, which have no hour",
                    remedy="use weekday: or month:",
                )
            position = part_of(self.time.read(column, self.columns[0]), self.part)
            return np.asarray(pc.fill_null(position, unknown), dtype=np.int32)
        code = positions(batch.column(self.columns[0]), self.domains[0], self.columns[0])
        for name, domain in zip(self.columns[1:], self.domains[1:], strict=True):
            position = positions(batch.column(name), domain, name)
            code = np.where((code < 0) | (position < 0), np.int32(-1), code * np.int32(len(domain)) + position)
        return np.where(code < 0, np.int32(unknown), code)

    def check(self, schema: pa.Schema) -> None:
        """Refuse domains that cannot be cast to their column, before any row is read."""
        if self.part is None:
            for name, domain in zip(self.columns, self.domains, strict=True):
                cast_domain(domain, schema.field(name).type, name)


def positions(column: pa.Array, domain: tuple[str, ...], name: str) -> NDArray[np.int32]:
    """Return where each value stands in the domain, or -1."""
    kind = column.type
    values = cast_domain(domain, kind, name)
    if pa.types.is_integer(kind) and column.null_count == 0:
        return catalogue_codes(values.cast(pa.int64()))(column)
    if pa.types.is_dictionary(kind):
        of_value = pc.fill_null(pc.index_in(column.dictionary.cast(pa.string()), values), -1).to_numpy()
        of_value = np.append(of_value, np.int32(-1))  # a missing value is the last entry
        codes = pc.fill_null(column.indices, len(of_value) - 1).to_numpy()
        return np.asarray(of_value[codes], dtype=np.int32)
    found = pc.index_in(column.cast(values.type), values)
    return np.asarray(pc.fill_null(found, -1), dtype=np.int32)


def cast_domain(domain: Sequence[str], kind: pa.DataType, name: str) -> pa.Array:
    """Cast declared values exactly to the type of their column."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if is_text(kind):
        return pa.array(domain, pa.string())
    try:
        values = pa.array(domain, pa.string()).cast(kind)
    except pa.ArrowException as error:
        raise DataError(
            f"the contexts {', '.join(domain)} cannot all be cast to {plain_type(kind)}, the type of column "
            f"{name!r}",
            remedy="correct --contexts",
        ) from error
    if len(pc.unique(values)) < len(values):
        raise UsageError(f"two contexts of column {name!r} are the same value", given=list(domain))
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


def read_context(context: Any, contexts: Any = None, time: TimeFormat | None = None) -> Context | None:
    """Make a context from ``COL``, ``COL,COL``, ``weekday:COL``… and the declared values.

    >>> read_context("sex,age", {"sex": ["F", "M"], "age": ["0-24", "25+"]}).name
    'sex|age'
    >>> read_context("sex")
    Traceback (most recent call last):
    headcount.errors.UsageError: the values of context column 'sex' must be public; list them with --contexts A,B,C
    """
    if context is None:
        if contexts:
            raise UsageError("--contexts is given without --context", remedy="name the column with --context")
        return None
    part, colon, column = context.partition(":") if isinstance(context, str) else ("", "", "")
    if isinstance(context, Context) or (colon and part in _PARTS):
        made = context if isinstance(context, Context) else _PARTS[part](column)
        if contexts:
            raise UsageError(
                f"the values of {made.specification!r} are known by themselves", remedy="leave out --contexts"
            )
        return replace(made, time=time) if time is not None else made
    columns = tuple(context.split(",")) if isinstance(context, str) else tuple(context)
    declared = _declared(columns, contexts)
    return Context(columns, tuple(_domain(name, declared.get(name)) for name in columns))


def _declared(columns: tuple[str, ...], contexts: Any) -> Mapping[str, Any]:
    if contexts is None:
        return {}
    if isinstance(contexts, Mapping):
        declared = contexts
    elif isinstance(contexts, str):
        name, equals, values = contexts.partition("=")
        declared = {name: values} if equals and name in columns else {columns[0]: contexts}
    elif len(columns) > 1 and all(isinstance(each, str) and "=" in each for each in contexts):
        declared = dict(each.split("=", 1) for each in contexts)
    else:
        declared = {columns[0]: contexts}
    for name in declared:
        if name not in columns:
            raise UsageError(f"--contexts names {name!r}, which is not a context column", given=name)
    return declared


def _domain(name: str, values: Any) -> tuple[str, ...]:
    if values is None:
        raise UsageError(
            f"the values of context column {name!r} must be public", remedy="list them with --contexts A,B,C"
        )
    listed = tuple(str(each).strip() for each in (values.split(",") if isinstance(values, str) else values))
    if not listed or "" in listed:
        raise UsageError(f"the contexts of column {name!r} hold an empty value", given=values)
    if len(set(listed)) < len(listed):
        raise UsageError(f"the contexts of column {name!r} list a value twice", given=",".join(listed))
    if any(SEPARATOR in each for each in listed):
        raise UsageError(f"a context value may not contain {SEPARATOR!r}", given=",".join(listed))
    return listed
