"""GS-R: average randomly grouped columns, and add noise to the group sums.

With a declared maximum of ``limit`` (M) records a person, the columns are dealt at random to groups of M, and
every group's sum gets discrete Laplace noise of scale M/ε; its average stands for each of its columns. Averages
carry M times less noise than single counts would, but what tells the columns of a group apart is lost.

Why it is private
    M is declared and enforced: a user with more than M records keeps M of them at random. One user joining or
    leaving moves the group sums by at most M in L1, whatever the groups, and these do not depend on the data; so
    noise of scale M/ε on the sums is ε-differentially private. Averages are made of noisy sums.

Departures from the paper
    In the paper Δ₁ = M is the largest number of records any user has, read from the data: then the size of the
    groups, which shows in the output, reveals it. That variant is ``gs-r-published``. Discrete noise on whole sums
    instead of continuous noise on averages. Each table is grouped for itself.

Reference
    G. Kellaris, S. Papadopoulos. Practical Differential Privacy via Grouping and Smoothing. PVLDB 6(5), 2013,
    section 3.1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from headcount.accounting.budget import Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.bounds import Bounded, CountTable, SampleRecords, Sensitivity
from headcount.bounds.linear_maps import group_sums
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import TableRelease, UpToMaximum
from headcount.methods.counts.smoothing.grouping import Groups, random_order
from headcount.methods.counts.tables import Counts, at_most, kept_up_to
from headcount.methods.method import describe_cost
from headcount.noise import NoiseSource, add_noise
from headcount.noise.stages import Stage

GROUP_SUMS = "group sums"


@dataclass(frozen=True, kw_only=True)
class RandomGroups(UpToMaximum):
    """Release item and edge counts with GS-R.

    >>> from headcount.noise import SeededNoise
    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> RandomGroups(limit=2).release(log, Grant("50"), SeededNoise(1)).items["count"].to_pylist()
    [1.5, 1.5]
    """

    name: ClassVar[str] = "gs-r"
    foreseen: ClassVar[str] = "grouped"

    def stage(self, log: EventLog, table: CountTable) -> Stage:  # noqa: ARG002
        """The sums of groups."""
        return Stage(table, sensitivity=Sensitivity.of_l1(self.limit), on=GROUP_SUMS, tells=(table,))

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Group the columns at random, and release the groups' averages."""
        counts: Bounded = getattr(engine.measure(log, SampleRecords(self.limit), noise.key()), table)
        groups = Groups.by_size(random_order(counts.size, noise.key()), self.limit)
        steps = (
            kept_up_to(self.limit, log),
            f"The columns were dealt at random to groups of {groups.size:,}.",
        )
        return smoothed(counts, groups, grant, noise, at_most(self.limit, log), steps)


def smoothed(
    counts: Bounded, groups: Groups, grant: Grant, noise: NoiseSource, bounded: str, steps: tuple[str, ...]
) -> TableRelease:
    """Release every group's sum, and put its average on each of the group's columns."""
    noisy = add_noise(group_sums(counts, groups.labels, groups.count), grant, noise)
    distribution = replace(noisy.distribution, on=GROUP_SUMS)
    step = (
        f"Every group's sum got {distribution.in_words()}, paid with {describe_cost(grant)}, and its "
        "average stands for each column of the group."
    )
    return TableRelease(
        counts=groups.spread(noisy.counts / groups.sizes),
        half_width=groups.spread(_half_widths(noisy.distribution, groups)),
        distribution=distribution,
        bounded=bounded,
        steps=(*steps, step),
    )


def _half_widths(distribution: NoiseDistribution, groups: Groups) -> Counts:
    """Return how far each group's average may be off: all groups but the last have one size."""
    sizes = groups.sizes
    widths = np.full(sizes.size, distribution.divided(groups.size).half_width(LEVEL))
    widths[-1] = distribution.divided(int(sizes[-1])).half_width(LEVEL)
    return widths
