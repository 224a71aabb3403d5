"""The local engine: compiled kernels over grouped records, equal to the reference draw for draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from headcount.bounds import (
    Activity,
    Bound,
    Cells,
    Departures,
    Likings,
    Look,
    Marginals,
    Measured_co,
    Offsets,
    Pairs,
    People,
    PersonGroups,
    PersonTotals,
    PersonValues,
    Pick,
    Raters,
    Records,
    Sample,
    SampledPairs,
    SampleUsers,
    Scale,
    Shares,
    Spread,
    Support,
    Taggers,
    TagMarginals,
    TagPairs,
    TagWeights,
    Variety,
)
from headcount.engines.local.measures.centered_cooccurrence import departures
from headcount.engines.local.measures.counts import activity, counts, look, people, records, sampled_pairs, shares
from headcount.engines.local.measures.factor_gradients import likings
from headcount.engines.local.measures.group_cells import cells
from headcount.engines.local.measures.key_support import support
from headcount.engines.local.measures.key_weights import spread, variety
from headcount.engines.local.measures.marginals import marginals
from headcount.engines.local.measures.rating_sums import offsets, pairs, raters
from headcount.engines.local.measures.tag_weights import tagged
from headcount.engines.local.measures.user_totals import totals
from headcount.engines.local.measures.value_histograms import groups, values
from headcount.engines.local.runner import Passes
from headcount.events.log import EventLog

MEASURES: Mapping[type[Bound[Any]], Callable[..., Any]] = {
    Sample: counts,
    SampleUsers: counts,
    Pick: counts,
    Scale: counts,
    Activity: activity,
    Shares: shares,
    Look: look,
    Records: records,
    People: people,
    Support: support,
    Spread: spread,
    Variety: variety,
    PersonGroups: groups,
    PersonTotals: totals,
    PersonValues: values,
    Cells: cells,
    Marginals: marginals,
    Raters: raters,
    Offsets: offsets,
    Pairs: pairs,
    SampledPairs: sampled_pairs,
    Departures: departures,
    Likings: likings,
    Taggers: tagged,
    TagWeights: tagged,
    TagMarginals: tagged,
    TagPairs: tagged,
}
"""How each kind of bound is measured."""


@dataclass
class LocalEngine(Passes):
    """Measures with ``threads`` threads and ``memory`` bytes of packed records; neither changes the result.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "tea"), ("bob", "rye")], items=["rye", "tea"])
    >>> LocalEngine().measure(log, Sample(1), bytes(16)).items.sensitive_values.tolist()
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
