"""Errors transported between processes as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount import errors
from headcount.errors import HeadcountError
from headcount.run.withhold import WithheldError

_KINDS: Mapping[str, type[HeadcountError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, HeadcountError)
}


def error_from_json(error: Mapping[str, Any]) -> HeadcountError:
    """Make an error of what another process said of it.

    >>> missing = {"error": "UsageError", "problem": "epsilon is missing", "given": None, "remedy": "give one"}
    >>> error_from_json(missing)
    UsageError('epsilon is missing; give one')
    """
    if error["error"] == WithheldError.__name__:
        return WithheldError()
    kind = _KINDS.get(str(error["error"]), HeadcountError)
    return kind(str(error["problem"]), given=error["given"], remedy=error["remedy"])
