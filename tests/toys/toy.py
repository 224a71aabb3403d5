"""Toy: how many people there are, with noise.

Why it is private
    A person counts once, so one of them moves the number by 1.

Reference
    None: it is a toy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, ClassVar

import pyarrow as pa

from headcount.bounding import check_limit
from headcount.budget import Grant
from headcount.counts.totals import Totals
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.flags import Flag
from headcount.guarantee import Guarantee, Standing
from headcount.method import Bounds, Method
from headcount.noise import NoiseSource
from headcount.noise_law import Law
from headcount.releases import Release
from headcount.request import Spending, Whole
from tests.toys import FAMILY, SIZES


@dataclass(frozen=True, kw_only=True)
class Toy:
    """Release the number of people, times something."""

    name: ClassVar[str] = "toy"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = Totals.bounds

    copies: int

    def __post_init__(self) -> None:
        check_limit(self.copies, "copies")

    def guarantee(self, grant: Grant) -> Guarantee:
        return Guarantee(epsilon=grant.epsilon, assumes=("it is a toy",))

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        return {SIZES.name: self._totals.laws(log, grant)["users"]}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        guarantee, made = self.guarantee(grant), self._totals.release(log, grant, noise, engine)
        row = made.totals.to_pylist()[0]
        numbers = (self.copies * row[name] for name in ("value", "low", "high"))
        columns = {name: [number] for name, number in zip(SIZES.columns, numbers, strict=True)}
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={SIZES.name: made.noise["users"]},
            tables={SIZES.name: pa.table(columns)},
            bounded="everything each person did",
        )

    @property
    def _totals(self) -> Totals:
        return Totals(limit=1, shares={"users": Decimal("0.5"), "records": Decimal("0.5")})


class ToyRequest(Spending):
    """How many people there are, times something."""

    command: ClassVar[str] = "toys"

    copies: Annotated[Whole, Flag("How many times each counts.", "N")] = 1

    def make(self, *, selecting: bool) -> Method:
        return FAMILY.build(FAMILY.default, {"copies": self.copies})

    def columns(self, log: EventLog) -> dict[str, tuple[str, ...]]:
        return {SIZES.name: SIZES.columns}

    def cells(self, log: EventLog) -> dict[str, int]:
        return {SIZES.name: 1}
