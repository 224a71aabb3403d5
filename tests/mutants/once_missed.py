"""Mutants that the suite once missed, each with the contract check that rejects it; see planted for replays.

They are planted as those of :mod:`tests.mutants.planted` are, which replays reject. Here each mutant names its
check, which ``test_blind_spots.py`` runs on the sound code.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headcount.bounds import SampleRecords
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.bounds.ratings.rating_covariance import RatingCovariance
from headcount.bounds.values.value_histograms import UserValues
from headcount.engines.local.engine import LocalEngine
from headcount.lab.audit.replay import wrapped_noise
from tests.contracts.replay.case import Case
from tests.contracts.replay.counts import count_cases, selection_cases, totals_cases
from tests.contracts.support import terminal_output
from tests.contracts.support.accounting import check_picks
from tests.contracts.support.contribution_bounds import check_limits
from tests.contracts.support.joint_choices import check_choices, check_directions
from tests.contracts.support.mechanisms import check_mechanism
from tests.mutants.planted import Plant
from tests.reference.engine import ReferenceEngine


@dataclass(frozen=True)
class Mutant:
    """A bug: the function, the text that is replaced, and the check that must fail with it."""

    name: str
    where: str
    old: str
    new: str
    check: Callable[[Path], None]

    @contextlib.contextmanager
    def planted(self) -> Iterator[None]:
        """Plant the bug, and remove it again; nothing that one of the codes cached outlives the change."""
        with Plant(self.name, "", "", self.where, self.old, self.new).planted():
            _forget()
            try:
                yield
            finally:
                _forget()


def _forget() -> None:
    """Clear the caches of all functions of the product: a mutant may be cached by what calls it."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "headcount":
            for value in list(vars(module).values()):
                if isinstance(value, functools._lru_cache_wrapper):
                    value.cache_clear()


def _checked(check: Callable[..., None], *arguments: object) -> Callable[[Path], None]:
    """Return a check that writes no files."""
    return lambda _: check(*arguments)


def replayed(cases: Callable[[], Iterator[Case]]) -> Callable[[Path], None]:
    """Return a check that replays cases."""

    def check(_: Path) -> None:
        with wrapped_noise((LocalEngine, ReferenceEngine)):
            for case in cases():
                case.check(3)

    return check


def lot_cases() -> Iterator[Case]:
    """Yield releases that draw users by lot, for items and for contexts."""
    for case in count_cases("gs-s"):
        options = getattr(case.request, "options", {})
        if options.get("sampling") == "row" and case.reading({}).context is not None:
            yield case


def quantile_cases() -> Iterator[Case]:
    """Yield releases of quantiles that are all high."""
    return (case for case in totals_cases() if getattr(case.request, "quantiles", None) in ("0.8,0.9", "0.9"))


def larger_selections() -> Iterator[Case]:
    """Yield selections with more than three items of a user."""
    return (case for case in selection_cases() if (getattr(case.request, "select_limit", None) or 0) > 3)


_DIRECTIONS, _RANKS = (
    "bounds.scores.joint_quantile_scores:directions",
    "bounds.scores.quantile_scores:_score_single",
)
JOINT_CHOICES = (
    Mutant(
        "a user above all quantiles is forgotten", _DIRECTIONS,
        "user_steps(below, denominator))", "user_steps(below, denominator)[:-1])", _checked(check_directions),
    ),
    Mutant(
        "a user above all quantiles is forgotten, in exact scores", _DIRECTIONS,
        "user_steps(below, denominator))", "user_steps(below, denominator)[:-1])", _checked(check_choices),
    ),
    Mutant(
        "a user below all quantiles is forgotten", _DIRECTIONS,
        "user_steps(below, denominator))", "user_steps(below, denominator)[1:])", _checked(check_choices),
    ),
    Mutant(
        "the spread of joint choices is that of the lowest quantile",
        "bounds.scores.joint_quantile_scores:ScoredJointly.__init__",
        '2 * denominator * most', '2 * (denominator - below[0]) * most', _checked(check_choices),
    ),
    Mutant(
        "the spread of a single choice is that of users below", _RANKS,
        "2 * max(below, denominator - below) * most", "2 * (denominator - below) * most", _checked(check_choices),
    ),
    Mutant(
        "a user above all quantiles is forgotten, in a replay", _DIRECTIONS,
        "user_steps(below, denominator))", "user_steps(below, denominator)[:-1])", replayed(quantile_cases),
    ),
)  # fmt: skip

_SAMPLE = "methods.counts.smoothing.sampled_groups:SampledGroups._sample"
LOTS = (
    Mutant(
        "items and contexts share one lot", _SAMPLE,
        "noise.key()", "noise.__dict__.setdefault('lot', noise.key())", replayed(lot_cases),
    ),
    Mutant(
        "items and contexts are sampled in one measurement", _SAMPLE,
        "counted: Bounded = getattr(engine.measure(log, bound, noise.key()), table)",
        "measured = engine.measure(log, bound, noise.key())\n"
        "    counted: Bounded = getattr(noise.__dict__.setdefault('measured', measured), table)",
        replayed(lot_cases),
    ),
    Mutant(
        "lots come from one of 256 keys", _SAMPLE,
        "noise.key()", "noise.key()[:1] * 16", replayed(lot_cases),
    ),
    Mutant(
        "the groups' sums come from the users of the lot",
        "methods.counts.smoothing.sampled_groups:SampledGroups.make",
        'engine.measure(log, SampleRecords(self.limit), noise.key())',
        "engine.measure(log, SampleUsers(self.limit, admission(halves['sums'].exact, self.limit)),"
        " noise.key() and noise.keys[-2])",
        replayed(lot_cases),
    ),
)  # fmt: skip

_PICKS = _checked(check_picks)
PICKS = (
    Mutant(
        "Gaussian noise before the picks costs nothing", "accounting.bounded_range:rho_of_picks",
        'first = _mu_for_rho(rho_before)', 'first = _mu_for_rho(rho_before * 0)', _PICKS,
    ),
    Mutant(
        "a price forgets what Gaussian noise before it costs", 'accounting.budget:Cost.for_picks',
        "all_of_it - rho", "all_of_it * 0", _PICKS,
    ),
    Mutant(
        "Gaussian noise before the picks costs a quarter", "accounting.bounded_range:_mu_for_rho",
        "2 * rho /", "rho / 2 /", _PICKS,
    ),
    Mutant(
        "δ is that of picks alone", "accounting.bounded_range:delta_of",
        "step, epsilon, mu)", "step, epsilon, 0.0)", _PICKS,
    ),
)  # fmt: skip

EXACT = (
    Mutant(
        "exact weights beyond four times what is enough", "noise.partition_selection.single_key:release_key_hints",
        'distance_to_aim = np.abs(',
        'noisy = np.where(weights.sensitive_weights > 4 * aim, weights.sensitive_weights, noisy)\n    '
        'distance_to_aim = np.abs(',
        _checked(check_mechanism, "release_key_hints"),
    ),
    Mutant(
        "steady users see where exact weights are more than "
        "enough", "noise.partition_selection.single_key:release_key_hints",
        "np.where(noisy > aim", "np.where(weights.sensitive_weights > "
        "aim", _checked(check_mechanism, "release_key_hints"),
    ),
    Mutant(
        "no noise on items of very many users", "noise.partition_selection.threshold:select_by_threshold",
        'draw(threshold.distribution, users_by_item.size, source)',
        'draw(threshold.distribution, users_by_item.size, source) * (users_by_item < 9 * threshold.users_needed)',
        _checked(check_mechanism, "select_by_threshold"),
    ),
    Mutant(
        "no noise on weights beyond the threshold of a round",
        'noise.partition_selection.weighted_rounds:WeightedSelection.take_round',
        'gaussian.draw(distribution, len(ids), self._source)',
        'gaussian.draw(distribution, len(ids), self._source) * (weights.sensitive_weights < '
        'self._rounds.thresholds[number])',
        _checked(check_mechanism, "WeightedSelection"),
    ),
)  # fmt: skip

_SUPPORT = "bounds.keys.key_support:KeySupport.measure", "_Histories(users, self.limit,"
LIMITS = (
    Mutant(
        "one item more than a limit above 3", *_SUPPORT,
        "_Histories(users, self.limit + (self.limit > 3),", _checked(check_limits, KeySupport),
    ),
    Mutant(
        "one item more than a limit above 3, in a replay", *_SUPPORT,
        "_Histories(users, self.limit + (self.limit > 3),", replayed(larger_selections),
    ),
    Mutant(
        "one record more than a limit above 6", "bounds.counts.count_bound:sample_settings",
        'SampleSettings(bound.limit,', 'SampleSettings(bound.limit + (bound.limit > '
        '6),', _checked(check_limits, SampleRecords),
    ),
    Mutant(
        "weight of one item more than a limit above 4", "bounds.keys.key_weights:_kept",
        "places < most", "places < most + (most > 4)", _checked(check_limits, KeyWeights),
    ),
    Mutant(
        "no user is above a limit above 8", "bounds.values.value_histograms:_weights_of_places",
        "whole > bound.limit,", "(whole > bound.limit) & (bound.limit < 9),", _checked(check_limits, UserValues),
    ),
    Mutant(
        "pairs of one item more than a limit above "
        "5", "bounds.ratings.rating_covariance:RatingCovariance.measure",
        'clipping = self.limit,', 'clipping = self.limit + (self.limit > 5),',
        _checked(check_limits, RatingCovariance),
    ),
)  # fmt: skip

_SPEND = "cli.charged:spend"
PROGRESS = (
    Mutant(
        "progress shows under a ledger", _SPEND, "bar.be_discreet()", "pass", terminal_output.check_all_discreet,
    ),
    Mutant(
        "progress shows under a ledger that the environment names", _SPEND,
        "if charging is not None:\n                bar", "if flags['ledger'] is not None:\n                bar",
        terminal_output.check_all_discreet,
    ),
    Mutant(
        "a discreet bar tells the step", "cli.terminal:Bar.__call__",
        'stage, done, total = "working", 0, None', "done, total = 0, None", terminal_output.check_all_discreet,
    ),
    Mutant(
        "a discreet bar keeps its columns", "cli.terminal:Bar.be_discreet",
        "self._progress.columns[:2]", "self._progress.columns", terminal_output.check_all_discreet,
    ),
    Mutant(
        "a discreet bar that appears late has all columns", "cli.terminal:Bar._appear",
        "() if self._discreet else ", "", terminal_output.check_all_discreet,
    ),
    Mutant(
        "dropped records are told under a ledger that the environment names", _SPEND,
        "if charging is None:  #", "if flags['ledger'] is None:  #", terminal_output.check_all_discreet,
    ),
    Mutant(
        "an analyst sees the progress of a job in the studio", 'studio.store.jobs:Job.visible_to',
        "progress=None, entry=None", "entry=None", _checked(terminal_output.check_studio),
    ),
)  # fmt: skip

MUTANTS = (*JOINT_CHOICES, *LOTS, *PICKS, *EXACT, *LIMITS, *PROGRESS)
