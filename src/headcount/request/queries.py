"""Queries over a table of people, as they are asked: which cells, which counts, and for which groups."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from pydantic import Field, field_validator, model_validator

from headcount.bounding import LinearQueries
from headcount.errors import UsageError
from headcount.events.grid import Grid, read_bins
from headcount.events.log import EventLog
from headcount.method import Method
from headcount.queries.asked import Asked
from headcount.queries.sql import split_statements
from headcount.registry import DEFAULT_QUERY_METHOD, build
from headcount.releases import ANSWERS_FIELDS
from headcount.request.spending import Spending, refuse_research, whole_number


class TableRequest(Spending):
    """What is asked of a table of people: its bins, and what one person and one group may add at most."""

    bins: Mapping[str, Any]
    groups: str | None = None
    max_group: int | None = None
    max_records: int = 1

    @field_validator("bins", mode="before")
    @classmethod
    def _read_bins(cls, value: Any) -> Mapping[str, Any]:
        return read_bins(value).to_json()

    @field_validator("max_group", "max_records", mode="before")
    @classmethod
    def _whole(cls, value: Any, info: Any) -> int | None:
        return None if value is None else whole_number(value, info.field_name)

    def check_delta(self, *, selecting: bool) -> None:  # noqa: ARG002
        """Refuse a δ: there is no use for one."""
        if self.delta is not None:
            raise UsageError("--delta is of no use here: queries are answered with pure ε", remedy="leave it out")

    @property
    def grid(self) -> Grid:
        """The cells."""
        return Grid.of(self.bins)

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the columns of the answers."""
        return {"answers": ANSWERS_FIELDS}


class QueryRequest(TableRequest):
    """Counting queries, all asked at once: SQL statements, or rows of zeros and ones, which stay out of JSON.

    >>> bins = {"age": {"edges": [0, 18, 65, 120]}}
    >>> request = QueryRequest(epsilon="1", bins=bins, queries=["SELECT COUNT(*) FROM people WHERE age < 18"])
    >>> QueryRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "query"

    queries: tuple[str, ...] = ()
    rows: Any = Field(default=None, exclude=True, repr=False)
    rows_digest: str | None = None
    method: str | None = None
    options: Mapping[str, Any] = Field(default_factory=dict)
    research: bool = False

    @field_validator("queries", mode="before")
    @classmethod
    def _statements(cls, value: Any) -> tuple[str, ...]:
        texts = [value] if isinstance(value, str) else list(value or ())
        return tuple(statement for text in texts for statement in split_statements(str(text)))

    @model_validator(mode="before")
    @classmethod
    def _digest(cls, values: Any) -> Any:
        """Let the digest of rows stand for them: a request says what is asked, and rows may be huge."""
        rows = values.get("rows") if isinstance(values, Mapping) else None
        if rows is None:
            return values
        if values.get("queries"):
            raise UsageError("queries are given both as statements and as rows", remedy="ask one after the other")
        read = rows if type(rows) is LinearQueries else LinearQueries.of(rows)
        return {**values, "rows": read, "rows_digest": read.digest}

    @cached_property
    def asked(self) -> Asked:
        """What is asked, read once."""
        if self.rows_digest is not None and self.rows is None:
            raise UsageError("these queries were rows, which a request does not hold", remedy="give them again")
        return Asked(
            grid=self.grid,
            statements=self.queries,
            rows=self.rows,
            groups=self.groups,
            max_group=self.max_group,
            max_records=self.max_records,
        )

    def build(self, *, selecting: bool = False) -> Method:  # noqa: ARG002
        """Return the method asked for, refusing what it cannot use and research that is not declared."""
        own = {} if self.shares is None else {"shares": self.shares}
        parameters = {**self.options, **own, "asked": self.asked}
        method = build(self.method or DEFAULT_QUERY_METHOD, parameters, "queries")
        return refuse_research(method, research=self.research, instead=DEFAULT_QUERY_METHOD)

    def cells(self, log: EventLog) -> dict[str, int]:  # noqa: ARG002
        """Return how many answers there will be."""
        return {"answers": self.asked.queries.size}


class SessionRequest(TableRequest):
    """A session: nobody knows yet what will be asked, but all of its ε is spent at the start."""

    command: ClassVar[str] = "session"

    updates: int | None = None
    expected: int = 1000

    @field_validator("updates", "expected", mode="before")
    @classmethod
    def _whole_or_none(cls, value: Any, info: Any) -> int | None:
        return None if value is None else whole_number(value, info.field_name)

    @cached_property
    def asked(self) -> Asked:
        """What is known of what will be asked."""
        names = ("groups", "max_group", "max_records")
        return Asked(grid=self.grid, **{name: getattr(self, name) for name in names})

    def build(self, *, selecting: bool = False) -> Method:  # noqa: ARG002
        """Return the method that sessions use."""
        own = {} if self.shares is None else {"shares": self.shares}
        parameters = {"asked": self.asked, "updates": self.updates, "expected": self.expected, **own}
        return build("pmw", parameters, "queries")

    def cells(self, log: EventLog) -> dict[str, int]:  # noqa: ARG002
        """Return how many answers there are at the start: none."""
        return {"answers": 0}
