"""``hc.audit``: try to refute a method's guarantee on neighbouring logs; return the finding."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from headcount._internal.parameters import whole_number
from headcount.accounting.budget import Amount, amount, probability
from headcount.errors import UsageError, param
from headcount.lab.audit.audit import Finding
from headcount.lab.audit.audit import audit as audit_fixed
from headcount.lab.audit.replay_audit import ReplayFinding, replay_audit
from headcount.lab.audit.sequential import audit_sequentially
from headcount.lab.audit.targets import has_edges, pairs_for, runs_for, target

_FEWEST, _MOST = 100, 100_000_000
_LARGEST_LIMIT = 1_000


def audit(
    method: str,
    *,
    epsilon: Amount = 1,
    delta: Amount | None = None,
    limit: int = 2,
    edges: bool = False,
    runs: int | None = None,
    seed: int | None = 1,
    sequential: bool = True,
    replay: bool = False,
) -> Finding | ReplayFinding:
    """Attack the promise of a method: run the real code on logs that differ in one person, and tell them apart.

    The logs are made up, to be as bad as can be. Finding nothing proves nothing: an audit tries some neighbours
    and events, and can only refute a promise. See ``violation``, ``sentence()`` and ``to_json()`` of what it
    returns.

    >>> finding = audit("sra", replay=True)
    >>> finding.violation
    False

    Parameters:
        method: One of `headcount methods`, or top-k, selection or totals.
        epsilon: The ε that is claimed.
        delta: Audit Gaussian noise, or item selection, with this δ.
        limit: The most records one person may add.
        edges: Audit item-by-context counts beside the item counts.
        runs: Runs of each log of the best pairs; by default 200000, or 4000 or 2000 where each is a release.
        seed: Seed of all runs, which are thrown away; None draws from the operating system, as releases do.
        sequential: Stop as soon as a violation is certain, or make all runs and say how large ε is at least.
        replay: Run each pair of logs with the same draws, once: no statistics, a few seconds.
    """
    claimed, most = amount(epsilon), whole_number(limit, "limit", most=_LARGEST_LIMIT)
    failing = Decimal(0) if delta is None else probability(delta)
    audit_target = target(method, most, claimed, failing)
    if edges and not has_edges(method):
        raise UsageError(f"{method} has no item-by-context counts", remedy=f"leave {param.edges} out")
    audit_target = replace(
        audit_target, copies=audit_target.copies and seed is not None, contexts=audit_target.contexts or edges
    )
    pairs = pairs_for(method, most, claimed, failing)
    if replay:
        if runs is not None:
            raise UsageError(f"{param.replay} has no use for {param.runs}", remedy="leave one of them out")
        return replay_audit(audit_target, pairs, seed=1 if seed is None else seed)
    many = runs_for(method, copies=audit_target.copies) if runs is None else whole_number(runs, "runs", most=_MOST)
    if many < _FEWEST:
        raise UsageError(f"runs must be at least {_FEWEST}", given=runs, remedy=f"try {param.runs(4000)}")
    return (audit_sequentially if sequential else audit_fixed)(audit_target, pairs, many, seed=seed)
