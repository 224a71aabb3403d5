"""The audit of planted bugs: each is replayed, and attacked with statistics, as any method would be.

The auditor knows the name of the method that a bug looks like, and so its neighbours: the bug itself it does not
know. Where the method can have item-by-context counts, it is audited without and with them, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from headcount.lab.audit.audit import CONFIDENCE, Finding
from headcount.lab.audit.mutants import Planted
from headcount.lab.audit.replay_audit import ReplayFinding, replay_audit
from headcount.lab.audit.sequential import audit_sequentially
from headcount.lab.audit.targets import has_edges, pairs_for
from headcount.lab.audit.targets_under_audit import Target

RUNS = 300
"""Of each log of the most promising pairs, if nothing is found before."""


@dataclass(frozen=True)
class Search:
    """What one way of auditing found, in how many releases."""

    found: bool
    releases: int
    said: str


@dataclass(frozen=True)
class Hunt:
    """What became of a planted bug."""

    planted: Planted
    replay: Search
    statistics: Search

    @property
    def found(self) -> bool:
        """Whether any way found it."""
        return self.replay.found or self.statistics.found

    @property
    def releases(self) -> int:
        """How many releases it took: the replay comes first, and statistics if that finds nothing."""
        return self.replay.releases + (0 if self.replay.found else self.statistics.releases)


def hunt(planted: Planted, runs: int = RUNS, *, seed: int = 1, risk: float = 1 - CONFIDENCE) -> Hunt:
    """Audit a planted bug in both ways."""
    pairs = pairs_for(planted.like, 2)
    forms = [planted.target(edges=edges) for edges in ((False, True) if has_edges(planted.like) else (False,))]
    replays = partial(replay_audit, pairs=pairs, seed=seed, patient=False)
    bets = partial(audit_sequentially, pairs=pairs, runs=runs, seed=seed, risk=risk / len(forms))
    return Hunt(planted, _searched(forms, replays), _searched(forms, bets))


def _searched(forms: list[Target], search: Callable[[Target], ReplayFinding | Finding]) -> Search:
    """Search one form after the other, until something is found."""
    releases = 0
    for form in forms:
        found = search(form)
        releases += found.releases
        if found.violation:
            break
    return Search(found.violation, releases, found.sentence())
