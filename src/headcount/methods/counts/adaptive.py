"""Adaptive: everyone's records count, no limit has to be guessed, and counts are those of everything.

First a small share of ε releases how active people are: how many have 1, 2, 3-4, 5-8, … records. From this
histogram alone follows the limit θ with the smallest predicted error (:mod:`headcount.adaptive.predicted_error`).
Light users, with at most θ records, are counted in full. Heavy users' records share θ: each of n records weighs
θ/n, the expectation of what SRA keeps, without its chance. Both groups get noise that pays for θ, light users in
whole numbers, as their counts are. Items are then sorted into classes by these noisy counts, and a last small
share of ε releases what kinds of items heavy users of each activity have. What follows uses released numbers
alone: both noisy tables are shrunk together by empirical Bayes, items that are neighbours in the catalogue
together if they are alike, the heavy one is scaled up by what was measured of its classes, and
edges are made to sum to their item.

With Gaussian noise (which needs δ) heavy users' records weigh √(θ/n), n being the sum of squares of a user's
numbers of records of each item: for the same noise they keep far more of their weight.

With ``at_most``, a public cap, a person with more records counts as if so many of them, drawn at random, were all:
in expectation, without the draw. No person beyond the cap can then hide in the noise, and intervals are narrower.

Why it is private
    A user is in one bin of the histogram, so noise of scale 1/ε₀ pays for ε₀. With the histogram released, θ is
    fixed. A user is in one group, by their own number of records, and adds at most θ in L1 to both tables together
    (√θ in L2 where weights are √(θ/n)), so noise that pays for θ on both tables pays for that user once. With
    these released, classes are fixed, and a user adds at most 1 in L1 to what is measured of them. The first items
    are then fixed, too; why looking closer is private, :mod:`headcount.adaptive.refinement.measure` says. Stages
    add up by adaptive composition; tables with Gaussian noise share the ρ that the rest of ε, and δ, allow for.

Departures from the paper
    None: this is Headcount's own method. Its weights are the expectation of what SRA keeps.

Reference
    docs/methods/adaptive.md. The parts: L. Fan, H. Jin, WWW 2015 (bounded user samples); W.-Y. Day, N. Li, ASIACCS
    2015 (weighting in place of sampling); H. Robbins, 1956 (empirical Bayes).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.accounting.budget import Amount, Grant, Price, Priced
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import Law, NoiseKind
from headcount.adaptive.activity_histogram import histogram_table
from headcount.adaptive.empirical_bayes import Posterior
from headcount.adaptive.heavy_user_counts import (
    LIGHT_AND_HEAVY,
    MOST_RECORDS,
    chosen_limit,
    draft_of,
    edges_from,
    histogram,
    less_scaled,
    measured_counts,
    noised,
    people_of,
    reconciled,
    shares_to_ask,
)
from headcount.adaptive.light_heavy import uncertain
from headcount.adaptive.refinement.measure import Looked, look_closer, parts, question_of
from headcount.bounds import (
    FIXED_POINT,
    Activity,
    CountTable,
    Look,
    Noisy,
    Norm,
    Scale,
    Sensitivity,
    Shares,
    check_limit,
    sensitivity,
)
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.tables import LEVEL, NOUNS, Noised, assumptions, at_most, interval_table, release_of
from headcount.methods.method import (
    CAME_LATER,
    EVERYTHING,
    ONE_ID,
    PUBLIC_CATALOGUE,
    Bounds,
    Staged,
    What,
    extent,
    paid,
    tables_of,
)
from headcount.noise import NoiseSource, norm_of
from headcount.noise.stages import Stage, Stages, share_out, shared
from headcount.releases.formatting import some
from headcount.releases.release import UNCOVERED, Release

ACTIVITY_SHARE = Decimal("0.05")
SHARES_SHARE = Decimal("0.03")
FIRST_SHARE = Decimal("0.08")


@dataclass(frozen=True, kw_only=True)
class Adaptive(Staged):
    """Release item and edge counts with the adaptive method.

    >>> from headcount.noise import SeededNoise
    >>> visits = [(f"u{n}", item) for n in range(900) for item in ("tea", "rye") if n < 600 or item == "tea"]
    >>> log = EventLog.of(visits, items=["oat", "rye", "fig", "tea"])
    >>> release = Adaptive().release(log, Grant("50"), SeededNoise(1))
    >>> [round(count) for count in release.items["count"].to_pylist()], release.chosen
    ([0, 600, 0, 900], {'items': {'limit': 2}})
    """

    name: ClassVar[str] = "adaptive"
    example: ClassVar[Mapping[str, int]] = {"limit": 3}
    foreseen: ClassVar[str] = "adaptive"
    standing: ClassVar[Standing] = Standing.PROVEN
    reason: ClassVar[str | None] = None
    bounds: ClassVar[Bounds] = (Activity, Scale, Shares, Look)
    gone: ClassVar[Mapping[str, float]] = {"lean": 0.0}
    """What requests said that ledgers know, and no longer say."""

    limit: int | None = None
    integers: bool = False
    what: What | None = None
    shares: Mapping[str, Amount] | None = None
    noise: NoiseKind = "laplace"
    at_most: int | None = field(default=None, metadata=CAME_LATER)

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_limit(self.limit)
        if self.at_most is not None:
            check_limit(self.at_most, "at_most")
            # people beyond the cap are heavy users: nobody is known of them where the limit is the cap
            if self.at_most == 1:
                raise UsageError("at_most must be at least 2", given=1, remedy="use --method sra --limit 1")
            if self.limit is not None and self.limit >= self.at_most:
                raise UsageError(
                    "limit must be less than at_most", given=self.limit, remedy="leave limit out: it is found"
                )
        if self.at_most is not None and self.noise == "gaussian":
            raise UsageError(
                "at_most cannot be used with gaussian noise, which weighs records by their squares",
                remedy="leave one of them out",
            )
        if not isinstance(self.integers, bool):
            raise UsageError("integers must be true or false", given=self.integers)

    def guarantee(self, priced: Priced) -> Guarantee:
        """Pure ε for adding or removing a user; with δ where the noise is Gaussian."""
        assumes: tuple[str, ...] = (PUBLIC_CATALOGUE, ONE_ID)
        if self.limit is not None:
            assumes = assumptions(f"the limit of {self.limit} was")
        if self.at_most is not None:
            assumes = (
                *assumes,
                f"the cap of {self.at_most:,} records per person was fixed without looking at the log",
            )
        return Guarantee(epsilon=priced.epsilon, delta=priced.delta, assumes=assumes)

    def stages(self, log: EventLog, price: Price) -> Stages:  # noqa: ARG002
        """A little for what steers; the rest, and all of δ, for the tables.

        A limit that is not given will be one whose noise can be drawn, if that of 1 can.
        """
        tables, one = tables_of(self.what, log), Sensitivity.of_l1(1)
        histograms = shared(Stage(table, moves=one, tells=("activity",)) for table in self._measured(log))
        steering = [
            Stage("activity", ACTIVITY_SHARE, parts=histograms),
            Stage("shares", SHARES_SHARE, moves=one.times(FIXED_POINT), unit=FIXED_POINT),
        ]
        norm: Norm = "l2" if self.noise == "gaussian" else "l1"
        if "items" in tables:
            bell = self.noise == "gaussian"
            steering.append(Stage("first", FIRST_SHARE, gaussian=bell, parts=parts(log.counting, gaussian=bell)))
        counts = Stage(
            "counts",
            (1 - sum((stage.share for stage in steering), start=Decimal(0))) / len(tables),
            gaussian=self.noise == "gaussian",
            moves=sensitivity(Scale(self.limit or 1, norm), log.counting, log.cells),
            unit=FIXED_POINT,
            on=LIGHT_AND_HEAVY,
        )
        told = self.limit is not None
        own = [replace(counts, name=table, tells=(table,) if told else ()) for table in tables]
        return shared([*steering, *own], self.shares)

    def laws(self, log: EventLog, priced: Priced) -> Mapping[str, Law]:
        """Return the noise of the counts where the limit is given, and that of the histogram."""
        laws = super().laws(log, priced)
        return {name: laws[name] for name in sorted(laws, key=lambda name: name == "activity")}

    def release(self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine | None = None) -> Release:
        """Release the histogram, then the counts of both groups, and make the most of them."""
        guarantee = self.guarantee(grant)
        engine = engine or LocalEngine()
        tables = tables_of(self.what, log)
        stages = self.stages(log, grant.price)
        grants = share_out(stages, grant)
        measured = share_out(stages[0].parts, grants["activity"])
        prices = {table: grants[table].price for table in tables}
        norm = norm_of(prices[tables[0]])
        most = self.at_most or MOST_RECORDS
        histograms = {
            table: histogram(log, table, measured[table], noise, engine, norm, most)
            for table in self._measured(log)
        }
        people = {
            table: people_of(log, table, histograms.get(table, histograms[tables[0]]), norm, self.at_most)
            for table in tables
        }
        limit = self.limit or chosen_limit(log, people, prices, most, grants["shares"].price)
        bound = Scale(limit, norm, apart=True)
        counted = engine.measure(log, bound, noise.key())
        noisy = {table: noised(getattr(counted, table), grants[table], noise) for table in tables}
        if len(noisy) == 2 and log.counting == "records":
            noisy["items"], noisy["edges"] = reconciled(noisy["items"], noisy["edges"])
        first, *others = tables
        draft = draft_of(noisy[first], people[first], bound, LEVEL)
        asked, looked = shares_to_ask(first, draft, grants["shares"], self.at_most), None
        known = noisy[first], draft, grants["shares"], noise
        if "first" in grants:
            question = question_of(log, draft, asked, grants["first"])
            both = engine.measure(log, question.bound, noise.key())
            best, found = measured_counts(asked, both.shares, *known)
            looked = look_closer(log, question, both, best, draft, found, noise)
            best = looked.put_into(best)
        else:
            best, found = measured_counts(asked, engine.measure(log, asked, noise.key()), *known)
        made: dict[CountTable, Posterior] = {first: best}
        for table in others:
            inside, off = best, None  # of records edges sum to their item
            if log.counting == "users":
                off = uncertain(draft, found)
                if looked is not None:
                    inside, off = looked.for_contexts(best, off)
            made[table] = edges_from(noisy[table], inside, people[table], bound, less_scaled(draft, found), off)
        # edges of records sum to their item, which rounding would end
        rounded = self.integers or (draft.counts_whole and tables == ("items",))
        if rounded:
            made = {table: _whole(each) for table, each in made.items()}
        released: dict[str, pa.Table] = {
            table: interval_table(log, table, each.mean, each.low, each.high) for table, each in made.items()
        }
        laws: dict[str, Law] = {table: replace(each.law, on=LIGHT_AND_HEAVY) for table, each in noisy.items()}
        story = self._story(log, limit, histograms[tables[0]], noisy, grants, looked, rounded=rounded)
        return release_of(
            self,
            log,
            guarantee,
            Noised(
                tables={**released, "activity": _activity_table(log, histograms)},
                laws={**laws, "activity": histograms[tables[0]].law},
                steps=tuple(story),
                chosen={} if self.limit is not None else {table: {"limit": limit} for table in tables},
            ),
            bounded=self._counted(log),
            noise=noise,
            steps=(),
            covers="true" if self._counted(log) == EVERYTHING else "bounded",
            average=True,
        )

    def _counted(self, log: EventLog) -> str:
        """Say how much of each person counts: all, but where a cap is given or people are in one context alone."""
        whole = extent(log)
        if self.at_most is None:
            return whole
        capped = at_most(self.at_most, log)
        return capped if whole == EVERYTHING else f"{capped}, of {whole}"

    def _measured(self, log: EventLog) -> tuple[CountTable, ...]:
        """Return the tables whose activity is released: one where both have the same records."""
        tables = tables_of(self.what, log)
        return tables if log.counting == "users" and log.width > 1 else tables[:1]

    def _story(
        self,
        log: EventLog,
        limit: int,
        released: Noisy,
        noisy: Mapping[CountTable, Noisy],
        grants: Mapping[str, Grant],
        looked: Looked | None,
        *,
        rounded: bool,
    ) -> list[str]:
        unit = "records" if log.counting == "records" else "different items"
        weigh = "they weigh" if self.noise == "laplace" else "the squares of their weights sum to"
        told = [
            f"First it was released how many people have 1, 2, 3-4, 5-8, … {unit}, with "
            f"{released.law.in_words()}, paid with {paid(grants['activity'])}.",
            f"The limit of {limit:,} was given."
            if self.limit is not None
            else f"From that alone a limit of {limit:,} was chosen, by predicted error, at no further cost.",
            f"People with at most {some(limit, unit[:-1])} were counted in full; of the others all {unit} count "
            f"in part, so that together {weigh} {limit:,}. No person is in both groups.",
        ]
        if self.at_most is not None:
            told.insert(
                0,
                f"A person with more than {self.at_most:,} {unit} counted as if so many of them were all.",
            )
        told += [
            f"Every {NOUNS[table]} of each group, zeros included, got {each.law.in_words()}, of the first group "
            f"in whole numbers, paid with {paid(grants[table])}."
            for table, each in noisy.items()
        ]
        told += [
            "Items were put into classes by these noisy counts, and it was released which shares of their "
            "records the others have in each class, people of each activity together, paid with "
            f"{paid(grants['shares'])}.",
            "From these released numbers alone, the counts of both groups were shrunk together by empirical "
            "Bayes, neighbours in the catalogue together where their counts are alike, and those of the second "
            "group were scaled up by what was released of their classes.",
        ]
        if looked is not None:
            told.append(looked.told(unit, weigh, paid(grants["first"])))
        if len(noisy) == 2 and log.counting == "records":
            told.append(
                "Items and edges were reconciled by least squares, so that the edges of an item sum to its count."
            )
        if self.at_most is None and log.counting == "records":
            told.append(self._hidden(released))
        if rounded:
            why = "" if self.integers else "Nobody else seems to be there, so counts are whole. "
            told.append(f"{why}All numbers were then rounded to whole ones, so that sums may be off by a few.")
        return told

    def _hidden(self, released: Noisy) -> str:
        """Say whom no interval allows for where nothing bounds a person's records."""
        people = some(math.ceil(released.law.half_width(LEVEL)), "person", "people")
        told = (
            f"{UNCOVERED}{people} of any one activity, even with extremely many records each: counts and "
            "intervals know nothing of such people."
        )
        return told if self.noise == "gaussian" else f"{told} A public cap, --at-most, bounds what they add."


def _activity_table(log: EventLog, histograms: Mapping[CountTable, Noisy]) -> pa.Table:
    """Make the table of released bins: of records, or of different items and of different pairs."""
    names = {"items": "items", "edges": "pairs"}
    return pa.concat_tables(
        [
            histogram_table(
                released.counts,
                released.law.half_width(LEVEL),
                "records" if log.counting == "records" else names[table],
            )
            for table, released in histograms.items()
        ]
    )


def _whole(estimate: Posterior) -> Posterior:
    """Round counts to the nearest whole numbers, and intervals outwards."""
    rounded: list[NDArray[np.float64]] = [np.rint(estimate.mean), np.floor(estimate.low), np.ceil(estimate.high)]
    return Posterior(*rounded)
