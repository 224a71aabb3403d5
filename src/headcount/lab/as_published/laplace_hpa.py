"""LPA and HPA exactly as their papers run them: parameters are read from private data (unproven).

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

from headcount.accounting.budget import Amount, Cost, Grant
from headcount.bounds import ActivityHistogram, CountTable, KeepTopScored, SampleRecords, check_limit, columns_of
from headcount.engines.engine import Engine
from headcount.engines.local.encoded_rows import collect_rows
from headcount.engines.local.engine import LocalEngine
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.lab.as_published.claimed import Claimed
from headcount.methods.counts.hand_picked import PUBLISHED_SHARES, HandPicked
from headcount.methods.counts.laplace import LaplacePerturbation
from headcount.methods.method import Bounds, What, tables_of
from headcount.noise import NoiseSource
from headcount.noise.stages import Stage, Stages, normalize_split
from headcount.releases.release import Release

_LPA_REASON = "the noise scale is the largest number of records of any user, read from the data, and so reveals it"
_HPA_REASON = "d is the fewest records of any user, read from the data; the exact loss is 14.6 where 1 is claimed"


@dataclass(frozen=True, kw_only=True)
class LaplacePerturbationPublished(Claimed):
    """LPA with M read from the data.

    >>> LaplacePerturbationPublished().guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "lpa-published"
    reason: ClassVar[str | None] = _LPA_REASON
    bounds: ClassVar[Bounds] = (SampleRecords, ActivityHistogram)

    what: What | None = None
    shares: Mapping[str, Amount] | None = None

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Items and edges; their noise is unknown before the data is read: that is what is wrong with it."""
        return normalize_split((Stage(table) for table in tables_of(self.what, log)), self.shares)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Read M from the data, then run LPA with it."""
        guarantee = self.guarantee(grant)
        most = largest_user(log, "edges", noise, engine or LocalEngine())
        method = LaplacePerturbation(limit=most, what=self.what, shares=self.shares)
        return replace(method.release(log, grant, noise, engine), method=self.name, guarantee=guarantee)


@dataclass(frozen=True, kw_only=True)
class HandPickedPublished(Claimed):
    """HPA with d read from the data and the published split of the budget.

    >>> HandPickedPublished(limit=10).guarantee(Grant("1")).short()
    'ε = 1 claimed, not established'
    """

    name: ClassVar[str] = "hpa-published"
    reason: ClassVar[str | None] = _HPA_REASON
    bounds: ClassVar[Bounds] = (SampleRecords, KeepTopScored)

    limit: int
    what: What | None = None
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        check_limit(self.limit)

    def stages(self, log: EventLog, price: Cost) -> Stages:
        """Those of HPA, in the published split."""
        return self._with(log, 1).stages(log, price)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Read d from the data, then run HPA with it."""
        guarantee = self.guarantee(grant)
        active = records_per_user(log)
        fewest = int(active[active > 0].min() if active.any() else 1)
        return replace(
            self._with(log, fewest).release(log, grant, noise, engine), method=self.name, guarantee=guarantee
        )

    def _with(self, log: EventLog, d: int) -> HandPicked:
        names = ("scores", *tables_of(self.what, log))
        split = normalize_split((Stage(name, Decimal(PUBLISHED_SHARES[name])) for name in names), self.shares)
        shares = {stage.name: stage.share for stage in split}
        return HandPicked(limit=self.limit, d=d, what=self.what, shares=shares)


def largest_user(log: EventLog, table: CountTable, noise: NoiseSource, engine: Engine) -> int:
    """Return the most records any user has in a table, unprotected: for the published variants alone."""
    if log.counting == "records":
        return int(records_per_user(log).max(initial=1))
    users = engine.measure(log, ActivityHistogram(table, columns_of(log, table)), noise.key()).sensitive_values
    return int(np.flatnonzero(users).max(initial=0)) + 1


def records_per_user(log: EventLog) -> NDArray[np.int64]:
    """Count each user's records, without any protection: for the published variants alone."""
    rows = collect_rows(EncodedLog(log))
    return np.bincount(rows.users, weights=rows.times).astype(np.int64)
