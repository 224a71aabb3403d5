"""The charts of Zhu's chapter 4: which rows of the tidy table are drawn in each section, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headcount.lab.datasets.by_name import Dataset
from headcount.lab.papers.paper import Picture

LISTS = {
    "true": "FolkRank on the true data",
    "suppression 0.8": "suppression (0.8)",
    "suppression 0.6": "suppression (0.6)",
    "pritop": "pritop-published (ε = 1)",
}
"""What the methods of the figures are called."""

SUPPRESSED = {0.8: LISTS["suppression 0.8"], 0.6: LISTS["suppression 0.6"]}


def pictures(datasets: Mapping[str, Dataset]) -> dict[str, list[Picture]]:
    """Return the charts of each section, for the data there are."""
    return {
        "loss": [_loss(name) for name in datasets],
        "lists": [each for name in datasets for each in _lists(name)],
        "budget": [_budget(name) for name in datasets],
    }


def _loss(name: str) -> Picture:
    return Picture(
        name=f"loss-{_plain(name)}",
        title=f"Semantic loss of PriTop at ε = 1, {name}",
        kind="curves",
        experiment="semantic loss",
        metric="SLoss",
        table="items",
        value="semantic loss",
        datasets=(name,),
        epsilon=1.0,
        axis="topics",
    )


def _lists(name: str) -> Iterator[Picture]:
    for metric in ("recall", "precision"):
        yield Picture(
            name=f"{metric}-{_plain(name)}",
            title=f"{metric.capitalize()} of FolkRank and of our recommender, {name}",
            kind="curves",
            experiment="lists",
            metric=metric,
            table="items",
            value=metric,
            datasets=(name,),
            axis="tags in the list",
        )


def _budget(name: str) -> Picture:
    return Picture(
        name=f"budget-{_plain(name)}",
        title=f"Recall of PriTop at ten tags, {name}",
        kind="curves",
        experiment="budget",
        metric="recall",
        table="items",
        value="recall",
        datasets=(name,),
        x=(10.0,),
        along="epsilon",
        axis="ε",
    )


def _plain(name: str) -> str:
    return name.lower().replace(".", "")
