"""Eigenvectors of symmetric matrices with a fixed sign, the same on every machine.

An eigenvector is as good as its opposite, and which of both a library returns hangs on the processor. Models have
them in their files: what is released from the same noise should be the same everywhere.
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Floats


def signed_eigenvectors(table: Floats) -> tuple[Floats, Floats]:
    """Return eigenvalues in rising order, and eigenvectors as columns: the largest part of each is positive.

    >>> values, vectors = signed_eigenvectors(np.array([[2.0, -1.0], [-1.0, 1.0]]))
    >>> values.round(3).tolist(), vectors.round(3).tolist()
    ([0.382, 2.618], [[0.526, 0.851], [0.851, -0.526]])
    """
    values, vectors = np.linalg.eigh(table)
    if not vectors.size:
        return values, vectors
    largest = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[largest, np.arange(values.size)])
    return values, vectors * signs
