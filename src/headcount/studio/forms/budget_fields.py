"""Fields of a budget form, from the ledger's declarations."""

from __future__ import annotations

from collections.abc import Sequence

from headcount.ledger.budget_parameters import BUDGET
from headcount.studio.forms.field import Field, field_of

_AT_ONCE = ("delta", "per_analyst", "window")


def budget_fields(columns: Sequence[str] = ()) -> list[Field]:
    """Return the fields of a budget.

    >>> [each.name for each in budget_fields() if not each.advanced]
    ['epsilon', 'delta', 'per_analyst', 'window']
    """
    return [field_of(name, flag, columns=columns, plain=name in _AT_ONCE) for name, flag in BUDGET.items()]
