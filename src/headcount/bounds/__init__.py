"""Contribution bounds: sealed measurements whose sensitivity (L1, L2, L∞) is fixed when a bound makes them.

A bound limits what one user adds and says how that is measured; engines run it. Measurements, and what maps and
scores make of them, carry how far one user joining or leaving moves them. The noise layer accepts nothing else,
and nothing outside this package can make one. Here are the names that most rooms use; others are in their modules.
"""

from headcount.bounds.bound import (
    FIXED_POINT,
    NO_SECRET,
    Bound,
    Counting,
    CountTable,
    Measured_co,
    Norm,
    check_limit,
    columns_of,
)
from headcount.bounds.bounded import ALL_USERS, Bounded, BoundedCounts, Noisy, Scored, Sensitivity
from headcount.bounds.counts.activity_histogram import ActivityHistogram
from headcount.bounds.counts.class_profile import ClassProfile
from headcount.bounds.counts.count_bound import CountBound, ItemSubset
from headcount.bounds.counts.keep_top_scored import KeepTopScored
from headcount.bounds.counts.sample_records import SampleRecords
from headcount.bounds.counts.weight_to_threshold import WeightToThreshold
from headcount.bounds.grid.linear_queries import LinearQueries

__all__ = [
    "ALL_USERS",
    "FIXED_POINT",
    "NO_SECRET",
    "ActivityHistogram",
    "Bound",
    "Bounded",
    "BoundedCounts",
    "ClassProfile",
    "CountBound",
    "CountTable",
    "Counting",
    "ItemSubset",
    "KeepTopScored",
    "LinearQueries",
    "Measured_co",
    "Noisy",
    "Norm",
    "SampleRecords",
    "Scored",
    "Sensitivity",
    "WeightToThreshold",
    "check_limit",
    "columns_of",
]
