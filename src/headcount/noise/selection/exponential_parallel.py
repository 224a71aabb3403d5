"""Parallel exponential choices: one candidate in each of several disjoint parts, at one cost.

In each part one candidate is chosen by permute-and-flip, at the scale spread / ε of that part, exactly and in
integers: see :mod:`headcount.noise.selection.top_k`. Where the candidates of a part are rows of cells, too many
to go through, one is chosen by the exponential mechanism, at the same scale: see
:mod:`headcount.noise.selection.exponential_joint`.

Why it is private
    Permute-and-flip is the same as adding independent exponential noise of the given scale to every utility and
    taking the largest. Let a person who joins or leaves move two candidates of part i by at most s_i differently.
    Fix the noise of all candidates but one: if that one wins with noise r, it wins without, or with, the person
    when its noise is r + s_i, as no other has gained more than s_i on it. Exponential noise exceeds t + s_i with
    at least e^(-s_i / scale_i) times the probability with which it exceeds t. So the probability of each choice
    changes by a factor of at most e^(s_i / scale_i) = e^(ε · s_i / spread_i). That of the exponential mechanism
    does, too: see :mod:`headcount.noise.selection.exponential`.

    The choices are independent of each other, and :class:`~headcount.bounds.ScoredTogether` promises that the
    s_i / spread_i of one person sum to 1 at most: together the probability changes by a factor of at most e^ε.
    OpenDP's privacy map for such a choice confirms each scale.

    As with every choice here, the time it takes depends on the data and must not be shown.

Reference
    R. McKenna, D. Sheldon. Permute-and-Flip: A New Mechanism for Differentially Private Selection. NeurIPS 2020.
"""

from __future__ import annotations

from headcount.accounting.budget import Grant
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly
from headcount.bounds.scores.quantile_scores import ScoredTogether
from headcount.noise.laplace import scale_for
from headcount.noise.randomness import NoiseSource
from headcount.noise.selection.exponential import confirm
from headcount.noise.selection.exponential_joint import draw_row
from headcount.noise.selection.top_k import draw


def choose_in_parallel(scored: ScoredTogether, grant: Grant, source: NoiseSource) -> list[tuple[int, ...]]:
    """Spend the grant on the choice of one candidate of each part; return their indices, or rows of cells."""
    if type(scored) is not ScoredTogether:
        raise TypeError(f"several choices are made from ScoredTogether alone, not from {type(scored).__name__}")
    grant.cost.check_pure("permute-and-flip")
    scales = {spread: scale_for(spread, grant.exact) for spread in {part.spread for part in scored.parts}}
    for spread, scale in scales.items():
        confirm(scale, spread, grant.exact)
    grant.spend()
    return [
        draw_row(part, scales[part.spread], source)
        if isinstance(part, ScoredJointly)
        else tuple(draw(part.sensitive_gaps, 1, *scales[part.spread].as_integer_ratio(), source))
        for part in scored.parts
    ]
