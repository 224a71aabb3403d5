"""Top-k selection: k rounds of permute-and-flip with pure ε, or of the exponential mechanism with δ.

Each of K rounds chooses among the candidates that are left by permute-and-flip: they are gone through in random
order, and each stays with probability exp(-behind / scale), where behind counts from the best one left; the first
that stays is taken. No candidate is likelier to be far from the best than under the exponential mechanism at the
same price. Everything is drawn exactly, in integers.

With δ each round is a pick by the exponential mechanism. A candidate is drawn uniformly among those that are left,
and stays with the same probability; if it does not, one is drawn anew, those that failed among them. So candidates
are taken with probability in proportion to exp(-behind / scale). The scale grows with √K in place of K.

Why it is private
    A user who joins raises every utility by something between 0 and ``rise``. Permute-and-flip is the same as
    adding independent exponential noise of the given scale to every utility and taking the largest. Fix the noise
    of all but one candidate: if that one wins without the user when its noise is r, it wins with the user when its
    noise is r + rise, as no other has risen by more; and the other way round, since no other was lower.
    Exponential noise exceeds t + rise with at least e^(-rise / scale) times the probability with which it exceeds
    t. So a round at scale K · rise / ε is ε/K-differentially private, and K rounds, each given the outcome of
    those before, are ε-differentially private together. OpenDP's privacy map for such a choice confirms the scale.

    With δ, see :mod:`headcount.noise.selection.exponential_zcdp`: picks compose by ρ, which permute-and-flip does
    not.

    Long lists are held without the candidates that have no people; the law is the same: see
    :mod:`headcount.noise.selection.top_k_sparse`.

    As with every choice here, the time it takes depends on the data and must not be shown.

Reference
    R. McKenna, D. Sheldon. Permute-and-Flip: A New Mechanism for Differentially Private Selection. NeurIPS 2020.
    D. Durfee, R. Rogers. Practical Differentially Private Top-k Selection with Pay-what-you-get Composition.
    NeurIPS 2019, for choosing several one after the other.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from headcount.accounting.budget import Cost, Grant
from headcount.bounds import Scored
from headcount.bounds.counts.users_per_column import SparseScored
from headcount.errors import UsageError
from headcount.noise.laplace import scale_for
from headcount.noise.randomness import NoiseSource
from headcount.noise.selection import exponential_zcdp
from headcount.noise.selection.exponential import confirm
from headcount.noise.selection.top_k_sparse import draw_top_k_sparse

_BUFFER = 1 << 18  # words asked for at a time, at most
_WORDS_PER_FLIP = 4  # about what one flip uses


def choose_top_k(scored: Scored | SparseScored, k: int, grant: Grant, source: NoiseSource) -> list[int]:
    """Spend the grant on the ``k`` best candidates; return their indices, the one taken first in front."""
    if type(scored) not in (Scored, SparseScored):
        raise TypeError(f"a choice is made from Scored candidates alone, not from {type(scored).__name__}")
    if scored.rise is None:
        raise ValueError("candidates that a joining person may lower cannot be peeled off")
    if not 1 <= k <= scored.size:
        raise UsageError(f"k must lie between 1 and {scored.size:,}, the number of candidates", given=k)
    scale = _confirmed(k, scored.rise, grant.cost)
    grant.spend()
    parameters = k, scale.numerator, scale.denominator, source
    anew = grant.delta > 0
    if isinstance(scored, SparseScored):
        return draw_top_k_sparse(scored, *parameters, anew=anew)
    return draw(scored.sensitive_gaps, *parameters, anew=anew)


def _confirmed(k: int, rise: int, cost: Cost) -> Fraction:
    """Return the scale of ``k`` rounds at a price, by ρ if it has δ, once OpenDP has confirmed it."""
    if cost.delta:
        rho = cost.rho_of_rounds(k)
        scale = exponential_zcdp.scale_for_picks(k, rise, rho)
        exponential_zcdp.confirm(scale, k, rise, rho)
    else:
        scale = scale_for(k * rise, cost.exact)
        confirm(scale, k * rise, cost.exact)
    return scale


def draw(
    behind: NDArray[np.int32], k: int, numerator: int, denominator: int, source: NoiseSource, *, anew: bool = False
) -> list[int]:
    """Draw ``k`` different indices by as many rounds of permute-and-flip at scale ``numerator / denominator``.

    If each try is ``anew``, by as many picks of the exponential mechanism.
    """
    from headcount.noise.samplers.kernels import exponential

    order = np.arange(behind.size, dtype=np.int64)
    words = np.empty(0, dtype=np.uint32)
    ranked = iter(np.argsort(behind, kind="stable")[:k].tolist())
    taken: dict[int, None] = {}
    leader = next(ranked)
    for round_ in range(k):
        while leader in taken:
            leader = next(ranked)
        best, at = int(behind[leader]), round_
        while True:
            index, at, used = exponential.permute_and_flip(
                behind, best, numerator, denominator, order, round_, at, words, anew
            )  # fmt: skip
            words = words[used:]
            if index >= 0:
                break
            words = np.concatenate([words, source.words(min(_WORDS_PER_FLIP * behind.size + 64, _BUFFER))])
        taken[int(index)] = None
    return list(taken)
