"""Bounds, and the only door through which sensitive numbers reach noise.

Bounds say what one person may add at most; engines interpret them. What comes out, and what the maps and scores
here make of it, carries how far one person joining or leaving can move it. The noise layer accepts nothing else,
and nothing outside this package can make one.
"""

from headcount.bounding.bounded import (
    EVERYONE,
    Bounded,
    BoundedCounts,
    Noisy,
    Rows,
    Scored,
    Sensitivity,
)
from headcount.bounding.bounds import (
    FIXED_POINT,
    LARGEST_FACTOR,
    Bound,
    Counting,
    Leaning,
    Norm,
    Pick,
    Sample,
    SampleUsers,
    Scale,
    certify,
    certify_activity,
    check_limit,
    sensitivity,
)
from headcount.bounding.maps import (
    column,
    fourier,
    group_sums,
    head,
    inverse_fourier,
    inverse_walsh_hadamard,
    part,
    walsh_hadamard,
)
from headcount.bounding.scores import (
    HUNDREDTHS,
    capped_total_scores,
    check_candidates,
    count_scores,
    scaled_scores,
    tail_scores,
)
from headcount.bounding.support import Support, certify_support
from headcount.bounding.totals import BoundedTotals, FixedRange, certify_totals, unit_for

__all__ = [
    "EVERYONE",
    "FIXED_POINT",
    "HUNDREDTHS",
    "LARGEST_FACTOR",
    "Bound",
    "Bounded",
    "BoundedCounts",
    "BoundedTotals",
    "Counting",
    "FixedRange",
    "Leaning",
    "Noisy",
    "Norm",
    "Pick",
    "Rows",
    "Sample",
    "SampleUsers",
    "Scale",
    "Scored",
    "Sensitivity",
    "Support",
    "capped_total_scores",
    "certify",
    "certify_activity",
    "certify_support",
    "certify_totals",
    "check_candidates",
    "check_limit",
    "column",
    "count_scores",
    "fourier",
    "group_sums",
    "head",
    "inverse_fourier",
    "inverse_walsh_hadamard",
    "part",
    "scaled_scores",
    "sensitivity",
    "tail_scores",
    "unit_for",
    "walsh_hadamard",
]
