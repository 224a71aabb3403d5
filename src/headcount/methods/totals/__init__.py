"""Totals: users, records, sums, means and quantiles, overall and by group; they share the command of counts."""

from headcount.methods.counts import FAMILY as COUNTS
from headcount.methods.family import Family, Listed, Table

GROUPS = Table(
    "groups",
    "group total",
    columns=("of", "total", "value", "low", "high"),
    unforeseen="of each group: as told above",
)
QUANTILES = Table(
    "quantiles",
    "quantile",
    columns=("of", "quantile", "value", "rank_low", "rank_high"),
    unforeseen="quantiles: as told below",
)

FAMILY = Family(
    name="totals",
    package="headcount.methods",
    heading="Totals",
    command=COUNTS.command,
    short_help=COUNTS.short_help,
    usage="headcount release --what totals",
    request="counts.request:ReleaseRequest",
    default="totals",
    tables=(
        Table(
            "totals",
            "total",
            title="Totals over all people",
            columns=("total", "value", "low", "high"),
            by_number=True,
        ),
        GROUPS,
        QUANTILES,
    ),
    report="tables:totals_part",
    page="totals.md",
    methods={"totals": Listed("totals.totals:Totals")},
)
