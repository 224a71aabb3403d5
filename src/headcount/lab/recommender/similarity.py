"""Item similarities over common users: Pearson correlation or cosine.

Both look at the co-raters alone: a user who rated one item and not the other says nothing. Means are those over
the co-raters. A correlation that is not defined, because there is one co-rater or one of the items does not vary,
is 0. Users are compared in the same way, with the ratings transposed.

Beside the similarity stands by how much it can change when one user leaves: what the thesis calls
recommendation-aware sensitivity, a local sensitivity. It is read from the data, and protects nobody.

Reference
    T. Zhu. Differential Privacy and Its Application. PhD thesis, Deakin University, 2014, equations 3.2.1, 3.2.2
    and 3.3.2, Lemma 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headcount._internal.arrays import Codes, Floats, Integers
from headcount.lab.recommender.ratings import Ratings

Metric = Literal["pcc", "cos"]
METRICS: tuple[Metric, ...] = ("pcc", "cos")
GLOBAL: Mapping[Metric, float] = {"pcc": 2.0, "cos": 1.0}
"""The most that one user can change: the whole range, -1 to 1 or 0 to 1."""

_NONE: Floats = np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Similarity:
    """Matrices of targets × items: similarity, the number of co-raters, and recommendation-aware sensitivity.

    Without ``targets``, which are in order, all items are. What was not asked for is empty. A pair without a
    co-rater has similarity 0; its sensitivity is 1, as that of a pair with one co-rater.
    """

    metric: Metric
    values: Floats
    overlap: Codes
    sensitivity: Floats
    targets: Codes | None = None

    def rows(self, items: Codes) -> Integers:
        """Return in which rows the items stand, which must be targets."""
        return items.astype(np.int64) if self.targets is None else np.searchsorted(self.targets, items)


def similarity(
    ratings: Ratings,
    metric: Metric,
    *,
    targets: Codes | None = None,
    overlap: bool = False,
    sensitivity: bool = False,
) -> Similarity:
    """Compare all items, or those that are named, with all others.

    >>> ratings = Ratings.from_pairs([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1, 2, 3, 3, 5, 4], n_items=2)
    >>> [round(float(similarity(ratings, metric).values[0, 1]), 3) for metric in METRICS]
    [1.0, 0.973]
    """
    from headcount.lab.recommender.kernels import compare

    by_item = ratings.transposed
    rows = np.arange(ratings.n_items) if targets is None else targets.astype(np.int64)
    shape = (rows.size, ratings.n_items)
    result = Similarity(
        metric,
        np.zeros(shape),
        np.zeros(shape if overlap else (0, 0), dtype=np.int32),
        np.zeros(shape) if sensitivity else _NONE,
        targets,
    )
    compare(
        rows, by_item.starts, by_item.items, by_item.values, ratings.starts, ratings.items, ratings.values,
        metric == "pcc", GLOBAL[metric], result.values, result.overlap, result.sensitivity,
    )  # fmt: skip
    return result
