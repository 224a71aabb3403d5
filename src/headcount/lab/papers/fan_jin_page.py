"""The charts and lists of Fan and Jin: which rows of the tidy table are drawn in each section, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headcount.engines.engine import Table
from headcount.events.times import LABELS
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.papers.paper import Picture
from headcount.lab.papers.results import LOG

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
_NOUNS = {"items": "item", "edges": "edge"}
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
    found: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: row["x"]):
        found.setdefault(row["method"], []).append(row["key"])
    if LOG not in found:
        return ()
    columns = {"true top 10" if method == LOG else method: found[method] for method in SHOWN if method in found}
    printed = set(PAPERS_FILMS["the paper's true top 10"])
    return [
        *(_column(title, films, set(found[LOG])) for title, films in columns.items()),
        *(_column(title, films, printed) for title, films in PAPERS_FILMS.items()),
    ]


def _column(title: str, films: Sequence[str], true: set[str]) -> dict[str, Any]:
    right = sum(each in true for each in films)
    return {"title": f"{title} ({right} of 10)", "rows": [{"text": each, "right": each in true} for each in films]}


def pictures(datasets: Mapping[str, Dataset]) -> dict[str, list[Picture]]:
    """Return the charts of each section, for the data there are."""
    real = tuple(name for name, each in datasets.items() if each.kind != "stand-in")
    with_edges = tuple(name for name in real if datasets[name].log.context is not None)
    foursquare = "Foursquare" in with_edges
    return {
        "scores": [_scores(name) for name in real],
        "limits": [
            *([*_limits("items"), *_limits("edges"), *_limits_by_epsilon()] if foursquare else []),
            *(_limits_elsewhere(name, "items") for name in real if name != "Foursquare"),
            *(_limits_elsewhere(name, "edges") for name in with_edges if name != "Foursquare"),
        ],
        "mse": [*_dots("MSE", "items", real), *_dots("MSE", "edges", with_edges)],
        "kl": [*_dots("KL", "items", real), *_dots("KL", "edges", with_edges)],
        "top-10": [*_top_10("items", real), *_top_10("edges", with_edges)],
        "top-k": [_top_k(name) for name in real],
        "samples": [_samples(tuple(datasets))],
        "week": [_week()] if foursquare else [],
    }


def _scores(name: str) -> Picture:
    return Picture(
        name=f"scores-{name.lower()}",
        title=f"Popular items found by noisy scores, {name}",
        kind="curves",
        experiment="popularity",
        metric="precision",
        table="items",
        value="precision of the top K",
        datasets=(name,),
        axis="K",
        share=True,
    )


def _limits(table: Table) -> Iterator[Picture]:
    noun = _NOUNS[table]
    yield Picture(
        name=f"limits-{table}",
        title=f"MSE of {noun} counts by limit, Foursquare",
        kind="curves",
        experiment="limits",
        metric="MSE",
        table=table,
        value=f"MSE of {noun} counts (records²)",
        datasets=("Foursquare",),
        axis="limit l (records per person)",
        log_x=True,
        log_value=True,
    )


def _limits_by_epsilon() -> Iterator[Picture]:
    for place, epsilon in enumerate((0.2, 5.0)):
        [items] = _limits("items")
        yield replace(
            items,
            name=f"limits-epsilon-{place}",
            title=f"MSE of item counts by limit at ε = {epsilon:g}, Foursquare",
            experiment="limits by epsilon",
            epsilon=epsilon,
        )


def _limits_elsewhere(name: str, table: Table) -> Picture:
    [picture] = _limits(table)
    return replace(
        picture,
        name=f"limits-{name.lower()}-{table}",
        title=f"MSE of {_NOUNS[table]} counts by limit, {name} (not drawn in the paper)",
        experiment="limits elsewhere",
        datasets=(name,),
    )


def _dots(metric: str, table: Table, names: tuple[str, ...]) -> Iterator[Picture]:
    title, unit = {"MSE": ("Mean squared error", "MSE (records²)"), "KL": ("KL divergence", "KL (nats)")}[metric]
    if names:
        yield Picture(
            name=f"{metric.lower()}-{table}",
            title=f"{title} of {_NOUNS[table]} counts",
            kind="dots",
            experiment="comparison",
            metric=metric,
            table=table,
            value=unit,
            datasets=names,
            log_value=True,
        )


def _top_10(table: Table, names: tuple[str, ...]) -> Iterator[Picture]:
    if names:
        yield Picture(
            name=f"top-{table}",
            title="The 10 most popular items" if table == "items" else "The top 10 of each day or group",
            kind="dots",
            experiment="comparison",
            metric="precision" if table == "items" else "precision per context",
            table=table,
            value="precision of the top 10" + ("" if table == "items" else ", average over contexts"),
            datasets=names,
            x=(10.0,),
            share=True,
        )


def _top_k(name: str) -> Picture:
    return Picture(
        name=f"tops-{name.lower()}",
        title=f"Precision of the top K, {name}",
        kind="curves",
        experiment="comparison",
        metric="precision",
        table="items",
        value="precision of the top K",
        datasets=(name,),
        axis="K",
        log_x=True,
        share=True,
    )


def _samples(names: tuple[str, ...]) -> Picture:
    return Picture(
        name="samples",
        title="Records kept by the sampling methods",
        kind="dots",
        experiment="samples",
        metric="share of records",
        table="items",
        value="records kept, of all records",
        datasets=names,
        share=True,
    )


def _week() -> Picture:
    return Picture(
        name="week",
        title="Records by day of the week, Foursquare",
        kind="curves",
        experiment="week",
        metric="share of records",
        table="edges",
        value="share of records",
        datasets=("Foursquare",),
        axis="day of the week",
        ticks=tuple(day[:3] for day in LABELS["weekday"]),
        share=True,
    )
