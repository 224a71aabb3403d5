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
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.bounds.tags.tag_weights import tagging_of
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.events.tag_log import Tagging, TagLog
from headcount.lab.as_published.tags.tag_rows import assignments_release
from headcount.methods.method import Bounds, Staged
from headcount.noise import NoiseSource
from headcount.releases.formatting import per_cent
from headcount.releases.release import Release

_REASON = "what is left is published without any noise, in a row for each person; its authors claim no ε"


@dataclass(frozen=True, kw_only=True)
class SuppressionPublished(Staged):
    """Everybody's most used tags, as they are.

    >>> SuppressionPublished(kept=0.8).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "suppression-published"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = _REASON
    bounds: ClassVar[Bounds] = ()

    kept: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.kept <= 1:
            raise UsageError(
                "kept must lie between 0 and 1", given=self.kept, remedy=f"try {param.option({'kept': '0.8'})}"
            )

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Nothing is claimed, and nothing holds."""
        return Guarantee(epsilon=priced.epsilon, standing=Standing.CLAIMED, reason=_REASON)

    def check(self, log: EventLog) -> None:
        """Refuse what it cannot use; its noise, if any, is unknown before the data is read."""
        TagLog.of_log(log)

    def release(
        self,
        log: EventLog,
        grant: Grant,
        noise: NoiseSource,
        engine: Engine | None = None,  # noqa: ARG002
    ) -> Release:
        """Delete everybody's least used tags."""
        grant.cost.check_pure("tag suppression")
        tagged, guarantee = TagLog.of_log(log), self.guarantee(grant)
        exact = tagging_of(LocalEngine(), tagged)
        grant.spend()
        steps = (f"Everybody kept {per_cent(self.kept)} of their different tags, those they use most.",)
        left = exact.where(most_used(exact, self.kept))
        return assignments_release(self.name, guarantee, left, tagged, steps, noise)


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
