"""The audit of mutants: replay first, then the sequential statistical audit.

The auditor knows the name of the method that a bug looks like, and so its neighbours: the bug itself it does not
know. Where the method can have item-by-context counts, it is audited without and with them, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from headcount.lab.audit.audit import CONFIDENCE, Finding
from headcount.lab.audit.replay_audit import ReplayFinding, replay_audit
from headcount.lab.audit.sequential import audit_sequentially
from headcount.lab.audit.target_registry import has_edges, pairs_for
from headcount.lab.audit.targets_under_audit import Target
from tests.mutants.audited import Mutant

RUNS = 300
"""Of each log of the most promising pairs, if nothing is found before."""


@dataclass(frozen=True)
class SearchResult:
    """What one way of auditing found, in how many releases."""

    is_detected: bool
    releases: int
    sentence: str


@dataclass(frozen=True)
class MutantResult:
    """What became of a planted bug."""

    planted: Mutant
    replay: SearchResult
    statistics: SearchResult

    @property
    def is_detected(self) -> bool:
        """Whether any way found it."""
        return self.replay.is_detected or self.statistics.is_detected

    @property
    def releases(self) -> int:
        """How many releases it took: the replay comes first, and statistics if that finds nothing."""
        return self.replay.releases + (0 if self.replay.is_detected else self.statistics.releases)


def audit_mutant(
    planted: Mutant, runs: int = RUNS, *, seed: int = 1, risk: float = 1 - CONFIDENCE
) -> MutantResult:
    """Audit a planted bug in both ways."""
    pairs = pairs_for(planted.like, 2)
    forms = [planted.target(edges=edges) for edges in ((False, True) if has_edges(planted.like) else (False,))]
    replays = partial(replay_audit, pairs=pairs, seed=seed, patient=False)
    bets = partial(audit_sequentially, pairs=pairs, runs=runs, seed=seed, risk=risk / len(forms))
    return MutantResult(planted, _search_forms(forms, replays), _search_forms(forms, bets))


def _search_forms(forms: list[Target], search: Callable[[Target], ReplayFinding | Finding]) -> SearchResult:
    """Search one form after the other, until something is found."""
    releases = 0
    for form in forms:
        finding = search(form)
        releases += finding.releases
        if finding.violation:
            break
    return SearchResult(finding.violation, releases, finding.sentence())
