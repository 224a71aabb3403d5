"""Private item selection: a catalogue for logs that have no public one.

Before a method runs, the items that enough people have are released, and they are the catalogue from then on. At
most ``limit`` different items of each person count, random ones of that person's own; an item is released if the
number of people behind it, with noise, reaches a threshold. That takes a share of ε, and δ: see
:mod:`headcount.noise.threshold` for the mechanism and its proof. What the method then does with the released
catalogue and the rest of the grant adds up with it, by composition.

A small limit cuts the items of active people; a large one raises the threshold, about in proportion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, ClassVar

import pyarrow as pa

from headcount.answers.words import some
from headcount.bounding import Support, check_limit
from headcount.budget import Grant, Priced, price_of
from headcount.engines.engine import Engine
from headcount.errors import UsageError
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.guarantee import Guarantee, in_short
from headcount.method import PUBLIC_CATALOGUE, Bounds, Method
from headcount.noise import NoiseSource, select, threshold_for
from headcount.releases import Release
from headcount.stages import Paying

DEFAULT_LIMIT = 10
DEFAULT_SHARE = Decimal("0.2")

STAND_INS = 100
"""How many items are made up to plan with."""

STAGE, REST = "selection", "release"

_STEP = Decimal(10) ** -24  # of a share that is worked out: sums of these are exact
_PUBLIC_CONTEXTS = "the contexts are public, fixed without looking at the log"


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Select items with a ``share`` of ε and with all of δ, or half of it where the method needs some as well."""

    bounds: ClassVar[Bounds] = (Support,)

    limit: int = DEFAULT_LIMIT
    share: Decimal = DEFAULT_SHARE
    halves_delta: bool = False

    def __post_init__(self) -> None:
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
        items = select(engine.measure(log, Support(self.limit), noise.key()), grant, noise)
        return replace(log, catalogue=Catalogue.selected(items, log.type_of(log.roles.item))), {
            **plan,
            "items": len(items),
        }

    def plan(self, priced: Priced) -> dict[str, Any]:
        """Say how items will be selected: known without data."""
        price = price_of(priced)
        return {
            "limit": self.limit,
            "threshold": threshold_for(self.limit, price).people,
            "epsilon": f"{price.epsilon:f}",
            "delta": str(price.delta),
        }

    def promised(self, guarantee: Guarantee, log: EventLog, priced: Priced) -> Guarantee:
        """Return what selection and method promise together; no catalogue has to be public."""
        assumes = [
            *([] if log.context is None else [_PUBLIC_CONTEXTS]),
            f"the limit of {some(self.limit, 'item')} per person for selection was chosen without looking at the "
            "log",
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

    The method's are of what selection leaves. If selection alone is named, the method shares as it does by itself.

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


def told(release: Release, selected: Mapping[str, Any]) -> Release:
    """Tell in a release how its items were selected."""
    number = some(selected["items"], "item") if selected["items"] else "no item"
    people = f"{selected['threshold']:,} people"
    of_each = "1 item" if selected["limit"] == 1 else f"{selected['limit']:,} different items"
    paid = f"ε = {Decimal(selected['epsilon']).normalize():f} and δ = {in_short(Decimal(selected['delta']))}"
    steps = (
        f"There was no public catalogue. To select items, at most {of_each} of each person counted, drawn at "
        f"random; those that {people} or more have, noise included, were selected: {number}. This was paid with "
        f"{paid}.",
    )
    return replace(release, steps=(*steps, *release.steps), chosen={STAGE: dict(selected), **release.chosen})


def empty_release(
    method: Method, log: EventLog, grant: Grant, noise: NoiseSource, tables: Mapping[str, Sequence[str]]
) -> Release:
    """Return the release of a log of which no item was selected: empty tables, at the full price."""
    guarantee = method.guarantee(grant)
    grant.spend()
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
        steps=("So there was nothing to count, and the tables are empty.",),
        catalogue=log.catalogue.digest,
        simulated=not noise.is_private,
    )
