"""The activity histogram on a release's page: users by number of records, as charts, rows and sentences.

An older release may not say what its bins count (``of``): those count records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.releases.formatting import per_cent, some
from headcount.releases.release import Release
from headcount.reports.charts import release_charts
from headcount.reports.page import Figure
from headcount.reports.sentences import across

MOST_BINS = 60


@dataclass(frozen=True, kw_only=True)
class ActivityHistogram:
    """The people by how many ``unit`` they have, as a page shows it."""

    figure: Figure
    unit: str
    rows: Sequence[dict[str, Any]]


def histograms(release: Release) -> list[ActivityHistogram]:
    """Return a histogram of each thing of which people have many or few."""
    table = release.tables.get("activity")
    if table is None or not table.num_rows:
        return []
    parts = [("records", table)]
    if "of" in table.column_names:
        parts = [
            (scope, table.filter(pc.equal(table["of"], scope))) for scope in pc.unique(table["of"]).to_pylist()
        ]
    return [
        _histogram(f"activity-{number}", part.slice(0, MOST_BINS), unit(scope, release))
        for number, (scope, part) in enumerate(parts, 1)
    ]


def unit(scope: str, release: Release) -> str:
    """Name what people have many or few of."""
    pairs = f"different pairs of item and {across(release)}"
    return {"items": "different items", "pairs": pairs}.get(scope, "records")


def words(release: Release) -> str:
    """Say what the histogram is and what it was used for."""
    level = per_cent(release.interval.level)
    text = (
        "Every person is in one bin. The numbers of people carry noise of their own, so they can be negative "
        f"where few or none are; low and high enclose the true number with {level} probability, each on its own."
    )
    if not (release.interval.average and "of" in release.tables["activity"].column_names):
        return text
    bounds = sorted({values["limit"] for values in release.chosen.values() if "limit" in values})
    if not bounds:
        return f"{text} By these numbers the counts of people above the limit were scaled up."
    bound_words = f"The limit of {bounds[0]:,}" if len(bounds) == 1 else "The limit"
    chosen = "was chosen from these numbers, and by them the counts of people above it were scaled up."
    return f"{text} {bound_words} {chosen}"


def shown(table: pa.Table) -> int:
    """Return how many bins are worth drawing: one more than up to the last that stands out, or all if none does.

    A bin stands out if its interval lies above zero.

    >>> shown(pa.table({"low": [5.0, 9.0, -1.0, -2.0, -1.0]})), shown(pa.table({"low": [-1.0, -2.0]}))
    (3, 2)
    """
    out = np.flatnonzero(table["low"].to_numpy() > 0)
    return min(int(out[-1]) + 2, table.num_rows) if out.size else int(table.num_rows)


def _histogram(name: str, table: pa.Table, of_what: str) -> ActivityHistogram:
    drawn = table.slice(0, shown(table))
    chart = release_charts.histogram(drawn, title=f"People by number of {of_what}", counted="People", unit=of_what)
    left = table.num_rows - drawn.num_rows
    note = "Lines: low to high."
    if left:
        which = "1 bin is" if left == 1 else f"{some(left, 'bin')} are"
        note += f" The last {which} not drawn, since nothing stands out there; the table has every bin."
    return ActivityHistogram(figure=Figure.from_chart(name, chart, note), unit=of_what, rows=table.to_pylist())
