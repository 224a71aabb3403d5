"""Co-occurrence counts with noise: how many users have both items, for all pairs of the most common items.

First it is released how many people have each item. Then, for all pairs of the items that most have, how many
people have both. Of somebody with many items every pair counts in part, so that nobody weighs more than a limit.
"People who had this also had" is read off these numbers: see
:mod:`headcount.methods.recommender.factors`.

With ``sampling`` what a person adds is bounded as Fan and Jin do it: at most ``limit`` items of each person are
kept, drawn at random (SRA) or those that most people have by the released numbers (HPA), and each two of these
count fully.

Why it is private
    A person's items, each counted once, are weighted so that the sum of squares of what they add (with δ), or the
    sum (without), is at most a public limit; so are their pairs of items, in whole multiples of 2^-16, cut toward
    zero. Discrete Gaussian noise on both is ρ₁- and ρ₂-zero-concentrated, hence ρ₁ + ρ₂ together, which is what
    (ε, δ) allows for; discrete Laplace noise costs ε₁ + ε₂. Which items are in pairs hangs on released numbers
    alone. Of a sample of l items there are l (l - 1) / 2 pairs, each of which moves one number by 1: that is the
    distance in L1, and in L2 squared (:mod:`headcount.bounds.ratings.sampled_item_pairs`).

Departures from the paper
    Its edge (i, j) counts how often j comes up among people who have i. Here people count, each once, so that both
    directions are the same number. The scores of HPA are the numbers of people that are released anyway.

Reference
    L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015, section 3.1 (edges
    between items).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Integers
from headcount.accounting.budget import Cost, Grant
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import (
    FIXED_POINT,
    NO_SECRET,
    Bounded,
    KeepTopScored,
    Noisy,
    Norm,
    SampleRecords,
    Sensitivity,
    WeightToThreshold,
    check_limit,
)
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.ratings.sampled_item_pairs import SampledItemPairs, sampled_item_pairs_sensitivity
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.method import OMITTED_BY_DEFAULT, Bounds, describe_cost
from headcount.methods.recommender.recommender_method import (
    NoisyModel,
    RecommenderMethod,
    check_visits,
    interval_columns,
    item_column,
    largest,
)
from headcount.noise import NoiseSource, add_noise, noise_norm
from headcount.noise.stages import Stage, Stages, split_among_stages

ITEMS, PAIRS = "model/items", "model/pairs"
ITEMS_SHARE = Decimal("0.1")
"""Of ρ where there is δ, else of ε; pairs get the rest."""

ITEM_LIMIT: Mapping[Norm, int] = {"l2": 10, "l1": 10}
PAIR_LIMIT: Mapping[Norm, int] = {"l2": 10, "l1": 45}
MAX_PAIRED_ITEMS = 1 << 13
KEPT = 10
"""How many items of a person are kept where they are sampled, unless it is said."""

Sampling = Literal["sra", "hpa"]


@dataclass(frozen=True, kw_only=True)
class CoOccurrence(RecommenderMethod):
    """Release how many people have both of two items, for the ``items`` most common ones.

    ``limit`` is the length of what one person's pairs may add: in squares with δ, where a person with p pairs
    counts each with weight min(1, limit / √p), else in pairs. With ``sampling`` it is how many items of a person
    are kept.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(90) for item in ("tea", "rye", "fig") if n < 60 or item != "fig"]
    >>> log = EventLog.of(visits, items=["fig", "rye", "tea"])
    >>> release = CoOccurrence().release(log, Grant("90"), SeededNoise(1))
    >>> release.tables["model/pairs"]["count"].to_numpy().round().tolist()
    [60.0, 60.0, 90.0]
    """

    name: ClassVar[str] = "co-counts"
    assumptions: ClassVar[tuple[str, ...]] = (
        "the limits and the number of items in pairs were chosen without looking at the log",
    )
    bounds: ClassVar[Bounds] = (WeightToThreshold, RatingCovariance, SampledItemPairs)

    items: int = 500
    limit: int | None = None
    sampling: Sampling | None = field(default=None, metadata=OMITTED_BY_DEFAULT)

    def __post_init__(self) -> None:
        check_limit(self.items, "items")
        if not 2 <= self.items <= MAX_PAIRED_ITEMS:
            raise UsageError(
                f"items must lie between 2 and {MAX_PAIRED_ITEMS}", given=self.items, remedy="try 500"
            )
        if self.limit is not None:
            check_limit(self.limit)
        if self.sampling not in (None, *get_args(Sampling)):
            raise UsageError(
                "sampling must be sra or hpa",
                given=self.sampling,
                remedy=f"try {param.option({'sampling': 'sra'})}",
            )
        if self.sampling is not None and self._kept < 2:
            raise UsageError("of one item there are no pairs", given=self.limit, remedy=f"try {param.limit(10)}")

    def check(self, log: EventLog) -> None:
        """Refuse ratings, and what cannot be counted."""
        check_visits(log, self.name, contexts=False)

    def stages(self, log: EventLog, price: Cost) -> Stages:  # noqa: ARG002
        """Items, then pairs of them."""
        norm = noise_norm(price)
        items = Stage(
            "items",
            ITEMS_SHARE,
            gaussian=bool(price.delta),
            sensitivity=WeightToThreshold(ITEM_LIMIT[norm]).sensitivity("users"),
            unit=FIXED_POINT,
            tells=(ITEMS,),
        )
        moved, unit = Sensitivity.of_l1(self._limit(norm) * FIXED_POINT), FIXED_POINT
        if self.sampling is not None:
            moved, unit = sampled_item_pairs_sensitivity(self._kept), 1
        return items, replace(
            items, name="pairs", share=1 - ITEMS_SHARE, sensitivity=moved, unit=unit, tells=(PAIRS,)
        )

    def measure(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> NoisyModel:
        """Measure how many users have each item, and both of two."""
        norm, parts = noise_norm(grant.cost), split_among_stages(self.stages(log, grant.cost), grant)
        log = replace(log, counting="users")
        counted = engine.measure(log, WeightToThreshold(ITEM_LIMIT[norm], norm), noise.key()).items
        items = add_noise(counted, parts["items"], noise)
        places = largest(items.values, self.items)
        pairs = add_noise(self._measure_pairs(log, norm, places, items, noise, engine), parts["pairs"], noise)
        distributions = {ITEMS: items.distribution, PAIRS: pairs.distribution}
        ids, labels = item_column(log)
        return NoisyModel(
            tables={
                ITEMS: pa.table({"item": ids, "label": labels, **interval_columns(items)}),
                PAIRS: _pair_table(ids, places, pairs),
            },
            noise_distributions=distributions,
            chosen={"items": int(places.size)},
            bound_text=self._bound_text(norm),
            steps=self._describe_steps(distributions, norm, int(places.size), describe_cost(grant)),
        )

    def _measure_pairs(
        self, log: EventLog, norm: Norm, places: Integers, items: Noisy, noise: NoiseSource, engine: Engine
    ) -> Bounded:
        """Count pairs of all items of a person, in part, or of those that are kept."""
        if self.sampling is None:
            return engine.measure(log, RatingCovariance(self._limit(norm), norm, places), NO_SECRET)
        kept = SampleRecords(self._kept) if self.sampling == "sra" else KeepTopScored(self._kept, items)
        return engine.measure(log, SampledItemPairs(kept, places), noise.key())

    @property
    def _kept(self) -> int:
        return KEPT if self.limit is None else self.limit

    def _limit(self, norm: Norm) -> int:
        return PAIR_LIMIT[norm] if self.limit is None else self.limit

    def _bound_text(self, norm: Norm) -> str:
        if self.sampling is not None:
            return f"all pairs of at most {self._kept:,} items per person"
        length = self._limit(norm)
        return f"pairs whose squares add up to at most {length**2:,} a person" if norm == "l2" else (
            f"at most {length:,} pairs of items per person"
        )  # fmt: skip

    def _describe_steps(
        self, laws: Mapping[str, NoiseDistribution], norm: Norm, items: int, price: str
    ) -> list[str]:
        part = "the sum of squares" if norm == "l2" else "the sum"
        limit = self._limit(norm)
        return [
            "Every person counted once per item, with a weight that keeps what they add to the counts short: "
            f"{part} is at most {ITEM_LIMIT[norm]}. Every item got {laws[ITEMS].in_words()}.",
            f"For all pairs of the {items:,} most common items it was counted how many people have both; "
            f"{self._describe_sum(part, limit**2 if norm == 'l2' else limit)}. Every pair got "
            f"{laws[PAIRS].in_words()}.",
            f"Both were paid with {price} together.",
        ]

    def _describe_sum(self, part: str, most: int) -> str:
        """Say what became of somebody with many items."""
        if self.sampling is None:
            return f"of a person with many pairs all count in part, so that {part} is at most {most:,}"
        how = {"sra": "drawn at random", "hpa": "those that most people have by the numbers released before"}
        return f"of each person at most {self._kept:,} items counted, {how[self.sampling]}"


def _pair_table(ids: pa.Array, places: Integers, pairs: Noisy) -> pa.Table:
    """Name each pair by its two items, the earlier in the catalogue first."""
    paired = ids.take(pa.array(places))
    first, second = (
        pa.DictionaryArray.from_arrays(pa.array(item_places.astype(np.int32)), paired)
        for item_places in np.triu_indices(places.size, 1)
    )
    return pa.table({"item": first, "other": second, **interval_columns(pairs)})
