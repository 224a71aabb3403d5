"""Rows of a log with raw user ids, as the product's own encoding reads them, for reference implementations."""

from __future__ import annotations

from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.bounds.tags.tag_weights import TagBound
from headcount.bounds.values.user_totals import UserTotals
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from headcount.events.tag_log import TagLog

Name = int | str
"""A raw id."""


def in_cells(log: EventLog, bound: GroupCells) -> list[tuple[Name, int, Name | None]]:
    """Return whose record it is, in which cell, and of which group, for all that are in a cell."""
    coded = EncodedLog(log, bound.reading(log))
    rows, users = collect_rows(coded), raw_ids(coded.users)
    homes = [] if coded.groups is None else raw_ids(coded.groups.table)
    named = [-1] * len(rows.users) if rows.contexts is None else rows.contexts.tolist()
    return [
        (users[who], cell, None if home < 0 else homes[home])
        for who, cell, home in zip(rows.users.tolist(), rows.cells.tolist(), named, strict=True)
    ]


def with_values(log: EventLog, bound: UserTotals) -> list[tuple[Name, int, float | None]]:
    """Return whose row it is, for how many records it stands, and its value, for all rows that count."""
    coded = EncodedLog(log, bound.reading(log))
    rows, users = collect_rows(coded), raw_ids(coded.users)
    times = [1] * len(rows.users) if rows.times is None else rows.times.tolist()
    values = [None] * len(rows.users) if rows.values is None else rows.values.tolist()
    return [(users[who], many, value) for who, many, value in zip(rows.users.tolist(), times, values, strict=True)]


def assignments(log: TagLog, bound: TagBound) -> list[tuple[Name, int, int]]:
    """Return who gave which tag to which resource, by their places in the public lists, as often as they did."""
    coded = EncodedLog(log, bound.reading(log))
    rows, users = collect_rows(coded), raw_ids(coded.users)
    tags = [] if rows.contexts is None else rows.contexts.tolist()
    given = zip(rows.users.tolist(), rows.cells.tolist(), tags, strict=True)
    return [(users[who], resource, tag) for who, resource, tag in given]
