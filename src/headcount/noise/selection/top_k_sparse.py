"""Top-k selection over long candidate lists: candidates without users are held as one number.

A round of permute-and-flip goes through all candidates in random order, those without people too. The next one is
drawn uniformly among all that have not failed yet; that it is one of the z zeros among n candidates left has
probability z / n, and it stays or fails with the probability of any zero.

Why the law is the same
    All zeros are equally far behind, so exchanging two of them changes no probability. Given that some zero stays,
    each zero that was not taken before is therefore equally likely to be that one, whatever else was drawn; which
    zeros have failed shows nowhere and need not be known. So it is enough to count those that failed in a round,
    and to draw the name of one that stays uniformly among the zeros not taken yet. Where every try is anew, as
    with δ, none of them fails for good, and the same holds.

Memory follows the candidates that have people. The time of a round follows all candidates at worst: zeros are
tried one by one, as all others are; a round in which every zero fails tries all of them. Where tries are anew, a
round takes as many of them as there are candidates, or fewer, on average.
"""

from __future__ import annotations

from bisect import bisect_right, insort

import numpy as np
from numpy.typing import NDArray

from headcount.bounds.counts.users_per_column import SparseScored
from headcount.noise.randomness import NoiseSource

_BUFFER = 1 << 18  # words asked for at a time, at most
_WORDS_PER_FLIP = 4  # about what one flip uses


def draw_top_k_sparse(
    scored: SparseScored, k: int, numerator: int, denominator: int, source: NoiseSource, *, anew: bool = False
) -> list[int]:
    """Draw ``k`` different indices by as many rounds of permute-and-flip at scale ``numerator / denominator``.

    If each try is ``anew``, by as many picks of the exponential mechanism.
    """
    from headcount.noise.samplers.kernels import exponential

    behind, columns = scored.sensitive_gaps, scored.sensitive_columns
    order = np.arange(behind.size, dtype=np.int32)
    words = _Words(source, min(_WORDS_PER_FLIP * scored.size + 64, _BUFFER))
    zeros = Zeros(columns, scored.size)
    best_first = _smallest(behind, k)
    taken: dict[int, None] = {}  # of the candidates with people
    winners: list[int] = []
    for _ in range(k):
        leader = next((candidate for candidate in best_first if candidate not in taken), None)
        best = scored.sensitive_gap_of_zeros if leader is None else int(behind[leader])
        at, failed, index = len(taken), 0, -1
        while True:
            index, at, failed, used = exponential.permute_and_flip_with_zeros(
                behind, best, numerator, denominator, order, len(taken), at, scored.sensitive_gap_of_zeros,
                zeros.left, failed, words.left, anew,
            )  # fmt: skip
            words.use(used)
            if index >= 0:
                break
            words.more()
        if index < behind.size:
            taken[int(index)] = None
            winners.append(int(columns[index]))
        else:
            winners.append(zeros.take(words.uniform_below(zeros.left)))
    return winners


class Zeros:
    """The places below ``size`` that are not among ``columns``, which rise, and have not been taken.

    >>> zeros = Zeros(np.array([1, 2, 5], np.int32), 8)  # 0, 3, 4, 6 and 7
    >>> zeros.take(3), zeros.take(1), zeros.take(2), zeros.left
    (6, 3, 7, 2)
    """

    def __init__(self, columns: NDArray[np.int32], size: int) -> None:
        self._columns = columns
        self._taken: list[int] = []  # as numbers among all zeros, rising
        self.left = size - columns.size

    def take(self, number: int) -> int:
        """Take the zero with this number among those that are left, counted from 0."""
        for taken_number in self._taken:
            if taken_number > number:
                break
            number += 1
        insort(self._taken, number)
        self.left -= 1
        # columns[i] - i zeros lie before the i-th column
        before = bisect_right(range(self._columns.size), number, key=lambda i: int(self._columns[i]) - i)
        return number + before


class _Words:
    """Random words, asked for in good time and used up from the front."""

    def __init__(self, source: NoiseSource, wanted: int) -> None:
        self._source, self._wanted = source, wanted
        self.left = np.empty(0, dtype=np.uint32)

    def use(self, count: int) -> None:
        self.left = self.left[count:]

    def more(self) -> None:
        self.left = np.concatenate([self.left, self._source.words(self._wanted)])

    def uniform_below(self, bound: int) -> int:
        from headcount.noise.samplers.kernels import exponential

        while True:
            drawn, used = exponential.uniform_below(bound, self.left)
            self.use(used)
            if drawn >= 0:
                return int(drawn)
            self.more()


def _smallest(behind: NDArray[np.int32], k: int) -> list[int]:
    """Return the places of the ``k`` smallest gaps, the smallest first."""
    if k < behind.size:
        places = np.argpartition(behind, k)[:k]
        return [int(place) for place in places[np.argsort(behind[places], kind="stable")]]
    return [int(place) for place in np.argsort(behind, kind="stable")]
