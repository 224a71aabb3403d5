"""Outcome sets on which two output distributions may differ: chosen on some runs and judged on others.

What is seen of a run is its *kind* (everything that is public and no number: the noise that was drawn, what was
chosen, a ranking) and its numbers. Sets are made by thresholds of scores, which are simple functions of the
numbers, and by kinds. A score that suits Laplace noise is the likelihood ratio of its density around two centres;
one that catches floating-point noise is the lowest bit of a number: adding 1 to a small number rounds its last
bits away. Differences of two numbers catch noise that they share.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Floats

Mask = NDArray[np.bool_]

MISSING = -1e9
"""Stands for a number that was not released, such as the count of an item that was not selected."""

NO_NUMBER = -2e9
"""Stands for what is no number, which can be seen as well."""

FAILED = "failed: "
"""What a kind begins with where there was no release, only an error."""

_CAREFUL = 2.0  # standard deviations by which estimates are on the safe side
_THRESHOLDS = 400
_FEW = 20  # runs that an outcome must at least have come of
_MOST_KINDS = 3
_FEW_NUMBERS = 8  # up to so many are compared with each other, and looked at bit by bit


@dataclass(frozen=True)
class Observations:
    """What is seen of many runs: their kinds, and one row of numbers each; ``names`` says what they are of."""

    kinds: NDArray[np.str_]
    numbers: Floats
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.kinds)

    @classmethod
    def failed(cls, error: str) -> Observations:
        """Return what is seen of a run that ended with an error: that it did, and no number.

        >>> Observations.joined([Observations.failed("DataError"), Observations(np.array(["a"]), np.ones((1, 1)))])
        Observations(kinds=array(['failed: DataError', 'a'], dtype='<U17'), numbers=array([[-1.e+09],
               [ 1.e+00]]), names=())
        """
        return cls(np.array([f"{FAILED}{error}"]), np.empty((1, 0)))

    @cached_property
    def one_kind(self) -> bool:
        """Whether all runs are of the same kind; many strings are slow to sort, and quick to compare with one."""
        return bool((self.kinds[1:] == self.kinds[:-1]).all())

    @property
    def all_failed(self) -> bool:
        """Whether there was no release at all."""
        return bool(np.char.startswith(self.kinds, FAILED).all())

    @classmethod
    def joined(cls, parts: list[Observations]) -> Observations:
        """Put runs together; those that failed have no numbers, where the others have some."""
        kinds = np.concatenate([part.kinds for part in parts])
        widest = max(parts, key=lambda part: part.numbers.shape[1])
        return cls(kinds, np.concatenate([part.wide(widest.numbers.shape[1]) for part in parts]), widest.names)

    def last(self, runs: int) -> Observations:
        """Return the last runs, at most so many."""
        return Observations(self.kinds[-runs:], self.numbers[-runs:], self.names)

    def wide(self, width: int) -> Floats:
        """Return the numbers; runs of which none was released have as many as others, all missing."""
        return self.numbers if self.numbers.shape[1] else np.full((len(self), width), MISSING)


@dataclass(frozen=True)
class Score:
    """A number made of a run's numbers."""

    name: str
    weights: tuple[float, ...] = ()
    centres: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    low_bit_of: int | None = None

    def project(self, numbers: Floats) -> Floats:
        """Return the score of every run."""
        if self.low_bit_of is not None:
            return lowest_bit(numbers[:, self.low_bit_of])
        if self.centres is not None:
            here, there = (np.array(centre) for centre in self.centres)
            return np.asarray((np.abs(numbers - here) - np.abs(numbers - there)).sum(axis=1), dtype=np.float64)
        return np.asarray(numbers @ np.array(self.weights), dtype=np.float64)


@dataclass(frozen=True)
class OutcomeSet:
    """What a run may come to: of some kinds, with a score on one side of a threshold, or both.

    >>> runs = Observations(np.array(["a", "a", "b"]), np.array([[1.0], [5.0], [9.0]]))
    >>> OutcomeSet(kinds=("a",), score=Score("count 1", (1.0,)), threshold=5.0).contains(runs).tolist()
    [False, True, False]
    """

    kinds: tuple[str, ...] | None = None
    score: Score | None = None
    threshold: float = 0.0
    above: bool = True

    def contains(self, runs: Observations) -> Mask:
        """Say of every run whether it is in the set."""
        is_inside = np.ones(len(runs), dtype=bool) if self.kinds is None else np.isin(runs.kinds, self.kinds)
        if self.score is None:
            return is_inside
        if not runs.numbers.shape[1]:  # all of them failed
            return np.zeros(len(runs), dtype=bool)
        scores = self.score.project(runs.numbers)
        return np.asarray(is_inside & ((scores >= self.threshold) if self.above else (scores <= self.threshold)))

    def in_words(self) -> str:
        """Say what must happen."""
        words = []
        if self.score is not None:
            words.append(f"{self.score.name} is {'at least' if self.above else 'at most'} {self.threshold:g}")
        if self.kinds is not None:
            shown = " or ".join(self.kinds[:3]) + (f", or {len(self.kinds) - 3} others" if self.kinds[3:] else "")
            words.append(f"published is {shown}")
        return " and ".join(words)


def lowest_bit(numbers: Floats) -> Floats:
    """Return the place of the lowest bit that is set: 0 for odd whole numbers, -1 for odd halves.

    >>> lowest_bit(np.array([3.0, 8.0, 0.5, 0.0])).tolist()
    [0.0, 3.0, -1.0, 64.0]
    """
    mantissas, exponents = np.frexp(numbers)
    whole = (mantissas * (1 << 53)).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(whole == 0, 64.0, exponents - 53 + lowest)


def choose_outcomes(often: Observations, rarely: Observations, most: int) -> list[OutcomeSet]:
    """Return the outcomes that look most like happening more often in one log than in the other."""
    candidates = [(value, outcome) for outcome, value in _candidates(often, rarely) if value > -np.inf]
    return [outcome for _, outcome in sorted(candidates, key=lambda candidate: -candidate[0])[:most]]


def _candidates(often: Observations, rarely: Observations) -> Iterator[tuple[OutcomeSet, float]]:
    yield from _of_kinds(often, rarely)
    yield from _best_thresholds(often, rarely, None)
    if not often.one_kind:
        kinds, counts = np.unique(often.kinds, return_counts=True)
        for kind in kinds[np.argsort(-counts, kind="stable")][:_MOST_KINDS]:
            yield from _best_thresholds(often, rarely, (str(kind),))


def _of_kinds(often: Observations, rarely: Observations) -> Iterator[tuple[OutcomeSet, float]]:
    """Sets of kinds: those that are the more likely in one log, in the order of how much more."""
    if often.one_kind and rarely.one_kind and often.kinds[0] == rarely.kinds[0]:
        return
    kinds, codes = np.unique(np.concatenate([often.kinds, rarely.kinds]), return_inverse=True)
    if len(kinds) > len(often) / 4:
        return
    here = np.bincount(codes[: len(often)], minlength=len(kinds))
    there = np.bincount(codes[len(often) :], minlength=len(kinds))
    order = np.argsort(-(here + 1) / (there + 1), kind="stable")
    values = careful(np.cumsum(here[order]), len(often), np.cumsum(there[order]), len(rarely))
    best = int(np.argmax(values))
    yield OutcomeSet(kinds=tuple(str(kind) for kind in kinds[order[: best + 1]])), float(values[best])


def _best_thresholds(
    often: Observations, rarely: Observations, kinds: tuple[str, ...] | None
) -> Iterator[tuple[OutcomeSet, float]]:
    """The best threshold of each score, from either side."""
    here, there = (_numbers(runs, kinds) for runs in (often, rarely))
    if not len(here) or not here.shape[1]:
        return
    there = there if there.shape[1] else np.empty((0, here.shape[1]))
    for score in _scores(here, there if len(there) else here, often.names):
        ours, theirs = np.sort(score.project(here)), np.sort(score.project(there))
        thresholds = np.unique(np.concatenate([_thresholds(side) for side in (ours, theirs) if len(side)]))
        for above in (True, False):
            if above:
                hits = [len(side) - np.searchsorted(side, thresholds, side="left") for side in (ours, theirs)]
            else:
                hits = [np.searchsorted(side, thresholds, side="right") for side in (ours, theirs)]
            values = careful(hits[0], len(often), hits[1], len(rarely))
            best = int(np.argmax(values))
            yield OutcomeSet(kinds, score, float(thresholds[best]), above), float(values[best])


def _numbers(runs: Observations, kinds: tuple[str, ...] | None) -> Floats:
    return runs.numbers if kinds is None else runs.numbers[np.isin(runs.kinds, kinds)]


def _thresholds(rising: Floats) -> Floats:
    """Return values that divide sorted ones into even parts.

    >>> _thresholds(np.arange(1000.0))[[0, 1, -1]].tolist()
    [0.0, 2.0, 999.0]
    """
    places = np.ceil(np.linspace(0, 1, _THRESHOLDS) * rising.size).astype(np.int64) - 1
    return rising[np.maximum(places, 0)]


def _scores(here: Floats, there: Floats, names: tuple[str, ...]) -> Iterator[Score]:
    width, fractions = here.shape[1], np.flatnonzero((here != np.round(here)).any(axis=0)).tolist()
    for place in range(width):
        yield Score(names[place], tuple(float(place == other) for other in range(width)))
    if width > 1:
        yield Score("the sum of all numbers", (1.0,) * width)
    centres = tuple(tuple(np.median(numbers, axis=0).tolist()) for numbers in (there, here))
    if centres[0] != centres[1]:
        yield Score("the likelihood ratio around the medians", centres=(centres[0], centres[1]))
    if width <= _FEW_NUMBERS:
        for first, other in itertools.combinations(range(width), 2):
            weights = tuple(float(place == first) - float(place == other) for place in range(width))
            yield Score(f"{names[first]} less {names[other]}", weights)
    for place in range(width) if width <= _FEW_NUMBERS else fractions:
        yield Score(f"the lowest bit of {names[place]}", low_bit_of=place)


def careful(here: NDArray[np.int64], ours: int, there: NDArray[np.int64], theirs: int) -> Floats:
    """Estimate the logarithm of the ratio of two probabilities, a little on the safe side."""
    p, q = here / ours, there / theirs
    low = p - _CAREFUL * np.sqrt(p * (1 - p) / ours)
    high = q + _CAREFUL * np.sqrt(q * (1 - q) / theirs) + _CAREFUL**2 / theirs
    return np.where((here >= _FEW) & (low > 0), np.log(np.maximum(low, 1e-300) / high), -np.inf)
