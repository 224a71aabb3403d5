"""Table 5 of Fan and Jin: the printed top-10 lists beside those of our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.lab.replicate.results import LOG

# table 5, as the paper prints it
PAPERS_FILMS = {
    "the paper's true top 10": (
        "American Beauty", "Star Wars VI", "Star Wars V", "The Matrix", "Star Wars IV", "Terminator 2",
        "Saving Private Ryan", "Jurassic Park", "Star Wars I", "Braveheart",
    ),
    "the paper's SRA": (
        "Phantasm II", "Marvin's Room", "All Dogs Go to Heaven", "In the Line of Duty 2", "Star Wars V",
        "The Slumber Party Massacre III", "The Story of Xinghua", "American Beauty", "Shaft", "Star Wars I",
    ),
    "the paper's HPA": (
        "American Beauty", "Star Wars VI", "Terminator 2", "Star Wars V", "Jurassic Park", "The Matrix",
        "Men in Black", "The Fugitive", "Braveheart", "Saving Private Ryan",
    ),
}  # fmt: skip
SHOWN = (LOG, "sra", "hpa-published", "hpa", "adaptive")


def lists(table: pa.Table, name: str) -> Sequence[Mapping[str, Any]]:
    """Return the columns of table 5: what the paper prints, and from the tidy table each method's first run."""
    if name != "films":
        return ()
    rows = [
        row
        for row in table.filter(pc.equal(table["experiment"], "men under 25")).to_pylist()
        if (row["metric"], row["run"]) == ("place in the top 10", 0)
    ]
    titles_by_method: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: row["x"]):
        titles_by_method.setdefault(row["method"], []).append(row["key"])
    if LOG not in titles_by_method:
        return ()
    columns = {
        "true top 10" if method == LOG else method: titles_by_method[method]
        for method in SHOWN
        if method in titles_by_method
    }
    printed = set(PAPERS_FILMS["the paper's true top 10"])
    return [
        *(_column(title, films, set(titles_by_method[LOG])) for title, films in columns.items()),
        *(_column(title, films, printed) for title, films in PAPERS_FILMS.items()),
    ]


def _column(title: str, films: Sequence[str], true: set[str]) -> dict[str, Any]:
    right = sum(film in true for film in films)
    return {"title": f"{title} ({right} of 10)", "rows": [{"text": film, "right": film in true} for film in films]}
