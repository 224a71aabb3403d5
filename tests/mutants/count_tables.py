"""What broken count methods share with sound ones: noise on tables, and a release of them."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Guarantee
from headcount.bounds import BoundedCounts
from headcount.events.log import EventLog
from headcount.methods.counts import count_method
from headcount.methods.counts.tables import NoisyTables, add_table_noise, estimate_tables
from headcount.methods.method import Method
from headcount.noise import NoiseSource
from headcount.releases.release import Release


def noised_tables(
    log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
) -> NoisyTables:
    """Add noise to tables, and reconcile them."""
    return estimate_tables(log, add_table_noise(counts, grants, noise))


def release_of(
    method: Method, log: EventLog, guarantee: Guarantee, noised: NoisyTables, *, bounded: str, noise: NoiseSource
) -> Release:
    """Put a release together."""
    return count_method.release_of(method, log, guarantee, noised, bounded=bounded, simulated=not noise.is_private)
