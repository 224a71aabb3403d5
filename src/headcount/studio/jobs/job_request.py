"""The parts of a job's request (fields, reading flags, redraw) and the error of a cancelled job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headcount.errors import RefusedError

ANALYST_READ_FLAGS = ("since", "until")
"""What a request may say of how the log is read, beside what its dataset says; curators may say more."""
CURATOR_READ_FLAGS = (
    *ANALYST_READ_FLAGS,
    "where",
    "context",
    "contexts",
    "select_contexts",
    "context_of",
    "count",
)


class CancelledError(RefusedError):
    """A job that somebody cancelled."""

    @classmethod
    def create(cls, *, charged: bool) -> CancelledError:
        """Say that it was cancelled, and what that means for its cost."""
        if charged:
            return cls("it was cancelled after the data was opened; what was reserved stays charged")
        return cls("it was cancelled before anything was read; nothing was charged")


def split_request(request_values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Part what is asked: the fields of the request, what it says of reading, and whether to draw anew.

    >>> split_request({"epsilon": "1", "since": "2026-03-01", "again": True})
    ({'epsilon': '1'}, {'since': '2026-03-01'}, True)
    """
    fields = {name: value for name, value in request_values.items() if name not in (*CURATOR_READ_FLAGS, "again")}
    return (
        fields,
        {name: request_values[name] for name in CURATOR_READ_FLAGS if name in request_values},
        bool(request_values.get("again")),
    )
