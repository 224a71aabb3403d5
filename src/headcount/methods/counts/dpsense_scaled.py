"""DPSense-S: DPSense with counts scaled up by a factor that is chosen privately with the threshold.

As in DPSense no person adds more than θ, which makes all counts too small; here they are multiplied by a factor α
after the noise. For every θ from 1 to the number of columns d and every α in 1.00, 1.01, …, 2.00, the quality
qs(θ, α) is minus the average error of the scaled counts, minus the noise they will carry, αθ/ε₂. The exponential
mechanism picks a good pair at a tenth of ε; the counts get the other nine tenths.

Scaling helps where most people are above the limit. Where the largest counts come from people within it, these are
scaled up without cause.

Why it is private
    A user above d records is first cut down to d of them at random. Then one user moves Σ_j |α c_j^θ - c_j| by at
    most d, since a record of weight w in [0, 1] moves its column's difference by |αw - 1| <= 1 for α <= 2. The
    change may go either way, so the exponent is ε₁ qs/2. With θ and α fixed, one user adds at most θ to the
    weighted counts in L1: noise of scale θ/ε₂ pays for ε₂. Scaling up comes after the noise.

Departures from the paper
    The paper's sensitivity of 1 holds for 0/1 data; with repeated records a user above d breaks it (a loss of 5.5
    where 0.1 is claimed), hence the cut, for the choice alone. ``repeats`` (the paper's r, by default 1) raises
    both the cut and the grid to d·r. All pairs (θ, α) are weighed exactly, in whole numbers, rounding included in
    the sensitivity; α is the one with two decimals that was weighed. Discrete noise; negative counts are left as
    they are. Each table has its own θ and α.

Reference
    W.-Y. Day, N. Li. Differentially Private Publishing of High-dimensional Data Using Sensitivity Control. ASIACCS
    2015, Algorithm 2 and section 4.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from headcount.accounting.budget import Grant
from headcount.bounds import CountTable, WeightToThreshold, columns_of
from headcount.bounds.counts.record_cap import RecordCap
from headcount.bounds.scores.candidate_scores import (
    SCALE_PERCENTS,
    check_candidates,
    scaled_scores,
    scaled_spread,
)
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import TableRelease
from headcount.methods.counts.dpsense import SensitivityControl, drawable, largest_limit, weighted
from headcount.methods.method import Bounds, describe_cost
from headcount.noise import NoiseSource
from headcount.noise.selection.exponential import choose_candidate
from headcount.noise.stages import split_among_stages


@dataclass(frozen=True, kw_only=True)
class ScaledSensitivityControl(SensitivityControl):
    """Release item and edge counts with DPSense-S.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(900) for item in ("tea", "rye") if n < 600 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> release = ScaledSensitivityControl().release(log, Grant("50"), SeededNoise(1))
    >>> [round(count) for count in release.items["count"].to_pylist()], release.chosen
    ([0, 600, 0, 900], {'items': {'theta': 2, 'alpha': '1.00'}})
    """

    name: ClassVar[str] = "dpsense-s"
    bounds: ClassVar[Bounds] = (RecordCap, WeightToThreshold)
    example: ClassVar[dict[str, int]] = {"repeats": 2}
    foreseen: ClassVar[str] = "its factor makes up for who has which items, which is not known"

    def score_sensitivity(self, log: EventLog, table: CountTable) -> int:
        """Return how differently one person moves two candidates; refuse a grid that is too large."""
        most = largest_limit(log, table, self.repeats)
        check_candidates(most)
        return scaled_spread(most, columns_of(log, table))

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Choose a limit and a factor, and release the weighted counts, scaled up."""
        parts = split_among_stages(self.stage(log, table).parts, grant)
        most = largest_limit(log, table, self.repeats)
        check_candidates(most)
        rows = engine.measure(log, RecordCap(table, most), noise.key())
        chosen = choose_candidate(scaled_scores(rows, parts["counts"].exact), parts["choice"], noise)
        theta, hundredths = 1 + chosen // len(SCALE_PERCENTS), SCALE_PERCENTS[chosen % len(SCALE_PERCENTS)]
        theta, alpha = drawable(theta, parts["counts"].cost), Fraction(hundredths, 100)
        choice_step = (
            f"A limit of θ = {theta:,} out of 1 to {most:,} and a factor of α = {float(alpha):.2f} out of 1.00 to "
            f"2.00 were chosen together by the exponential mechanism, paid with {describe_cost(parts['choice'])}."
        )
        return weighted(log, table, theta, alpha, parts["counts"], noise, engine, choice_step)
