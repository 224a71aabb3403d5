"""What a job is asked for, in parts; and how one ends that was cancelled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.errors import RefusedError

NARROWING = ("since", "until")
"""What a request may say of how the log is read, beside what its dataset says; curators may say more."""
READING = (*NARROWING, "where", "context", "contexts", "select_contexts", "context_of", "count")


class CancelledError(RefusedError):
    """A job that somebody cancelled."""

    @classmethod
    def of(cls, *, charged: bool) -> CancelledError:
        """Say that it was cancelled, and what that means for its cost."""
        if charged:
            return cls("it was cancelled after the data was opened; what was reserved stays charged")
        return cls("it was cancelled before anything was read; nothing was charged")


def split(asked: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Part what is asked: the fields of the request, what it says of reading, and whether to draw anew.

    >>> split({"epsilon": "1", "since": "2026-03-01", "again": True})
    ({'epsilon': '1'}, {'since': '2026-03-01'}, True)
    """
    fields = {name: value for name, value in asked.items() if name not in (*READING, "again")}
    return fields, {name: asked[name] for name in READING if name in asked}, bool(asked.get("again"))
