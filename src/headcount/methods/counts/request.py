"""Request for a release of counts or totals: method, privacy parameters and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

from pydantic import Field, PlainSerializer, field_validator

from headcount._internal.parameters import Flag
from headcount.errors import Parameter, UsageError, param
from headcount.methods.counts import EDGES, FAMILY
from headcount.methods.request import OPTIONS, MaybeWhole, MethodRequest, shares_flag
from headcount.methods.totals import FAMILY as TOTALS
from headcount.methods.totals import GROUPS, QUANTILES
from headcount.methods.totals.quantile_targets import WHOLE, read_quantiles

if TYPE_CHECKING:
    from headcount.events.log import EventLog
    from headcount.methods.method import Method, What


SCORES = "scores"
"""The option of HPA that is a table: a release tells its digest, and never where it lies."""


def _option_json(option: Any) -> Any:
    """Write an option into JSON: of a table its digest."""
    return getattr(option, "digest", option)


class ReleaseRequest(MethodRequest):
    """A release of counts: by which method, at which price.

    >>> request = ReleaseRequest(epsilon="1", method="sra", limit=10)
    >>> ReleaseRequest.model_validate_json(request.model_dump_json()) == request
    True
    """

    command: ClassVar[str] = "release"

    method: Annotated[
        str | None, Flag(f"How to release; see `headcount methods`.  [default: {FAMILY.default}]", "NAME")
    ] = None
    limit: Annotated[MaybeWhole, Flag("The most records (or item and context pairs) one person may add.", "L")] = (
        None
    )
    at_most: Annotated[
        MaybeWhole, Flag("A public cap: of a person with more records, so many random ones count (adaptive).", "N")
    ] = None
    what: Annotated[
        Literal["items", "edges", "both", "totals"] | None,
        Flag("Which counts, or totals over all people.  [default: both if there is a context, else items]"),
    ] = None
    quantiles: Annotated[
        str | None,
        Flag(f"Quantiles of {param.value}, such as 0.1,0.5,0.9 (totals).", "Q,…", raw=True),
    ] = None
    by: Annotated[
        Literal["contexts", "items"] | None,
        Flag("Totals and quantiles of each context, or of each item, as well (totals)."),
    ] = None
    distinct: Annotated[bool, Flag("The number of different items, too (totals).")] = False
    shares: Annotated[Mapping[str, Decimal] | None, shares_flag("items=0.5,edges=0.5")] = None
    noise: Annotated[Literal["laplace", "gaussian"], Flag(f"Kind of noise; gaussian needs {param.delta}.")] = (
        "laplace"
    )
    options: Annotated[
        Mapping[str, Annotated[Any, PlainSerializer(_option_json, when_used="json")]],
        replace(
            OPTIONS,
            help="An option of the method (repeatable). For hpa, scores=FILE are scores of items that are public.",
        ),
    ] = Field(default_factory=dict)

    @field_validator("quantiles", mode="before")
    @classmethod
    def _in_order(cls, value: Any) -> str | None:
        read = read_quantiles(value)
        return None if read is None else ",".join(f"{quantile / WHOLE:g}" for quantile in read)

    @field_validator("options", mode="after")
    @classmethod
    def _no_flags(cls, value: Mapping[str, Any]) -> Mapping[str, Any]:
        for name in value:
            if name in cls.model_fields:
                raise UsageError(
                    f"{name} is no option of a method but a parameter of its own",
                    remedy=f"use {Parameter(name, cls.model_fields[name].annotation is bool or None)}",
                )
        if value.get(SCORES) is None:
            return value
        from headcount.methods.counts.public_scores import PublicScores

        return {**value, SCORES: PublicScores.read(value[SCORES])}

    @property
    def noise_kind(self) -> str | None:
        """Which noise is asked for."""
        return self.noise

    @property
    def uses_value(self) -> bool:
        """Totals do."""
        return self.is_of_totals

    @property
    def finds_range(self) -> bool:
        """Totals do, where none is declared."""
        return self.is_of_totals

    @property
    def needs_items(self) -> bool:
        """Totals are over all items."""
        return not self.is_of_totals

    @property
    def is_of_totals(self) -> bool:
        """Whether totals are asked for, in place of counts."""
        return self.what == "totals" or (self.what is None and self.method == TOTALS.default)

    def names_contexts(self, log: EventLog) -> bool:
        """Totals by contexts do as well."""
        return self.is_of_totals or super().names_contexts(log)

    def cells(self, log: EventLog) -> dict[str, int]:
        """Return how many counts each table will hold."""
        if self.is_of_totals:
            groups = 1 if self.by is None else len(log.catalogue.ids) if self.by == "items" else log.width
            numbers = {
                TOTALS.tables[0].name: (2 if log.roles.value is None else 4) + self.distinct,
                GROUPS.name: groups * (2 + (self.distinct and self.by == "contexts")),
                QUANTILES.name: groups * len(read_quantiles(self.quantiles) or ()),
            }
            return {name: numbers[name] for name in self._total_tables()}
        return {
            table: len(log.catalogue.ids) * (log.width if table == EDGES.name else 1)
            for table in self._tables(log)
        }

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        """Return the columns of each table of counts."""
        if self.is_of_totals:
            return {table.name: table.columns for table in TOTALS.tables if table.name in self._total_tables()}
        columns = {table.name: table.columns for table in FAMILY.tables}
        return {table: columns[table] for table in self._tables(log)}

    def _tables(self, log: EventLog) -> tuple[str, ...]:
        from headcount.methods.method import tables_of

        return tables_of(cast("What | None", self.what), log)

    def _total_tables(self) -> list[str]:
        """Return which tables of totals there will be."""
        conditions = (True, self.by is not None, self.quantiles is not None)
        return [table.name for table, wanted in zip(TOTALS.tables, conditions, strict=True) if wanted]

    def _totals(self, shares: Mapping[str, Decimal] | None) -> Method:
        """Return the one method for totals."""
        if self.method not in (None, TOTALS.default):
            raise UsageError(
                f"totals are released by one method alone, not by {self.method}",
                remedy=f"leave {param.method} out",
            )
        if self.noise != "laplace":
            raise UsageError(
                f"totals have no {self.noise} noise: their proof is of pure ε",
                remedy=f"leave {param.noise} out, and {param.delta} too unless contexts are selected",
            )
        for name in self.options:
            raise UsageError(f"totals cannot use {name}", remedy=f"they take {param.limit} and {param.shares}")
        if self.at_most is not None:
            raise UsageError(f"totals cannot use {param.at_most}", remedy=f"their {param.limit} is a cap already")
        if self.limit is None:
            raise UsageError(
                f"totals need {param.limit}, the most records one person may add", remedy=f"try {param.limit(50)}"
            )
        own = {"quantiles": read_quantiles(self.quantiles), "by": self.by, "distinct": self.distinct}
        return TOTALS.build(TOTALS.default, {"limit": self.limit, "shares": shares, **own})

    def build(self, *, selecting: bool = False) -> Method:
        """Build the method asked for, refusing what it cannot use and research that is not declared."""
        if self.is_of_totals:
            return self._totals(self.own_shares(selecting=selecting))
        for name in ("quantiles", "by", "distinct"):
            if getattr(self, name):
                raise UsageError(
                    f"{Parameter(name, getattr(self, name) is True or None)} is for totals alone",
                    remedy=f"leave it out, or add {param.what('totals')}",
                )
        own = {
            "limit": self.limit,
            "at_most": self.at_most,
            "what": self.what,
            "shares": self.own_shares(selecting=selecting),
            "noise": None if self.noise == "laplace" else self.noise,
        }
        return self.chosen(FAMILY, self.method, own)
