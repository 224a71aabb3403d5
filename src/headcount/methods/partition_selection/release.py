"""Record private selections in a release (steps, parameters), and the empty release where nothing was selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import format_delta
from headcount.events.log import EventLog
from headcount.events.selection_targets import SELECTABLE, Selectable
from headcount.methods.method import Method
from headcount.methods.partition_selection.plan import FEW, MANY
from headcount.noise import NoiseSource
from headcount.releases.formatting import some
from headcount.releases.release import Release

_KINDS: Mapping[str, pa.DataType] = {
    **dict.fromkeys(("label", "context", "tag", "resource", "of", "total"), pa.string()),
    "rank": pa.int64(),
    "stands_out": pa.bool_(),
}
"""What the columns of empty tables hold; all others numbers."""


def add_selection_steps(release: Release, selected: Mapping[str, Mapping[str, Any]]) -> Release:
    """Tell in a release what was selected, and how."""
    kinds = [selectable for selectable in SELECTABLE if selectable.stage in selected]
    steps = [_describe_selection(selectable, selected[selectable.stage]) for selectable in kinds]
    chosen = {selectable.stage: dict(selected[selectable.stage]) for selectable in kinds}
    return replace(release, steps=(*steps, *release.steps), chosen={**chosen, **release.chosen})


_BOUNDED = "bounded"
_RULES = {
    _BOUNDED: "To select {plural}, at most {per_user} of each person counted, drawn at random; those that {users} "
    "or more have, noise included, were selected",
    FEW: "Most people have few different {plural}, as a noisy number tells. So each named one, and those that "
    "{users} or more named, noise included, were selected",
    MANY: "Many people have several different {plural}, as a noisy number tells. So each spread weight over "
    "theirs, with squares that sum to 1 at most, in rounds that told where it was of use; those with a weight of "
    "about {weight:,} or more, noise included, were selected",
}
"""How items, contexts or tags were selected: with a limit, or where people have few or many."""


def _describe_selection(selectable: Selectable, selected: Mapping[str, Any]) -> str:
    plural, limit = selectable.plural, selected.get("limit")
    number = some(selected[plural], selectable.noun) if selected[plural] else f"no {selectable.noun}"
    rule = _RULES[_BOUNDED if "limit" in selected else selected["law"]].format(
        plural=plural,
        per_user=f"1 {selectable.noun}" if limit == 1 else f"{limit:,} different {plural}" if limit else "",
        users=f"{selected['threshold']:,} people",
        weight=selected.get("weight", 0),
    )
    epsilon, delta = Decimal(selected["epsilon"]).normalize(), format_delta(Decimal(selected["delta"]))
    return f"{selectable.lacking} {rule}: {number}. This was paid with ε = {epsilon:f} and δ = {delta}."


def advice(selectable: Selectable, selected: Mapping[str, Any]) -> str:
    """Say what helps if nothing was selected, from public numbers alone."""
    return (
        "Nothing but selection was spent. More ε for it helps most (--epsilon, or --shares "
        f"{selectable.stage}=0.5; it had {Decimal(selected['epsilon']).normalize():f}), then a larger --delta. "
        "Where "
        f"the {selectable.plural} can be listed without looking at the log, --{selectable.listed} needs neither."
    )


def empty_release(
    method: Method,
    log: EventLog,
    grant: Grant,
    noise: NoiseSource,
    tables: Mapping[str, Sequence[str]],
    why: str,
) -> Release:
    """Return the release of a log of which nothing was selected: empty tables; the grant is left."""
    guarantee = method.guarantee(grant)
    grant.forgo()
    kinds = {**_KINDS, **({"item": log.catalogue.column.type} if log.has_catalogue else {})}
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
        steps=("So there was nothing to count, and the tables are empty.", why),
        catalogue=log.catalogue.digest if log.has_catalogue else "",
        simulated=not noise.is_private,
    )
