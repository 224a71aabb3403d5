"""Tables of the PNCF page: table 3.1 as measured here, and the actual guarantee of each method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from headcount.lab.replicate.pncf_rows import CONFIGURATIONS
from headcount.lab.replicate.results import Estimate, number

KS = tuple(range(5, 55, 5))
OURS = "private"
"""What the tidy table calls the proven method."""

NAMES = {
    "item-pcc": "items, Pearson",
    "item-cos": "items, cosine",
    "user-pcc": "users, Pearson",
    "user-cos": "users, cosine",
}
GUARANTEES: Mapping[str, str] = {
    "non-private": "promises nothing",
    "PNCF": "claims ε for each prediction; no finite ε holds, since noise and selection follow a sensitivity "
    "that is read from the data, and every prediction spends again",
    "RS&NM": "as PNCF",
    "DP": "ε/2 for the draw, but ε/2 again for the noise of each of the k neighbours, since one user may change "
    "all of their similarities: (k + 1)/2 · ε for one prediction, and every prediction spends again",
    OURS: "(1, 10⁻⁶)-differential privacy of a whole user for all predictions together",
    "user mean": "each user's own ratings alone, so that nobody else learns anything",
}
_COLUMNS = ("non-private", "PNCF", "RS&NM", "DP", OURS, "user mean")


def tables(table: pa.Table, section: str) -> Sequence[Mapping[str, Any]]:
    """Return the tables of a section: table 3.1 as measured here, and what each method really guarantees."""
    if section != "overall":
        return ()
    return [*_table_3_1(table), _guarantees(table)]


def _table_3_1(table: pa.Table) -> Iterator[dict[str, Any]]:
    runs: dict[tuple[str, str, float], dict[str, list[float]]] = {}
    for row in table.to_pylist():
        if row["metric"] == "MAE" and row["experiment"] in CONFIGURATIONS and row["x"] is not None:
            place = (row["dataset"], row["experiment"], row["x"])
            runs.setdefault(place, {}).setdefault(row["method"], []).append(row["value"])
    for dataset in dict.fromkeys(place[0] for place in runs):
        shown = [
            name
            for name in _COLUMNS
            if any(name in by_name for place, by_name in runs.items() if place[0] == dataset)
        ]
        rows = [
            [NAMES[place[1]], number(place[2]), *(f"{Estimate.of(by_name[name]).mean:.4f}" for name in shown)]
            for place, by_name in runs.items()
            if place[0] == dataset
        ]
        title, columns = f"Table 3.1 again: MAE, {dataset}", ["by", "k", *shown]
        yield {"title": title, "columns": columns, "words": ["by"], "rows": rows}


def _guarantees(table: pa.Table) -> dict[str, Any]:
    methods = set(table["method"].to_pylist())
    rows = [[name, text] for name, text in GUARANTEES.items() if name in methods]
    columns = ["method", "guarantee"]
    return {"title": "What each method really guarantees", "columns": columns, "words": columns, "rows": rows}
