"""Scale-up factors by popularity class, measured: from the released class profile of heavy users.

The factors without a measured profile, from a model alone, are in scale_up.

A heavy user's records count in part. How much an item's heavy count has to be scaled up depends on how active its
users are, and that differs between items: all users have what is popular, few others have the rest. So items are
put into classes of noisy popularity, and the share of their records that users of each size have in each class is
released (:mod:`headcount.bounds.counts.class_profile`). Single numbers of these are too noisy to divide by. So the
share of a class is expected to change with size as s · exp(β · octave): s is the share if all drew from one
popularity and counted once (or a power of that), β lies on a line over popularity, and all classes together have
what users have. The logarithm of the truth differs from that by a line of unknown slope and a random walk over
sizes. Means and covariances are carried over to the sums themselves, where the noise is
(:mod:`headcount.adaptive.bayes_linear`), and factors are averaged over all candidates by how well they fit.

Items of one class differ as well, which no release tells: by how much was found on public logs.

Only released numbers are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from headcount._internal.arrays import Floats, Integers
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.adaptive.bayes_linear import LinearPosterior, update_many
from headcount.adaptive.priors import PRIORS, Priors, ProfilePriors
from headcount.adaptive.scale_up import (
    POPULARITIES,
    MeasuredRatios,
    Norm,
    UsersBySize,
    estimate_users_by_size,
    fit_fractional_users,
    inclusion_chances,
    log_popularity,
    weights,
)
from headcount.bounds.counts.activity_histogram import UPPER_ENDS

Places = Integers


@dataclass(frozen=True, eq=False)
class ReleasedProfile:
    """The released profile: a row per size, a column per class, with Laplace noise of a scale, in users."""

    sums: Floats
    scale: float
    classes: Places


def assign_popularity_classes(users: Floats, scale: float, priors: ProfilePriors = PRIORS.profile) -> Places:
    """Put items into classes by popularity, so that each class exceeds the noise.

    ``users`` are the heavy users of each item, all of a user's records together counting as one. The most popular
    items are classes by themselves if they have enough.

    >>> assign_popularity_classes(np.array([1.0, 900.0, 20.0, 300.0, 60.0]), 4.0).tolist()
    [2, 0, 2, 1, 2]
    """
    order = np.argsort(-users, kind="stable")
    summed = users[order]
    np.cumsum(np.maximum(summed, 0.0, out=summed), out=summed)
    enough, starts, fewest = priors.min_class_scales * scale, [0], 1.0
    while len(starts) < priors.max_classes:
        before = summed[starts[-1] - 1] if starts[-1] else 0.0
        end = max(int(np.searchsorted(summed, before + enough)) + 1, starts[-1] + int(fewest))
        if end >= summed.size or summed[-1] - summed[end - 1] < enough:
            break
        starts.append(end)
        if len(starts) > priors.single_item_classes:
            fewest = fewest * priors.class_growth + 0.5
    classes = np.empty(users.size, dtype=np.int64)
    for number, (start, end) in enumerate(pairwise([*starts, users.size])):
        classes[order[start:end]] = number
    return classes


def fit_ratios(
    weighed: Floats,
    heavy: EstimatedActivity,
    threshold: int,
    norm: Norm,
    released: ReleasedProfile,
    variance: float,
    *,
    squares: bool = False,
    priors: Priors = PRIORS,
) -> MeasuredRatios:
    """Return how to scale up: ``weighed`` are shrunken weighted counts of heavy users, with noise of a variance.

    ``squares`` says that users' sizes are sums of squares.

    >>> rng = np.random.default_rng(1)
    >>> heavy = EstimatedActivity(np.array([16.0, 64.0]), np.array([3000.0, 1000.0]))
    >>> sums = np.zeros((21, 2))
    >>> sums[4], sums[6] = [2000, 1000], [200, 800]  # the second class is of the more active
    >>> weighed = np.array([8800.0, 7200.0])
    >>> model = fit_ratios(weighed, heavy, 4, "l1", ReleasedProfile(sums, 5.0, np.arange(2)), 10.0)
    >>> model.at(weighed, slice(None))[0].round(1).tolist()
    [5.1, 9.3]
    """
    model = _ClassModel.build(weighed, heavy, threshold, norm, released, variance, squares=squares, priors=priors)
    fit = _average_fits(model)
    common = model.users_by_size.relative_deviation(model.records, model.measured.weights)
    # items of a large class lie on the expected curve, moved as far as the classes around them
    first, last = log_popularity(np.array([weighed.min(), weighed.max()]), threshold) - model.centre
    points = np.linspace(min(first, model.popularity.min()) - 0.01, last + 0.01, model.priors.curve_points)
    order = np.argsort(model.popularity)
    prior, expected = fit.expected(model, model.popularity, points)
    sorted_popularity, shifts = model.popularity[order], (fit.logarithms - prior)[order]
    curve = expected + np.interp(points, sorted_popularity, shifts)
    differ = np.interp(points, sorted_popularity, (model.item_deviation**2)[order])
    between = np.interp(points, sorted_popularity, fit.variances[order]) + differ
    return MeasuredRatios(
        classes=released.classes,
        single_item=model.sizes == 1,
        own=np.exp(fit.logarithms),
        own_deviation=np.sqrt(fit.variances + common**2),
        points=points + model.centre,
        curve=np.exp(curve),
        deviation=np.sqrt(between + common**2),
        item_deviation=np.sqrt(differ),
        threshold=threshold,
    )


@dataclass(frozen=True, eq=False)
class ClassMeasurements:
    """What was measured: each class (rows) at each size, and the weighted counts of all its users.

    ``weights`` are those of a user at each size; ``noise`` and ``weighed_variance`` are variances.
    """

    sums: Floats
    noise: float
    weighed: Floats
    weighed_variance: Floats
    weights: Floats


def random_walk_covariance(octaves: Floats) -> Floats:
    """Return the covariance of a walk that starts at octave 0 and takes a step of deviation 1 an octave.

    >>> random_walk_covariance(np.array([-1.0, 0.0, 2.0, 3.0])).tolist()
    [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 3.0]]
    """
    far, side = np.abs(octaves), np.sign(octaves)
    return np.asarray(np.where(np.equal.outer(side, side), np.minimum.outer(far, far), 0.0))


@dataclass(frozen=True, eq=False)
class ClassEstimates:
    """What each class has at each size, given each of several expectations, and how well each of them fits."""

    expected: Floats
    posterior: LinearPosterior
    log_likelihood: Floats

    def log_ratios(
        self, above: Floats, below: Floats, priors: ProfilePriors = PRIORS.profile
    ) -> tuple[Floats, Floats]:
        """Return the logarithm of the ratio of two weighted sums over sizes, and its variance."""
        mean, (lowest, highest) = self.posterior.mean, priors.ratio_range
        denominator = np.maximum(mean @ below, lowest * (self.expected @ below))
        prior_ratio = (self.expected @ above) / (self.expected @ below)
        ratio = np.clip(mean @ above / denominator, lowest * prior_ratio, highest * prior_ratio)
        gradient = above / (ratio * denominator)[..., None] - below / denominator[..., None]
        variance = ((gradient[..., None, :] @ self.posterior.covariance)[..., 0, :] * gradient).sum(axis=-1)
        return np.log(ratio), np.clip(variance, 0.0, priors.max_log_variance)


def estimate_classes(
    measured: ClassMeasurements, expected: Floats, covariance: Floats, priors: ProfilePriors = PRIORS.profile
) -> ClassEstimates:
    """Estimate each class at each size, for each of the expectations.

    ``expected`` has shares of users that sum to 1, and ``covariance`` the covariance of their logarithms: the last
    axes of both are sizes, the one before that of ``expected`` is classes, and the first one candidates.

    >>> sums, weighed = np.array([[60.0, 45.0]]), np.array([100.0])
    >>> measured = ClassMeasurements(sums, 100.0, weighed, np.array([1.0]), np.ones(2))
    >>> alike = np.array([[[0.5, 0.5]]])
    >>> estimates = estimate_classes(measured, alike, random_walk_covariance(np.array([0.0, 1.0])))
    >>> estimates.posterior.mean.round().tolist()
    [[[52.0, 48.0]]]
    """
    size, weights = expected.shape[-1], measured.weights
    totals = measured.weighed / np.maximum(expected @ weights, 1e-12)
    prior_mean = totals[..., None] * expected
    relative_covariance = np.expm1(np.minimum(covariance, priors.max_log_covariance)) + priors.total_deviation**2
    prior_covariance = (prior_mean[..., :, None] * prior_mean[..., None, :]) * (
        relative_covariance if covariance.ndim == 2 else relative_covariance[:, None]
    )
    posterior, log_likelihood = update_many(
        prior_mean,
        prior_covariance,
        observation=np.vstack([np.eye(size), weights]),
        measured=np.column_stack([measured.sums, measured.weighed]),
        noise_variances=np.column_stack([np.full_like(measured.sums, measured.noise), measured.weighed_variance]),
    )
    return ClassEstimates(prior_mean, posterior, log_likelihood.sum(axis=-1))


@dataclass(frozen=True, eq=False)
class _ClassModel:
    """What is known before shares are fitted: sizes of users, classes, and what was measured of them."""

    records: Floats
    users_by_size: UsersBySize
    measured: ClassMeasurements
    sizes: Floats
    popularity: Floats
    centre: float
    heavy: EstimatedActivity
    threshold: int
    norm: Norm
    priors: ProfilePriors

    @classmethod
    def build(
        cls,
        weighed: Floats,
        heavy: EstimatedActivity,
        threshold: int,
        norm: Norm,
        released: ReleasedProfile,
        variance: float,
        *,
        squares: bool,
        priors: Priors,
    ) -> _ClassModel:
        tuned = priors.profile
        first = threshold.bit_length() - 1
        last = max(int(np.ceil(np.log2(heavy.records.max()))), first + 1)
        rows = slice(first, min(last, UPPER_ENDS.size - 1) + 1)
        records = UPPER_ENDS[rows].astype(np.float64)
        sizes = np.bincount(released.classes).astype(np.float64)
        sums = np.asarray(np.bincount(released.classes, weights=weighed), dtype=np.float64)
        logs = log_popularity(sums / sizes, threshold)
        centre = float((logs * sums).sum() / max(sums.sum(), 1e-9))
        measured, noise = released.sums[rows].T, 2 * released.scale**2
        by_size = measured.sum(axis=0)
        sum_deviation = tuned.weighted_deviation * sums
        shrunken_variance = tuned.weighted_noise_share * sizes * variance
        return cls(
            records=records,
            users_by_size=fit_fractional_users(heavy, records, by_size, priors.sizes)
            if squares
            else estimate_users_by_size(heavy, records, by_size, noise * sizes.size, priors.sizes),
            measured=ClassMeasurements(
                sums=measured,
                noise=noise,
                weighed=sums,
                weighed_variance=shrunken_variance + sum_deviation**2 * (sizes > 1) + threshold**2,
                weights=weights(records, threshold, norm) * records,
            ),
            sizes=sizes,
            popularity=logs - centre,
            centre=centre,
            heavy=heavy,
            threshold=threshold,
            norm=norm,
            priors=tuned,
        )

    @cached_property
    def octaves(self) -> Floats:
        """The logarithms of sizes, from the mean of all users."""
        logs, users = np.log2(self.records), self.users_by_size.users
        return np.asarray(logs - (users * logs).sum() / users.sum())

    @property
    def item_deviation(self) -> Floats:
        """The relative deviation of the factors of items of one class: less where all are popular."""
        full = self.users_by_size.users * self.records
        weighed = self.users_by_size.users * self.measured.weights
        gradient = full / full.sum() - weighed / weighed.sum()
        large = self.sizes > self.priors.few_items
        steps = np.where(large, self.priors.many_items_step, self.priors.few_items_step)
        variance = gradient @ random_walk_covariance(self.octaves) @ gradient
        return np.asarray(steps * min(float(np.sqrt(variance)), 1.0))

    @cached_property
    def weighed_by_popularity(self) -> Floats:
        """The weighted counts of items of each of ``POPULARITIES``, if all draw alike and count once."""
        heavy = self.heavy
        user_weights = heavy.users * weights(heavy.records, self.threshold, self.norm)
        return np.asarray(inclusion_chances(heavy, POPULARITIES) @ user_weights)

    def shapes_at(self, popularity: Floats) -> Floats:
        """Return how the share of items of that popularity falls with size, if all draw alike and count once."""
        weighed = np.exp(popularity + self.centre) * self.threshold
        draws = np.multiply.outer(np.interp(weighed, self.weighed_by_popularity, POPULARITIES), self.records)
        return np.asarray(np.where(draws > 0, -np.expm1(-draws) / np.maximum(draws, 1e-300), 1.0))

    def expected(self, tilts: Floats, powers: Floats) -> tuple[Floats, Floats]:
        """Return the share of the users of each class at each size, for tilts and powers of the shape.

        Users have all their records in some class. So the sum of all classes at a size is fitted to the users
        there; the users that this takes are returned as well.
        """
        users = np.maximum(self.users_by_size.users, 1e-9 * self.users_by_size.users.sum())
        whole, adjusted_users = users.sum(), np.broadcast_to(users, (tilts.size, users.size))
        profile = self.size_profile(tilts, powers, self.popularity)
        for _ in range(self.priors.rounds):
            size_shares = profile.distribute(adjusted_users)
            heights = self.measured.weighed / (size_shares @ self.measured.weights)
            sums = (heights[..., None] * size_shares).sum(axis=1)
            modelled = sums / sums.sum(axis=1, keepdims=True) * whole
            adjusted_users = adjusted_users * users / np.maximum(modelled, 1e-300)
        return profile.distribute(adjusted_users), adjusted_users

    def size_profile(self, tilts: Floats, powers: Floats, popularity: Floats) -> _SizeProfile:
        """Return how the share of items of that popularity changes with size."""
        clipped_popularity = np.clip(popularity, self.popularity.min(), self.popularity.max())
        slopes = np.multiply.outer(np.multiply.outer(tilts, clipped_popularity), self.octaves)
        return _SizeProfile(self.shapes_at(popularity) ** powers[:, None, None], np.exp(slopes))


class _SizeProfile(NamedTuple):
    """How the share of some items changes with size: for each tilt and power, each item and each size."""

    shapes: Floats
    slopes: Floats

    def distribute(self, users: Floats) -> Floats:
        """Return the share of their users at each size, where so many users are there."""
        unnormalised = users[:, None] * self.shapes * self.slopes
        return np.asarray(unnormalised / unnormalised.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class _Fit:
    """The expectation, averaged over all candidates; and the log factor of each class, with its variance."""

    power: float
    tilt: float
    logarithms: Floats
    variances: Floats

    def expected(self, model: _ClassModel, *popularities: Floats) -> list[Floats]:
        """Return the expected log factors of items of each of these popularities."""
        tilt, power = np.array([self.tilt]), np.array([self.power])
        adjusted_users = model.expected(tilt, power)[1]
        parts = (
            model.size_profile(tilt, power, popularity).distribute(adjusted_users)[0]
            for popularity in popularities
        )
        return [np.log((users @ model.records) / (users @ model.measured.weights)) for users in parts]


def _average_fits(model: _ClassModel) -> _Fit:
    """Weight all expectations by how well they fit, and average the factors of each class over them."""
    priors = model.priors
    powers, tilts = (np.array(values) for values in zip(*product(priors.powers, priors.tilts), strict=True))
    log_prior = -((tilts / priors.tilt_deviation) ** 2) / 2
    expected, _ = model.expected(tilts, powers)
    steps, lines = random_walk_covariance(model.octaves), np.outer(model.octaves, model.octaves)

    def log_covariance(own_slope: float, step: float) -> Floats:
        return np.asarray(own_slope**2 * lines + step**2 * steps)

    first = estimate_classes(model.measured, expected, log_covariance(*priors.initial_walk), priors)
    best = expected[[int(np.argmax(first.log_likelihood + log_prior))]]
    walks = product(priors.slope_deviations, priors.step_deviations)
    covariances = np.stack([log_covariance(*deviations) for deviations in walks])
    repeated = np.repeat(best, len(covariances), axis=0)
    fits = estimate_classes(model.measured, repeated, covariances, priors)
    covariance = np.tensordot(_softmax(fits.log_likelihood), covariances, axes=1)
    estimates = estimate_classes(model.measured, expected, covariance, priors)
    posterior_weights = _softmax(estimates.log_likelihood + log_prior)
    logarithms, variances = estimates.log_ratios(model.records, model.measured.weights, priors)
    mean = np.log(posterior_weights @ np.exp(logarithms))
    return _Fit(
        power=float(posterior_weights @ powers),
        tilt=float(posterior_weights @ tilts),
        logarithms=mean,
        variances=posterior_weights @ (variances + (logarithms - mean) ** 2),
    )


def _softmax(log_weights: Floats) -> Floats:
    """Return probabilities in proportion to the exponentials of these.

    >>> _softmax(np.array([1000.0, 1000.0])).tolist()
    [0.5, 0.5]
    """
    exponentials = np.exp(log_weights - log_weights.max())
    return np.asarray(exponentials / exponentials.sum())
