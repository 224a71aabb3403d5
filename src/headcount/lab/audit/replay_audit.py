"""The replay audit: one recorded and one replayed run for each pair of adjacent logs, without statistics.

A target is run on one log of a pair while everything it draws is written down, and on the other with the same
draws coming out. Then the same must be asked for, what meets noise may differ by no more than was declared and
paid for, and what is released must be the same, to the last byte: see :mod:`headcount.lab.audit.replay`. Both
logs take their turn at being the first, since a step that only one of them takes shows in one direction alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from headcount.lab.audit.adjacent_logs import Pair
from headcount.lab.audit.audit import Progress
from headcount.lab.audit.replay import Tape, check_replay, wrapped_noise
from headcount.lab.audit.sensitivity_replay import SensitivityUse, Violation
from headcount.lab.audit.targets_under_audit import Target
from headcount.releases.release import Release

RUNS = 4
"""How many releases one pair of logs takes: each log written down once, and replayed once."""

_CONTENT = re.compile(r"[\[{]|, though|(?<=two neighbours): |(?<=neighbours alone): ")


@dataclass(frozen=True)
class Replayed:
    """What came of one pair: what tells its logs apart, if anything does, and how far the person moved numbers."""

    pair: Pair
    violation: str | None
    moves: tuple[SensitivityUse, ...]

    @property
    def furthest(self) -> float:
        """How far the person moved what met noise, as a share of what is declared."""
        return max((move.ratio for move in self.moves), default=0.0)

    @property
    def epsilon(self) -> float:
        """What the person's presence cost in all, if it is paid by ε; that of the dearer direction."""
        return sum(move.epsilon for move in self.moves)

    def without_content(self) -> Replayed:
        """Return it without what may be content of a log: what kind of step told, and not by what.

        >>> from headcount.lab.audit.adjacent_logs import crafted
        >>> message = "step 3, add: declared differs between two neighbours: ('ann',) and ('bob',)"
        >>> Replayed(crafted(1)[0], message, ()).without_content().violation
        'step 3, add: declared differs between two neighbours'
        """
        if self.violation is None:
            return self
        return replace(self, violation=_CONTENT.split(self.violation)[0].rstrip(" :"))

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **self.pair.to_json(),
            "violation": self.violation,
            "draws": len(self.moves),
            "furthest": self.furthest,
            "epsilon": self.epsilon,
        }


@dataclass(frozen=True)
class ReplayFinding:
    """What the replay of a target found out."""

    target: Target
    pairs: tuple[Replayed, ...]

    @property
    def violation(self) -> bool:
        """Whether any pair can be told apart."""
        return any(pair.violation for pair in self.pairs)

    @property
    def releases(self) -> int:
        """How many releases were made."""
        return RUNS * len(self.pairs)

    def without_content(self) -> ReplayFinding:
        """Return it without what may be content of a log."""
        return replace(self, pairs=tuple(pair.without_content() for pair in self.pairs))

    def __repr__(self) -> str:
        return f"<{self.target.shown}: {self.sentence()}>"

    def sentence(self) -> str:
        """Say it in one sentence."""
        broken = [pair for pair in self.pairs if pair.violation]
        if broken:
            return f"VIOLATION on the pair {broken[0].pair.name!r}: {broken[0].violation}."
        return (
            f"No violation found: with the same draws, {len(self.pairs)} pairs of logs were asked for the same, "
            "moved no number further than is declared and paid for, and gave the same release."
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "method": self.target.shown,
            "parameters": dict(self.target.parameters),
            "epsilon": str(self.target.epsilon),
            "delta": str(self.target.delta),
            "replay": True,
            "violation": self.violation,
            "releases": self.releases,
            "pairs": [pair.to_json() for pair in self.pairs],
        }


def replay_audit(
    target: Target, pairs: Sequence[Pair], *, seed: int = 1, patient: bool = True, progress: Progress | None = None
) -> ReplayFinding:
    """Replay a target on both logs of every pair; if not ``patient``, only until one can be told apart.

    >>> from headcount.lab.audit.adjacent_logs import crafted
    >>> finding = replay_audit(Target("sra", {"limit": 2}), crafted(2)[:2])
    >>> finding.violation, finding.pairs[0].furthest, finding.pairs[0].epsilon
    (False, 1.0, 1.0)
    """
    done = list[Replayed]()
    with wrapped_noise():
        for pair in pairs:
            done.append(_replayed(target, pair, seed))
            if progress is not None:
                progress(f"replaying {target.shown}", len(done), len(pairs))
            if done[-1].violation and not patient:
                break
    return ReplayFinding(target, tuple(done))


def _replayed(target: Target, pair: Pair, seed: int) -> Replayed:
    """Replay without the person what was written down with them, and the other way round."""

    def run(present: bool, tape: Tape) -> Release:
        return target.run(pair, tape, present=present)

    violations, failed, ways = list[str](), list[Exception](), list[list[SensitivityUse]]()
    for first in (True, False):
        try:
            release, moves = check_replay(run, first, [not first], seed)
            _check_claim(target, release)
            ways.append(moves)
        except Violation as violation:
            violations.append(str(violation))
        except Exception as error:
            failed.append(error)
    if len(failed) == 2:  # for both logs: nothing of anybody's, so the method cannot be asked like this
        raise failed[0]
    dearer = max(ways, key=lambda direction: sum(move.epsilon for move in direction), default=[])
    return Replayed(pair, violations[0] if violations else None, tuple(dearer))


def _check_claim(target: Target, release: Release) -> None:
    """Refuse a release that promises less than was granted: its draws are held against what it promises."""
    promised = release.guarantee
    if promised.epsilon > target.epsilon or promised.delta > target.delta:
        raise Violation(
            f"it promises ε = {promised.epsilon} and δ = {promised.delta}, where {target.epsilon} and "
            f"{target.delta} were granted"
        )
