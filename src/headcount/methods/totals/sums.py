"""Sum and mean of values, from a noisy sum of distances and a noisy number of records.

Both are worked out from released numbers alone: sum = middle · records + distances, mean = middle + distances /
records, where distances are those of all values from the middle of their range.

Why distances from the middle
    Values from LO to HI themselves would add up to l · max(|LO|, |HI|) per person: for ratings from 1 to 5 that is
    5 l where 2 l is enough. The mean gains most, since the noise of the records then weighs by how far the mean is
    from the middle, not by the mean itself. The sum pays for the middle with the noise of the records.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.bounds.values.user_totals import FixedRange
from headcount.events.log import EventLog
from headcount.methods.method import describe_cost
from headcount.methods.totals import FAMILY as TOTALS
from headcount.releases.intervals import Term, half_width

Row = tuple[str, float, float, float]
"""A number with its name and its interval."""


def interval_row(name: str, value: float, terms: Sequence[Term]) -> Row:
    """Return a released number with the interval that its noise gives it."""
    width = half_width(terms, LEVEL)
    return name, value, value - width, value + width


def sum_and_mean(
    within: FixedRange,
    distances: float,
    distribution: NoiseDistribution,
    records: float,
    records_law: NoiseDistribution,
) -> list[Row]:
    """Work the sum and the mean out from released numbers alone.

    The sum carries both noises. The interval of the mean holds wherever both numbers lie within their own
    intervals, each with half of the risk.
    """
    low, middle, high = (end / within.unit for end in (within.low, within.middle, within.high))
    total = interval_row("sum", middle * records + distances, [Term(middle, records_law), Term(1.0, distribution)])
    half_level = 1 - (1 - LEVEL) / 2
    wide, many = distribution.half_width(half_level), records_law.half_width(half_level)
    mean = min(max(middle + distances / records, low), high) if records >= 1 else middle
    if records - many < 1:
        return [total, ("mean", mean, low, high)]
    ends = [(distances + d) / (records + r) for d in (-wide, wide) for r in (-many, many)]
    return [total, ("mean", mean, max(low, middle + min(ends)), min(high, middle + max(ends)))]


def totals_table(rows: Sequence[Row]) -> pa.Table:
    """Return the table of totals."""
    columns = zip(*rows, strict=True)
    kinds = (pa.string(), pa.float64(), pa.float64(), pa.float64())
    return pa.table(
        {
            name: pa.array(column, kind)
            for name, column, kind in zip(TOTALS.tables[0].columns, columns, kinds, strict=True)
        }
    )


def describe_distances(within: FixedRange) -> str:
    """Say what the noise of a sum is on."""
    return f"the sum of distances from {within.middle / within.unit:g}"


def describe_sum(
    log: EventLog, within: FixedRange, limit: int, distribution: NoiseDistribution, grant: Grant
) -> list[str]:
    """Tell how values were cut, added up and released."""
    low, high = (f"{end / within.unit:g}" for end in (within.low, within.high))
    if log.value_range is not None:
        low, high = (str(end) for end in log.value_range)
    finest = f"rounded to multiples of 1/{within.unit:,}" if within.unit > 1 else "rounded to whole numbers"
    return [
        f"The values of column {log.roles.value!r} were {finest} and cut to lie between {low} and {high}. Their "
        f"distances from {within.middle / within.unit:g} were added up; of a person with more than {limit:,} "
        f"records, the part that {limit:,} are of theirs.",
        f"That sum got {distribution.in_words()}, paid with {describe_cost(grant)}.",
        "The sum and the mean of all values were worked out from these numbers alone, which costs nothing.",
    ]
