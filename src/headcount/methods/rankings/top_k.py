"""Private top K: the items that most users have, without their counts or with noisy ones.

Every person counts once per item, so that one of them moves each count by at most 1, however active they are: no
limit has to be chosen and nobody's records are cut. The K best are peeled off one by one; see
:mod:`headcount.noise.selection.top_k`. Where only the ranking is wanted and K is small, this is far more precise
than ranking noisy counts.

The noise of peeling, of scale K/ε a round, grows with K. So for more than ten rounds a small share of ε first
releases how active people are, and where counts of everything would be less noisy, these are released and ranked
instead; see :mod:`headcount.methods.rankings.by_counts`.

With δ everything costs ρ, and is shared by it. Peeling is then by picks, whose noise grows with √K; counts, and
the histogram, have Gaussian noise.

Per context there is one ranking each. If each person has one context alone (``--context-of user``), people are
divided among the contexts, and each ranking may spend all of ε. Otherwise the contexts share it. Where contexts
are ranked by counts, all of them are counted at once: see :mod:`headcount.methods.rankings.by_context`.

Where there are many cells, those that nobody is in are not held but counted; the law of what is released is the
same, and the number of cells, which is public, decides.

Why it is private
    A user who joins raises the number of people behind an item by 0 or 1 and lowers none, so K rounds of
    permute-and-flip at scale K/ε are ε-differentially private. Rankings of several contexts add up by composition;
    where contexts divide the users, one user joining or leaving touches one of them alone, and the loss is that of
    this one. With δ each round is a pick, and all of them, of all contexts, cost ρ
    (:mod:`headcount.noise.selection.exponential_zcdp`), as do counts with Gaussian noise; all ρ of a ranking sum
    to what ε and δ allow for. Where picks come last, they may cost more: after Gaussian noise on a histogram they
    compose better than by ρ, also where the histogram may decide for counts
    (:mod:`headcount.accounting.bounded_range`). The counts of the K winners move by at most K in L1, and √K in
    L2: noise of scale K/ε₂ pays for ε₂, and Gaussian noise of variance K/2ρ₂ for ρ₂. The histogram of activity
    and counts of everything are those of the adaptive method, and so is why they are private; which way is taken
    hangs on the released histogram alone. Counts of contexts have their proof in
    :mod:`headcount.methods.rankings.by_context`.

Departures from the paper
    Permute-and-flip in place of Gumbel noise (the exponential mechanism): never worse at the same price.

Reference
    R. McKenna, D. Sheldon. Permute-and-Flip: A New Mechanism for Differentially Private Selection. NeurIPS 2020.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headcount.accounting.budget import Amount, Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.adaptive.estimator import LEVEL
from headcount.adaptive.measure import release_histogram
from headcount.adaptive.threshold_choice import LIGHT_AND_HEAVY, drawable, estimate_users
from headcount.bounds import (
    ActivityHistogram,
    Bounded,
    Noisy,
    SampleRecords,
    Scored,
    Sensitivity,
    WeightToThreshold,
    check_limit,
)
from headcount.bounds.counts.users_per_column import (
    SparseCounts,
    SparseScored,
    UsersPerColumn,
    sparse_scores,
    take_sparse_column,
    take_sparse_places,
)
from headcount.bounds.linear_maps import take_column, take_places
from headcount.bounds.scores.candidate_scores import count_scores
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.methods.method import ONE_ID, PUBLIC_CATALOGUE, Bounds, Staged, describe_extent, describe_filters
from headcount.methods.rankings import by_context
from headcount.methods.rankings.by_counts import ByCounts
from headcount.methods.rankings.ranking import (
    ACTIVITY_SHARE,
    Outcome,
    Ranked,
    RoundNoise,
    compute_round_noise,
    ranking_table,
)
from headcount.noise import NoiseSource, add_noise, noise_norm
from headcount.noise.selection.top_k import choose_top_k
from headcount.noise.stages import Stage, Stages, normalize_split, split_among_stages
from headcount.releases.formatting import describe_order, in_random_order, listed, some
from headcount.releases.release import Interval, Release

EVERYTHING = SampleRecords(2**31 - 1)
FEW_ROUNDS = 10
"""Up to so many rounds are always peeled, and nothing is spent on finding out what is better."""

MANY_CELLS = 1 << 22
"""Above so many, a public number, cells without people are not held, and all rankings are peeled."""

_PAIRS = ("different pair of item and context", "different pairs of item and context")


@dataclass(frozen=True, kw_only=True)
class DirectTopK(Staged):
    """Release the ``k`` items that most people have.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(90) for item in ("tea", "rye") if n < 60 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> DirectTopK(k=2).release(log, Grant("5"), SeededNoise(1)).tables["ranking"]["item"].to_pylist()
    ['tea', 'rye']
    """

    name: ClassVar[str] = "top-k"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (ActivityHistogram, UsersPerColumn, SampleRecords, WeightToThreshold)

    k: int
    per_context: bool = False
    with_counts: bool = False
    shares: Mapping[str, Amount] | None = None

    def __post_init__(self) -> None:
        check_limit(self.k, "k")

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """Pure ε for adding or removing a user; with δ where one is given."""
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=(PUBLIC_CATALOGUE, ONE_ID))

    def check(self, log: EventLog) -> None:
        """Refuse more places than items, and contexts that there are none of."""
        if self.per_context and log.context is None:
            raise UsageError("a ranking per context needs a context", remedy=f"name one with {param.context}")
        if self.k > len(log.catalogue.ids):
            raise UsageError(
                f"k must be at most {len(log.catalogue.ids):,}, the number of items in the catalogue",
                given=self.k,
                remedy="ask for fewer",
            )

    def stages(self, log: EventLog, price: Cost) -> Stages:
        """The ranking of each context; before it a histogram of activity, where there are two ways to rank."""
        two_ways, by_rho = self._has_two_ways(log), price.delta > 0
        picks = self._rounds(log) if self._picks_alone(price) else 0
        ranking = Stage(
            "ranking", gaussian=by_rho, parts=self._rankings(log, price, tells=not two_ways), picks=picks
        )
        if not two_ways:
            return (ranking,)
        unit = Sensitivity.of_l1(1)
        activity = Stage("activity", ACTIVITY_SHARE, gaussian=by_rho, sensitivity=unit, tells=("activity",))
        return activity, replace(ranking, share=1 - ACTIVITY_SHARE)

    def _rankings(self, log: EventLog, price: Cost, *, tells: bool) -> Stages:
        """Return one stage for each ranking: each gets everything where no user is in two of them."""
        contexts = log.width - 1 if self.per_context else 1
        apart = self.per_context and log.context_of == "user"
        stage = Stage("", gaussian=price.delta > 0, parts=self._peeling(price, tells=tells), apart=apart)
        return normalize_split(replace(stage, name=str(place)) for place in range(contexts))

    def _peeling(self, price: Cost, *, tells: bool = False) -> Stages:
        """Return the stages of one ranking."""
        moves = Sensitivity(l1=self.k, l2_squared=self.k, linf=1)
        winners = Stage("ranking", gaussian=price.delta > 0, sensitivity=moves)
        counts = replace(winners, name="counts", tells=("ranking",) if tells else ())
        return normalize_split([winners, counts] if self.with_counts else [winners], self.shares)

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Peel the best items off; or, for many, find out whether to rank counts instead, and do that."""
        self.check(log)
        guarantee, grants = self.guarantee(grant), split_among_stages(self.stages(log, grant.cost), grant)
        log, engine = replace(log, counting="users"), engine or LocalEngine()
        if not self._has_two_ways(log):
            outcome = self._peeled(log, grants["ranking"], noise, engine)
        else:
            norm = noise_norm(grants["activity"].cost)
            released = release_histogram(log, "items", grants["activity"], noise, engine, norm)
            rank = self._counted_contexts if self.per_context else self._counted
            counted = rank(log, released, grants["ranking"], noise, engine)
            outcome = counted or self._peeled(log, grants["ranking"], noise, engine)
            outcome = outcome.with_activity(released)
        context = log.context if self.per_context else None
        names = None if context is None else context.labels
        ranking = ranking_table(log, outcome.rankings, names, counted=self.with_counts)
        return Release(
            method=self.name,
            guarantee=guarantee,
            noise=outcome.noise_distributions,
            tables={"ranking": ranking, **outcome.tables},
            contexts=None if context is None else context.labels,
            context_name=None if context is None else context.name,
            interval=Interval(
                level=LEVEL, covers="true" if log.context_of == "record" else "bounded", average=outcome.average
            ),
            counts="users",
            bounded=describe_extent(log),
            chosen={"ranking": outcome.chosen},
            steps=(*describe_filters(log), *outcome.steps, *describe_order({"ranking": outcome.chosen})),
            catalogue=log.catalogue.digest,
            simulated=not noise.is_private,
        )

    def _peeled(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine) -> Outcome:
        """Count every person once per item, and peel the best items off."""
        price, columns = grant.cost, self._columns(log, noise.key(), engine)
        if self._picks_alone(price):
            grant = grant.for_picks(self._rounds(log), instead=self._has_two_ways(log))
        parts = split_among_stages(self._rankings(log, price, tells=True), grant).values()
        rankings = [self._ranked(counts, part, noise) for counts, part in zip(columns, parts, strict=True)]
        law, laws = rankings[0][1], {} if rankings[0][1] is None else {"ranking": rankings[0][1]}
        chosen = {"by": "peeling", "apart": _rounded(self._round(log, price).apart)}
        return Outcome([ranked for ranked, _ in rankings], laws, self._describe_peeling(log, price, law), chosen)

    def _columns(self, log: EventLog, secret: bytes, engine: Engine) -> Iterable[Bounded | SparseCounts]:
        """Count people, and return what each ranking is of; zeros are held where there are few cells."""
        if log.cells > MANY_CELLS:
            sparse = engine.measure(log, UsersPerColumn("edges" if self.per_context else "items"), secret)
            if not self.per_context:
                return [sparse]
            return (take_sparse_column(sparse, log.width, place) for place in range(log.width - 1))
        counted = engine.measure(log, EVERYTHING, secret)
        if not self.per_context:
            return [counted.items]
        return (take_column(counted.edges, place) for place in range(log.width - 1))

    def _ranked(
        self, counts: Bounded | SparseCounts, grant: Grant, noise: NoiseSource
    ) -> tuple[Ranked, NoiseDistribution | None]:
        """Spend one ranking's grant."""
        grants = split_among_stages(self._peeling(grant.cost), grant)
        winners = choose_top_k(_scores(counts), self.k, grants["ranking"], noise)
        if not self.with_counts:
            return Ranked(winners), None
        noisy = add_noise(_part(counts, winners), grants["counts"], noise)
        width = noisy.distribution.half_width(LEVEL)
        ends = (noisy.counts - width).tolist(), (noisy.counts + width).tolist()
        return Ranked(winners, noisy.counts.tolist(), *ends), noisy.distribution

    def _counted(
        self, log: EventLog, released: Noisy, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> Outcome | None:
        """Release all counts, and rank them; or nothing, if the released activity says that peeling is better."""
        if not drawable(1, grant.cost, log.counting):
            return None
        counts = ByCounts.plan(log, released, grant.cost)
        draw = self._round(log, grant.cost)
        if not (counts.find_more(log, self.k, draw.scale) if grant.delta else counts.pays(draw.deviation)):
            return None
        ranking, law = counts.rank(log, self.k, grant, noise, engine)
        steps = (
            f"Peeling {self._rounds(log):,} places off one by one would be noisier than ranking counts, as the "
            "released activity says; so counts were ranked.",
            f"People with at most {some(counts.limit, 'different item')} were counted in full; of the others all "
            f"count in part, so that together {_weigh(grant)} {counts.limit:,}. Every item, zeros included, got "
            f"{law.in_words()} in each of both groups.",
            "From these released numbers alone the counts of everything were estimated, and the largest taken.",
        )
        chosen = {"by": "counts", "limit": counts.limit, "apart": _rounded(counts.apart)}
        return Outcome([ranking], {"ranking": replace(law, on=LIGHT_AND_HEAVY)}, steps, chosen, average=True)

    def _counted_contexts(
        self, log: EventLog, released: Noisy, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> Outcome | None:
        """Count fewer and fewer items, and rank what is left in each context; or nothing, as above."""
        if not by_context.drawable(log, self.k, grant.cost):
            return None
        deviation = self._round(log, grant.cost).deviation
        if by_context.peeling_pays(log, self.k, released, grant.cost, deviation=deviation):
            return None
        users = estimate_users(log, "items", released, noise_norm(grant.cost))
        best = by_context.rank_contexts(log, self.k, users, grant, noise, engine)
        limit, law = best.edges.bound.limit, best.edges.noisy.distribution
        silent = [name for name, places in zip(_labels(log), best.rankings, strict=True) if not places.winners]
        steps = (
            f"Peeling {self._rounds(log):,} places off one by one would be noisier than ranking counts, as the "
            "released activity says; so counts were ranked.",
            "All items were counted, with noise, and the best kept to be counted in each context: "
            f"{some(best.candidates, 'item')}. What people did with other items was not looked at from then on.",
            f"People with at most {some(limit, *_PAIRS)} were counted in full; of the others all count in part, "
            f"so that together {_weigh(grant)} {limit:,}. Every item in each context, zeros included, got "
            f"{law.in_words()} in each of both groups.",
            "From these released numbers alone counts were estimated, each with the help of its item and of the "
            "other contexts, and the largest taken.",
            *([] if not silent else [f"Nothing can be told of {listed(silent)}, where all is within the noise."]),
        )
        chosen: dict[str, Any] = {"by": "counts", "limit": limit, "candidates": best.candidates}
        chosen["apart"] = _rounded(best.apart)
        chosen |= {} if best.confirmed else {"confirmed": False}
        chosen |= {"nothing told": silent} if silent else {}
        laws = {"ranking": replace(law, on=LIGHT_AND_HEAVY)}
        return Outcome(best.rankings, laws, steps, chosen, average=True)

    def _round(self, log: EventLog, price: Cost) -> RoundNoise:
        """Return the noise of a round, were all places peeled off at a price."""
        rounds, share = self._rounds(log), self._peeling(price)[0].share
        if self._picks_alone(price):
            price = price.for_picks(rounds, instead=self._has_two_ways(log))
        return compute_round_noise(rounds, price, share)

    def _picks_alone(self, price: Cost) -> bool:
        """Say whether picks are the last that is paid for with ρ, so that they may cost more of it."""
        return price.delta > 0 and not self.with_counts

    def _has_two_ways(self, log: EventLog) -> bool:
        """Say whether counts are worth considering: for many rounds, and cells that can all be held."""
        return self._rounds(log) > FEW_ROUNDS and log.cells <= MANY_CELLS

    def notes(self, log: EventLog, priced: CostOrGrant) -> tuple[str, ...]:
        """Say below how many people apart items will be in random order: that hangs on public numbers alone."""
        price = split_among_stages(self.stages(log, cost_of(priced)), cost_of(priced))["ranking"]
        unless = ", unless the released activity says that ranking counts is better"
        apart = _rounded(self._round(log, price).apart)
        return (
            in_random_order(apart, will=True, more=unless * self._has_two_ways(log)),
            *self._better_without(log, price),
        )

    def _better_without(self, log: EventLog, price: Cost) -> tuple[str, ...]:
        """Say so if a δ makes peeling noisier: permute-and-flip with ε alone is better for a few rounds."""
        if not price.delta:
            return ()
        pure = self._round(log, Cost(price.epsilon))
        if self._round(log, price).deviation < pure.deviation:
            return ()
        return (f"For so few places δ is of no use: without it, that would be {_rounded(pure.apart):,} people.",)

    def _rounds(self, log: EventLog) -> int:
        """Return over how many places ε is spread when they are peeled off."""
        shared = self.per_context and log.context_of == "record"
        return self.k * (log.width - 1 if shared else 1)

    def _describe_peeling(self, log: EventLog, price: Cost, law: NoiseDistribution | None) -> tuple[str, ...]:
        rounds = "Of all items the best was" if self.k == 1 else f"The {self.k:,} best items were"
        how, whole = "permute-and-flip with noise of scale k/ε a round", "ε"
        if price.delta:
            scale = self._round(log, price).scale
            how, whole = f"the exponential mechanism with Gumbel noise of scale {scale:.4g} a round", "ρ"
        sentences = [
            "Every person counted once per item, however often they had it.",
            f"{rounds} chosen one by one, by {how}.",
        ]
        if self.per_context:
            shared = (
                f"each with all of {whole}, since every person counts in one context alone"
                if log.context_of == "user"
                else f"sharing {whole} equally"
            )
            sentences.append(f"There is one ranking for each of {log.width - 1:,} contexts, {shared}.")
        if law is not None:
            part = self._peeling(price)[1].share
            share = "half" if part * 2 == 1 else f"{part:.4g}"
            sentences.append(f"The counts of the chosen items got {law.in_words()}, paid with {share} of it.")
        return tuple(sentences)


def _scores(counts: Bounded | SparseCounts) -> Scored | SparseScored:
    return sparse_scores(counts) if isinstance(counts, SparseCounts) else count_scores(counts)


def _part(counts: Bounded | SparseCounts, places: Sequence[int]) -> Bounded:
    return take_sparse_places(counts, places) if isinstance(counts, SparseCounts) else take_places(counts, places)


def _weigh(grant: Grant) -> str:
    return "the squares of their weights sum to" if grant.delta else "they weigh"


def _rounded(people: float) -> int:
    """Round up to whole people, one at least."""
    return max(1, math.ceil(people))


def _labels(log: EventLog) -> tuple[str, ...]:
    return () if log.context is None else log.context.labels
