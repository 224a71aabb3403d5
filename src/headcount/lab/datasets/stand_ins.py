"""Synthetic stand-ins for data sets that are not available: the published sizes of the real logs only.

Users, items, records and the largest user are those that the publishers and the papers print; which items people
have, and how many, is invented (see :mod:`headcount.lab.synthetic.logs`). So a stand-in can tell how large samples
or tables become, but not how well a method does on the real log. A smaller ``scale`` has that share of the users
and of the records; items and the largest user stay, as far as they fit.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from headcount.errors import UsageError
from headcount.lab.synthetic.logs import netflix_shaped


@dataclass(frozen=True)
class StandInShape:
    """Published sizes, and where they are printed."""

    users: int
    items: int
    records: int
    largest: int
    source: str

    def scaled(self, scale: float) -> StandInShape:
        """Return the sizes of a smaller log.

        >>> StandInShape(1000, 50, 20_000, 40, "here").scaled(0.1)
        StandInShape(users=100, items=50, records=2000, largest=40, source='here')
        """
        if not 0 < scale <= 1:
            raise UsageError("scale must be above 0 and at most 1", given=scale, remedy="such as 0.01")
        users = max(1, round(self.users * scale))
        records = max(users, round(self.records * scale))
        return StandInShape(
            users, self.items, records, max(1, min(self.largest, records - users + 1)), self.source
        )


NETFLIX = StandInShape(
    480_189, 17_770, 100_480_507, 17_653, "the README of the Netflix Prize, and table 2 of DPSense"
)
GOWALLA = StandInShape(
    107_092, 1_280_969, 6_442_890, 2_175, "SNAP, loc-gowalla, and table 2 of Kellaris and Papadopoulos"
)
PUBMED = StandInShape(8_200_000, 141_043, 483_450_157, 436, "UCI, Bag of Words, and table 2 of DPSense")


def stand_in(shape: StandInShape, scale: float, seed: int = 2006) -> pa.Table:
    """Make a log of that shape: int32 ``user`` and ``item``, int8 ``weekday`` from 0 for Monday.

    >>> table = stand_in(StandInShape(500, 40, 6_000, 30, "here"), scale=0.1)
    >>> table.num_rows, table.column_names
    (600, ['user', 'item', 'weekday'])
    """
    sizes = shape.scaled(scale)
    with tempfile.TemporaryDirectory() as folder:
        path = netflix_shaped(
            Path(folder) / "log.parquet",
            users=sizes.users,
            items=sizes.items,
            records=sizes.records,
            largest=sizes.largest,
            seed=seed,
        )
        return pq.read_table(path, memory_map=False)
