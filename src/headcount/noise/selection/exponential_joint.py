"""The exponential mechanism over ordered rows of cells (several quantiles jointly), by rejection sampling.

A row t is drawn with probability proportional to exp(-u(t) / scale). The cells of a row are drawn one by one, each
with probability proportional to exp(-w · d / scale), d being how far off it is by itself; a row that is not in
order is dropped. One that is in order stays with probability exp(-(u - w · Σ d) / scale), which is a probability,
as u is at least w · Σ d: :mod:`headcount.bounds.scores.joint_quantile_scores`. So what stays has just the law
that is asked for. All arithmetic is in integers and fractions; scales of single cells are rounded up and gaps are
cut, which makes their part smaller, and the other one larger by as much.

Of three quantiles about one row in eight stays where values are dense, of four one in forty. As with every choice
here, the time it takes depends on the data and must not be shown.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Words
from headcount.bounds.scores.joint_quantile_scores import ScoredJointly
from headcount.noise.laplace import scale_for
from headcount.noise.randomness import NoiseSource

_WORDS = 1 << 12  # asked for at a time
_BITS = 32


class _Stream:
    """The words of a source, one after the other."""

    def __init__(self, source: NoiseSource) -> None:
        self._source = source
        self._words: Words = np.empty(0, dtype=np.uint32)

    def choice(self, behind: NDArray[np.int32], scale: Fraction) -> int:
        """Draw an index with probability proportional to exp(-behind / scale)."""
        from headcount.noise.samplers.kernels import exponential

        while True:
            index, used = exponential.exponential_choice(behind, scale.numerator, scale.denominator, self._words)
            self._words = self._words[used:]
            if index >= 0:
                return int(index)
            self._words = np.concatenate([self._words, self._source.words(_WORDS)])

    def word(self) -> int:
        """Take one word."""
        if not self._words.size:
            self._words = self._source.words(_WORDS)
        word, self._words = int(self._words[0]), self._words[1:]
        return word


def draw_row(scored: ScoredJointly, scale: Fraction, source: NoiseSource) -> tuple[int, ...]:
    """Draw a row of cells with probability proportional to exp(-off / scale)."""
    stream = _Stream(source)
    single_scale = scale_for(1, scored.even_weight / scale)
    while True:
        row, gap_sum = list[int](), 0
        for behind in scored.sensitive_singles:
            row.append(stream.choice(behind, single_scale))
            gap_sum += int(behind[row[-1]])
            if row[-1] < row[max(len(row) - 2, 0)]:
                break
        else:
            if _stays(scored.sensitive_gap_of_row(row) / scale - gap_sum / single_scale, stream):
                return tuple(row)


def _stays(exponent: Fraction, stream: _Stream) -> bool:
    """Say yes with probability exp(-exponent), exactly."""
    if exponent < 0:
        raise ValueError(f"exp({-exponent}) is no probability")
    while exponent > 1:
        if not _stays(Fraction(1), stream):
            return False
        exponent -= 1
    # the number of trials that go well in a row, the k-th with probability exponent / k, is even so often
    return next(k for k in count(1) if not _happens(exponent / k, stream)) % 2 == 1


def _happens(chance: Fraction, stream: _Stream) -> bool:
    """Say yes with a probability, exactly: compare random digits with its own until they differ."""
    if chance == 1:
        return True
    rest = chance.numerator
    while True:
        digit, rest = divmod(rest << _BITS, chance.denominator)
        word = stream.word()
        if word != digit:
            return word < digit
        if not rest:
            return False
