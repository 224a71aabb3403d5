"""Comparison of rankings: precision of the top K by ``rank``, and by ranked noisy counts.

Best are the items that most people have, as for ``rank``; so every method counts people here. Where there are
contexts, the top K of each is asked for as well: of ``rank --per-context``, and of releases of items and edges.
With δ, rankings and peeling have it, and of the methods of counts those that can have Gaussian noise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow.compute as pc

from headcount.accounting.budget import Amount, Grant, probability
from headcount.accounting.guarantee import format_delta
from headcount.bounds import SampleRecords
from headcount.bounds.linear_maps import take_column
from headcount.bounds.scores.candidate_scores import count_scores
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.lab.compare.metrics import check_top, listed_precision, precision
from headcount.lab.compare.study import CountStudy
from headcount.lab.compare.trials import EVERYTHING, Bench, Measure, Number, Trial, Truth
from headcount.methods.counts import FAMILY as COUNTS
from headcount.methods.family import fields_of
from headcount.methods.rankings import FAMILY
from headcount.noise.selection.top_k import choose_top_k
from headcount.noise.stages import Stage, normalize_split, split_among_stages
from headcount.releases.release import Release

TOPS = (10, 20)
RANK, PEELING = "rank", "peeling"
"""What is compared beside methods of counts: ``rank`` as it is, and peeling, however many places there are."""

Listed = Sequence[Sequence[int]]
"""Places in the catalogue, the best first: one list, or one for each context."""


@dataclass(frozen=True, kw_only=True)
class RankingComparison(CountStudy):
    """Which methods are compared by what they find of the true top K, for which K.

    >>> log = EventLog.of([("ann", "tea", "home")], items=["rye", "tea"], contexts=["home"])
    >>> study = RankingComparison(methods=("sra",), epsilons=("1",), limits=(3,), tops=(1,), runs=1)
    >>> for trial in study.trials("drinks", log):
    ...     print(trial.label, dict(trial.parameters))
    rank {'k': 1, 'per_context': False}
    peeling {'k': 1, 'per_context': False}
    rank {'k': 1, 'per_context': True}
    peeling {'k': 1, 'per_context': True}
    sra {'limit': 3, 'what': 'items'}
    sra {'limit': 3, 'what': 'both'}
    """

    what: ClassVar[str] = "rankings"
    lists: ClassVar[tuple[str, ...]] = (*CountStudy.lists, "tops")

    tops: Sequence[int] = TOPS
    deltas: Sequence[Amount] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.deltas) > 1:
            raise UsageError(
                "rankings are compared with one δ", given=",".join(map(str, self.deltas)), remedy="such as 1e-6"
            )
        for delta in self.deltas:
            probability(delta)
        for k in self.tops:
            check_top(k)

    def compared(self, log: EventLog) -> EventLog:
        """Count people: a ranking does so whatever is asked for."""
        return replace(super().compared(log), counting="users")

    def settings(self, dataset: str, log: EventLog) -> Iterator[Trial]:
        """Return rankings of every length, and every method of counts: of items, and for each context."""
        tables = 1 if log.context is None else 2
        delta = next((format_delta(probability(value).normalize()) for value in self.deltas), None)
        for epsilon in self.exact_epsilons():
            make_trial = partial(Trial.for_dataset, dataset, epsilon=epsilon)
            for k in self.tops:
                for per_context in (False, True)[:tables]:
                    parameters: dict[str, Any] = {"k": k, "per_context": per_context}
                    for label, function in ((RANK, ranked), (PEELING, peeled)):
                        named = f"{__name__}:{function.__name__}"
                        yield make_trial(FAMILY.default, delta=delta, label=label, function=named, **parameters)
            for method in self.methods:
                bell = delta is not None and "noise" in fields_of(COUNTS.kind(method))
                noise: dict[str, Any] = {"delta": delta, "noise": "gaussian"} if bell else {}
                for own in self.parameters(method):
                    for what in ("items", "both")[:tables]:
                        yield make_trial(method, what=what, **noise, **own)

    @property
    def measures(self) -> Mapping[str, Measure]:
        """What counts find of each true top K; rankings are measured by what they are."""
        return {"precision": partial(counted, tops=tuple(self.tops))}


def counted(truth: Truth, release: Release, tops: tuple[int, ...]) -> Iterator[Number]:
    """Measure what the largest counts find; of both tables the edges alone: a top K of items needs no edges."""
    wanted = "edges" if "edges" in release.tables else "items"
    yield from (number for number in precision(truth, release, tops) if number.table == wanted)


def ranked(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Rank as ``headcount rank`` does, and measure what is found."""
    return _measure_precision(bench.truth, trial, places_of(bench.release(trial), bench.log))


def places_of(release: Release, log: EventLog) -> Listed:
    """Return the places in the catalogue that a ranking lists, for each context where there are several.

    >>> log = EventLog.of([("ann", "tea")], items=["rye", "tea"])
    >>> from headcount.noise import SeededNoise
    >>> places_of(FAMILY.build("top-k", {"k": 1}).release(log, Grant("90"), SeededNoise(1)), log)
    [[1]]
    """
    table = release.tables["ranking"]
    places = pc.index_in(table["item"], value_set=log.catalogue.column.cast(table["item"].type)).to_numpy()
    if release.contexts is None:
        return [places.tolist()]
    return [places[pc.equal(table["context"], context).to_numpy()].tolist() for context in release.contexts]


def peeled(bench: Bench, trial: Trial) -> Iterator[Number]:
    """Peel the best items off with all of ε, or ρ, and measure what is found."""
    parameters, log, noise = dict(trial.parameters), bench.log, bench.noise(trial)
    users = bench.engine.measure(log, SampleRecords(EVERYTHING), noise.key())
    columns = [users.items]
    if parameters["per_context"]:
        columns = [take_column(users.edges, place) for place in range(log.width - 1)]
    apart = parameters["per_context"] and log.context_of == "user"
    grant = Grant(trial.epsilon, trial.delta)
    stages = normalize_split(Stage(str(n), gaussian=grant.delta > 0, apart=apart) for n in range(len(columns)))
    grants = split_among_stages(stages, grant).values()
    rankings = [
        choose_top_k(count_scores(counts), parameters["k"], grant, noise)
        for counts, grant in zip(columns, grants, strict=True)
    ]
    return _measure_precision(bench.truth, trial, rankings)


def _measure_precision(truth: Truth, trial: Trial, rankings: Listed) -> Iterator[Number]:
    """Measure the share of the true top K that lists find; over contexts in which anything happened, the mean."""
    parameters = dict(trial.parameters)
    columns = truth.edges.T[:-1] if parameters["per_context"] else truth.items[None]
    shares = [
        listed_precision(column, places, parameters["k"])
        for column, places in zip(columns, rankings, strict=True)
        if column.any()
    ]
    table = "edges" if parameters["per_context"] else "items"
    yield Number(metric="precision", table=table, k=parameters["k"], value=float(np.mean(shares or [np.nan])))
