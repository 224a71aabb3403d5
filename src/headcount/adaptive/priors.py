"""Priors of the adaptive estimator: every tuned constant, with its unit and where it was chosen.

Inference is a function of measurements and one :class:`Priors` value. The constants affect accuracy, never
privacy, and none comes from the log that is released. A field's comment begins with its unit; ``chosen`` says on
which logs the constants of a group were set (docs/methods/adaptive.md, "What was fixed by looking at public
logs").

Numbers that only guard arithmetic (halvings of a search, smallest divisors, block sizes) stay in their modules.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import ClassVar

import numpy as np

from headcount._internal.arrays import Floats

FIVE_LOGS = (
    "movielens-1m, gowalla-10core, kosarak-prefix, uci-online-retail, movielens-100k and two synthetic shapes; "
    "other logs confirm them"
)
ALL_LOGS = "the five logs, with all other logs in sight: no log confirms them"
ALL_LOGS_AT_HALF = "all logs, mostly at ε = 0.5: only other ε confirm them"

NORMAL_MIDPOINTS = np.array([-1.4, -0.67, -0.21, 0.21, 0.67, 1.4])
"""Deviations: six values of a standard normal distribution, equally likely each."""

NORMAL_95 = 1.96
"""Deviations: half the width of a normal interval of 95 %."""


def _evenly(first: float, last: float, points: int) -> tuple[float, ...]:
    return tuple(np.linspace(first, last, points).tolist())


@dataclass(frozen=True)
class HistogramPriors:
    """Which bins of the activity histogram to believe, and how many users may be undetected in the others."""

    chosen: ClassVar[str] = FIVE_LOGS

    significant_scales: float = 3.0  # scales of Laplace noise: an empty bin exceeds it once in 40 times
    run_scales: float = 2.0  # scales of noise: mean height of the bins of a significant run
    certain_scales: float = 9.0  # scales of noise: noise in all bins exceeds it once in 700 times
    possible_scales: float = 5.5  # scales of noise: noise in all bins exceeds it once in 20 times
    min_run_scales: float = 5.0  # scales of noise: sum of a run; below it no bin is significant
    min_scales_beyond_gap: float = 4.0  # scales of noise: by which bins beyond a gap must make up for it
    default_bins: int = 4  # bins: taken as they are where no run is significant
    clear_scales: float = 4.0  # scales of noise: a bin above it keeps its noisy number
    tail_share: float = 0.75  # share: of the users expected beyond the run; logs have shorter tails than lognormal
    min_tail_users: float = 3.0  # users: expected in a bin beyond the run, or none are
    points_per_bin: int = 8  # points: numbers of records that represent a bin, at most
    within_bin_deviation: float = 0.03  # relative deviation: of a sum over users, for their positions in bins
    bin_position_deviation: float = 0.2  # relative deviation: of the records of one bin, for positions in it
    max_decay: float = 0.7  # ratio: of users from bin to bin; slower decay is not continued beyond the clear bins
    decay_factor: float = 0.85  # ratio: by which the decay beyond the clear bins grows from bin to bin
    undetected_share: float = 0.8  # share: of the users of the bin before that may be undetected in a bin
    undetected_share_unbounded: float = 1 / 3  # share: the same where records have no maximum
    undetected_scales: float = 1.5  # scales of noise: that undetected users of one bin may come to


@dataclass(frozen=True)
class LognormalPriors:
    """The lognormal distributions of records per user that are averaged over."""

    chosen: ClassVar[str] = FIVE_LOGS

    medians: tuple[float, ...] = _evenly(-2.0, 12.75, 60)  # octaves: candidate medians
    spreads: tuple[float, ...] = (0.25, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 1.8, 2.2, 2.7)  # octaves: candidates
    median: tuple[float, float] = (3.0, 3.0)  # octaves: mean and deviation of the prior of medians
    spread: tuple[float, float] = (1.2, 0.6)  # octaves: mean and deviation of the prior of spreads
    upper_quantile: float = 0.95  # probability: of the upper estimate of a bin
    min_relative_weight: float = 1e-6  # ratio: to the largest weight; less likely candidates are left out


@dataclass(frozen=True)
class ThresholdPriors:
    """The predicted error of a clipping threshold: its three constants cost least over ε = 0.1, 0.5 and 2."""

    chosen: ClassVar[str] = FIVE_LOGS

    scale_up_variance: float = 0.03  # squared relative error per unit of variance of log records of heavy users
    bin_position_share: float = 0.02  # share: of the largest error by positions in bins, as it is expected
    profile_noise_factor: float = 0.84  # ratio: error of a measured count to noise scale times size-biased mean
    count_tolerance: float = 1.02  # ratio: of predicted errors within which the smallest threshold is taken
    order_tolerance: float = 2.0  # ratio: the same where only the order of counts matters
    ranks: int = 400  # ranks: that represent all, at most


@dataclass(frozen=True)
class ShrinkagePriors:
    """Grids and steps of empirical Bayes; lengths are in standard deviations of the noise."""

    chosen: ClassVar[str] = ALL_LOGS

    fine_up_to: float = 8.5  # deviations: the grid of true counts and the cells are fine up to here
    first_count: float = 0.045  # deviations: the smallest true count above zero
    fine_points: int = 80  # points: of the fine grid
    coarse_ratio: float = 1.12  # ratio: of neighbours on the coarse grid
    min_discrete_step: float = 0.5  # deviations: true counts are distinguished one by one from this step on
    cell: float = 0.12  # deviations: width of a fine cell of noisy counts
    cell_ratio: float = 1.03  # ratio: of neighbouring coarse cells
    min_clear: float = 6.8  # deviations: a noisy count above this is not shrunk, if there are few counts
    clear_margin: float = 1.4  # deviations: beyond the largest noise of all counts, for the same
    negligible_count: float = 0.25  # deviations: an interval that would begin below this begins at zero
    min_steps: int = 25  # steps: of expectation-maximisation for one table, at least
    max_steps: int = 100  # steps: at most
    counts_per_step: int = 500  # counts: that justify one more step
    joint_steps: int = 10  # steps: for both tables together
    uniform_weight: float = 3e-4  # share: of counts that may have any size; without it the largest would be equal

    @cached_property
    def fine_grid(self) -> Floats:
        """True counts from zero to ``fine_up_to``, in deviations."""
        return np.concatenate([[0.0], np.geomspace(self.first_count, self.fine_up_to, self.fine_points)])

    @cached_property
    def fine_cells(self) -> int:
        """How many fine cells there are on each side of zero."""
        return round(self.fine_up_to / self.cell)


@dataclass(frozen=True)
class LevelPriors:
    """How the catalogue is cut into segments of similar counts, and these are grouped by level."""

    chosen: ClassVar[str] = ALL_LOGS

    segment_penalty: float = 8.0  # variances: cost of a segment; chance alone cuts one in 55 places
    max_deviations: float = 6.0  # deviations of noise: counts are clipped to this before cutting
    min_segment: int = 8  # items
    max_runs: int = 1 << 20  # runs: of neighbouring items between which cuts may be
    min_group_items: int = 100  # items: of a group whose prior can be learnt
    min_level_ratio: float = 1.6  # ratio: of the levels of two groups
    lowest_level: float = 1 / 200  # ratio: to the highest level; lower levels are one group


@dataclass(frozen=True)
class CalibrationPriors:
    """How far sums of shrunken counts are trusted, and when heavy users are believed to exist."""

    chosen: ClassVar[str] = FIVE_LOGS

    sum_deviation: float = 0.3  # relative deviation: of the sum of shrunken counts of a level group
    min_user_scales: float = 2.5  # scales of noise: all users must exceed it, or their activity is noise
    min_detected_scales: float = 5.0  # scales of noise: all users must exceed it to count as detected
    min_heavy_scales: float = 0.5  # scales of noise: heavy users must exceed it, or their table is noise
    false_user_scales: float = 2.0  # scales of noise: half of so many users may be noise (chosen on all logs)
    false_record_deviations: float = 0.13  # deviations: half of so many records may be noise (on all logs)
    detection_steepness: int = 4  # exponent: of the transition from noise to detected


@dataclass(frozen=True)
class ProfilePriors:
    """Popularity classes, and how the share of a class changes with the size of users."""

    chosen: ClassVar[str] = FIVE_LOGS

    max_classes: int = 16  # classes
    min_class_scales: float = 20.0  # scales of noise: that the users of a class come to
    single_item_classes: int = 5  # classes: that may have one item
    class_growth: float = 1.3  # ratio: of the least sizes of the classes after these
    powers: tuple[float, ...] = (0.0, 0.5, 1.0)  # exponents: candidates for the shape
    tilts: tuple[float, ...] = _evenly(-0.2, 0.2, 9)  # log share per octave and e-fold of popularity: candidates
    tilt_deviation: float = 0.1  # the same unit: deviation of the prior of tilts
    rounds: int = 4  # rounds: in which the expectations of all classes come to the users there are
    slope_deviations: tuple[float, ...] = (0.02, 0.05, 0.1, 0.2)  # log share per octave: own slopes, candidates
    step_deviations: tuple[float, ...] = (0.05, 0.1, 0.2)  # log share per root octave: random walk, candidates
    initial_walk: tuple[float, float] = (0.05, 0.1)  # own slope and step before any is fitted
    total_deviation: float = 0.1  # relative deviation: of the height of a class
    weighted_deviation: float = 0.1  # relative deviation: of the shrunken counts of a class in sum
    weighted_noise_share: float = 0.7  # share: of the noise variance that shrinkage leaves in such a sum
    max_log_covariance: float = 3.0  # variance of a logarithm: more is not allowed for
    ratio_range: tuple[float, float] = (0.2, 5.0)  # ratio: of measured to expected factor that is believed
    max_log_variance: float = 1.0  # variance of the logarithm of a factor of which nothing is known
    few_items: int = 8  # items: a class of more counts as large
    few_items_step: float = 0.25  # log share per root octave: by which items of a small class differ
    many_items_step: float = 0.35  # the same of a large class
    curve_points: int = 60  # points: of factors by popularity


@dataclass(frozen=True)
class SizePriors:
    """Users between two neighbouring sizes (powers of two)."""

    chosen: ClassVar[str] = FIVE_LOGS

    upper_share: float = 0.44  # share: of a bin's users at its upper end, if log records are spread evenly
    upper_share_deviation: float = 0.2  # deviation: of that share
    max_relative_variance: float = 1.0  # relative variance: of a ratio of which nothing is known
    size_powers: tuple[float, ...] = _evenly(-1.0, 0.0, 21)  # exponents: of users by size, where sizes are squares


@dataclass(frozen=True)
class CountPriors:
    """From shrunken and scaled-up counts to an estimate and its interval."""

    chosen: ClassVar[str] = FIVE_LOGS

    item_variance_share: float = 0.15  # share: of the variance of log records by which items differ from a model
    selection_bias: float = 1.25  # ratio: of the downward to the upward error of scaling up, for chosen items
    median_shift: float = 0.15  # share: of the way to zero for a count of which nothing is known
    max_activity_variance: float = 0.5  # relative variance: of the users of one size
    users_at_cap: float = 2.2  # users: with all records a cap allows on one item, undetected (chosen on all logs)
    min_popularity: float = 1e-6  # users: less popular items count as this popular


@dataclass(frozen=True)
class ItemContextPriors:
    """How far item-context counts differ from an item's count times the share of its context."""

    chosen: ClassVar[str] = ALL_LOGS

    interval_deviations: float = 2.2  # deviations: more than 1.96, since counts scatter more than normally
    min_variance: float = 0.01  # relative variance
    max_variance: float = 9.0  # relative variance
    share_rounds: int = 3  # rounds: in which shares and expectations settle
    initial_own_variance: float = 0.3  # relative variance: before it is estimated; affects context shares alone
    own_variance: float = 0.05  # relative variance: mean of its prior
    own_variance_deviation: float = 0.1  # relative variance: deviation of its prior
    laplace_kurtosis: float = 5.0  # ratio: variance of squared Laplace noise to its squared variance


@dataclass(frozen=True)
class SubsetPriors:
    """Users by number of records of the refined items."""

    chosen: ClassVar[str] = ALL_LOGS_AT_HALF

    distinct_deviation: float = 0.5  # relative deviation: of expected users of a bin, where an item counts once
    records_deviation: float = 1.0  # the same where records are counted
    upper_deviations: float = 1.65  # deviations: of the upper estimate of a bin
    share_deviation: float = 0.5  # deviation of logarithms: of users' shares of the refined items
    mixing_grid: tuple[float, ...] = _evenly(0.0, 1.0, 6)  # share: candidates between both expectations
    mixing_prior: tuple[float, ...] = (0.5, 0.1, 0.1, 0.1, 0.1, 0.1)  # probability: in many logs no item repeats
    upper_quantile: float = 0.95  # probability: of the upper mixing weight
    rounds: int = 4  # rounds: in which draws and popularities settle
    min_rest: float = 0.1  # share: of draws that are about other items, at least


@dataclass(frozen=True)
class RefinementPriors:
    """How counts before a refinement and its measurement are combined."""

    chosen: ClassVar[str] = ALL_LOGS_AT_HALF

    lower_deviations: float = 2.2  # deviations: of the lower end; what is refined was chosen for being large
    upper_deviations: float = 1.9  # deviations: of the upper end; counts before allow for more than is usual
    upper_deviations_of_records: float = 2.1  # the same where a user may have one item many times
    noise_deviations: float = 4.0  # deviations of noise: of a disagreement that is no chance
    scale_up_deviations: float = 2.5  # deviations of scaling up: the same
    min_mixing_deviation: float = 0.2  # share: deviation of the mixing weight, at least
    item_deviation: float = 0.4  # share of a log factor: by which the factors of items differ
    correlation_length: float = 1.5  # e-folds of popularity: within which scale-up errors are shared
    within_bin_deviation: float = 0.08  # relative deviation: of the records of a bin, for positions in it
    single_bins: int = 2  # bins: of one number of records each
    inclusion_rounds: int = 12  # rounds: in which odds come to the expected counts
    min_relative_count: float = 1e-3  # ratio: to the largest count that counts are taken to be at least
    max_deviation: float = 1.0  # relative deviation: larger errors of a factor are all the same
    subset_rounds: int = 2  # rounds: in which refined counts say who has these items, and back


@dataclass(frozen=True)
class Priors:
    """All tuned constants of the estimator, by ingredient.

    >>> PRIORS.histogram.significant_scales, PRIORS.levels.chosen == ALL_LOGS
    (3.0, True)
    """

    histogram: HistogramPriors = field(default_factory=HistogramPriors)
    lognormal: LognormalPriors = field(default_factory=LognormalPriors)
    threshold: ThresholdPriors = field(default_factory=ThresholdPriors)
    shrinkage: ShrinkagePriors = field(default_factory=ShrinkagePriors)
    levels: LevelPriors = field(default_factory=LevelPriors)
    calibration: CalibrationPriors = field(default_factory=CalibrationPriors)
    profile: ProfilePriors = field(default_factory=ProfilePriors)
    sizes: SizePriors = field(default_factory=SizePriors)
    counts: CountPriors = field(default_factory=CountPriors)
    item_contexts: ItemContextPriors = field(default_factory=ItemContextPriors)
    subset: SubsetPriors = field(default_factory=SubsetPriors)
    refinement: RefinementPriors = field(default_factory=RefinementPriors)

    @property
    def groups(self) -> tuple[object, ...]:
        """The constants of each ingredient."""
        return tuple(getattr(self, group.name) for group in fields(self))


PRIORS = Priors()
"""The constants of every release."""
