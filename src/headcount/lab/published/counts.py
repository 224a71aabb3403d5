"""LPA and HPA exactly as their papers run them: parameters read from the private data, claims not established.

They exist so that published results can be reproduced and refuted. They run only where the caller says research,
and everything they write says that the claim is not established.

Why it is not private
    LPA's noise scale is M/ε with M the largest number of records any user has: the scale itself tells whether the
    most active user is there, and no finite ε holds. HPA samples d = the fewest records any user has: the outcome
    changes abruptly when the least active user joins or leaves (an exact loss of 14.6 where 1 is claimed).

Departures from the papers
    Discrete instead of continuous Laplace noise, and items and edges are reconciled, as in ``lpa`` and ``hpa``.

Reference
    L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015, sections 4 and 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headcount.bounding import check_limit
from headcount.budget import Amount, Grant
from headcount.counts.hand_picked import PUBLISHED_SHARES, HandPicked
from headcount.counts.laplace import LaplacePerturbation
from headcount.counts.tables import planned_laws
from headcount.engines.engine import Engine, Table
from headcount.engines.local import LocalEngine
from headcount.events.encoding import EncodedLog
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.method import What, shares_of, tables_of
from headcount.noise import NoiseSource
from headcount.noise_law import Law
from headcount.releases import Release

_LPA_REASON = "the noise scale is the largest number of records of any user, read from the data, and so reveals it"
_HPA_REASON = "d is the fewest records of any user, read from the data; the exact loss is 14.6 where 1 is claimed"


@dataclass(frozen=True, kw_only=True)
class LaplacePerturbationPublished:
    """LPA with M read from the data.

    >>> LaplacePerturbationPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "lpa-published"
    family: ClassVar[str] = "counts"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = _LPA_REASON

    what: What | None = None
    shares: Mapping[str, Amount] | None = None

    def guarantee(self, grant: Grant) -> Guarantee:
        """What the papers claim."""
        return Guarantee(epsilon=grant.epsilon, standing=Standing.CLAIMED, reason=_LPA_REASON)

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:  # noqa: ARG002
        """Unknown before the data is read: that is what is wrong with it."""
        shares_of(tables_of(self.what, log), {"items": "0.5", "edges": "0.5"}, self.shares)
        return {}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Read M from the data, then run LPA with it."""
        guarantee = self.guarantee(grant)
        most = largest_user(log, "edges", noise, engine or LocalEngine())
        method = LaplacePerturbation(limit=most, what=self.what, shares=self.shares)
        return replace(method.release(log, grant, noise, engine), method=self.name, guarantee=guarantee)


@dataclass(frozen=True, kw_only=True)
class HandPickedPublished:
    """HPA with d read from the data and the published split of the budget.

    >>> HandPickedPublished(limit=10).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "hpa-published"
    family: ClassVar[str] = "counts"
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None] = _HPA_REASON

    limit: int
    what: What | None = None
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)

    def guarantee(self, grant: Grant) -> Guarantee:
        """What the paper claims."""
        return Guarantee(epsilon=grant.epsilon, standing=Standing.CLAIMED, reason=_HPA_REASON)

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        """Scale limit / ε for each table's part of ε."""
        return planned_laws(self._shares(log), grant, self.limit)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Read d from the data, then run HPA with it."""
        guarantee = self.guarantee(grant)
        active = records_per_user(log)
        fewest = int(active[active > 0].min() if active.any() else 1)
        method = HandPicked(limit=self.limit, d=fewest, what=self.what, shares=self._shares(log))
        return replace(method.release(log, grant, noise, engine), method=self.name, guarantee=guarantee)

    def _shares(self, log: EventLog) -> dict[str, Decimal]:
        return shares_of(("scores", *tables_of(self.what, log)), PUBLISHED_SHARES, self.shares)


def largest_user(log: EventLog, table: Table, noise: NoiseSource, engine: Engine) -> int:
    """Return the most records any user has in a table, unprotected: for the published variants alone."""
    if log.counting == "records":
        return int(records_per_user(log).max(initial=1))
    columns = len(log.catalogue.ids) if table == "items" else log.cells
    users = engine.activity(log, table, columns, noise.key()).sensitive_values
    return int(np.flatnonzero(users).max(initial=0)) + 1


def records_per_user(log: EventLog) -> NDArray[np.int64]:
    """Count each user's records, without any protection: for the published variants alone."""
    encoded = EncodedLog(log)
    totals = np.zeros(encoded.users.size, dtype=np.int64)
    for batch in encoded.batches():
        inside = batch.cells >= 0
        weights = None if batch.times is None else batch.times[inside]
        more = np.bincount(batch.users[inside], weights=weights, minlength=encoded.users.size).astype(np.int64)
        more[: totals.size] += totals
        totals = more
    return totals
