"""The options of methods, as keywords: ``tools/option_types.py`` writes them from the methods."""

from __future__ import annotations

from typing import Any, Literal, TypedDict


class ReleaseOptions(TypedDict, total=False):
    """Options of the methods of counts.

    choice: of dpsense-published, dpsense-s-published
    d: of hpa
    integers: of adaptive
    repeats: of dpsense, dpsense-published, dpsense-s, dpsense-s-published
    sampling: of gs, gs-published, gs-s, gs-s-published
    scores: of hpa
    """

    choice: Any
    d: int
    integers: bool
    repeats: int
    sampling: Literal["column", "row", "none"]
    scores: Any


class QueryOptions(TypedDict, total=False):
    """Options of the methods of queries.

    consistent: of histogram, residuals
    coupling: of cim-published
    degrees: of cim-published
    delta0: of cim-published
    eta: of cim-published
    expected: of pmw
    rounds: of mwem
    threshold: of cim-published
    updates: of pmw
    """

    consistent: bool
    coupling: str | None
    degrees: str | None
    delta0: float
    eta: float
    expected: int | None
    rounds: int | None
    threshold: float
    updates: int | None


class TagsOptions(TypedDict, total=False):
    """Options of the methods of tags.

    kept: of suppression-published
    topics: of pritop-published
    """

    kept: float
    topics: int


class RecommenderOptions(TypedDict, total=False):
    """Options of the methods of neighbours.

    by: of pncf-predictions-published
    items: of co-counts
    k: of pncf-predictions-published, pncf-published
    metric: of pncf-predictions-published, pncf-published
    perturbation: of pncf-predictions-published
    refine: of private
    relations: of private
    sampling: of co-counts
    """

    by: Literal["item", "user"]
    items: int
    k: int
    metric: Literal["pcc", "cos"]
    perturbation: Literal["equation", "algorithm"]
    refine: bool | None
    relations: bool | None
    sampling: Literal["sra", "hpa"] | None
