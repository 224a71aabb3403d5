"""GS: average similar columns in groups whose size is chosen from a noisy sample.

As GS-S, but the groups need not have ``limit`` (M) columns: small groups lose less to averaging, large ones carry
less noise. From the noisy sample alone GS estimates the counts (c̃ = M · t_s), tries every group size w from 1 to
the number of columns d on them, simulating the noise, and takes the one with the smallest total error.

Why it is private
    As GS-S: half of ε pays for the sample, and everything up to the groups, the search for w too, is made of noisy
    numbers. With the groups fixed their sums move by at most M when one user joins or leaves, whatever their size:
    noise of scale 2M/ε on the sums pays for the other half.

Departures from the paper
    In the paper Δ₁ = M is the largest number of records any user has, read from the data, which the noise then
    reveals. That variant is ``gs-published``. Discrete noise on whole sums instead of continuous noise on
    averages: on the last, larger group it weighs a little less. All w in 1..d are tried exactly, in O(d log² d)
    steps. Without sampling the estimate is t_s itself. Each table is grouped for itself.

Reference
    G. Kellaris, S. Papadopoulos. Practical Differential Privacy via Grouping and Smoothing. PVLDB 6(5), 2013,
    section 3.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headcount.accounting.budget import Cost
from headcount.bounds import Noisy
from headcount.methods.counts.smoothing.grouping import Groups, best_size, order_by
from headcount.methods.counts.smoothing.sampled_groups import SampledGroups
from headcount.noise import NoiseSource, scale_for


@dataclass(frozen=True, kw_only=True)
class TunedGroups(SampledGroups):
    """Release item and edge counts with GS.

    >>> from headcount.accounting.budget import Grant
    >>> from headcount.events.log import EventLog
    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(90) for item in ("tea", "rye") if n < 60 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> release = TunedGroups(limit=2).release(log, Grant("50"), SeededNoise(1))
    >>> release.items["count"].to_pylist(), release.chosen
    ([0.0, 60.0, 0.0, 90.0], {'items': {'group size': 1}})
    """

    name: ClassVar[str] = "gs"
    foreseen: ClassVar[str] = "its groups and their size follow the counts themselves"
    tunes: ClassVar[bool] = True
    why_so_large: ClassVar[str] = ", the size that looked best on these noisy numbers"

    def _groups(self, sample: Noisy, price: Cost, noise: NoiseSource) -> Groups:
        """Try every group size on the sample: from released numbers alone."""
        values = sample.values.ravel()
        factor = 1 if self.sampling == "none" else self.limit
        scale = scale_for(self.limit, price.exact)
        return Groups.by_size(order_by(values), best_size(values, factor, float(scale), noise.key()))
