"""LPA, the Laplace perturbation algorithm: every record counted, up to a declared maximum, with noise.

The baseline of the papers. ``limit`` (M) is the most records one user may have; the counts of all records get
discrete Laplace noise of scale M/ε. With M well above what almost everyone has, there is no bias and much noise.

Why it is private
    M is declared, and enforced: a user with more than M records keeps M of them at random. So one user joining
    or leaving moves the counts by at most M in L1, and noise of scale M/ε₁ on items and M/ε₂ on edges is
    (ε₁ + ε₂)-differentially private.

Departures from the paper
    In the papers M is the largest number of records any user has, read from the data; then the scale of the noise
    itself reveals the most active user, and no finite ε holds. That variant is ``lpa-published``. Discrete instead
    of continuous Laplace noise; items and edges are reconciled by least squares after the noise.

Reference
    C. Dwork, F. McSherry, K. Nissim, A. Smith. Calibrating Noise to Sensitivity in Private Data Analysis. TCC
    2006; as LPA in L. Fan, H. Jin, WWW 2015, and G. Kellaris, S. Papadopoulos, PVLDB 2013.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headcount.methods.counts.simple_random import SimpleRandom


@dataclass(frozen=True, kw_only=True)
class LaplacePerturbation(SimpleRandom):
    """Release item and edge counts with LPA, each user cut at ``limit`` records: SRA with M in place of l.

    >>> from headcount.accounting.budget import Grant
    >>> from headcount.events.log import EventLog
    >>> from headcount.noise import SeededNoise
    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> LaplacePerturbation(limit=2).release(log, Grant("50"), SeededNoise(1)).items["count"].to_pylist()
    [1.0, 2.0]
    """

    name: ClassVar[str] = "lpa"
    limit_name: ClassVar[str] = "maximum"
    story: ClassVar[str] = "{were_kept}: everything of people within that maximum, a random choice of the others'."
