"""The sparse vector technique: noisy comparisons with a threshold; only large distances cost budget.

A public threshold gets discrete Laplace noise once. Every distance that comes along gets fresh noise and is
compared with it; only whether it reaches the threshold is told. After c that do, nothing is compared any more. All
of the grant is spent at the start, however many distances come, and however few are large.

Why it is private
    Let the distances move by at most Δ when one group joins or leaves; they are whole numbers, and so are Δ and
    the threshold T. With ρ the noise on the threshold, of scale Δ/ε₁, and ν the noise on a distance d, of scale
    2cΔ/ε₂, a distance is large iff d + ν >= T + ρ.

    Fix an outcome with at most c large ones. For a fixed ρ the comparisons are independent. Let ρ' = ρ + Δ on the
    neighbour: if a distance stayed below T + ρ, then the neighbour's, larger by at most Δ, stays below T + ρ' with
    the same ν. If it reached T + ρ, the neighbour's, smaller by at most Δ, reaches T + ρ' with ν + 2Δ in place of
    ν. Shifting ρ by Δ costs a factor of e^(ε₁) at most, over all rounds together; shifting ν by 2Δ costs
    e^(ε₂/c), in the at most c large rounds alone. So any outcome is likelier or less likely by a factor of at most
    e^(ε₁ + ε₂), in either direction. The next distance may depend on all outcomes so far.

    How long it takes hangs on public numbers alone. The noisy threshold stays in here and is never told: an answer
    that goes with a large distance is drawn and paid for apart.

    That at most c are large is a number that is counted down, so there must be one such number: threads take
    turns, a copy or another process is refused, and it is counted down before anything is drawn. What is broken
    off in between stays counted.

Departures from the paper
    Discrete noise on whole numbers, with an exact sampler; the scales are rounded up.

Reference
    M. Lyu, D. Su, N. Li. Understanding the Sparse Vector Technique for Differential Privacy. PVLDB 2017,
    algorithm 7 and theorem 4, for the noise and the split; their section 3 shows which variants are not private.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from headcount.accounting.budget import Cost, Grant
from headcount.accounting.exclusive import ExclusiveResource
from headcount.accounting.noise_distributions import DiscreteLaplace
from headcount.bounds import Bounded
from headcount.errors import GrantError
from headcount.noise.laplace import confirm, draw, scale_for
from headcount.noise.randomness import NoiseSource

_PLACES = Decimal(10) ** -6


@dataclass(frozen=True)
class SparseVectorNoise:
    """The noise on the threshold, and on each distance: known without data."""

    threshold: DiscreteLaplace
    distance: DiscreteLaplace


def sparse_vector_split(positives: int) -> dict[str, Decimal]:
    """Return how the threshold and the distances share a grant: 1 to (2c)^(2/3), which is best.

    >>> sparse_vector_split(4)
    {'threshold': Decimal('0.2'), 'distances': Decimal('0.8')}
    """
    first = (1 / (1 + Decimal((2 * positives) ** (2 / 3)))).quantize(_PLACES).normalize()
    return {"threshold": first, "distances": 1 - first}


def sparse_vector_noise(sensitivity: int, positives: int, cost: Cost) -> SparseVectorNoise:
    """Return both laws for distances that move by at most ``sensitivity``."""
    parts = cost.split(sparse_vector_split(positives))
    return SparseVectorNoise(
        DiscreteLaplace(scale_for(sensitivity, parts["threshold"].exact)),
        DiscreteLaplace(scale_for(2 * positives * sensitivity, parts["distances"].exact)),
    )


class SparseVector(ExclusiveResource):
    """Compares distances with a noisy threshold until ``positives`` of them were large."""

    noun = "a sparse vector test"

    def __init__(
        self, threshold: int, sensitivity: int, positives: int, grant: Grant, source: NoiseSource
    ) -> None:
        """Spend the grant, and draw the noise of the threshold."""
        super().__init__()
        grant.cost.check_pure("the sparse vector technique")
        self._distributions, self._sensitivity, self._left = (
            sparse_vector_noise(sensitivity, positives, grant.cost),
            sensitivity,
            positives,
        )
        parts = grant.split(sparse_vector_split(positives))
        confirm(self._distributions.threshold.scale, sensitivity, parts["threshold"].exact)
        confirm(self._distributions.distance.scale, 2 * positives * sensitivity, parts["distances"].exact)
        for part in parts.values():
            part.spend()
        self._source = source
        self._threshold = threshold + int(draw(self._distributions.threshold, 1, source)[0])

    @property
    def left(self) -> int:
        """How many more may be large: public, as all outcomes are."""
        return self._left

    def is_large(self, distance: Bounded) -> bool:
        """Say whether one distance reaches the threshold, noise included."""
        if type(distance) is not Bounded:
            raise TypeError(f"only Bounded distances are compared, not {type(distance).__name__}")
        if distance.size != 1 or distance.sensitivity.linf > self._sensitivity or distance.admission != 1:
            raise ValueError(f"{distance} is not one distance that moves by at most {self._sensitivity}")
        with self.exclusively():
            if self._left <= 0:
                raise GrantError("all large distances that were paid for are used up")
            self._left -= 1
            noise = int(draw(self._distributions.distance, 1, self._source)[0])
            large = int(distance.sensitive_values.ravel()[0]) + noise >= self._threshold
            self._left += not large
            return large
