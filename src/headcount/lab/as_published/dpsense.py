"""DPSense and DPSense-S as printed: threshold choice of Algorithms 1 and 2, negative counts set to zero.

They exist so that what the paper says of its algorithms is held against these, and not against ``dpsense`` and
``dpsense-s``, which choose more sharply or leave negative counts as they are.

Why it is private
    Algorithm 1. One user adds min(r, θ)/d to q(θ), between 0 and 1 for every θ in 1..d, however often records
    repeat. Choosing with probability ∝ exp(ε₁ q(θ)/2) is therefore ε₁/2-differentially private: q only grows, so
    the 2 is not needed, and a twentieth of ε is given away at the printed split. With ``repeats`` (section 4.4,
    the paper's r) θ goes to d·r, one user adds at most r, and the exponent is ε₁ q/(2 r).

    Algorithm 2. On 0/1 data the choice is the one of ``dpsense-s``, exponent and all, and its proof holds.

    In both, with the choice fixed, one user adds at most θ to the weighted counts in L1, so noise of scale θ/ε₂
    pays for ε₂, and ε₁ + ε₂ = ε. Zero in place of negative counts comes after the noise. Adding or removing a user
    is what both theorems are about: a user is a row, and d is public.

Departures from the paper
    Algorithm 2 is for 0/1 data, where its claim holds; with repeated records, which it says nothing about, it does
    not. So there people above d·``repeats`` records are cut down for the choice, as in ``dpsense-s``. Discrete
    instead of continuous noise, weights in whole multiples of 2^-16, and each table has its own choice. How ε is
    split is a parameter, ``choice``: by default a tenth, as printed.

Reference
    W.-Y. Day, N. Li. Differentially Private Publishing of High-dimensional Data Using Sensitivity Control. ASIACCS
    2015, Algorithms 1 and 2 and section 4.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from headcount.accounting.budget import Amount, Grant, amount
from headcount.bounds import Bounded, CountTable, Scored
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.count_method import TableRelease
from headcount.methods.counts.dpsense import SHARES, SensitivityControl
from headcount.methods.counts.dpsense_scaled import ScaledSensitivityControl
from headcount.noise import NoiseSource


@dataclass(frozen=True, kw_only=True)
class _AsPrinted(SensitivityControl):
    """What both algorithms have in common: a split that can be told, and no negative counts."""

    choice: Amount = SHARES["choice"]

    def __post_init__(self) -> None:
        super().__post_init__()
        share = amount(self.choice, "choice")
        if share >= 1 or 1 - (1 - share) != share:  # more digits than both parts could be told with
            raise UsageError(
                "choice must be a share of ε: below 1, of few digits", given=self.choice, remedy="try choice=0.1"
            )
        object.__setattr__(self, "choice", share)

    @property
    def split(self) -> Mapping[str, Decimal]:
        """A tenth and nine tenths, or as told."""
        share = amount(self.choice, "choice")
        return {"choice": share, "counts": 1 - share}

    def make(
        self, log: EventLog, table: CountTable, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> TableRelease:
        """Choose and count, then set negative counts to zero."""
        result = super().make(log, table, grant, noise, engine)
        steps = (*result.steps, "Negative counts were set to 0, as printed; this costs nothing.")
        return replace(result, counts=np.maximum(result.counts, 0), steps=steps)


@dataclass(frozen=True, kw_only=True)
class SensitivityControlPublished(_AsPrinted):
    """DPSense with the halved exponent of Algorithm 1, and negative counts set to zero.

    >>> from headcount.noise import SeededNoise
    >>> log = EventLog.of([(f"u{n}", "tea") for n in range(90)], items=["oat", "rye", "tea"])
    >>> release = SensitivityControlPublished().release(log, Grant("5"), SeededNoise(1))
    >>> min(release.items["count"].to_pylist()), release.guarantee.short()
    (0.0, 'ε = 5, privacy: proven, per person')
    """

    name: ClassVar[str] = "dpsense-published"

    def score_sensitivity(self, log: EventLog, table: CountTable) -> int:
        """Return what the exponent is divided by: twice what one person moves a candidate at most."""
        return 2 * super().score_sensitivity(log, table)

    def score_thresholds(self, activity: Bounded, columns: int, epsilon: Fraction) -> Scored:
        """Weigh every limit, for a choice with the halved exponent."""
        return super().score_thresholds(activity, columns, epsilon).loosened(2 * activity.size)


@dataclass(frozen=True, kw_only=True)
class ScaledSensitivityControlPublished(_AsPrinted, ScaledSensitivityControl):
    """DPSense-S as Algorithm 2 has it, with negative counts set to zero.

    >>> ScaledSensitivityControlPublished(choice="0.2").split
    {'choice': Decimal('0.2'), 'counts': Decimal('0.8')}
    """

    name: ClassVar[str] = "dpsense-s-published"
