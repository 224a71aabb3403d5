"""The doorway to OpenDP: its samplers for short vectors, and its privacy maps that confirm ours.

Its modules are imported one by one, and when they are first needed: its prelude imports every extra that happens
to be installed as well, such as Polars and SciPy, and that takes longer than a release.
"""

from __future__ import annotations

from typing import Any, Literal

_Measure = Literal["max_divergence", "zero_concentrated_divergence"]


def laplace(scale: float) -> Any:
    """Return OpenDP's discrete Laplace noise on a vector of whole numbers.

    >>> laplace(2.0).map(1)
    0.5
    """
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance

    return make_laplace(_whole_vectors(), l1_distance(T="i64"), scale=scale)


def gaussian(scale: float) -> Any:
    """Return OpenDP's discrete Gaussian noise on a vector of whole numbers.

    >>> gaussian(2.0).map(1.0)
    0.125
    """
    from opendp.measurements import make_gaussian
    from opendp.metrics import l2_distance

    return make_gaussian(_whole_vectors(), l2_distance(T="f64"), scale=scale)


def approximate(noise: Any) -> Any:
    """Return the same noise, its promise as a curve of ε and δ.

    >>> round(approximate(gaussian(2.0)).map(1.0).epsilon(1e-6), 3)
    2.419
    """
    from opendp.combinators import make_zCDP_to_approxDP

    return make_zCDP_to_approxDP(noise)


def noisy_max(measure: _Measure, scale: float) -> Any:
    """Return OpenDP's choice of the largest of whole numbers that all move in one direction.

    >>> noisy_max("max_divergence", 2.0).map(1)
    0.5
    """
    from opendp import measures
    from opendp.measurements import make_noisy_max
    from opendp.metrics import linf_distance

    space = _whole_vectors(), linf_distance(T="i64", monotonic=True)
    return make_noisy_max(*space, getattr(measures, measure)(), scale=scale)


def _whole_vectors() -> Any:
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))
