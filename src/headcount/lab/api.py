"""The lab in Python, with the words of the command line: ``hc.compare``, ``hc.audit``, ``hc.plan``, ``reproduce``.

``compare`` and ``reproduce`` measure against true counts and are not private. ``audit`` tries to refute a method's
guarantee on synthetic neighbouring logs, and ``plan`` predicts errors from public figures; neither reads private
data.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from headcount._internal.parameters import whole_number
from headcount._internal.python_surface import class_errors_in_python
from headcount.accounting.budget import Amount, amount, probability
from headcount.errors import Parameter, UnknownNameError, UsageError, param
from headcount.events.log import EventLog, check_log
from headcount.lab.audit.audit import Finding
from headcount.lab.audit.audit import audit as audit_fixed
from headcount.lab.audit.replay_audit import ReplayFinding, replay_audit
from headcount.lab.audit.sequential import audit_sequentially
from headcount.lab.audit.target_registry import has_edges, pairs_for, runs_for, target
from headcount.lab.compare.comparison import Comparison
from headcount.lab.compare.comparison import compare as compare_by
from headcount.lab.compare.rankings import RankingComparison
from headcount.lab.compare.selections import SelectionComparison
from headcount.lab.compare.study import RUNS, Study
from headcount.lab.compare.trial_grid import DEFAULT_SEED
from headcount.lab.plan.predicted_errors import (
    Figures,
    predictions,
    public_figures,
    released_figures,
    sensible_limits,
)
from headcount.lab.plan.top_k_forecast import forecast_top_k
from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.pages.page import write_page
from headcount.lab.replicate.paper import reproduce as reproduce_paper
from headcount.releases.release import Release

if TYPE_CHECKING:
    import pandas as pd

    from headcount.reports.lab.comparison import Facts


_STUDIES: tuple[type[Study], ...] = (Comparison, RankingComparison, SelectionComparison)
_FIELDS = {"epsilon": "epsilons", "delta": "deltas", "k": "tops"}  # of a study, where they have another name


@class_errors_in_python
@dataclass(frozen=True)
class Compared:
    """What a comparison found, for the curator alone: a tidy table of all runs, and the log's exact figures."""

    table: pa.Table = field(repr=False)
    facts: Facts = field(repr=False)

    def sentences(self) -> list[str]:
        """Say in plain words what came out."""
        from headcount.reports.charts.trial_means import means
        from headcount.reports.lab.comparison import summary

        return summary(means(self.table), self.facts.what)

    def to_pandas(self) -> pd.DataFrame:
        """Return all measured numbers as a pandas frame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def report(self, to: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write plots, a ranking and a summary as one web page, and return its path."""
        if Path(to).exists() and not force:
            raise UsageError.taken(to, param.report)
        from headcount.reports.lab.comparison import write_comparison_page

        return write_comparison_page(self.table, self.facts, to)

    def __repr__(self) -> str:
        return (
            f"<Compared {self.facts.what}, NOT PRIVATE: {self.table.num_rows:,} numbers of {self.facts.runs} runs>"
        )


def compare(
    log: EventLog,
    *,
    what: Literal["counts", "rankings", "selection"] = "counts",
    methods: Sequence[str] | None = None,
    epsilon: Sequence[Amount] | None = None,
    limits: Sequence[int] | None = None,
    k: Sequence[int] | None = None,
    shares: Sequence[Amount] | None = None,
    delta: Sequence[Amount] | None = None,
    runs: int = RUNS,
    seed: int = DEFAULT_SEED,
    processes: int = 1,
) -> Compared:
    """Run every method on a log, and measure its counts against the truth. This is NOT PRIVATE.

    What it returns is for the curator's eyes. Choose no method or limit by it for a release of this same log.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> comparison = compare(log, methods=["sra", "lpa"], epsilon=[1], limits=[1], runs=2)
    >>> comparison
    <Compared counts, NOT PRIVATE: 20 numbers of 2 runs>

    Parameters:
        log: The log to compare on.
        what: Counts; rankings by people, of `rank` and of counts; or the selection of items.
        methods: Which methods of counts; by default all.
        epsilon: Privacy budgets to try; by default 0.1, 0.5, 1 and 2.
        limits: Limits to try; by default 1, 3, 10, 30 and 100.
        k: For rankings: how many places; by default 10 and 20.
        shares: For selection: shares of ε that it takes; by default 0.2 and 0.5.
        delta: For selection: δ to try; by default 1e-6. For rankings: one δ, or none.
        runs: How often each setting is run.
        seed: Seed of samples and noise, which are thrown away.
        processes: Worker processes; more than one need a main module that can be imported.
    """
    check_log(log)
    given = {"methods": methods, "epsilon": epsilon, "limits": limits, "k": k, "shares": shares, "delta": delta}
    study = _study(what, {name: values for name, values in given.items() if values is not None}, runs, seed)
    with tempfile.TemporaryDirectory() as folder:
        parts, workers = Path(folder) / "parts", whole_number(processes, "processes")
        return Compared(*compare_by(log, study, parts, name=log.source.name, processes=workers))


def _study(what: str, given: dict[str, Sequence[Any]], runs: int, seed: int) -> Study:
    """Return what is compared; a list that it has no use for is refused."""
    kinds = {study_class.what: study_class for study_class in _STUDIES}
    if what not in kinds:
        raise UsageError(f"{param.what} must be {' or '.join(kinds)}", given=what, allowed=tuple(kinds))
    field_names = {study_field.name for study_field in fields(kinds[what])}
    lists: dict[str, Any] = {}
    for name, values in given.items():
        if _FIELDS.get(name, name) not in field_names:
            raise UsageError(f"{Parameter(name)} is of no use with {param.what(what)}", remedy="leave it out")
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise UsageError(f"{name} must be a list", given=values, remedy=f"such as [{values!r}]")
        lists[_FIELDS.get(name, name)] = tuple(values)
    return kinds[what](**lists, runs=whole_number(runs, "runs"), seed=seed)


_FEWEST, _MOST = 100, 100_000_000
_LARGEST_LIMIT = 1_000


def audit(
    method: str,
    *,
    epsilon: Amount = 1,
    delta: Amount | None = None,
    limit: int = 2,
    edges: bool = False,
    runs: int | None = None,
    seed: int | None = 1,
    sequential: bool = True,
    replay: bool = False,
) -> Finding | ReplayFinding:
    """Attack the promise of a method: run the real code on logs that differ in one person, and tell them apart.

    The logs are made up, to be as bad as can be. Finding nothing proves nothing: an audit tries some neighbours
    and events, and can only refute a promise. See ``violation``, ``sentence()`` and ``to_json()`` of what it
    returns.

    >>> finding = audit("sra", replay=True)
    >>> finding.violation
    False

    Parameters:
        method: One of `headcount methods`, or top-k, selection or totals.
        epsilon: The ε that is claimed.
        delta: Audit Gaussian noise, or item selection, with this δ.
        limit: The most records one person may add.
        edges: Audit item-by-context counts beside the item counts.
        runs: Runs of each log of the best pairs; by default 200000, or 4000 or 2000 where each is a release.
        seed: Seed of all runs, which are thrown away; None draws from the operating system, as releases do.
        sequential: Stop as soon as a violation is certain, or make all runs and say how large ε is at least.
        replay: Run each pair of logs with the same draws, once: no statistics, a few seconds.
    """
    claimed, most = amount(epsilon), whole_number(limit, "limit", most=_LARGEST_LIMIT)
    failing = Decimal(0) if delta is None else probability(delta)
    audit_target = target(method, most, claimed, failing)
    if edges and not has_edges(method):
        raise UsageError(f"{method} has no item-by-context counts", remedy=f"leave {param.edges} out")
    audit_target = replace(
        audit_target, copies=audit_target.copies and seed is not None, contexts=audit_target.contexts or edges
    )
    pairs = pairs_for(method, most, claimed, failing)
    if replay:
        if runs is not None:
            raise UsageError(f"{param.replay} has no use for {param.runs}", remedy="leave one of them out")
        return replay_audit(audit_target, pairs, seed=1 if seed is None else seed)
    many = runs_for(method, copies=audit_target.copies) if runs is None else whole_number(runs, "runs", most=_MOST)
    if many < _FEWEST:
        raise UsageError(f"runs must be at least {_FEWEST}", given=runs, remedy=f"try {param.runs(4000)}")
    return (audit_sequentially if sequential else audit_fixed)(audit_target, pairs, many, seed=seed)


def plan(
    *,
    epsilon: Amount | Sequence[Amount],
    users: int | None = None,
    items: int | None = None,
    contexts: int | None = None,
    median: int | None = None,
    max: int | None = None,  # noqa: A002  (the name of the flag)
    activity: Release | None = None,
    delta: Amount | None = None,
    limits: Sequence[int] | None = None,
    count: Literal["records", "users"] | None = None,
    k: int | None = None,
    kth: int | None = None,
) -> pa.Table:
    """Predict the errors of each method from public figures, or from a released histogram, without any data.

    The rows are predictions: of each method, ε, table and limit the errors, None where they cannot be predicted.
    With ``k``, they say how many of the top K will be right, by `rank` and by `release` with `top`. Use only
    figures that are public: what is read off a private log is not.

    >>> predicted = plan(users=500_000, items=17_770, median=96, max=17_000, epsilon="1")
    >>> predicted.column_names[:4], predicted.num_rows > 20
    (['method', 'epsilon', 'table', 'limit'], True)

    Parameters:
        epsilon: The privacy budget to predict for, or several.
        users: How many people there are, about.
        items: How many items the catalogue has.
        contexts: How many contexts there are; by default none.
        median: How many records the median person has, about.
        max: How many records the most active person has, about.
        activity: A release with a histogram of activity, in place of figures.
        delta: Predict noise with this δ: Gaussian, for methods that have it.
        limits: Limits to try; by default 1, 3, 10, … up to the maximum.
        count: Count records, or distinct users; by default records, or as the release does.
        k: Will the top K be right? Forecast that, in place of errors.
        kth: For k: how many people have the item at place K, about.
    """
    listed = [epsilon] if isinstance(epsilon, str) or not isinstance(epsilon, Sequence) else list(epsilon)
    epsilons = [f"{amount(entry):f}" for entry in listed]
    exact = None if delta is None else f"{probability(delta):f}"
    figures = figures_of(count, activity, users=users, items=items, contexts=contexts, median=median, max=max)
    predicted: list[Any]
    if k is not None:
        if limits is not None:
            raise UsageError(
                f"{param.limits} is of no use with {param.k}", remedy="leave it out: what is best is worked out"
            )
        kth_count = None if kth is None else whole_number(kth, "kth")
        predicted = list(forecast_top_k(figures, epsilons, whole_number(k, "k"), delta=exact, kth_count=kth_count))
    else:
        if kth is not None:
            raise UsageError(
                f"{param.kth} is given without {param.k}", remedy=f"add {param.k(20)}, or leave it out"
            )
        tried = _tried(figures) if limits is None else [whole_number(entry, "limits") for entry in limits]
        predicted = [entry for budget in epsilons for entry in predictions(figures, budget, tried, exact)]
    return pa.Table.from_pylist([entry.to_json() for entry in predicted])


def _tried(figures: Figures) -> list[int]:
    """Return limits to try, up to what the most active person has."""
    return sensible_limits(max(float(shape.activity.records.max(initial=1)) for shape in figures.shapes.values()))


def figures_of(count: str | None = None, activity: Release | None = None, **numbers: int | None) -> Figures:
    """Return figures to predict from: those of a release, or numbers by the names that ``plan`` has for them."""
    given = {name: whole_number(number, name) for name, number in numbers.items() if number is not None}
    if activity is not None:
        if "median" in given or "max" in given:
            raise UsageError(
                f"{param.median} and {param.max} are of no use beside {param.activity}", remedy="leave them out"
            )
        return released_figures(activity, counting=count, **given)
    for name in ("users", "items", "median", "max"):
        if name not in given:
            raise UsageError(
                f"{Parameter(name)} is missing",
                remedy=f"give {param.users}, {param.items}, {param.median} and {param.max}, or "
                f"{param.activity('RELEASE')}",
            )
    users, items, median, most = (given[name] for name in ("users", "items", "median", "max"))
    width = 1 + given.get("contexts", 0)
    return public_figures(users, items, median, most, width=width, distinct=count == "users")


def reproduce(
    paper: str,
    to: str | os.PathLike[str],
    *,
    quick: bool = True,
    runs: int | None = None,
    seed: int = DEFAULT_SEED,
    data: str | None = None,
    progress: Callable[[str, int, int | None], None] = lambda *_: None,
) -> dict[str, int]:
    """Run a paper again, write the page of it, and return how many claims have which verdict.

    Parameters:
        paper: One of those that `headcount reproduce` lists.
        to: Where the page goes.
        quick: Fewer runs and grid points, and nothing else.
        runs: How often each setting is run.
        seed: Seed of samples and noise, which are thrown away.
        data: The folder that data sets are looked for in.
        progress: Called with the stage, how much is done and how much there is.
    """
    if paper not in PAPERS:
        raise UnknownNameError.among("paper", paper, PAPERS)
    many = None if runs is None else whole_number(runs, "runs")
    with tempfile.TemporaryDirectory() as parts:
        done = reproduce_paper(
            PAPERS[paper], data, Path(parts), quick=quick, runs=many, seed=seed, processes=1, progress=progress
        )
        write_page(done, to)
    return dict(done.counts)
