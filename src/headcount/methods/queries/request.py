"""The request of a query release: table, grid, queries and groups."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, field_validator, model_validator

from headcount._internal.parameters import Flag
from headcount.errors import DataError, Parameter, UsageError, param
from headcount.methods.queries import ANSWERS, FAMILY, SYNTHETIC, WIDE
from headcount.methods.request import ChargedRequest, Delta, MaybeWhole, MethodRequest, Whole, shares_flag

if TYPE_CHECKING:
    from headcount.events.grid import Grid
    from headcount.events.log import EventLog
    from headcount.methods.method import Method
    from headcount.methods.queries.workload import TableQueries


def _statements(given: Any, parameter: Parameter) -> Any:  # noqa: ARG001 - as all that is read
    """Read the file of statements; a configuration may list them instead."""
    if isinstance(given, list | tuple):
        return list(given)
    path = Path(given)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(
            f"{path} cannot be read ({error.strerror or error})", remedy="give a file of SQL statements"
        ) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text", remedy="give a file of SQL statements") from error
    if not text.strip():
        raise UsageError(f"{path} holds no query", remedy="such as SELECT COUNT(*) FROM people WHERE age >= 18;")
    return text


class TableRequest(ChargedRequest):
    """What is asked of a table of people: its bins, and what one person and one group may add at most."""

    delta: Delta | None = None
    select_limit: MaybeWhole = None
    bins: Annotated[Mapping[str, Any], Flag("Public bins of the columns: a TOML file.", "FILE", raw=True)]
    groups: Annotated[
        str | None, Flag("Public column that says who belongs together, such as a household.", "COL")
    ] = None
    max_group: Annotated[
        MaybeWhole, Flag("The most people of a group; larger ones are cut down by sampling.", "K")
    ] = None
    max_records: Annotated[Whole, Flag("The most records of one person.", "M")] = 1

    @field_validator("bins", mode="before")
    @classmethod
    def _read_bins(cls, value: Any) -> Mapping[str, Any]:
        from headcount.events.grid import read_bins

        return read_bins(value).to_json()

    def check_delta(self, *, selecting: bool) -> None:  # noqa: ARG002
        """Refuse a δ: there is no use for one."""
        if self.delta is not None:
            how = getattr(self, "method", None) or "a session"
            raise UsageError(
                f"{param.delta} is of no use here: {how} answers with pure ε",
                remedy=f"leave it out, or use {param.method('auto')}, residuals, histogram or pairs",
            )

    @property
    def grid(self) -> Grid:
        """The cells."""
        from headcount.events.grid import Grid

        return Grid.from_mapping(self.bins)

    @cached_property
    def table_queries(self) -> TableQueries:
        """What is asked, read once; of a session, what is known of it at the start."""
        from headcount.methods.queries.workload import TableQueries

        bound = {name: getattr(self, name) for name in ("groups", "max_group", "max_records")}
        return TableQueries(grid=self.grid, **bound, **self._questions())

    def _questions(self) -> dict[str, Any]:
        return {}

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the answers."""
        return {ANSWERS.name: ANSWERS.columns}


class QueryRequest(TableRequest, MethodRequest):
    """Counting queries, all asked at once: SQL statements, or rows of zeros and ones, which stay out of JSON.

    >>> bins = {"age": {"edges": [0, 18, 65, 120]}}
    >>> request = QueryRequest(epsilon="1", bins=bins, queries=["SELECT COUNT(*) FROM people WHERE age < 18"])
    >>> QueryRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "query"

    delta: Annotated[
        Delta | None,
        Flag("How likely the promise may fail, such as 1e-6: Gaussian noise, where it is better.", "D"),
    ] = None
    queries: Annotated[
        tuple[str, ...],
        Flag(
            "SQL statements, SELECT COUNT(*) FROM people WHERE …, ended by semicolons.",
            "FILE",
            raw=True,
            needed=True,
            read=_statements,
        ),
    ] = ()
    rows: Any = Field(default=None, exclude=True, repr=False)
    rows_digest: str | None = None
    method: Annotated[
        str | None, Flag(f"How to answer; see `headcount methods`.  [default: {FAMILY.default}]", "NAME")
    ] = None
    shares: Annotated[Mapping[str, Decimal] | None, shares_flag("total=0.05,…")] = None
    synthetic: Annotated[
        MaybeWhole, Flag(f"Draw so many synthetic rows, too, from the model of {param.method(WIDE)}.", "N")
    ] = None

    @field_validator("queries", mode="before")
    @classmethod
    def _split(cls, value: Any) -> tuple[str, ...]:
        from headcount.methods.queries.sql import split_statements

        texts = [value] if isinstance(value, str) else list(value or ())
        return tuple(statement for text in texts for statement in split_statements(str(text)))

    @model_validator(mode="before")
    @classmethod
    def _digest(cls, values: Any) -> Any:
        """Let the digest of rows stand for them: a request says what is asked, and rows may be huge."""
        from headcount.bounds import LinearQueries

        rows = values.get("rows") if isinstance(values, Mapping) else None
        if rows is None:
            return values
        if values.get("queries"):
            raise UsageError("queries are given both as statements and as rows", remedy="ask one after the other")
        read = rows if type(rows) is LinearQueries else LinearQueries.from_matrix(rows)
        return {**values, "rows": read, "rows_digest": read.digest}

    def _questions(self) -> dict[str, Any]:
        if self.rows_digest is not None and self.rows is None:
            raise UsageError("these queries were rows, which a request does not hold", remedy="give them again")
        return {"statements": self.queries, "rows": self.rows}

    @property
    def answered_by(self) -> str:
        """Name the method: where none is named, that of wide tables if there is no other, or rows are wanted."""
        if self.method not in (None, FAMILY.default):
            return str(self.method)
        return WIDE if self.grid.is_wide or self.synthetic is not None else FAMILY.default

    def check_delta(self, *, selecting: bool) -> None:
        """Refuse a δ that the method has no use for."""
        name = self.answered_by
        if name not in FAMILY.methods or not getattr(FAMILY.kind(name), "takes_delta", False):
            super().check_delta(selecting=selecting)

    def build(self, *, selecting: bool = False) -> Method:  # noqa: ARG002
        """Build the method asked for, refusing what it cannot use and research that is not declared."""
        if self.synthetic is not None and self.answered_by != WIDE:
            raise UsageError(
                f"{param.method(self.answered_by)} fits no model that rows could be drawn from",
                remedy=f"use {param.method(WIDE)}, or leave {param.synthetic} out",
            )
        own = {"shares": self.shares, "table_queries": self.table_queries, "synthetic": self.synthetic}
        return self.chosen(FAMILY, self.answered_by, own, instead=FAMILY.default)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of the answers, and of synthetic rows."""
        drawn = {} if self.synthetic is None else {SYNTHETIC.name: self.grid.columns}
        return {**super().columns(log), **drawn}

    def cells(self, log: EventLog) -> dict[str, int]:  # noqa: ARG002
        """Return how many answers and rows there will be."""
        drawn = {} if self.synthetic is None else {SYNTHETIC.name: self.synthetic}
        table_queries = self.table_queries
        answers = (
            len(table_queries.workload.names.cells) if self.answered_by == WIDE else table_queries.queries.size
        )
        return {ANSWERS.name: answers, **drawn}


class SessionRequest(TableRequest):
    """A session: nobody knows yet what will be asked, but all of its ε is spent at the start."""

    command: ClassVar[str] = "session"

    updates: MaybeWhole = None
    expected: Whole = 1000

    def build(self, *, selecting: bool = False) -> Method:  # noqa: ARG002
        """Build the method that sessions use."""
        from headcount.methods.queries.private_multiplicative_weights import PrivateWeights

        parameters = {"table_queries": self.table_queries, "updates": self.updates, "expected": self.expected}
        own = {} if self.shares is None else {"shares": self.shares}
        return FAMILY.build(PrivateWeights.name, {**parameters, **own})

    def cells(self, log: EventLog) -> dict[str, int]:  # noqa: ARG002
        """Return how many answers there are at the start: none."""
        return {ANSWERS.name: 0}
