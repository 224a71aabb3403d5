"""Replication of Fan and Jin, section 6: SRA and HPA against LPA, DFT and GS on check-ins and ratings, ε = 1.

As in the paper, items and edges are released separately, each with its own part of ε: ε/2 for LPA, DFT, GS and
SRA; 0.1 ε for the scores of HPA and 0.45 ε for each table. So nothing is reconciled, and the published variants
read M and d from the data. Beside them run HPA as it is here and the adaptive method, with ε for both tables at
once as they come, or ε/2 where there are no contexts.

Departures
    Contexts have an unknown cell, which is empty here: smoothing methods see it, the metrics do not. Discrete
    instead of continuous noise. Precision takes equal counts as in random order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Floats
from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts, KeepTopScored, SampleRecords
from headcount.events.log import EventLog
from headcount.events.times import LABELS
from headcount.lab.as_published.laplace_hpa import records_per_user
from headcount.lab.compare import metrics
from headcount.lab.compare.metrics import counts_of
from headcount.lab.compare.trials import Bench, Number, Trial, Truth, numbers_of
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.plan.theorem_2 import Alike
from headcount.lab.replicate.paper import Effort, Paper, Setting
from headcount.lab.replicate.results import LOG
from headcount.methods.counts.hand_picked import popularity
from headcount.noise import add_noise
from headcount.releases.release import Release

EPSILON = 1.0
LIMITS = {"MovieLens": 30}  # l of the paper; 10 elsewhere
DEFAULT_LIMIT = 10
TOPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
SCORE_TOPS = (1, 5, 10, 20, 40, 60, 80, 100)
TRIED: tuple[int, ...] = (1, 2, 3, 5, 10, 20, 30, 50, 100)
QUICKLY_TRIED: tuple[int, ...] = (1, 5, 30, 100)
TRIED_ELSEWHERE = (1, 3, 10, 30, 100, 300, 1000)
QUICKLY_TRIED_ELSEWHERE = (1, 10, 100, 1000)
TRIED_BY_EPSILON = (1, 2, 5, 10, 20, 50, 100, 200, 500)
QUICKLY_TRIED_BY_EPSILON = (1, 10, 100, 500)
HALVES = {0.2: "0.1", 1.0: "0.5", 5.0: "2.5"}  # a small and a large ε, and what one table gets of it
YOUNG_MEN = "M|Under 25"
SCORES_EPSILON = "0.1"


METHODS = {
    "LPA": "lpa-published",
    "DFT": "fpa-published",
    "GS": "gs-published",
    "SRA": "sra",
    "HPA": "hpa-published",
}
OURS = ("hpa", "adaptive")
_LIMITED = ("sra", "hpa-published", "hpa")
_SPEND = {"hpa-published": "0.55"}  # scores and one table; ε/2 for all others
SHOWN = (LOG, "sra", "hpa-published", "hpa", "adaptive")
_HERE = "headcount.lab.replicate.fan_jin"


def settings(effort: Effort, datasets: Mapping[str, Dataset]) -> Iterator[Setting]:
    """Return everything that is run."""
    for name, data in datasets.items():
        if data.kind != "stand-in":
            yield Setting(experiment="sizes", dataset=name, method=LOG, function=f"{_HERE}:facts", runs=1)
            yield from _comparison(name, data)
            yield from _scores(name)
            if name != "Foursquare":
                limits = QUICKLY_TRIED_ELSEWHERE if effort.quick else TRIED_ELSEWHERE
                yield from _by_limit("limits elsewhere", name, data, limits)
            yield from _theorem_2(name)
        yield from _samples(name)
    if "Foursquare" in datasets:
        tried = QUICKLY_TRIED if effort.quick else TRIED
        yield from _by_limit("limits", "Foursquare", datasets["Foursquare"], tried)
        yield from _by_limit_and_epsilon(effort)


def _limit(dataset: str) -> int:
    return LIMITS.get(dataset, DEFAULT_LIMIT)


def _comparison(name: str, data: Dataset) -> Iterator[Setting]:
    """Figures 7, 8 and 9, and table 5: all methods with the paper's parameters."""
    tables = _tables(data)
    for method in METHODS.values():
        for table in tables:
            limit = {"limit": _limit(name)} if method in _LIMITED else {}
            yield Setting(
                experiment="comparison",
                dataset=name,
                method=method,
                epsilon=EPSILON,
                spend=_SPEND.get(method, "0.5"),
                parameters={"what": table, **limit},
            )
    for method in OURS:
        yield Setting(
            experiment="comparison",
            dataset=name,
            method=method,
            epsilon=EPSILON,
            spend="1" if len(tables) == 2 else "0.5",
            parameters={"limit": _limit(name)} if method in _LIMITED else {},
        )


def _scores(name: str) -> Iterator[Setting]:
    """Figure 5: how well the noisy scores of HPA find what is popular."""
    yield Setting(
        experiment="popularity",
        dataset=name,
        method="hpa-published",
        epsilon=EPSILON,
        spend=SCORES_EPSILON,
        function=f"{_HERE}:scored",
    )


def _samples(name: str) -> Iterator[Setting]:
    """Figures 10 and 11: what the samples are like before noise is added."""
    for method in ("sra", "hpa-published"):
        yield Setting(
            experiment="samples",
            dataset=name,
            method=method,
            spend=SCORES_EPSILON,
            parameters={"limit": _limit(name)},
            function=f"{_HERE}:sampled",
        )


def _tables(data: Dataset) -> tuple[str, ...]:
    return ("items",) if data.log.context is None else ("items", "edges")


def _by_limit(experiment: str, name: str, data: Dataset, limits: tuple[int, ...]) -> Iterator[Setting]:
    """Figure 6: MSE by limit, on Foursquare as in the paper and on the other data."""
    for limit in limits:
        for method in ("sra", "hpa-published"):
            for table in _tables(data):
                yield Setting(
                    experiment=experiment,
                    dataset=name,
                    method=method,
                    epsilon=EPSILON,
                    x=limit,
                    spend=_SPEND.get(method, "0.5"),
                    parameters={"what": table, "limit": limit},
                )


def _by_limit_and_epsilon(effort: Effort) -> Iterator[Setting]:
    """Theorem 2: MSE by limit, for a small and a large ε."""
    for limit in QUICKLY_TRIED_BY_EPSILON if effort.quick else TRIED_BY_EPSILON:
        for epsilon, spend in HALVES.items():
            yield Setting(
                experiment="limits by epsilon",
                dataset="Foursquare",
                method="sra",
                epsilon=epsilon,
                x=limit,
                spend=spend,
                parameters={"what": "items", "limit": limit},
            )


def _theorem_2(name: str) -> Iterator[Setting]:
    """Theorem 2: the limit of Eq. 22 against all others, for a small and a large ε."""
    for epsilon, spend in HALVES.items():
        yield Setting(
            experiment="theorem 2",
            dataset=name,
            method="sra",
            epsilon=epsilon,
            spend=spend,
            function=f"{_HERE}:by_theorem_2",
        )


def compared(truth: Truth, release: Release) -> Iterator[Number]:
    """Measure a release as figures 7 to 9 and table 5 do, the unknown context left out."""
    if "items" in release.tables:
        exact, released = counts_of(release, "items", truth)
        yield Number(metric="MSE", table="items", value=metrics.mean_squared_error(exact, released))
        yield Number(metric="KL", table="items", value=metrics.kl_divergence(exact, released))
        for k in TOPS:
            yield Number(metric="precision", table="items", k=k, value=metrics.top_precision(exact, released, k))
    if "edges" in release.tables:
        exact, released = (counts[:, :-1] for counts in counts_of(release, "edges", truth))
        yield Number(metric="MSE", table="edges", value=metrics.mean_squared_error(exact, released))
        yield Number(metric="KL", table="edges", value=metrics.kl_divergence(exact, released))
        score = metrics.context_precision(exact, released, 10)
        yield Number(metric="precision per context", table="edges", k=10, value=score)
        yield from recommended(truth.log, exact, released)


def recommended(log: EventLog, exact: Floats, released: Floats) -> Iterator[Number]:
    """Measure table 5: which films men under 25 get, and how many of them are right."""
    if log.context is None or YOUNG_MEN not in log.context.labels:
        return
    column = log.context.labels.index(YOUNG_MEN)
    right = 10 * metrics.top_precision(exact[:, column], released[:, column], 10)
    yield Number(metric="found of the true top 10", table="edges", value=right)
    for place, (title, count) in enumerate(_top(log, released[:, column]), 1):
        yield Number(metric="place in the top 10", table="edges", k=place, key=title, value=count)


def _top(log: EventLog, counts: Floats) -> list[tuple[str, float]]:
    order = np.argsort(-counts, kind="stable")[:10]
    return [
        (log.catalogue.labels[place] or str(log.catalogue.ids[place]), float(counts[place])) for place in order
    ]


def facts(bench: Bench, trial: Trial) -> Iterator[Number]:  # noqa: ARG001
    """Say what the log itself is like: its sizes, its week, and what men under 25 rated."""
    log, truth = bench.log, bench.truth
    active = records_per_user(log)
    active = active[active > 0]
    yield from numbers_of(
        {
            "users": active.size,
            "items": int(np.count_nonzero(truth.items)),
            "records": truth.records,
            "most records of a user": active.max(),
            "fewest records of a user": active.min(),
            "records of a user on average": active.mean(),
        }
    )
    if _is_weekly(log):
        for day, share in enumerate(_week(truth.edges), 1):
            yield Number(metric="share of records", table="edges", k=day, value=share)
    if log.context is not None and YOUNG_MEN in log.context.labels:
        column = truth.edges[:, log.context.labels.index(YOUNG_MEN)]
        top = _top(log, column)
        both = {title for title, _ in top} & set(FAN_JIN.claims.run.lists["MovieLens"])
        yield Number(metric="of the paper's list", table="edges", value=float(len(both)))
        for place, (title, count) in enumerate(top, 1):
            yield Number(metric="place in the top 10", table="edges", k=place, key=title, value=count)


def scored(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure figure 5: the precision of the noisy scores, from d records of each user and 0.1 ε."""
    noise = bench.noise(trial)
    fewest = _fewest(bench.log)
    counts = bench.engine.measure(bench.log, SampleRecords(fewest), noise.key())
    scores = add_noise(counts.items, Grant(trial.epsilon), noise).values.astype(np.float64)
    for k in SCORE_TOPS:
        score = metrics.top_precision(bench.truth.items, scores, k)
        yield Number(metric="precision", table="items", k=k, value=score)


def by_theorem_2(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure the MSE of SRA's item counts at the limit of Eq. 22, over the smallest of all limits tried."""
    counts, noise = bench.truth.items, bench.noise(trial)
    alike = Alike(
        users=bench.truth.users,
        records=bench.truth.records / bench.truth.users,
        copies=np.ones(counts.size),
        popularities=counts / counts.sum(),
    )
    best = alike.limit(float(trial.epsilon))

    def error(limit: int) -> float:
        sample = bench.engine.measure(bench.log, SampleRecords(limit), noise.key())
        return metrics.mean_squared_error(counts, add_noise(sample.items, Grant(trial.epsilon), noise).counts)

    errors = {limit: error(limit) for limit in sorted({*TRIED_BY_EPSILON, best})}
    yield Number(metric="limit", table="items", value=float(best))
    yield Number(metric="MSE over the smallest", table="items", value=errors[best] / min(errors.values()))


def sampled(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Measure figures 10 and 11: how large a sample is, and how its records spread over the week."""
    sample = _sample(bench, trial)
    kept = sample.edges.sensitive_values.astype(np.float64)
    yield Number(metric="share of records", table="items", value=float(kept.sum() / bench.truth.records))
    if _is_weekly(bench.log):
        week = _week(bench.truth.edges)
        for day, share in enumerate(_week(kept), 1):
            yield Number(metric="share of records", table="edges", k=day, value=share)
            yield Number(metric="distance from the log", table="edges", k=day, value=abs(share - week[day - 1]))


def _sample(bench: Bench, trial: Trial) -> BoundedCounts:
    """Draw the records that SRA or HPA keeps; only the scores of HPA carry noise."""
    limit, noise = int(trial.limit or 0), bench.noise(trial)
    if trial.method == "sra":
        return bench.engine.measure(bench.log, SampleRecords(limit), noise.key())
    first = bench.engine.measure(bench.log, SampleRecords(_fewest(bench.log)), noise.key())
    scores = popularity(add_noise(first.items, Grant(trial.epsilon), noise))
    return bench.engine.measure(bench.log, KeepTopScored(limit, scores), noise.key())


def _fewest(log: EventLog) -> int:
    active = records_per_user(log)
    return int(active[active > 0].min())


def _is_weekly(log: EventLog) -> bool:
    return log.context is not None and log.context.labels == LABELS["weekday"]


def _week(edges: Floats) -> list[float]:
    """Return the share of each day, Monday first; records without a time are left out."""
    days = edges[:, :-1].sum(axis=0)
    return [float(share) for share in days / days.sum()]


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
    papers_lists = {title: films for title, films in FAN_JIN.claims.run.lists.items() if title != "MovieLens"}
    printed = set(papers_lists["the paper's true top 10"])
    return [
        *(_column(title, films, set(titles_by_method[LOG])) for title, films in columns.items()),
        *(_column(title, films, printed) for title, films in papers_lists.items()),
    ]


def _column(title: str, films: Sequence[str], true: set[str]) -> dict[str, Any]:
    right = sum(film in true for film in films)
    return {"title": f"{title} ({right} of 10)", "rows": [{"text": film, "right": film in true} for film in films]}


FAN_JIN = Paper(
    name="fan-jin",
    methods=METHODS,
    runs=20,
    quick_runs=5,
    pace=0.07,
    settings=settings,
    measures={"compared": compared},
    elsewhere={
        ("comparison", "found of the true top 10", "edges"): "men under 25",
        ("comparison", "place in the top 10", "edges"): "men under 25",
        ("sizes", "of the paper's list", "edges"): "men under 25",
        ("sizes", "place in the top 10", "edges"): "men under 25",
        ("sizes", "share of records", "edges"): "week",
        ("samples", "share of records", "edges"): "week",
        ("samples", "distance from the log", "edges"): "week",
    },
    lists=lists,
)
