"""Compiled item similarities and top-k selection.

How alike two items are, and by how much one user less would change that: for item i the kernel walks over its
raters, and over all that each of these rated, so that every item j that shares a rater with i is met once for each
user who rated both. That is Σ (ratings of a user)² steps for all pairs, and no pair without a common rater is
touched.
"""

from __future__ import annotations

import math

import numpy as np

from headcount._internal.arrays import Codes, Floats, Integers
from headcount._internal.compiled import Word, compiled, inlined

_NOTHING = 1e-12  # of a sum of squares: what is left of it by rounding alone


@inlined
def _cosine(ii: Word, jj: Word, ij: Word) -> Word:
    """Return the cosine from sums over co-raters; 0 where it is not defined."""
    below = ii * jj
    return min(1.0, ij / math.sqrt(below)) if below > 0.0 else 0.0


@inlined
def _pearson(n: Word, i: Word, j: Word, ii: Word, jj: Word, ij: Word) -> Word:
    """Return the correlation from sums over co-raters; 0 where one of both does not vary."""
    left, right = n * ii - i * i, n * jj - j * j
    if left <= _NOTHING * n * ii or right <= _NOTHING * n * jj:
        return 0.0
    return min(1.0, max(-1.0, (n * ij - i * j) / math.sqrt(left * right)))


@inlined
def _cosine_bound(r: Word, t: Word, ii: Word, jj: Word, ij: Word, most: Word) -> Word:
    """Return Lemma 1 for one co-rater with ratings r and t: both terms, the second as the proof has it."""
    without = math.sqrt(max(0.0, ii - r * r)) * math.sqrt(max(0.0, jj - t * t))
    whole = math.sqrt(ii) * math.sqrt(jj)
    if without <= 0.0 or whole <= 0.0:
        return most
    return min(most, max(r * t / without, ij * (whole - without) / (whole * without)))


@compiled
def compare(
    targets: Integers,
    item_starts: Integers,
    raters: Codes,
    given: Floats,
    user_starts: Integers,
    items: Codes,
    values: Floats,
    correlated: bool,
    most: float,
    similarity: Floats,
    overlap: Codes,
    sensitivity: Floats,
) -> None:
    """Fill one row of the matrices for each target; those that are empty (0 × 0) are not wanted.

    ``most`` is the largest change that there can be. One co-rater, or none, makes a sensitivity of 1.
    """
    size = item_starts.size - 1
    sums = np.zeros((6, size))
    n, si, sj, sii, sjj, sij = sums[0], sums[1], sums[2], sums[3], sums[4], sums[5]
    for row in range(targets.size):
        i = targets[row]
        for p in range(item_starts[i], item_starts[i + 1]):
            r = given[p]
            for q in range(user_starts[raters[p]], user_starts[raters[p] + 1]):
                j, t = items[q], values[q]
                n[j] += 1.0
                si[j] += r
                sj[j] += t
                sii[j] += r * r
                sjj[j] += t * t
                sij[j] += r * t
        for j in range(size):
            if n[j] > 0.0 and j != i:
                if correlated:
                    similarity[row, j] = _pearson(n[j], si[j], sj[j], sii[j], sjj[j], sij[j])
                else:
                    similarity[row, j] = _cosine(sii[j], sjj[j], sij[j])
                if overlap.size:
                    overlap[row, j] = np.int32(n[j])
        if sensitivity.size:
            for p in range(item_starts[i], item_starts[i + 1]):
                r = given[p]
                for q in range(user_starts[raters[p]], user_starts[raters[p] + 1]):
                    j, t = items[q], values[q]
                    if j == i:
                        continue
                    if n[j] < 2.0:
                        change = 1.0
                    elif correlated:
                        less = _pearson(
                            n[j] - 1.0, si[j] - r, sj[j] - t, sii[j] - r * r, sjj[j] - t * t, sij[j] - r * t
                        )
                        change = abs(similarity[row, j] - less)
                    else:
                        change = _cosine_bound(r, t, sii[j], sjj[j], sij[j], most)
                    sensitivity[row, j] = max(sensitivity[row, j], change)
            for j in range(size):
                if n[j] == 0.0:
                    sensitivity[row, j] = 1.0
        sums[:] = 0.0


@compiled
def largest(starts: Integers, scores: Floats, k: int, places: Integers) -> int:
    """Write the places of the k largest scores of each segment, largest first, and return how many there are.

    Of equal scores the first counts as larger.
    """
    held = np.empty(k)
    done = 0
    for segment in range(starts.size - 1):
        many = 0
        for place in range(starts[segment], starts[segment + 1]):
            score = scores[place]
            if many == k and not score > held[k - 1]:
                continue
            many = min(many + 1, k)
            at = many - 1
            while at > 0 and score > held[at - 1]:
                held[at] = held[at - 1]
                places[done + at] = places[done + at - 1]
                at -= 1
            held[at] = score
            places[done + at] = place
        done += many
    return done
