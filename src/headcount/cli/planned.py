"""A dry run, shown: what a request would promise, cost and be worth."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import click

from headcount.answers.words import some
from headcount.cli import terminal
from headcount.families import table
from headcount.family import Table

if TYPE_CHECKING:
    from headcount.curator import Plan
    from headcount.events.selectable import Selectable


def show_plan(plan: Plan, *, as_json: bool) -> None:
    """Show what a request would promise, cost and be worth."""
    from headcount.events.selectable import SELECTABLE

    data = plan.to_json()
    if as_json:
        terminal.print_json(data)
        return
    terminal.say("Dry run: nothing was counted, written or charged.")
    click.echo()
    exposed = "NOT PRIVATE. " if plan.guarantee.reason else ""
    terminal.say(exposed + plan.guarantee.sentence(), bullet="Promise  ", indent="         ")
    _say_price(plan)
    selected = [each for each in SELECTABLE if each.stage in plan.selections]
    for each in selected:
        heading = f"{each.plural.capitalize():<9}"
        terminal.say(_how_selected(each, plan.selections[each.stage]), bullet=heading, indent="         ")
    later = f"not known before the {' and '.join(each.plural for each in selected)} are selected"
    known = [some(number, table(name).noun) for name, number in plan.cells.items() if number is not None]
    terminal.say(" and ".join(known) or later, bullet="Cells    ", indent="         ")
    start = "Error    "
    for error in _errors(plan, data["noise"], later if selected else None):
        terminal.say(error, bullet=start, indent="         ")
        start = "         "
    for note in plan.notes:
        terminal.say(note, bullet="Note     ", indent="         ")


def _errors(plan: Plan, noise: Mapping[str, Any], later: str | None) -> list[str]:
    """Say of each table how noisy it will be; of a table whose numbers have noise of their own, of each."""
    told = []
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


def _say_price(plan: Plan) -> None:
    """Say what a request would cost, and what is left."""
    if plan.ledger is None:
        terminal.say(f"{plan.guarantee.amounts}, charged to no ledger", bullet="Price    ", indent="         ")
        return
    from headcount.ledger.accounting import plain

    found = plan.ledger
    price = f"{found.charge.amounts}, charged to {found.dataset} by {found.analyst}{found.words}"
    if found.issued is not None:
        price = f"nothing: published already in {terminal.printable(found.issued)}"
    terminal.say(price, bullet="Price    ", indent="         ")
    own = "" if found.account.budget.per_analyst is None else f" for {found.analyst}"
    own += " in the fullest of them" if len(found.touched) > 1 else ""
    terminal.say(f"ε = {plain(found.left)}{own}, before this", bullet="Left     ", indent="         ")


def _how_selected(of: Selectable, selection: Mapping[str, Any]) -> str:
    """Say how something will be selected."""
    from headcount.guarantee import in_short

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
