"""A plan in sentences: what a request would promise and cost, and how far off its numbers would be."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.accounting.guarantee import in_short
from headcount.events.selection_targets import SELECTABLE, Selectable
from headcount.methods.family import Table
from headcount.methods.registry import table
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.run.curator import Plan


class PlanWords(NamedTuple):
    """What there is to say of a plan; ``selected`` has a heading and a sentence for each list to be selected."""

    promise: str
    price: str
    left: str | None
    selected: tuple[tuple[str, str], ...]
    cells: str
    errors: tuple[str, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the sentences as plain data."""
        return {**self._asdict(), "selected": [list(each) for each in self.selected]}


def plan_in_words(plan: Plan) -> PlanWords:
    """Say what a plan amounts to.

    >>> from headcount.methods.counts.request import ReleaseRequest
    >>> from headcount.run.curator import Curator
    >>> from headcount.events.log import EventLog
    >>> log, curator = EventLog.of([("ann", "tea")], items=["rye", "tea"]), Curator()
    >>> ready = curator.prepare(ReleaseRequest(epsilon="1", method="sra", limit=1), log)
    >>> said = plan_in_words(curator.plan(ready))
    >>> said.price, said.cells
    ('ε = 1, charged to no ledger', '2 item counts')
    """
    selected = [each for each in SELECTABLE if each.stage in plan.selections]
    later = f"not known before the {' and '.join(each.plural for each in selected)} are selected"
    known = [some(number, table(name).noun) for name, number in plan.cells.items() if number is not None]
    exposed = "NOT PRIVATE. " if plan.guarantee.reason else ""
    price, left = _price(plan)
    return PlanWords(
        exposed + plan.guarantee.sentence(),
        price,
        left,
        tuple((each.plural.capitalize(), _how_selected(each, plan.selections[each.stage])) for each in selected),
        " and ".join(known) or later,
        tuple(_errors(plan, later if selected else None)),
        plan.notes,
    )


def _errors(plan: Plan, later: str | None) -> list[str]:
    """Say of each table how noisy it will be; of a table whose numbers have noise of their own, of each."""
    noise, told = plan.to_json()["noise"], []
    for name in plan.cells:
        of = table(name)
        if of.by_number:
            told += [f"{law.get('on', f'the number of {each}')}: {_reach(law)}" for each, law in noise.items()]
        else:
            told.append(_error(of, noise.get(name), later))
    return told


def _error(of: Table, law: Mapping[str, Any] | None, later: str | None) -> str:
    if law is None:
        return of.unforeseen.format(noun=of.noun) if later is None else f"each {of.noun}: {later}"
    if of.error:
        gaussian = "discrete Gaussian noise of " if _is_gaussian(law) else ""
        return of.error.format(noun=of.noun, reach=_reach(law), noise=gaussian, deviation=law["deviation"])
    if "on" in law:
        what = "" if _is_gaussian(law) else "noise of "
        depends = "how large their errors become depends on the data"
        return f"{of.noun}s: {what}{_reach(law)}, on {law['on']}; {depends}"
    return f"each {of.noun}: {_reach(law)} of what people were allowed to add"


def _is_gaussian(law: Mapping[str, Any]) -> bool:
    return bool(law["law"] == "discrete-gaussian")


def _reach(law: Mapping[str, Any]) -> str:
    noise = "discrete Gaussian noise of " if _is_gaussian(law) else ""
    return f"{noise}standard deviation {law['deviation']:,.1f}, and 95 % lie within ±{law['half_width_95']:,.0f}"


def _price(plan: Plan) -> tuple[str, str | None]:
    """Say what a request would cost, and what is left before it."""
    if plan.ledger is None:
        return f"{plan.guarantee.amounts}, charged to no ledger", None
    from headcount.ledger.charges import plain

    found = plan.ledger
    price = f"{found.charge.amounts}, charged to {found.dataset} by {found.analyst}{found.words}"
    if found.issued is not None:
        price = f"nothing: published already in {found.issued}"
    own = "" if found.account.budget.per_analyst is None else f" for {found.analyst}"
    own += " in the fullest of them" if len(found.touched) > 1 else ""
    return price, f"ε = {plain(found.left)}{own}, before this"


def _how_selected(of: Selectable, selection: Mapping[str, Any]) -> str:
    """Say how something will be selected."""
    delta = in_short(Decimal(selection["delta"]))
    paid = f"selected with ε = {selection['epsilon']} and δ = {delta} of it: those that "
    if "limit" not in selection:
        return (
            f"{paid}about {selection['threshold']:,} people or more name, if people have few different "
            f"{of.plural}; if they have many, those with a weight of about {selection['weight']:,} or more, of "
            "which each person has a vector of length 1 to give"
        )
    return (
        f"{paid}{selection['threshold']:,} people or more have, noise included, where at most "
        f"{some(selection['limit'], of.noun)} of each person count"
    )
