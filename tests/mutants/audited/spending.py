"""Mutants with bugs in accounting: grants spent twice and costs composed wrongly."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from headcount.accounting.budget import CostOrGrant, Grant
from headcount.accounting.guarantee import Guarantee
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.bounds import Bounded, BoundedCounts
from headcount.bounds.counts.users_per_column import SparseCounts
from headcount.bounds.scores.candidate_scores import count_scores
from headcount.engines.engine import Engine
from headcount.events.log import EventLog
from headcount.methods.counts.tables import NoisyTables
from headcount.methods.rankings.ranking import Ranked
from headcount.methods.rankings.top_k import DirectTopK
from headcount.noise import NoiseSource
from headcount.noise.selection.top_k import choose_top_k
from headcount.releases.release import Release
from tests.mutants.audited.mutant import Mutant, Parts, noised_with
from tests.mutants.count_tables import noised_tables

DELTA = Decimal("1e-6")


@dataclass(frozen=True, kw_only=True)
class SpendsTwice(Parts):
    """All of ε for each table."""

    def paid(self, log: EventLog, grant: Grant) -> Mapping[str, Grant]:
        """Give each table a grant of its own."""
        whole = grant.spend()
        return {stage.name: Grant(whole) for stage in self.stages(log, whole)}


@dataclass(frozen=True, kw_only=True)
class RootComposition(Parts):
    """Nine rounds for a third of ε each, averaged: as if costs added up in squares, and δ were nothing."""

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Draw nine times."""
        thirds = {name: grant.spend().epsilon / 3 for name, grant in grants.items()}
        rounds = [
            noised_tables(log, counts, {name: Grant(third) for name, third in thirds.items()}, noise)
            for _ in range(9)
        ]
        return noised_with(rounds[0], log, np.mean([part.tables["items"]["count"] for part in rounds], axis=0))


@dataclass(frozen=True, kw_only=True)
class NoDeltaTerm(Parts):
    """Gaussian noise for ρ = ε²/2, where ε and δ allow for far less."""

    def paid(self, log: EventLog, grant: Grant) -> Mapping[str, Grant]:
        """Pay what such a ρ really costs."""
        whole = grant.spend()
        rho = float(whole.epsilon) ** 2 / 2
        cost = rho + 2 * math.sqrt(-rho * math.log(float(whole.delta)))
        return super().paid(log, Grant(round(cost, 6), whole.delta))


@dataclass(frozen=True, kw_only=True)
class FlippedAsGumbel(DirectTopK):
    """Eight rounds of permute-and-flip at ρ = ε²/8 each, which holds for Gumbel noise."""

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Promise ε and δ."""
        return replace(super().guarantee(priced), delta=priced.delta)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Turn ε and δ into eight rounds, and peel the best item in each."""
        price = grant.spend()
        epsilon_per_round = price.rho.sqrt().quantize(Decimal("1e-9"))  # so that 8 · ε²/8 is ρ
        release = super().release(log, Grant(epsilon_per_round * 8), noise, engine)
        return replace(release, guarantee=self.guarantee(price))

    def _ranked(
        self, counts: Bounded | SparseCounts, grant: Grant, noise: NoiseSource
    ) -> tuple[Ranked, NoiseDistribution | None]:
        """Peel eight times, and rank the winner of most rounds first."""
        if not isinstance(counts, Bounded):
            raise TypeError("this bug is for few cells")
        part = grant.spend().epsilon / 8
        won = [choose_top_k(count_scores(counts), 1, Grant(part), noise)[0] for _ in range(8)]
        return Ranked([max(won, key=lambda item: (won.count(item), -item))]), None


SPENDING = (
    Mutant("each table gets all of ε", "two tables of the same people are paid with the whole ε each",
            "double spending; parallel composition over people who are in both", SpendsTwice),
    Mutant("costs added up in squares", "nine rounds for ε / 3 each, as advanced composition has it, without a δ",
            "wrong composition", RootComposition),
    Mutant("ρ without its δ term", "Gaussian noise is drawn for ρ = ε²/2, whatever δ is",
            "conversion between zCDP and (ε, δ)", NoDeltaTerm, parameters={"noise": "gaussian"}, delta=DELTA),
    Mutant("permute-and-flip as Gumbel", "rounds of permute-and-flip are priced at ρ = ε²/8",
            "opendp#2911", FlippedAsGumbel, like="top-k", delta=DELTA),
)  # fmt: skip
