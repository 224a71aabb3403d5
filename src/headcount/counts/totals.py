"""Totals: how many people and records there are, and the sum and mean of a value, with noise.

Each person counts once among the people, and with at most ``limit`` records among the records. If a value column
is declared with a range, every value is rounded to a fixed point and cut to the range, and its distance from the
middle of the range is added up. A person with n > ``limit`` records adds ``limit`` / n of their own sum: what a
random choice of ``limit`` records would add on average, and without its variance.

Why it is private
    One user who joins adds 1 to the people, at most l to the records, and at most l · (HI - LO) / 2 to the sum of
    distances, either way, in whole multiples of the fixed point. Discrete Laplace noise of scale 1/ε₁, l/ε₂ and
    l · (HI - LO) / 2ε₃ pays for these, and the three add up to ε. Nothing is drawn but the noise. The sum and the
    mean are worked out from released numbers: sum = middle · records + distances, mean = middle + distances /
    records.

Why distances from the middle
    Values from LO to HI themselves would add up to l · max(|LO|, |HI|) per person: for ratings from 1 to 5 that is
    5 l where 2 l is enough. The mean gains most, since the noise of the records then weighs by how far the mean is
    from the middle, not by the mean itself. The sum pays for the middle with the noise of the records.

Reference
    C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in Private Data Analysis. TCC
    2006.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import pyarrow as pa

from headcount.answers.intervals import Term, half_width
from headcount.bounding import MOST_EXACT, UNDRAWN, FixedRange, PersonTotals, Sensitivity, check_limit, unit_for
from headcount.budget import Amount, Grant, Price, Priced
from headcount.counts import TOTALS
from headcount.counts.tables import LEVEL, at_most
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.method import ONE_ID, Bounds, Staged, paid, what_counted
from headcount.noise import NoiseSource, add
from headcount.noise_law import Law
from headcount.releases import Interval, Release
from headcount.stages import Stage, Stages, share_out, shared

Row = tuple[str, float, float, float]


@dataclass(frozen=True, kw_only=True)
class Totals(Staged):
    """Release the number of people and of records, and the sum and mean of a value.

    >>> from headcount.noise import SeededNoise
    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> Totals(limit=2).release(log, Grant("90"), SeededNoise(1)).totals["value"].to_pylist()
    [2.0, 3.0]
    """

    name: ClassVar[str] = "totals"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (PersonTotals,)

    limit: int
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)

    def guarantee(self, priced: Priced) -> Guarantee:
        """Pure ε for adding or removing a user."""
        declared = (
            f"the limit of {self.limit}, which records count at all, and the range of values, if there is one, "
        )
        return Guarantee(
            epsilon=priced.epsilon, assumes=(f"{declared}were chosen without looking at the log", ONE_ID)
        )

    def check(self, log: EventLog) -> None:
        """Refuse what totals have no use for."""
        wrong = {
            "--context": log.context is not None,
            "--count users": log.counting == "users",
            "--select-items": log.selects,
        }
        for flag, given in wrong.items():
            if given:
                raise UsageError(
                    f"totals cannot use {flag}: they count all people and all their records",
                    remedy="leave it out, or narrow the records down with --where",
                )

    def stages(self, log: EventLog, price: Price) -> Stages:
        """Each number; the sum is as fine as its noise can be drawn."""
        users = Stage("users", Decimal("0.2"), moves=Sensitivity.of_l1(1), tells=("users",))
        records = Stage("records", Decimal("0.3"), moves=Sensitivity.of_l1(self.limit), tells=("records",))
        if log.roles.value is None:
            return shared([users, records], self.shares)
        stages = shared([users, records, Stage("sum", Decimal("0.5"))], self.shares)
        within = self._within(log, share_out(stages, price)["sum"])
        reach = Sensitivity.of_l1(self.limit * within.reach)
        return (*stages[:2], replace(stages[2], moves=reach, unit=within.unit, on=_on(within), tells=("sum",)))

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Add up once, and spend each number's part of the grant on its noise."""
        self.check(log)
        guarantee, grants = self.guarantee(grant), share_out(self.stages(log, grant.price), grant)
        within = self._within(log, grants["sum"].price) if "sum" in grants else None
        exact = (engine or LocalEngine()).measure(log, PersonTotals(self.limit, within), UNDRAWN)
        noisy = {name: add(getattr(exact, name), grants[name], noise) for name in ("users", "records")}
        rows = [_row(name, float(each.counts[0]), [Term(1.0, each.law)]) for name, each in noisy.items()]
        laws = {name: each.law for name, each in noisy.items()}
        steps = [
            f"The number of people got {laws['users'].in_words()}, paid with {paid(grants['users'])}.",
            f"The number of records, {at_most(self.limit, log)}, got {laws['records'].in_words()}, paid with "
            f"{paid(grants['records'])}.",
        ]
        if exact.distances is not None and within is not None:
            distances = add(exact.distances, grants["sum"], noise)
            laws["sum"] = replace(distances.law, on=_on(within))
            rows += _of_values(within, float(distances.counts[0]), laws["sum"], rows[1][1], laws["records"])
            steps += _story(log, within, self.limit, laws["sum"], grants["sum"])
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=laws,
            tables={"totals": _table(rows)},
            interval=Interval(level=LEVEL, covers="bounded"),
            counts="records",
            bounded=at_most(self.limit, log),
            steps=(*what_counted(log), *steps),
            catalogue=log.catalogue.digest if log.has_catalogue else "",
            simulated=not noise.is_private,
        )

    def _within(self, log: EventLog, price: Price) -> FixedRange:
        """Return the range in fixed point, as fine as the noise of the sum can be drawn at a price."""
        low, high = log.value_range or (Decimal(0), Decimal(0))
        unit = unit_for(self.limit, low, high, price.exact)
        if max(-low, high) > MOST_EXACT:
            raise UsageError(
                f"values from {low} to {high} are too large to be told apart",
                remedy=f"they must lie between -{MOST_EXACT:,} and {MOST_EXACT:,}; write them in thousands, or as "
                "distances from some public number",
            )
        if unit is None:
            raise UsageError(
                f"the noise for values from {low} to {high} is more than can be drawn",
                remedy="raise epsilon, lower the limit or narrow --value-range; or write values in thousands",
            )
        within = FixedRange.of(low, high, unit)
        if within.reach < 1:
            raise UsageError(
                f"--value-range {low},{high} is narrower than values are counted",
                remedy="write values in thousandths",
            )
        return within


def _row(name: str, value: float, terms: Sequence[Term]) -> Row:
    width = half_width(terms, LEVEL)
    return name, value, value - width, value + width


def _of_values(within: FixedRange, distances: float, law: Law, records: float, records_law: Law) -> list[Row]:
    """Work the sum and the mean out from released numbers alone.

    The sum carries both noises. The interval of the mean holds wherever both numbers lie within their own
    intervals, each with half of the risk.
    """
    low, middle, high = (end / within.unit for end in (within.low, within.middle, within.high))
    total = _row("sum", middle * records + distances, [Term(middle, records_law), Term(1.0, law)])
    each = 1 - (1 - LEVEL) / 2
    wide, many = law.half_width(each), records_law.half_width(each)
    mean = min(max(middle + distances / records, low), high) if records >= 1 else middle
    if records - many < 1:
        return [total, ("mean", mean, low, high)]
    ends = [(distances + d) / (records + r) for d in (-wide, wide) for r in (-many, many)]
    return [total, ("mean", mean, max(low, middle + min(ends)), min(high, middle + max(ends)))]


def _table(rows: Sequence[Row]) -> pa.Table:
    columns = zip(*rows, strict=True)
    kinds = (pa.string(), pa.float64(), pa.float64(), pa.float64())
    return pa.table(
        {
            name: pa.array(column, kind)
            for name, column, kind in zip(TOTALS.tables[0].columns, columns, kinds, strict=True)
        }
    )


def _on(within: FixedRange) -> str:
    return f"the sum of distances from {within.middle / within.unit:g}"


def _story(log: EventLog, within: FixedRange, limit: int, law: Law, grant: Grant) -> list[str]:
    low, high = log.value_range or (0, 0)
    finest = f"rounded to multiples of 1/{within.unit:,}" if within.unit > 1 else "rounded to whole numbers"
    return [
        f"The values of column {log.roles.value!r} were {finest} and cut to lie between {low} and {high}. Their "
        f"distances from {within.middle / within.unit:g} were added up; of a person with more than {limit:,} "
        f"records, the part that {limit:,} are of theirs.",
        f"That sum got {law.in_words()}, paid with {paid(grant)}.",
        "The sum and the mean of all values were worked out from these numbers alone, which costs nothing.",
    ]
