"""Tag suppression: each user keeps the most used tags, and the others are deleted.

It exists for comparison with PriTop, as in the thesis: ``kept`` is its parameter σ, the part of each person's
different tags that stays. Of tags used equally often, the one that is used more by all stays.

Why it is not private
    What is left is published as it is, without any noise, in a row for each person. Its authors claim no ε.

How the paper is read
    The thesis says no more than that less represented tags are deleted, and that the semantic loss is 1 - σ.

Reference
    J. Parra-Arnau, A. Perego, E. Ferrari, J. Forné, D. Rebollo-Monedero. Privacy-Preserving Enhanced Collaborative
    Tagging. IEEE TKDE 26(1), 2014.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Grant
from headcount.bounds.tags.tag_weights import tagging_of
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.events.tag_log import Tagging, TagLog
from headcount.lab.as_published.claimed import Claimed
from headcount.noise import NoiseSource
from headcount.releases.formatting import per_cent
from headcount.releases.release import Interval, Release


class PublishedTags(Claimed):
    """A method that publishes a row for each assignment of a user; none of them is private."""

    title: ClassVar[str]

    def check(self, log: EventLog) -> None:
        """Refuse what it cannot use; its noise, if any, is unknown before the data is read."""
        TagLog.of_log(log)

    @abstractmethod
    def published(self, exact: Tagging, epsilon: float, noise: NoiseSource) -> Tagging:
        """Return the assignments as they are published."""

    @property
    @abstractmethod
    def step(self) -> str:
        """The step of the release, in words."""

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:  # noqa: ARG002
        """Release the published assignments, with users numbered in place of their ids."""
        grant.cost.check_pure(self.title)
        tagged, guarantee = TagLog.of_log(log), self.guarantee(grant)
        exact = tagging_of(LocalEngine(), tagged)
        grant.spend()
        published = self.published(exact, float(grant.epsilon), noise)
        resources, tags = (
            np.array([str(value) for value in ids], dtype=object)
            for ids in (tagged.catalogue.ids, tagged.vocabulary.ids)
        )
        table = pa.table(
            {
                "user": pa.array([f"person-{number + 1}" for number in published.user.tolist()], pa.string()),
                "resource": pa.array(resources[published.resource], pa.string()),
                "tag": pa.array(tags[published.tag], pa.string()),
            }
        )
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={},
            tables={"model/assignments": table},
            interval=Interval(covers="true"),
            steps=(self.step,),
            catalogue=tagged.catalogue.digest,
            simulated=not noise.is_private,
        )


@dataclass(frozen=True, kw_only=True)
class SuppressionPublished(PublishedTags):
    """Everybody's most used tags, as they are.

    >>> SuppressionPublished(kept=0.8).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "suppression-published"
    title: ClassVar[str] = "tag suppression"
    reason: ClassVar[str | None] = (
        "what is left is published without any noise, in a row for each person; its authors claim no ε"
    )

    kept: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.kept <= 1:
            raise UsageError(
                "kept must lie between 0 and 1", given=self.kept, remedy=f"try {param.option({'kept': '0.8'})}"
            )

    def published(self, exact: Tagging, epsilon: float, noise: NoiseSource) -> Tagging:  # noqa: ARG002
        """Delete each user's least used tags."""
        return exact.where(most_used(exact, self.kept))

    @property
    def step(self) -> str:
        """The share of tags that stays."""
        return f"Everybody kept {per_cent(self.kept)} of their different tags, those they use most."


def most_used(tagging: Tagging, kept: float) -> NDArray[np.bool_]:
    """Say which assignments stay: those of the tags that each person uses most.

    >>> many = Tagging.from_codes([0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], people=2, resources=2, tags=2)
    >>> most_used(many, 0.5).tolist()
    [True, False, True, True]
    """
    entries, of_entry, times = np.unique(
        np.stack([tagging.user, tagging.tag]), axis=1, return_inverse=True, return_counts=True
    )
    everywhere = np.bincount(entries[1], minlength=tagging.tags)
    order = np.lexsort((entries[1], -everywhere[entries[1]], -times, entries[0]))
    user = entries[0][order]
    rank = np.arange(order.size) - np.searchsorted(user, user)
    many = np.bincount(entries[0], minlength=tagging.people)
    least = np.array([max(1, math.floor(kept * count + 0.5)) for count in many.tolist()] or [1])
    stays = np.empty(order.size, dtype=np.bool_)
    stays[order] = rank < least[user]
    return np.asarray(stays[of_entry.ravel()])
