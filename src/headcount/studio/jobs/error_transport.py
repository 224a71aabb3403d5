"""Errors transported between processes as JSON, without the flags' dashes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount import errors
from headcount.errors import HeadcountError
from headcount.run.charge import WithheldError
from headcount.studio.web import error_responses

_KINDS: Mapping[str, type[HeadcountError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, HeadcountError)
}


def strip_error_flags(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return an error without dashes of flags.

    >>> strip_error_flags({"error": "UsageError", "problem": "--delta is missing", "given": None, "remedy": None})
    {'error': 'UsageError', 'problem': 'delta is missing', 'given': None, 'remedy': None}
    """
    return {
        name: error_responses.strip_flag_dashes(value)
        if name in ("problem", "remedy", "message") and value
        else value
        for name, value in error.items()
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
