"""The charts of the thesis on CIM: which rows of the tidy table are drawn in each section, and how."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.lab.datasets.by_name import Dataset
from headcount.lab.papers.paper import Picture


def pictures(datasets: Mapping[str, Dataset]) -> dict[str, list[Picture]]:
    """Return the charts of each section, for the data there are."""
    names = tuple(datasets)
    return {
        "couplings": [],
        "budget": [_by_epsilon(name, metric) for name in names for metric in ("MSE", "mean error")],
        "threshold": [_by_x(name, "threshold", metric) for name in names for metric in ("updates", "MSE")],
        "step": [_by_x(name, "step", "updates") for name in names],
        "privacy": [],
    }


def _by_epsilon(name: str, metric: str) -> Picture:
    return Picture(
        name=f"budget-{metric.replace(' ', '-').lower()}-{name.lower()}",
        title=f"{metric[0].upper()}{metric[1:]} of answers by ε, {name}",
        kind="curves",
        experiment="budget",
        metric=metric,
        table="items",
        value=f"{metric} (shares of all records)",
        datasets=(name,),
        axis="ε, as each method claims it",
        along="epsilon",
        log_value=True,
        note="The ε of CIM and of both Laplace baselines is claimed; that of histogram, mwem and pmw is proven.",
    )


def _by_x(name: str, experiment: str, metric: str) -> Picture:
    symbol = "T" if experiment == "threshold" else "η"
    return Picture(
        name=f"{experiment}-{metric.lower()}-{name.lower()}",
        title=f"{metric[0].upper()}{metric[1:]} of CIM by {symbol}, {name}",
        kind="curves",
        experiment=experiment,
        metric=metric,
        table="items",
        value="rounds" if metric == "updates" else "MSE (shares of all records)",
        datasets=(name,),
        axis="threshold T" if experiment == "threshold" else "step η",
        log_x=True,
        log_value=metric == "MSE",
        epsilon=1.0,
    )
