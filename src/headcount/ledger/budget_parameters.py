"""Parameters of a budget, declared once for ``ledger create`` and for the studio's form."""

from __future__ import annotations

from collections.abc import Mapping

from headcount._internal.parameters import Flag
from headcount.errors import param

BUDGET: Mapping[str, Flag] = {
    "epsilon": Flag("The ε that may be spent on it: ever, or in each window.", "E", needed=True),
    "delta": Flag("The δ that may be spent on it, likewise.  [default: none]", "D"),
    "per_analyst": Flag("The ε that one analyst may spend of it.  [default: all]", "E"),
    "filter": Flag(
        f"How costs add up: zcdp pays off for many small or Gaussian requests, and needs {param.delta}.",
        choices=("sum", "zcdp"),
        default="sum",
    ),
    "window": Flag(
        "The budget comes back with each window of event time, such as 30d, 1w or 1mo.  [default: never]", "LENGTH"
    ),
    "time": Flag(f"Column that says when, for {param.window}.", "COL"),
    "time_format": Flag("How that is written: s, ms, us, min@ORIGIN or a strptime pattern.", "F"),
    "timezone": Flag("Zone of times without one.  [default: the column's, else UTC]", "ZONE"),
    "origin": Flag("When a window begins, in UTC.  [default: 2001-01-01, a Monday]", "DATE"),
    "lifetime": Flag("The ε that may be spent on all windows.  [default: no limit]", "E"),
    "lifetime_delta": Flag("The δ that may be spent on all windows.", "D"),
}
"""The parameters of :meth:`headcount.ledger.Ledger.create`, beside the dataset."""
