"""The charts of Day and Li: which rows of the tidy table are drawn in each section, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headcount.lab.datasets.by_name import Dataset
from headcount.lab.papers.paper import Picture

EPSILONS = {"ln 1.5": 0.405465, "ln 3": 1.098612}
NAMES = {"errors": "MAE and quality", "means": "mean of both"}
HALF = "half the average count"
_UNITS = {
    "MAE": ("Mean absolute error", "MAE (people)"),
    "MRE": ("Mean relative error", "MRE (1 is 100 %)"),
    "top-k MAE": ("MAE of the top k", "MAE (people)"),
    "top-k MRE": ("MRE of the top k", "MRE (1 is 100 %)"),
}


def shown(what: str, epsilon: float) -> str:
    """Name a curve of figure 1.

    >>> shown("quality", 1.098612)
    'quality, ε = ln 3'
    """
    [at] = [name for name, value in EPSILONS.items() if value == epsilon]
    if what == "mean kept":
        return f"negatives kept, ε = {at}"
    return f"{what}, ε = {at}"


def pictures(datasets: Mapping[str, Dataset]) -> dict[str, list[Picture]]:
    """Return the charts of each section, for the data there are."""
    names = tuple(datasets)
    return {
        "quality": [picture for name in names for picture in _figure_1(name)],
        "choices": [
            *(_split(name) for name in names),
            *_at_both("factor", "Factor that DPSense-S chooses", "factor α", "choice", names),
        ],
        "errors": [
            *(each for metric in ("MAE", "MRE") for each in _at_both(metric, *_UNITS[metric], "errors", names)),
            *(_top(metric, name) for metric in ("top-k MAE", "top-k MRE") for name in names),
        ],
        "accuracy": [_accuracy(name, at) for name in names for at in EPSILONS],
    }


def _figure_1(name: str) -> Iterator[Picture]:
    for part, metric in NAMES.items():
        yield Picture(
            name=f"{part}-{name.lower()}",
            title=f"{'MAE and quality' if part == 'errors' else 'Mean of MAE and quality'} by θ, {name}",
            kind="curves",
            experiment="figure 1",
            metric=metric,
            table="items",
            value="people",
            datasets=(name,),
            axis="limit θ (records per person)",
            log_x=True,
            note="Drawn up to ten times the average row count.",
        )


def _split(name: str) -> Picture:
    return Picture(
        name=f"split-{name.lower()}",
        title=f"MAE of DPSense by the part of ε for the choice, ε = ln 3, {name}",
        kind="curves",
        experiment="split",
        metric="MAE",
        table="items",
        value="MAE (people)",
        datasets=(name,),
        axis="part of ε for the choice of θ",
        log_x=True,
        log_value=True,
        epsilon=EPSILONS["ln 3"],
    )


def _at_both(metric: str, title: str, unit: str, experiment: str, names: tuple[str, ...]) -> Iterator[Picture]:
    for place, (at, epsilon) in enumerate(EPSILONS.items() if names else ()):
        yield Picture(
            name=f"{metric.lower()}-{place}",
            title=f"{title} at ε = {at}",
            kind="dots",
            experiment=experiment,
            metric=metric,
            table="items",
            value=unit,
            datasets=names,
            epsilon=epsilon,
            log_value=experiment == "errors",
        )


def _top(metric: str, name: str) -> Picture:
    title, unit = _UNITS[metric]
    return Picture(
        name=f"{metric.lower().replace(' ', '-')}-{name.lower()}",
        title=f"{title} at ε = ln 3, {name}",
        kind="curves",
        experiment="errors",
        metric=metric,
        table="items",
        value=unit,
        datasets=(name,),
        axis="k",
        log_x=True,
        log_value=True,
        epsilon=EPSILONS["ln 3"],
    )


def _accuracy(name: str, at: str) -> Picture:
    return Picture(
        name=f"accuracy-{name.lower()}-{list(EPSILONS).index(at)}",
        title=f"Top-k accuracy at ε = {at}, {name}",
        kind="curves",
        experiment="errors",
        metric="top-k accuracy",
        table="items",
        value="share of the true top k found",
        datasets=(name,),
        axis="k",
        log_x=True,
        share=True,
        epsilon=EPSILONS[at],
    )
