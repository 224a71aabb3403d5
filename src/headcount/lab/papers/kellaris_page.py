"""The charts of Kellaris and Papadopoulos: which rows of the tidy table are drawn in each section, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from headcount.lab.datasets.by_name import Dataset
from headcount.lab.papers.paper import Picture

REAL, ESTIMATED = "real", "estimated"
_EPSILONS = {"0.1": 0.1, "ln 2": 0.693147, "ln 3": 1.098612}
_UNITS = {"MAE": ("Mean absolute error", "MAE (people)"), "MRE": ("Mean relative error", "MRE (1 is 100 %)")}


def pictures(datasets: Mapping[str, Dataset]) -> dict[str, list[Picture]]:
    """Return the charts of each section, for the data there are."""
    names = tuple(datasets)
    return {
        "sampling": [_sampling(name) for name in names],
        "group-size": [_group_size(name) for name in names],
        "errors": [*_errors("MAE", names), *_errors("MRE", names)],
    }


def _sampling(name: str) -> Picture:
    return Picture(
        name=f"sampling-{name.lower()}",
        title=f"MAE of GS-S by way of sampling, {name}",
        kind="curves",
        experiment="sampling",
        metric="MAE",
        table="items",
        value="MAE (people)",
        datasets=(name,),
        along="epsilon",
        axis="ε",
        log_x=True,
        log_value=True,
    )


def _group_size(name: str) -> Picture:
    return Picture(
        name=f"sizes-{name.lower()}",
        title=f"L1 error by group size at ε = ln 2, {name}",
        kind="curves",
        experiment="figure 8",
        metric="L1",
        table="items",
        value="L1 error (people)",
        datasets=(name,),
        axis="group size w (columns)",
        log_x=True,
        log_value=True,
        note="GS sees the estimated error and takes the group size where it is smallest.",
    )


def _errors(metric: str, names: tuple[str, ...]) -> Iterator[Picture]:
    title, unit = _UNITS[metric]
    for place, (shown, epsilon) in enumerate(_EPSILONS.items() if names else ()):
        yield Picture(
            name=f"{metric.lower()}-{place}",
            title=f"{title} at ε = {shown}",
            kind="dots",
            experiment="comparison",
            metric=metric,
            table="items",
            value=unit,
            datasets=names,
            epsilon=epsilon,
            log_value=True,
        )
