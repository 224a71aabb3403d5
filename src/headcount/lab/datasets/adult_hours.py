"""UCI Adult by the hours that people work a week, one cell an hour: one column, of which every value is a cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headcount.lab.datasets.people import complete_adults

HOURS_CELLS = 99


def hours_cells(table: pa.Table) -> pa.Table:
    """Make one record of each complete one of the training set: 1 to 99 hours are cells 0 to 98."""
    hours = complete_adults(table)["hours-per-week"].to_numpy().astype(np.int64)
    return pa.table({"user": np.arange(hours.size), "item": np.clip(hours, 1, HOURS_CELLS) - 1})
