"""Reference implementations of histogram, MWEM and PMW with NumPy noise, used to compare errors only."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rows = NDArray[np.bool_]


class Plain:
    """Answers 0/1 queries over a grid of a given shape; ``reach`` is what one group can add."""

    def __init__(
        self, counts: NDArray[np.int64], shape: tuple[int, ...], rows: Rows, reach: int, seed: int
    ) -> None:
        self.counts, self.shape, self.rows, self.reach = counts, shape, rows.astype(np.float64), reach
        self.draw = np.random.default_rng(seed)
        self.truth = self.rows @ counts

    def lap(self, scale: float, size: int | tuple[int, ...] = 1) -> Floats:
        """Discrete Laplace noise, as a difference of geometric ones."""
        chance = 1 - np.exp(-1 / scale)
        return np.asarray(self.draw.geometric(chance, size) - self.draw.geometric(chance, size), dtype=np.float64)

    def histogram(self, epsilon: float) -> Floats:
        return np.asarray(self.rows @ (self.counts + self.lap(self.reach / epsilon, self.counts.size)))

    def mwem(self, epsilon: float) -> Floats:
        total = self._total(0.05 * epsilon)
        rounds = min(int(0.3 * epsilon * np.sqrt(total) / (8 * self.reach)), 30, 4 * len(self.rows))
        table = self._start(total, (0.6 if rounds else 0.9) * epsilon)
        released: list[tuple[int, float]] = []
        for _ in range(rounds):
            round_budget = 0.3 * epsilon / (2 * rounds)
            apart = np.abs(self.truth - np.rint(self.rows @ table))
            worst = int(np.argmax(apart * round_budget / (2 * self.reach) + self.draw.gumbel(size=apart.size)))
            released.append((worst, self.truth[worst] + self.lap(self.reach / round_budget)[0]))
            table = self._mended(table, released, total)
        return np.asarray(self.rows @ table)

    def pmw(self, epsilon: float) -> Floats:
        total = self._total(0.05 * epsilon)
        table = self._start(total, 0.35 * epsilon)
        tests = 0.36 * epsilon
        most = max(1, min(int(tests * np.sqrt(total) / (16 * self.reach)), 20))
        first = tests / (1 + (2 * most) ** (2 / 3))
        scale = 2 * most * self.reach / (tests - first)
        limit = np.ceil(max(scale * np.log(max(2, len(self.rows))), 2 * np.sqrt(total)))
        noisy_limit = limit + self.lap(self.reach / first)[0]
        released: list[tuple[int, float]] = []
        answers = np.empty(len(self.rows))
        for place, row in enumerate(self.rows):
            answers[place] = row @ table
            if len(released) == most:
                continue
            if abs(self.truth[place] - np.rint(answers[place])) + self.lap(scale)[0] >= noisy_limit:
                answers[place] = self.truth[place] + self.lap(most * self.reach / (0.24 * epsilon))[0]
                released.append((place, answers[place]))
                table = self._mended(table, released, total)
        return answers

    def _total(self, epsilon: float) -> float:
        return max(1.0, float(self.counts.sum() + self.lap(self.reach / epsilon)[0]))

    def _mended(self, table: Floats, released: list[tuple[int, float]], total: float) -> Floats:
        for _ in range(10):
            for place, wanted in released[::-1]:
                step = np.exp((np.clip(wanted, 0, total) - self.rows[place] @ table) / (2 * total))
                table = np.where(self.rows[place] > 0, table * step, table)
                table = table * (total / table.sum())
        return table

    def _start(self, total: float, epsilon: float) -> Floats:
        columns = len(self.shape)
        for order in range(columns, 0, -1):
            choices = list(combinations(range(columns), order))
            scale = len(choices) * self.reach / epsilon
            largest = np.prod(sorted(self.shape)[-order:])
            if order == 1 or total / largest >= 4 * scale:
                break
        cells = self.counts.reshape(self.shape).astype(np.float64)
        wanted = []
        for kept in choices:
            others = tuple(axis for axis in range(columns) if axis not in kept)
            noisy = cells.sum(axis=others, keepdims=True)
            noisy = noisy + self.lap(scale, noisy.size).reshape(noisy.shape)
            counts = np.maximum(nearest(noisy.ravel(), total), np.sqrt(2) * scale / 16).reshape(noisy.shape)
            wanted.append((others, counts * (total / counts.sum())))
        table = np.full(self.shape, total / cells.size)
        for _ in range(20):
            for others, counts in wanted:
                table = table * (counts / table.sum(axis=others, keepdims=True))
        return np.asarray(table.ravel())


def nearest(counts: Floats, total: float) -> Floats:
    """The nearest counts that are not negative and sum to a total: what all are lowered by, found by halving."""
    low, high = counts.min() - total, counts.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(counts - middle, 0).sum() > total else (low, middle)
    return np.asarray(np.maximum(counts - low, 0))
