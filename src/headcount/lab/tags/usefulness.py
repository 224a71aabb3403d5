"""(α, δ)-usefulness of PriTop: when a user's semantic loss stays below α with probability 1 - δ.

Neither condition is of use as printed. The proof of theorem 4.4.1 takes the chance that one draw of noise exceeds
α, a share, for the chance that all K together delete more than that share of a person's tags. Theorem 4.4.2 is
Markov's inequality, and its Q is at least the number of tags in a topic: it speaks of topics with hardly any
choice.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, section 4.4.2.
"""

from __future__ import annotations

import math


def enough_tags(topics: int, epsilon: float, alpha: float, delta: float) -> float:
    """Return how many tags a person must have for the perturbation to be useful, by theorem 4.4.1.

    >>> round(enough_tags(10, epsilon=1, alpha=0.1, delta=0.5), 1)
    19.5
    """
    return topics * math.exp(-epsilon * alpha / 4) / delta


def largest_factor(epsilon: float, alpha: float, delta: float) -> float:
    """Return the largest Q, the sum of exp(ε q / 8) over a topic, for the selection to be useful by theorem 4.4.2.

    >>> round(largest_factor(epsilon=1, alpha=0.5, delta=0.5), 2)
    1.51
    """
    return math.exp(epsilon / 8) / (1 - delta * alpha)
