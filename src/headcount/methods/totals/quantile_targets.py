"""Quantile targets: parse the quantiles of a request into thousandths."""

from __future__ import annotations

from decimal import InvalidOperation
from typing import Any

from headcount._internal.parameters import read_decimal
from headcount.errors import UsageError, param

WHOLE = 1000
"""Quantiles are told in thousandths."""

_MOST = 99
_EXAMPLE = f"for example {param.quantiles('0.1,0.5,0.9')}"


def read_quantiles(given: Any) -> tuple[int, ...] | None:
    """Read quantiles, ``0.1,0.5,0.9`` or a list, as thousandths.

    >>> read_quantiles("0.5, 0.1,0.999"), read_quantiles([0.25])
    ((100, 500, 999), (250,))
    """
    if given is None:
        return None
    parts = given.split(",") if isinstance(given, str) else list(given) if hasattr(given, "__iter__") else [given]
    try:
        thousandths = [WHOLE * read_decimal(part) for part in parts]
    except InvalidOperation as error:
        raise UsageError(
            f"{param.quantiles} must be numbers between 0 and 1", given=given, remedy=_EXAMPLE
        ) from error
    for part in thousandths:
        if not (part.is_finite() and 0 < part < WHOLE and part == int(part)):
            raise UsageError(
                f"{param.quantiles} must lie between 0.001 and 0.999, in thousandths, which {part / WHOLE} does "
                "not",
                remedy=_EXAMPLE,
            )
    if not thousandths or len(set(thousandths)) < len(thousandths) or len(thousandths) > _MOST:
        raise UsageError(f"{param.quantiles} must be different ones, 99 at most", given=given, remedy=_EXAMPLE)
    return tuple(sorted(int(part) for part in thousandths))
