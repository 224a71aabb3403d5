"""The sequential audit: a betting test of the guarantee that may stop after any run.

On the runs of a pair so far, events are chosen that look more frequent in one of its logs. On the next runs
money is put on them. If ε is what is claimed, or less, no such game is won on average; so a fortune is evidence,
whenever one looks. An audit ends as soon as it has one, or when its runs are used up.

Why its bound holds
    Let an event have probability p in one log and q in the other, and let X and Y say of a run of each whether it
    happened. If the algorithm is (g, δ)-private, p ≤ e^g q + δ, so that X - e^g Y - δ is at most 0 on average.
    A player who stakes λ ≥ 0 per unit of wealth multiplies it by 1 + λ(X - e^g Y - δ), which is positive for
    λ < 1 / (e^g + δ) and at most 1 on average, whatever the event and λ are, as long as they were chosen on
    earlier runs. So wealth is a supermartingale that begins at 1 and, by Ville's inequality, ever reaches 1/α with
    a probability of at most α. An average of such players is one, too: here, of both directions, of the events
    with the highest hopes and of several stakes.

    Every pair has such an average and reaches N/risk, of N pairs, with a probability of at most risk/N. For each g
    of a grid there is one game. The bound of a pair is the last g of which all games up to it were won: it can be
    wrong only if the game of the first g that is no less than the true ε is won. So all bounds of an audit hold
    together, at all times, but for the stated risk. Which pair is run next is chosen on earlier runs as well.

References
    J. Ville. Étude critique de la notion de collectif. 1939. G. Shafer. Testing by betting. JRSS A 2021.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace

import numpy as np

from headcount._internal.arrays import Floats
from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.audit import CONFIDENCE, Attempt, Evidence, Finding, Progress, expected_runs, observed
from headcount.lab.audit.outcome_sets import Observations, OutcomeSet, careful, choose_outcomes
from headcount.lab.audit.targets_under_audit import Target

PILOT = 40
"""So many runs of each log of a pair choose its first events; and no look has fewer."""

STAKES = (0.05, 0.15, 0.35, 0.7, 0.95)
"""What players stake, as a share of what they can at most."""

EVENTS = 2
"""So many events are bet on in each direction."""

BELOW, ABOVE = (0.1, 0.3, 0.5, *np.arange(0.6, 1, 0.02).round(2)), (1.01, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3, 4, 6, 9)
"""The bounds that can be shown, in multiples of what is claimed; there is a violation from the first above on."""

_GROWTH = 4  # a look has so many times fewer runs than its pair had before
_REMEMBERED = 40_000  # runs of a log that events are chosen on, the last ones: more tell hardly more


@dataclass
class Game:
    """The wealth of all players of a pair, as logarithms: by direction, event, stake and bound."""

    bounds: Floats
    delta: float
    log_wealth: Floats = field(init=False)
    best: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.log_wealth = np.zeros((2, EVENTS, len(STAKES), self.bounds.size))
        self.best = np.zeros(self.bounds.size)

    def play(self, direction: int, place: int, happened: tuple[np.ndarray, np.ndarray]) -> None:
        """Let the players of one event meet runs: whether it happened where it is hoped for, and where not."""
        here, there = happened
        stakes = np.array(STAKES)[:, None] / (np.exp(self.bounds) + self.delta)
        gains = np.zeros_like(stakes)
        for x, y in itertools.product((0, 1), (0, 1)):
            often = int(np.count_nonzero((here == x) & (there == y)))
            gains += often * np.log1p(stakes * (x - np.exp(self.bounds) * y - self.delta))
        self.log_wealth[direction, place] += gains

    def settle(self) -> None:
        """Note how rich the players are on average, if they never were richer."""
        players = self.log_wealth.reshape(-1, self.bounds.size)
        top = players.max(axis=0)
        average = top + np.log(np.exp(players - top).mean(axis=0))
        self.best = np.maximum(self.best, average)

    def bound(self, needed: float) -> float:
        """Return the last bound of which all games up to it were won; 0 if the first was not.

        >>> game = Game(np.array([0.5, 1.0, 2.0]), 0.0)
        >>> always, never = np.ones(60, dtype=bool), np.zeros(60, dtype=bool)
        >>> game.play(0, 0, (always, never))
        >>> game.settle()
        >>> game.bound(math.log(1000 * 9))
        1.0
        """
        lost = np.flatnonzero(self.best < needed)
        won = int(lost[0]) if lost.size else self.bounds.size
        return float(self.bounds[won - 1]) if won else 0.0


@dataclass
class _Table:
    """A pair, the game that is played on it, and the events to bet on next, chosen on all runs so far."""

    attempt: Attempt
    game: Game
    hopes: dict[bool, list[OutcomeSet]] = field(default_factory=lambda: {True: [], False: []})

    def meet(self, fresh: dict[bool, Observations], needed: float) -> None:
        """Bet on fresh runs what was chosen on earlier ones, and choose what is next."""
        attempt, bets = self.attempt, self._collect_evidence(fresh)
        for direction, present in enumerate((True, False)):
            for place, outcome in enumerate(self.hopes[present]):
                self.game.play(
                    direction, place, (outcome.contains(fresh[present]), outcome.contains(fresh[not present]))
                )
        self.game.settle()
        for present, side in fresh.items():
            attempt.past[present].append(side)
        attempt.runs += len(fresh[True])
        bound = self.game.bound(needed)
        if bets and bound > attempt.lower_bound:
            attempt.evidence = replace(max(bets, key=_hope), lower_bound=bound)
        past = {present: Observations.joined(parts).last(_REMEMBERED) for present, parts in attempt.past.items()}
        attempt.past = {present: [side] for present, side in past.items()}
        self.hopes = {side: choose_outcomes(past[side], past[not side], EVENTS) for side in past}
        attempt.promise = max(map(_hope, self._collect_evidence(past)), default=0.0)

    def _collect_evidence(self, runs: dict[bool, Observations]) -> list[Evidence]:
        """Return how often the events happened in some runs."""
        evidence = []
        for present in (True, False):
            for outcome in self.hopes[present]:
                masks = outcome.contains(runs[present]), outcome.contains(runs[not present])
                hits = int(masks[0].sum()), int(masks[1].sum())
                who = "with the person" if present else "without the person"
                evidence.append(Evidence(outcome.in_words(), who, hits, (masks[0].size, masks[1].size), 0.0))
        return evidence


def audit_sequentially(
    target: Target,
    pairs: Sequence[Pair],
    runs: int,
    *,
    seed: int | None = 1,
    pool: Executor | None = None,
    progress: Progress | None = None,
    on_finding: Callable[[Finding], object] | None = None,
    risk: float = 1 - CONFIDENCE,
) -> Finding:
    """Attack a target with at most as many runs in all as an audit of fixed size has, and stop when it is decided.

    >>> from headcount.lab.audit.adjacent_logs import crafted
    >>> finding = audit_sequentially(Target("lpa-published"), crafted(2), 4_000)
    >>> finding.violation, finding.releases
    (True, 240)
    """
    epsilon, delta = float(target.epsilon), float(target.delta)
    grid = np.array([multiple * epsilon for multiple in (*BELOW, *ABOVE)])
    tables = [_Table(Attempt(pair), Game(grid, delta)) for pair in pairs]
    needed = math.log(len(pairs) / risk)
    sources = itertools.repeat(None) if seed is None else itertools.count(seed << 32)
    left = whole = expected_runs(len(pairs), runs)
    finding = Finding(target, tuple(table.attempt for table in tables), 1 - risk)
    while True:
        table = _next(tables, epsilon)
        size = min(left, max(PILOT, table.attempt.runs // _GROWTH))
        table.meet(observed(target, table.attempt.pair, size, sources, pool), needed)
        left -= size
        if progress is not None:
            progress(f"auditing {target.shown}", whole - left, whole)
        if on_finding is not None:
            on_finding(finding)
        if finding.violation or not left:
            return finding


def _next(tables: Sequence[_Table], epsilon: float) -> _Table:
    """Return the pair to run next: half of all runs go to the highest guess, half evenly to the other pairs.

    A violation that shows only after thousands of runs has a low guess after a hundred, so no pair may starve.
    Every pair has its pilot first, unless a guess is already above ``epsilon``.
    """
    leader = max(tables, key=lambda table: table.attempt.promise)
    others = [table for table in tables if table is not leader]
    behind = min(others, key=lambda table: table.attempt.runs, default=leader)
    pilots = leader.attempt.promise <= epsilon and not behind.attempt.runs
    if pilots or leader.attempt.runs > sum(table.attempt.runs for table in others):
        return behind
    return leader


def _hope(bet: Evidence) -> float:
    """Guess at ε, from how often an event happened in either log."""
    guess = careful(np.array(bet.hits[:1]), bet.runs[0], np.array(bet.hits[1:]), bet.runs[1])
    return max(0.0, float(guess[0]))
