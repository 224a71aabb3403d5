"""Private selection of items, contexts or tags under (ε, δ): the plan, its budget split and its execution.

What a release says about it is in ``release`` beside this module.

Before a method runs, those that enough people have are released, and they are the list from then on. That takes a
share of ε, and δ. Whatever is selected is selected as items are (:mod:`headcount.events.selection_targets`),
contexts and tags first. How it is done follows how many different items people have, of which one noisy number is
told (:class:`~headcount.bounds.keys.distinct_items_sign.DistinctItemsSign`), with a fiftieth of that ε:

- many: weights are spread over items in rounds, with Gaussian noise:
:mod:`headcount.noise.partition_selection.weighted_rounds`;
- few: each person names one item: :mod:`headcount.noise.partition_selection.single_key`.

With a ``limit``, so many random items of each person count, once each, and Laplace noise decides
(:mod:`headcount.noise.partition_selection.threshold`): simpler, and it finds far fewer.

Why it is private
    The noisy number costs its own ε. Given it, either way is (ε, δ)-private with what is left of ε and all of
    δ, as the modules named prove. That holds whichever column items are read from: what a record means is a
    function of that record and of public settings, so one person more or fewer changes nobody else's items. A
    second selection, which knows what the first released, is (ε', δ')-private for any outcome of that, with
    amounts that are public, and so is the method with the rest of the grant: all of them add up, by composition.
    Where a selection finds nothing, which is released, what comes after it is not done, and its part of the
    grant is left.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar

from headcount.accounting.budget import Cost, CostOrGrant, Grant, cost_of
from headcount.accounting.charges import Charge
from headcount.accounting.guarantee import Guarantee
from headcount.bounds import check_limit
from headcount.bounds.keys.distinct_items_sign import DistinctItemsSign
from headcount.bounds.keys.key_support import KeySupport
from headcount.bounds.keys.key_weights import KeyWeights
from headcount.engines.engine import Engine
from headcount.errors import UsageError, param
from headcount.events.log import EventLog
from headcount.events.selection_targets import CONTEXTS, ITEMS, SELECTABLE, TAGS, Selectable
from headcount.methods.method import OMITTED_BY_DEFAULT, PUBLIC_CATALOGUE, PUBLIC_LISTS, Bounds
from headcount.noise import NoiseSource, add_noise, noise_distribution_for
from headcount.noise.partition_selection.single_key import (
    release_key_hints,
    release_probabilities_for,
    select_keys,
)
from headcount.noise.partition_selection.threshold import select_by_threshold, threshold_for
from headcount.noise.partition_selection.weighted_rounds import WeightedSelection, plan_rounds
from headcount.noise.stages import Paying
from headcount.releases.formatting import some

DEFAULT_SHARE = Decimal("0.2")
"""What each selection gets of ε, unless told otherwise."""

REST = "release"

FEW, MANY = "few", "many"
"""What is told of how many different items people have."""

_OF_VARIETY, _OF_GLANCE = Decimal("0.02"), Decimal("0.08")  # the latter of what is left

_STEP = Decimal(10) ** -24  # of a share that is worked out: sums of these are exact


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Select items with a ``share`` of ε and with all of δ, or half of it where the method needs some as well."""

    bounds: ClassVar[Bounds] = (KeySupport, DistinctItemsSign, KeyWeights)

    limit: int | None = None
    share: Decimal = DEFAULT_SHARE
    halves_delta: bool = False
    of: Selectable = field(default=ITEMS, metadata=OMITTED_BY_DEFAULT)
    """What is selected: what follows calls them items."""

    def __post_init__(self) -> None:
        if self.limit is not None:
            check_limit(self.limit, "select_limit")
        if not 0 < self.share < 1:
            raise UsageError(
                "the share of selection must lie between 0 and 1, and leave something for the release",
                given=str(self.share),
                remedy=f"for example {self.of.stage}={DEFAULT_SHARE}",
            )

    def split(self, whole: Paying) -> tuple[Paying, Paying]:
        """Split a price or a grant into the part that selects, and the rest.

        >>> Selection().split(Grant("1", "1e-6"))
        (Grant(epsilon=0.2, delta=0.000001, spent=False), Grant(epsilon=0.8, spent=False))
        """
        (first,), rest = split_among((self,), whole)
        return first, rest

    def select(
        self, log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine
    ) -> tuple[EventLog, dict[str, Any]]:
        """Spend the part that selects; return the log with the list found, and what to tell of it."""
        plan, item_log = self.plan(grant), self.of.as_items(log)
        if self.limit is None:
            selected, rule = _select_unbounded(item_log, grant, noise, engine)
            plan["law"] = rule
        else:
            selected = select_by_threshold(
                engine.measure(item_log, KeySupport(self.limit), noise.key()), grant, noise
            )
        plan[self.of.plural] = len(selected)
        return self.of.put(log, selected), plan

    def plan(self, priced: CostOrGrant) -> dict[str, Any]:
        """Say how items will be selected: known without data.

        ``threshold`` is about how many people an item needs: where people have few items, so many who name it;
        ``weight`` is how much weight it needs where they have many.
        """
        budget = cost_of(priced)
        cost = {"epsilon": f"{budget.epsilon:f}", "delta": str(budget.delta)}
        if self.limit is not None:
            return {"limit": self.limit, "threshold": threshold_for(self.limit, budget).users_needed, **cost}
        variety, left = _parts(budget)
        noise_distribution_for(DistinctItemsSign().sensitivity(), variety)
        glanced, choice = _few_parts(left)
        noise_distribution_for(KeyWeights.sensitivity, glanced)
        return {
            "threshold": release_probabilities_for(choice).half,
            "weight": round(plan_rounds(left).weight, 1),
            **cost,
        }


Selections = tuple[Selection, ...]
"""What is selected one after the other before a method runs."""


def split_among(selections: Selections, whole: Paying) -> tuple[tuple[Paying, ...], Paying]:
    """Split a price or a grant into the part of each selection, and the rest.

    Selections share δ equally, all of it or half.

    >>> both = Selection(of=CONTEXTS), Selection()
    >>> [str(part.delta) for part in split_among(both, Grant("1", "1e-6"))[0]]
    ['5E-7', '5E-7']
    """
    halved = any(selection.halves_delta for selection in selections)
    own = (Decimal("0.5") if halved else Decimal(1)) / len(selections)
    budget_split = {selection.of.stage: selection.share for selection in selections}
    delta = dict.fromkeys(budget_split, own) | ({REST: Decimal("0.5")} if halved else {})
    parts = whole.split({**budget_split, REST: 1 - sum(budget_split.values(), start=Decimal(0))}, delta)
    rest = parts.pop(REST)
    return tuple(parts.values()), rest


def select_all(
    selections: Selections, log: EventLog, grants: Sequence[Grant], noise: NoiseSource, engine: Engine
) -> tuple[EventLog, dict[str, dict[str, Any]]]:
    """Select one after the other; what comes after one that finds nothing is left, and told nothing of."""
    described: dict[str, dict[str, Any]] = {}
    for selection, grant in zip(selections, grants, strict=True):
        if find_empty_selection(described) is None:
            log, described[selection.of.stage] = selection.select(log, grant, noise, engine)
        else:
            grant.forgo()
            log = selection.of.put(log, ())
    return log, described


def find_empty_selection(described: Mapping[str, Mapping[str, Any]]) -> Selectable | None:
    """Return what none was found of, from what a release tells: nothing was done, and spent, after that."""
    return next(
        (
            selectable
            for selectable in SELECTABLE
            if not described.get(selectable.stage, {selectable.plural: True})[selectable.plural]
        ),
        None,
    )


def completed_selections(selections: Selections, described: Mapping[str, Mapping[str, Any]]) -> Selections:
    """Return the selections that were done, from what a release tells."""
    return tuple(selection for selection in selections if selection.of.stage in described)


def final_charge(
    selections: Selections, budget: Cost, described: Mapping[str, Mapping[str, Any]]
) -> Charge | None:
    """Return what was spent where a selection found nothing, from what a release tells: selections alone."""
    if find_empty_selection(described) is None:
        return None
    parts, _ = split_among(selections, budget)
    spent = parts[: len(completed_selections(selections, described))]
    return Charge.of_stages(threshold=[(part.epsilon, part.delta) for part in spent])


def combine_guarantees(
    selections: Selections, guarantee: Guarantee, log: EventLog, priced: CostOrGrant
) -> Guarantee:
    """Return what selections and method promise together; what is selected does not have to be public."""
    bound_assumptions = [
        f"the limit of {some(entry.limit, entry.of.noun)} per person for selection was chosen without looking at "
        "the log"
        for entry in selections
        if entry.limit is not None
    ]
    others = [entry for entry in guarantee.assumes if entry not in (PUBLIC_CATALOGUE, PUBLIC_LISTS)]
    public = _still_public({selection.of for selection in selections}, guarantee, log)
    return replace(
        guarantee, epsilon=priced.epsilon, delta=priced.delta, assumes=(*public, *bound_assumptions, *others)
    )


def _still_public(kinds: set[Selectable], guarantee: Guarantee, log: EventLog) -> list[str]:
    """Say which lists must still be public where some are selected."""
    there = {
        "the catalogue of items is": PUBLIC_CATALOGUE in guarantee.assumes and ITEMS not in kinds,
        "the contexts are": log.context is not None and not kinds & {CONTEXTS, TAGS},
        "the list of resources is": PUBLIC_LISTS in guarantee.assumes,
    }
    return [f"{what} public, fixed without looking at the log" for what, holds in there.items() if holds]


def with_placeholder_items(log: EventLog, selections: Selections) -> EventLog:
    """Return the log with made-up items, to find out beforehand whether noise can be drawn for such."""
    for selection in selections:
        log = selection.of.put(log, range(selection.of.stand_ins))
    return log


def divide_budget_split(
    given: Mapping[str, Decimal] | None, kinds: Sequence[Selectable] = (ITEMS,)
) -> tuple[dict[str, Decimal], Mapping[str, Decimal] | None]:
    """Return the shares of what is selected, and those that are left for the method's own stages.

    The method's are of what selection leaves. If selections alone are named, the method shares as it does by
    itself, and so does a selection that is not named.

    >>> divide_budget_split({"selection": Decimal("0.2"), "items": Decimal("0.6"), "edges": Decimal("0.2")})[1]
    {'items': Decimal('0.75'), 'edges': Decimal('0.25')}
    """
    own = {selectable.stage: DEFAULT_SHARE for selectable in kinds}
    if given is None:
        return own, None
    rest = {stage: share for stage, share in given.items() if stage not in own}
    missing = [stage for stage in own if stage not in given]
    if missing and (rest or len(missing) == len(own)):
        raise UsageError(
            f"shares must name the stages that run, {' and '.join(missing)} among them",
            given=",".join(given),
            remedy=f"for example {param.shares(own)}, which leaves the rest to the method",
        )
    budget_split = {stage: given.get(stage, share) for stage, share in own.items()}
    left = 1 - sum(budget_split.values(), start=Decimal(0))
    if left <= 0:
        raise UsageError(
            "the shares of selection must leave something for the release",
            given=",".join(f"{stage}={share}" for stage, share in budget_split.items()),
            remedy=f"for example {param.shares(own)}",
        )
    if not rest:
        return budget_split, None
    total = sum(given.values())
    if total != 1:
        raise UsageError(
            "shares must sum to 1", given=str(total), remedy=f"or give {param.shares(budget_split)} alone"
        )
    *first, last = rest
    of_rest = {stage: (rest[stage] / left).quantize(_STEP).normalize() for stage in first}
    of_rest[last] = (1 - sum(of_rest.values(), start=Decimal(0))).normalize()
    return budget_split, of_rest


def _parts(whole: Paying) -> tuple[Paying, Paying]:
    """Split what selects into the part for one number about people, and the rest."""
    parts = whole.split({"variety": _OF_VARIETY, "items": 1 - _OF_VARIETY}, {"items": Decimal(1)})
    return parts["variety"], parts["items"]


def _few_parts(whole: Paying) -> tuple[Paying, Paying]:
    """Split the rest into the part for a glance, and that for the choice."""
    parts = whole.split({"glance": _OF_GLANCE, "choice": 1 - _OF_GLANCE}, {"choice": Decimal(1)})
    return parts["glance"], parts["choice"]


def _select_unbounded(
    log: EventLog, grant: Grant, noise: NoiseSource, engine: Engine
) -> tuple[list[str] | list[int], str]:
    """Spend a grant on items that enough people have; return them, and whether people have few items or many."""
    of_variety, left = _parts(grant)
    secret = noise.key()  # one for all: the same items of a person count in every round
    variety = add_noise(engine.measure(log, DistinctItemsSign(), secret), of_variety, noise)
    if variety.values[0] >= 0:
        sifting = WeightedSelection(left, noise)
        while sifting.left:
            sifting.take_round(engine.measure(log, sifting.bound, secret))
        return sifting.selected, MANY
    of_glance, of_choice = _few_parts(left)
    enough = release_probabilities_for(of_choice.cost).half
    hints = release_key_hints(engine.measure(log, KeyWeights("shares"), secret), enough, of_glance, noise)
    named = engine.measure(log, KeyWeights("one", hints=hints), secret)
    return select_keys(named, of_choice, noise), FEW
