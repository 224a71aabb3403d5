"""Direct top-K: the K items that most people have, released without their counts, or with noisy ones.

Every person counts once per item, so that one of them moves each count by at most 1, however active they are: no
limit has to be chosen and nobody's records are cut. The K best are peeled off one by one; see
:mod:`headcount.noise.peeling`. Where only the ranking is wanted and K is small, this is far more precise than
ranking noisy counts. For a large K (hundreds) the noise, of scale K/ε a round, makes ranked counts the better way.

Per context there is one ranking each. If each person has one context alone (``--context-of user``), people are
divided among the contexts, and each ranking may spend all of ε. Otherwise the contexts share it.

Why it is private
    A user who joins raises the number of people behind an item by 0 or 1 and lowers none, so K rounds of
    permute-and-flip at scale K/ε are ε-differentially private. Rankings of several contexts add up by composition;
    where contexts divide the users, one user joining or leaving touches one of them alone, and the loss is that of
    this one. The counts of the K winners move by at most K in L1: noise of scale K/ε₂ pays for ε₂.

Departures from the paper
    Permute-and-flip in place of Gumbel noise (the exponential mechanism): never worse at the same price.

Reference
    R. McKenna, D. Sheldon. Permute-and-Flip: A New Mechanism for Differentially Private Selection. NeurIPS 2020.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa

from headcount.bounding import Bounded, Sample, check_limit, column, count_scores, part
from headcount.budget import Amount, Grant
from headcount.engines.engine import Engine
from headcount.engines.local import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, Standing
from headcount.method import ONE_ID, PUBLIC_CATALOGUE, shares_of, what_counted
from headcount.noise import NoiseSource, add, peel, scale_for
from headcount.noise_law import DiscreteLaplace, Law
from headcount.releases import Interval, Release

LEVEL = 0.95
EVERYTHING = Sample(2**31 - 1)

_SHARES = {"ranking": "0.5", "counts": "0.5"}


@dataclass(frozen=True, kw_only=True)
class DirectTopK:
    """Release the ``k`` items that most people have.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(90) for item in ("tea", "rye") if n < 60 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> DirectTopK(k=2).release(log, Grant("5"), SeededNoise(1)).tables["ranking"]["item"].to_pylist()
    ['tea', 'rye']
    """

    name: ClassVar[str] = "top-k"
    family: ClassVar[str] = "rankings"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None

    k: int
    per_context: bool = False
    with_counts: bool = False
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        check_limit(self.k, "k")

    def guarantee(self, grant: Grant) -> Guarantee:
        """Pure ε for adding or removing a user."""
        return Guarantee(epsilon=grant.epsilon, assumes=(PUBLIC_CATALOGUE, ONE_ID))

    def laws(self, log: EventLog, grant: Grant) -> Mapping[str, Law]:
        """Return the noise of the winners' counts, if they are asked for; refuse what cannot be done."""
        self._shares()
        self._check(log)
        if not self.with_counts:
            return {}
        each = self._for_contexts(Grant(grant.epsilon), log)[0].split(self._shares())
        return {"ranking": DiscreteLaplace(scale_for(self.k, each["counts"].exact))}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Count every person once per item, and peel the best items off."""
        self._check(log)
        guarantee = self.guarantee(grant)
        log = replace(log, counting="users")
        counted = (engine or LocalEngine()).count(log, EVERYTHING, noise.key())
        rankings = [counted.items]
        if self.per_context:
            rankings = [column(counted.edges, place) for place in range(log.width - 1)]
        made = [
            self._ranked(counts, part, noise)
            for counts, part in zip(rankings, self._for_contexts(grant, log), strict=True)
        ]
        context = log.context if self.per_context else None
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise={"ranking": made[0].law} if made[0].law else {},
            tables={"ranking": _table(log, made, None if context is None else context.labels)},
            contexts=None if context is None else context.labels,
            context_name=None if context is None else context.name,
            interval=Interval(level=LEVEL, covers="true" if log.context_of == "record" else "bounded"),
            counts="users",
            bounded=_extent(log),
            steps=self._story(log, made[0]),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )

    def _ranked(self, counts: Bounded, grant: Grant, noise: NoiseSource) -> _Ranked:
        """Spend one ranking's grant."""
        if not self.with_counts:
            return _Ranked(peel(count_scores(counts), self.k, grant, noise))
        grants = grant.split(self._shares())
        winners = peel(count_scores(counts), self.k, grants["ranking"], noise)
        noisy = add(part(counts, winners), grants["counts"], noise)
        return _Ranked(winners, noisy.counts.tolist(), noisy.law)

    def _for_contexts(self, grant: Grant, log: EventLog) -> list[Grant]:
        """Divide the grant among the rankings: each gets all of it where no user is in two of them."""
        if not self.per_context:
            return [grant]
        contexts = log.width - 1
        if log.context_of == "user":
            return grant.for_disjoint_people(contexts)
        names = [str(place) for place in range(contexts)]
        shares = shares_of(names, dict.fromkeys(names, "1"), None)
        return list(grant.split(shares).values())

    def _shares(self) -> dict[str, Decimal]:
        stages = ("ranking", "counts") if self.with_counts else ("ranking",)
        return shares_of(stages, _SHARES, self.shares)

    def _check(self, log: EventLog) -> None:
        if self.per_context and log.context is None:
            raise UsageError("a ranking per context needs a context", remedy="name one with --context")
        if self.k > len(log.catalogue.ids):
            raise UsageError(
                f"k must be at most {len(log.catalogue.ids):,}, the number of items in the catalogue",
                given=self.k,
                remedy="ask for fewer",
            )

    def _story(self, log: EventLog, first: _Ranked) -> tuple[str, ...]:
        rounds = "Of all items the best was" if self.k == 1 else f"The {self.k:,} best items were"
        told = [
            *what_counted(log),
            "Every person counted once per item, however often they had it.",
            f"{rounds} chosen one by one, by permute-and-flip with noise of scale k/ε a round.",
        ]
        if self.per_context:
            shared = (
                "each with all of ε, since every person counts in one context alone"
                if log.context_of == "user"
                else "sharing ε equally"
            )
            told.append(f"There is one ranking for each of {log.width - 1:,} contexts, {shared}.")
        if first.law is not None:
            part = self._shares()["counts"]
            share = "half" if part * 2 == 1 else f"{part:.4g}"
            told.append(f"The counts of the chosen items got {first.law.in_words()}, paid with {share} of it.")
        return tuple(told)


@dataclass(frozen=True)
class _Ranked:
    """The winners of one ranking, the best first, with their noisy counts if these were asked for."""

    winners: Sequence[int]
    counts: Sequence[float] | None = None
    law: Law | None = None


def _extent(log: EventLog) -> str:
    """Say how much of each person counted: all, but where they are in one context alone."""
    if log.context_of == "user" and log.context is not None:
        return f"what each person did in the {log.context.name} they have most often"
    return "everything each person did"


def _table(log: EventLog, made: Sequence[_Ranked], contexts: Sequence[str] | None) -> pa.Table:
    """Put the rankings one under the other."""
    kind = log.source.schema.field(log.roles.item).type
    ids = log.catalogue.as_type(kind, log.roles.item)
    labels = pa.array(log.catalogue.labels, pa.string())
    winners = pa.array([index for each in made for index in each.winners], pa.int64())
    columns: dict[str, Any] = {
        "rank": pa.array([rank for each in made for rank in range(1, len(each.winners) + 1)], pa.int64()),
        "item": ids.take(winners),
        "label": labels.take(winners),
    }
    if contexts is not None:
        names = [name for name, each in zip(contexts, made, strict=True) for _ in each.winners]
        columns["context"] = pa.array(names, pa.string())
    if made[0].counts is not None and made[0].law is not None:
        counts = [count for each in made for count in each.counts or ()]
        width = made[0].law.half_width(LEVEL)
        columns["count"] = pa.array(counts, pa.float64())
        columns["low"] = pa.array([count - width for count in counts], pa.float64())
        columns["high"] = pa.array([count + width for count in counts], pa.float64())
    return pa.table(columns)
