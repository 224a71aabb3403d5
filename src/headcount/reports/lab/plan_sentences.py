"""A plan in sentences: guarantee, cost, remaining budget, and expected noise of each table."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from headcount.accounting.guarantee import format_delta
from headcount.events.selection_targets import SELECTABLE, Selectable
from headcount.methods.family import Table
from headcount.methods.registry import table
from headcount.releases.formatting import some

if TYPE_CHECKING:
    from headcount.run.curator import Plan


_GAUSSIAN = "discrete Gaussian noise of "


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
        return {**self._asdict(), "selected": [list(selection) for selection in self.selected]}


def plan_in_words(plan: Plan) -> PlanWords:
    """Say what a plan amounts to.

    >>> from headcount.methods.counts.request import ReleaseRequest
    >>> from headcount.run.curator import Curator
    >>> from headcount.events.log import EventLog
    >>> log, curator = EventLog.of([("ann", "tea")], items=["rye", "tea"]), Curator()
    >>> ready = curator.prepare(ReleaseRequest(epsilon="1", method="sra", limit=1), log)
    >>> words = plan_in_words(curator.plan(ready))
    >>> words.price, words.cells
    ('ε = 1, charged to no ledger', '2 item counts')
    """
    selected = [selectable for selectable in SELECTABLE if selectable.stage in plan.selections]
    later = f"not known before the {' and '.join(selectable.plural for selectable in selected)} are selected"
    cell_counts = [some(number, table(name).noun) for name, number in plan.cells.items() if number is not None]
    exposed = "NOT PRIVATE. " if plan.guarantee.reason else ""
    cost, left = _cost(plan)
    return PlanWords(
        exposed + plan.guarantee.sentence(),
        cost,
        left,
        tuple(
            (selectable.plural.capitalize(), _describe_selection(selectable, plan.selections[selectable.stage]))
            for selectable in selected
        ),
        " and ".join(cell_counts) or later,
        tuple(_errors(plan, later if selected else None)),
        plan.notes,
    )


def _errors(plan: Plan, later: str | None) -> list[str]:
    """Say of each table how noisy it will be; of a table whose numbers have noise of their own, of each."""
    noise, sentences = plan.to_json()["noise"], []
    for name in plan.cells:
        described_table = table(name)
        if described_table.by_number:
            sentences += [
                f"{distribution.get('on', f'the number of {quantity}')}: {_spread_in_words(distribution)}"
                for quantity, distribution in noise.items()
            ]
        else:
            sentences.append(_error(described_table, noise.get(name), later))
    return sentences


def _error(described_table: Table, distribution: Mapping[str, Any] | None, later: str | None) -> str:
    noun = described_table.noun
    if distribution is None:
        return described_table.unforeseen.format(noun=noun) if later is None else f"each {noun}: {later}"
    spread = _spread_in_words(distribution)
    gaussian = _GAUSSIAN if _is_gaussian(distribution) else ""
    if described_table.error:
        return described_table.error.format(
            noun=noun, reach=spread, noise=gaussian, deviation=distribution["deviation"]
        )
    if "on" in distribution:
        what = "" if gaussian else "noise of "
        return (
            f"{noun}s: {what}{spread}, on {distribution['on']}; how large their errors become depends on the data"
        )
    return f"each {noun}: {spread} of what people were allowed to add"


def _is_gaussian(distribution: Mapping[str, Any]) -> bool:
    return bool(distribution["law"] == "discrete-gaussian")


def _spread_in_words(distribution: Mapping[str, Any]) -> str:
    noise = _GAUSSIAN if _is_gaussian(distribution) else ""
    deviation, half_width = distribution["deviation"], distribution["half_width_95"]
    return f"{noise}standard deviation {deviation:,.1f}, and 95 % lie within ±{half_width:,.0f}"


def _cost(plan: Plan) -> tuple[str, str | None]:
    """Say what a request would cost, and what is left before it."""
    if plan.ledger is None:
        return f"{plan.guarantee.amounts}, charged to no ledger", None
    from headcount.accounting.charges import plain

    preview = plan.ledger
    cost = f"{preview.charge.amounts}, charged to {preview.dataset} by {preview.analyst}{preview.words}"
    if preview.issued is not None:
        cost = f"nothing: published already in {preview.issued}"
    own = "" if preview.account.budget.per_analyst is None else f" for {preview.analyst}"
    own += " in the fullest of them" if len(preview.touched) > 1 else ""
    return cost, f"ε = {plain(preview.left)}{own}, before this"


def _describe_selection(selectable: Selectable, selection: Mapping[str, Any]) -> str:
    """Say how something will be selected."""
    delta = format_delta(Decimal(selection["delta"]))
    cost_words = f"selected with ε = {selection['epsilon']} and δ = {delta} of it: those that "
    if "limit" not in selection:
        return (
            f"{cost_words}about {selection['threshold']:,} people or more name, if people have few different "
            f"{selectable.plural}; if they have many, those with a weight of about {selection['weight']:,} or "
            "more, of which each person has a vector of length 1 to give"
        )
    return (
        f"{cost_words}{selection['threshold']:,} people or more have, noise included, where at most "
        f"{some(selection['limit'], selectable.noun)} of each person count"
    )
