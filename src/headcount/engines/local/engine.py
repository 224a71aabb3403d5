"""The local engine: compiled kernels over grouped records, equal to the reference draw for draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headcount.bounds import (
    ActivityHistogram,
    Bound,
    CenteredCooccurrence,
    ClassProfile,
    DistinctItemsSign,
    FactorGradients,
    GroupCells,
    KeepTopScored,
    KeySupport,
    KeyWeights,
    Marginals,
    Measured_co,
    Raters,
    RatingCovariance,
    RatingOffsets,
    RecordCap,
    SampledItemPairs,
    SampleRecords,
    SampleUsers,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
    TopItemCounts,
    UserGroups,
    UsersPerColumn,
    UserTotals,
    UserValues,
    WeightToThreshold,
)
from headcount.engines.local.measures.centered_cooccurrence import measure_centered_cooccurrence
from headcount.engines.local.measures.counts import (
    measure_activity_histogram,
    measure_class_profile,
    measure_counts,
    measure_record_cap,
    measure_sampled_item_pairs,
    measure_top_item_counts,
    measure_users_per_column,
)
from headcount.engines.local.measures.factor_gradients import measure_factor_gradients
from headcount.engines.local.measures.group_cells import measure_group_cells
from headcount.engines.local.measures.key_support import measure_key_support
from headcount.engines.local.measures.key_weights import measure_distinct_items_sign, measure_key_weights
from headcount.engines.local.measures.marginals import measure_marginals
from headcount.engines.local.measures.rating_sums import (
    measure_raters,
    measure_rating_covariance,
    measure_rating_offsets,
)
from headcount.engines.local.measures.tag_weights import measure_tags
from headcount.engines.local.measures.user_totals import measure_user_totals
from headcount.engines.local.measures.value_histograms import measure_user_groups, measure_user_values
from headcount.engines.local.runner import LocalRunner
from headcount.events.log import EventLog

MEASURES: Mapping[type[Bound[Any]], Callable[..., Any]] = {
    SampleRecords: measure_counts,
    SampleUsers: measure_counts,
    KeepTopScored: measure_counts,
    WeightToThreshold: measure_counts,
    ActivityHistogram: measure_activity_histogram,
    ClassProfile: measure_class_profile,
    TopItemCounts: measure_top_item_counts,
    RecordCap: measure_record_cap,
    UsersPerColumn: measure_users_per_column,
    KeySupport: measure_key_support,
    KeyWeights: measure_key_weights,
    DistinctItemsSign: measure_distinct_items_sign,
    UserGroups: measure_user_groups,
    UserTotals: measure_user_totals,
    UserValues: measure_user_values,
    GroupCells: measure_group_cells,
    Marginals: measure_marginals,
    Raters: measure_raters,
    RatingOffsets: measure_rating_offsets,
    RatingCovariance: measure_rating_covariance,
    SampledItemPairs: measure_sampled_item_pairs,
    CenteredCooccurrence: measure_centered_cooccurrence,
    FactorGradients: measure_factor_gradients,
    Taggers: measure_tags,
    TagWeights: measure_tags,
    TagMarginals: measure_tags,
    TagPairs: measure_tags,
}
"""How each kind of bound is measured."""


@dataclass
class LocalEngine(LocalRunner):
    """Measures with ``threads`` threads and ``memory`` bytes of packed records; neither changes the result.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> LocalEngine().measure(log, SampleRecords(1), bytes(16)).items.sensitive_values.tolist()
    [1, 1]
    """

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say whether bounds of a kind can be measured: all that come with Headcount can."""
        return kind in MEASURES

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Add up, over all people, what the bound makes of each person's own records and own draws."""
        with self.turn:
            measured: Measured_co = MEASURES[type(bound)](self, log, bound, secret)
        return measured
