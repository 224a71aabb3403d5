"""Private item selection: a catalogue for logs that have no public one.

Before a method runs, the items that enough people have are released, and they are the catalogue from then on.
That takes a share of ε, and δ. How it is done follows how many different items people have, of which one noisy
number is told (:class:`~headcount.bounding.variety.Variety`), with a fiftieth of that ε:

- many: weights are spread over items in rounds, with Gaussian noise: :mod:`headcount.noise.sifting`;
- few: each person names one item: :mod:`headcount.noise.few`.

With a ``limit``, so many random items of each person count, once each, and Laplace noise decides
(:mod:`headcount.noise.threshold`): simpler, and it finds far fewer.

Why it is private
    The noisy number costs its own ε. Given it, either way is (ε, δ)-private with what is left of ε and all of
    δ, as the modules named prove. What the method then does with the released catalogue and the rest of the
    grant adds up with it, by composition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa

from headcount.answers.words import some
from headcount.bounding import Spread, Support, Variety, check_limit
from headcount.budget import Grant, Priced, price_of
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, in_short
from headcount.method import PUBLIC_CATALOGUE, Bounds, Method
from headcount.noise import (
    NoiseSource,
    Sifting,
    add,
    chances_for,
    choose_named,
    glance,
    law_of,
    rounds_for,
    select,
    threshold_for,
)
from headcount.releases import Release
from headcount.stages import Paying

DEFAULT_SHARE = Decimal("0.2")

STAND_INS = 100
"""How many items are made up to plan with."""

STAGE, REST = "selection", "release"

FEW, MANY = "few", "many"
"""What is told of how many different items people have."""

_OF_VARIETY, _OF_GLANCE = Decimal("0.02"), Decimal("0.08")  # the latter of what is left

_STEP = Decimal(10) ** -24  # of a share that is worked out: sums of these are exact
_PUBLIC_CONTEXTS = "the contexts are public, fixed without looking at the log"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Select items with a ``share`` of ε and with all of δ, or half of it where the method needs some as well."""

    bounds: ClassVar[Bounds] = (Support, Variety, Spread)

    limit: int | None = None
    share: Decimal = DEFAULT_SHARE
    halves_delta: bool = False

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_limit(self.limit, "select_limit")
        if not 0 < self.share < 1:
            raise UsageError(
                "the share of selection must lie between 0 and 1, and leave something for the release",
                given=str(self.share),
                remedy="for example selection=0.2",
            )

    def split(self, whole: Paying) -> tuple[Paying, Paying]:
        """Split a price or a grant into the part that selects, and the rest.

        >>> Selection().split(Grant("1", "1e-6"))
        (Grant(epsilon=0.2, delta=0.000001, spent=False), Grant(epsilon=0.8, spent=False))
        """
        half = Decimal("0.5")
        delta = {STAGE: half, REST: half} if self.halves_delta else {STAGE: Decimal(1)}
        parts = whole.split({STAGE: self.share, REST: 1 - self.share}, delta)
        return parts[STAGE], parts[REST]

    def select(
        self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> tuple[EventLog, dict[str, Any]]:
        """Spend the part that selects; return the log with the catalogue found, and what to tell of it."""
        plan = self.plan(grant)
        if self.limit is None:
            found, law = _looked_for(log, grant, noise, engine)
            plan["law"] = law
        else:
            found = select(engine.measure(log, Support(self.limit), noise.key()), grant, noise)
        plan["items"] = len(found)
        return replace(log, catalogue=Catalogue.selected(found, log.type_of(log.roles.item))), plan

    def plan(self, priced: Priced) -> dict[str, Any]:
        """Say how items will be selected: known without data.

        ``threshold`` is about how many people an item needs: where people have few items, so many who name it;
        ``weight`` is how much weight it needs where they have many.
        """
        price = price_of(priced)
        paid = {"epsilon": f"{price.epsilon:f}", "delta": str(price.delta)}
        if self.limit is not None:
            return {"limit": self.limit, "threshold": threshold_for(self.limit, price).people, **paid}
        variety, left = _parts(price)
        law_of(Variety.moves, variety)
        glanced, choice = _few_parts(left)
        law_of(Spread.moves, glanced)
        return {
            "threshold": chances_for(choice).half,
            "weight": round(rounds_for(left).weight, 1),
            **paid,
        }

    def found_nothing(self, release: Release) -> bool:
        """Say whether a release tells that no item was selected, so that nothing more was spent."""
        return not release.chosen[STAGE]["items"]

    def promised(self, guarantee: Guarantee, log: EventLog, priced: Priced) -> Guarantee:
        """Return what selection and method promise together; no catalogue has to be public."""
        limited = f"the limit of {some(self.limit or 0, 'item')} per person for selection was chosen without "
        assumes = [
            *([] if log.context is None else [_PUBLIC_CONTEXTS]),
            *([] if self.limit is None else [limited + "looking at the log"]),
            *(each for each in guarantee.assumes if each != PUBLIC_CATALOGUE),
        ]
        return replace(guarantee, epsilon=priced.epsilon, delta=priced.delta, assumes=tuple(assumes))


def stand_in(log: EventLog) -> EventLog:
    """Return the log with made-up items, to find out beforehand whether noise can be drawn for such."""
    return replace(log, catalogue=Catalogue.selected(range(STAND_INS), log.type_of(log.roles.item)))


def divided_shares(
    given: Mapping[str, Decimal] | None,
) -> tuple[Decimal, Mapping[str, Decimal] | None]:
    """Return the share of selection, and the shares that are left for the method's own stages.

    The method's are of what selection leaves. If selection alone is named, the method shares as it does by
    itself.

    >>> divided_shares({"selection": Decimal("0.2"), "items": Decimal("0.6"), "edges": Decimal("0.2")})[1]
    {'items': Decimal('0.75'), 'edges': Decimal('0.25')}
    """
    if given is None:
        return DEFAULT_SHARE, None
    if STAGE not in given:
        raise UsageError(
            f"shares must name the stages that run, {STAGE} among them",
            given=",".join(given),
            remedy=f"for example --shares {STAGE}=0.2, which leaves the rest to the method",
        )
    rest = {stage: share for stage, share in given.items() if stage != STAGE}
    if not rest:
        return given[STAGE], None
    total = sum(given.values())
    if total != 1:
        raise UsageError(
            "shares must sum to 1", given=str(total), remedy=f"or give --shares {STAGE}={given[STAGE]} alone"
        )
    left = 1 - given[STAGE]
    *first, last = rest
    shares = {stage: (rest[stage] / left).quantize(_STEP).normalize() for stage in first}
    shares[last] = (1 - sum(shares.values(), start=Decimal(0))).normalize()
    return given[STAGE], shares


def _parts(whole: Paying) -> tuple[Paying, Paying]:
    """Split what selects into the part for one number about people, and the rest."""
    parts = whole.split({"variety": _OF_VARIETY, "items": 1 - _OF_VARIETY}, {"items": Decimal(1)})
    return parts["variety"], parts["items"]


def _few_parts(whole: Paying) -> tuple[Paying, Paying]:
    """Split the rest into the part for a glance, and that for the choice."""
    parts = whole.split({"glance": _OF_GLANCE, "choice": 1 - _OF_GLANCE}, {"choice": Decimal(1)})
    return parts["glance"], parts["choice"]


def _looked_for(
    log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine
) -> tuple[list[str] | list[int], str]:
    """Spend a grant on items that enough people have; return them, and whether people have few items or many."""
    of_variety, left = _parts(grant)
    secret = noise.key()  # one for all: the same items of a person count in every round
    variety = add(engine.measure(log, Variety(), secret), of_variety, noise)
    if variety.values[0] >= 0:
        sifting = Sifting(left, noise)
        while sifting.left:
            sifting.sift(engine.measure(log, sifting.bound, secret))
        return sifting.found, MANY
    of_glance, of_choice = _few_parts(left)
    enough = chances_for(of_choice.price).half
    hints = glance(engine.measure(log, Spread("shares"), secret), enough, of_glance, noise)
    named = engine.measure(log, Spread("one", hints=hints), secret)
    return choose_named(named, of_choice, noise), FEW


def told(release: Release, selected: Mapping[str, Any]) -> Release:
    """Tell in a release how its items were selected."""
    steps = (f"There was no public catalogue. {_how(selected)}: {_number(selected)}. {_paid(selected)}",)
    return replace(release, steps=(*steps, *release.steps), chosen={STAGE: dict(selected), **release.chosen})


def _number(selected: Mapping[str, Any]) -> str:
    return some(selected["items"], "item") if selected["items"] else "no item"


def _paid(selected: Mapping[str, Any]) -> str:
    epsilon, delta = Decimal(selected["epsilon"]).normalize(), in_short(Decimal(selected["delta"]))
    return f"This was paid with ε = {epsilon:f} and δ = {delta}."


def _how(selected: Mapping[str, Any]) -> str:
    people = f"{selected['threshold']:,} people"
    if "limit" in selected:
        of_each = "1 item" if selected["limit"] == 1 else f"{selected['limit']:,} different items"
        return (
            f"To select items, at most {of_each} of each person counted, drawn at random; those that {people} or "
            "more have, noise included, were selected"
        )
    if selected["law"] == FEW:
        return (
            "Most people have few different items, as a noisy number tells. So each named one, and those that "
            f"{people} or more named, noise included, were selected"
        )
    return (
        "Many people have several different items, as a noisy number tells. So each spread weight over theirs, "
        "with squares that sum to 1 at most, in rounds that told where it was of use; those with a weight of "
        f"about {selected['weight']:,} or more, noise included, were selected"
    )


def advice(selected: Mapping[str, Any]) -> str:
    """Say what helps if nothing was selected, from public numbers alone."""
    return (
        "Nothing but selection was spent. More ε for it helps most (--epsilon, or --shares "
        f"{STAGE}=0.5; it had {Decimal(selected['epsilon']).normalize():f}), then a larger --delta. Where "
        "the items can be listed without looking at the log, --items needs neither."
    )


def empty_release(
    method: Method,
    log: EventLog,
    grant: Grant,
    noise: NoiseSource,
    tables: Mapping[str, Sequence[str]],
    selected: Mapping[str, Any],
) -> Release:
    """Return the release of a log of which no item was selected: empty tables; the grant is left."""
    guarantee = method.guarantee(grant)
    grant.leave()
    kinds = {"item": log.catalogue.column.type, "label": pa.string(), "context": pa.string(), "rank": pa.int64()}
    context = log.context if any("context" in columns for columns in tables.values()) else None
    return Release(
        method=method.name,
        guarantee=guarantee,
        noise={},
        tables={
            name: pa.schema([(column, kinds.get(column, pa.float64())) for column in columns]).empty_table()
            for name, columns in tables.items()
        },
        contexts=None if context is None else context.labels,
        context_name=None if context is None else context.name,
        counts=log.counting,
        steps=("So there was nothing to count, and the tables are empty.", advice(selected)),
        catalogue=log.catalogue.digest,
        simulated=not noise.is_private,
    )
