"""PNCF as a released model: drawn and perturbed neighbours of every item (thesis, section 3.2.3).

It exists so that published results can be reproduced and refuted. It runs only where the caller says research, and
everything it writes says that the claim is not established. There is no such model of people: it would say who is
like whom, and a prediction would need what all of them rated;
:mod:`headcount.lab.as_published.pncf_predictions` predicts from the log itself.

Why it is not private
    Noise and exponent are scaled by recommendation-aware sensitivity: the change that one user less makes in these
    very data. That is a local sensitivity, and no smooth bound of it: it may be near 0 with a user and 1 without,
    so that the noise itself tells them apart; ``tests/lab/as_published/test_pncf_refuted`` works a
    loss out. Every item spends ε again, on the same ratings.

Departures from the thesis
    Lemma 2 multiplies the sensitivity by exp(-β) and gives no β: it is 0 here. The sensitivity is cut to the whole
    range of the similarity. The second term of Lemma 1 is taken as its proof has it, with the scalar product of
    both vectors; for Pearson the change is worked out exactly. ρ is not given either: 0.05. Similarities that are
    not positive after perturbation have no weight (:mod:`headcount.lab.recommender.neighbourhood` says why). For a
    prediction the candidates are the items that the user rated, or the users who rated the item; here, all items.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, chapter 3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from headcount.accounting.budget import Cost, Grant
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.lab.as_published.claimed import Claimed
from headcount.lab.as_published.pncf import Settings, neighbour_lists
from headcount.lab.as_published.pncf_operations import Mechanism
from headcount.lab.recommender.neighbourhood import Neighbourhood
from headcount.lab.recommender.ratings import ratings_of
from headcount.lab.recommender.similarity import Metric
from headcount.methods.method import describe_filters
from headcount.methods.recommender import ITEMS
from headcount.methods.recommender.recommender import NEIGHBOURS
from headcount.methods.recommender.recommender_method import item_column
from headcount.noise import NoiseSource
from headcount.noise.stages import Stages, split_among_stages, split_evenly
from headcount.releases.release import Release

MEASURES: Mapping[Metric, str] = {"pcc": "Pearson's correlation", "cos": "the cosine"}

_MOST_ITEMS = 20_000  # two matrices of items × items are held


REASON = "noise and selection follow the change that one user makes in these very data, which reveals that user"


class PncfMethod(Claimed):
    """The release of PNCF: half of ε is meant for the choice of neighbours, half for their similarities."""

    page: ClassVar[str] = "neighbours-published.md"

    def check(self, log: EventLog) -> None:
        """Refuse a log without ratings, or with more items than can be compared."""
        if log.roles.value is None or log.value_range is None:
            raise UsageError(
                f"{self.name} needs ratings",
                remedy=f"name them with {param.value} and {param.value_range('LO,HI')}",
            )
        if not log.has_catalogue or len(log.catalogue.ids) > _MOST_ITEMS:
            raise UsageError(
                f"{self.name} compares all pairs of at most {_MOST_ITEMS:,} items of a public catalogue",
                remedy=f"give a catalogue with {param.items}, or a smaller one",
            )
        if log.context is not None:
            raise UsageError(f"{self.name} cannot use {param.context}", remedy="leave it out")

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """The choice of neighbours, and their similarities; noise is unknown before the data is read."""
        price.check_pure("PNCF")
        return split_evenly(("selection", "perturbation"))

    @abstractmethod
    def model_tables(self, log: EventLog, epsilon: float, noise: NoiseSource) -> dict[str, pa.Table]:
        """Return the released tables beside the items."""

    @abstractmethod
    def story(self) -> list[str]:
        """Return the steps of the release, in words."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:  # noqa: ARG002
        """Spend both halves of ε, and release the items and the tables of the method."""
        self.check(log)
        guarantee = self.guarantee(grant)
        for half in split_among_stages(self.stages(log, grant.cost), grant).values():
            half.spend()
        items, labels = item_column(log)
        described = pa.table({"item": items, "label": labels})
        tables = self.model_tables(log, float(grant.epsilon), noise)
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={},
            tables={ITEMS.name: described, **tables},
            counts="records",
            steps=(*describe_filters(log), *self.story()),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )


@dataclass(frozen=True, kw_only=True)
class PncfPublished(PncfMethod):
    """Item neighbours drawn and perturbed with the sensitivity of the data themselves.

    >>> PncfPublished(k=10).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "pncf-published"
    reason: ClassVar[str | None] = f"{REASON}, and every item spends ε again"

    k: int = 40
    metric: Metric = "cos"

    def __post_init__(self) -> None:
        Neighbourhood(metric=self.metric, k=self.k)

    def model_tables(self, log: EventLog, epsilon: float, noise: NoiseSource) -> dict[str, pa.Table]:
        """Draw the neighbours of every item among all others, and perturb their similarities."""
        settings = Settings(
            neighbourhood=Neighbourhood(metric=self.metric, k=self.k), mechanism=Mechanism(epsilon=epsilon)
        )
        ratings = ratings_of(log).ratings
        alike = settings.neighbourhood.compared(ratings, sensitivity=True)
        every_item, ids = np.arange(ratings.n_items, dtype=np.int32), log.catalogue.column
        item, neighbour, similarity = neighbour_lists(alike, every_item, settings, noise)
        drawn = {
            "item": ids.take(pa.array(item)),
            "neighbour": ids.take(pa.array(neighbour)),
            "similarity": pa.array(similarity, pa.float64()),
        }
        return {NEIGHBOURS: pa.table(drawn)}

    def story(self) -> list[str]:
        """The comparison, the draw and the noise."""
        return [
            f"All pairs of items were compared by {MEASURES[self.metric]} over the people who rated both.",
            f"For each item {self.k:,} neighbours were drawn by an exponential mechanism, meant to be paid with "
            "half of ε.",
            "Their similarities got Laplace noise, meant to be paid with the other half.",
            "Both were scaled by the change that one person makes in these very ratings, and spent ε again for "
            "each item.",
        ]
