"""Row tallies of Spark tasks (rows not counted, by reason), sent as cells; for the curator alone.

They travel as rows of a result and not as Spark's accumulators, which count a task twice that is run twice.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from headcount.bounds.partial_sums import CELLS
from headcount.engines.spark.partition_rows import ReadCounts
from headcount.events.sources.files.packed_store import Tally

_PART = -1  # no measure has such a table
_OUTSIDE, _UNKNOWN, _NULLS = range(3)
_HALF = 32  # bits


def cells_of(tally: Tally) -> pa.Table:
    """Return what one partition met.

    >>> tally_of(cells_of(Tally(outside_catalogue=2, nulls={"item": 3})), ReadCounts(9, 1), "user")
    Tally(rows=9, outside_catalogue=2, unknown_context=0, nulls={'user': 1, 'item': 3})
    """
    nulls = [(_NULLS, name.encode(), number) for name, number in tally.nulls.items()]
    numbers = [(_OUTSIDE, None, tally.outside_catalogue), (_UNKNOWN, None, tally.unknown_context), *nulls]
    low = (1 << _HALF) - 1
    rows = [
        {"part": _PART, "place": place, "name": name, "high": number >> _HALF, "low": number & low}
        for place, name, number in numbers
        if number
    ]
    return pa.Table.from_pylist(rows, CELLS)


def tally_of(cells: pa.Table, read_counts: ReadCounts, user: str) -> Tally:
    """Return what all partitions met, and those who read the rows."""
    tally = Tally(rows=read_counts.read, nulls={user: read_counts.without_user})
    for cell in cells.filter(pc.equal(cells["part"], _PART)).to_pylist():
        number = (cell["high"] << _HALF) + cell["low"]
        if cell["place"] == _OUTSIDE:
            tally.outside_catalogue += number
        elif cell["place"] == _UNKNOWN:
            tally.unknown_context += number
        else:
            name = cell["name"].decode()
            tally.nulls[name] = tally.nulls.get(name, 0) + number
    return tally


def without_tally(cells: pa.Table) -> pa.Table:
    """Return the cells of the measure itself."""
    return cells.filter(pc.not_equal(cells["part"], _PART))
