"""Audit targets of known ε: biased coins that keep or exceed their declared ε."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.outcome_sets import Observations
from headcount.noise import NoiseSource


@dataclass(frozen=True)
class Coin:
    """Says truly whether the person is there, with the largest probability that ε allows; or a little more."""

    epsilon: Decimal = Decimal(1)
    delta: Decimal = Decimal(0)
    more: float = 0.0
    shown: str = "coin"
    copies: bool = True
    parameters: dict[str, Any] = field(default_factory=dict)

    def observe(self, pair: Pair, source: NoiseSource, runs: int, *, present: bool) -> Observations:
        odds = math.exp(float(self.epsilon) + self.more)
        truth = source.words(runs) < odds / (1 + odds) * 2**32
        return Observations(np.full(runs, ""), (truth == present).astype(np.float64)[:, None], ("the answer",))


class Chance(Coin):
    """Numbers of pure chance."""

    def observe(self, pair: Pair, source: NoiseSource, runs: int, *, present: bool) -> Observations:
        numbers = source.words(40 * runs).reshape(runs, 40).astype(np.float64)
        return Observations(np.full(runs, ""), numbers, tuple(map(str, range(40))))
