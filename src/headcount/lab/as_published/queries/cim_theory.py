"""Formulas of chapter 5 about CIM: its number of updates and its error bound.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014; lemmas 4 and 5,
    corollary 2 and theorem 5.5.1.
"""

from __future__ import annotations

from math import log

import numpy as np

from headcount._internal.arrays import Floats


def most_updates(eta: float, delta0: float, cells: int) -> float:
    """Return u_max of lemma 4, equation 5.4.5.

    >>> round(most_updates(7.0, 0.6, 65_536), 2)
    0.63
    """
    return log(max(2, cells)) / (eta**2 * delta0**2)


def round_epsilon(epsilon: float, eta: float, delta0: float, cells: int) -> float:
    """Return ε₀ of equation 5.4.7: what each update may use up if there are u_max of them.

    >>> round(round_epsilon(1.0, 7.0, 0.6, 65_536), 2)
    1.59
    """
    return epsilon / most_updates(eta, delta0, cells)


def update_probabilities(threshold: float, alpha: float, scales: Floats) -> Floats:
    """Return ρ₁ of lemma 5, equation 5.4.8, for noise of these scales CS_q / ε₀.

    ``alpha`` bounds how far the table's answers are off. The proof has T - α, which says something where T is
    larger; the equation has the absolute value, as here.

    >>> update_probabilities(0.3, 0.1, np.array([0.1])).round(4).tolist()
    [0.1353]
    """
    return np.exp(-abs(threshold - alpha) / scales)


def accuracy(threshold: float, beta: float, scale: float, rounds: int) -> float:
    """Return the largest α that theorem 5.5.1 can ask for: the error that at most a share β of runs exceed.

    It hangs on ρ₁ ρ₂ = ρ₁ (1 - ρ₁), which is at most ¼.

    >>> round(accuracy(0.3, 0.05, 0.01, 10_000), 4)
    0.2041
    """
    return scale / 2 * log(rounds / (4 * beta)) + threshold / 2
