"""Reference of value histograms: the weights of each user's values on a grid, and users by group."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np

from headcount.bounds import Bounded
from headcount.bounds.values.value_histograms import UserGroups, UserValues
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from tests.reference.registry import measures
from tests.reference.rows import Name


@measures(UserValues)
def sum_values(log: EventLog, bound: UserValues, secret: bytes) -> Bounded:
    """Weigh the records of each person, and let each weight stand for itself.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("bob", "tea")], items=["rye", "tea"])
    >>> sum_values(log, UserValues(1, by="items"), bytes(16)).sensitive_values.tolist()
    [[256], [768]]
    """
    groups, size = bound.groups(log), bound.grid.size
    sums = np.zeros((groups, size), dtype=np.int64)
    for mine in _people(log, bound):
        whole, so_far, given = sum(mine.values()), 0, 0
        for place in sorted(mine):
            so_far += mine[place]
            weighed = bound.unit * so_far if whole <= bound.limit else (2 * bound.most * so_far // whole + 1) // 2
            sums[place // size, place % size] += weighed - given
            given = weighed
    return bound.seal(sums)


@measures(UserGroups)
def count_groups(log: EventLog, bound: UserGroups, secret: bytes) -> Bounded:
    """Count each person in the groups where they have the most records.

    >>> log = EventLog.of([("ann", "tea"), ("ann", "rye"), ("ann", "tea")], items=["rye", "tea"])
    >>> count_groups(log, UserGroups(1, "items"), bytes(16)).sensitive_values.tolist()
    [0, 1]
    """
    people = np.zeros(bound.weighed.groups(log), dtype=np.int64)
    for mine in _people(log, bound.weighed):
        for group in sorted(mine, key=lambda group: (-mine[group], group))[: bound.limit]:
            people[group] += 1
    return bound.seal(people)


def _people(log: EventLog, bound: UserValues) -> list[dict[int, int]]:
    """Return how many records each person has in each place."""
    people: dict[Name, dict[int, int]] = {}
    for who, place, many in _rows(log, bound):
        mine = people.setdefault(who, {})
        mine[place] = mine.get(place, 0) + many
    return [{place: many for place, many in mine.items() if many} for mine in people.values()]


def _rows(log: EventLog, bound: UserValues) -> list[tuple[Name, int, int]]:
    """Return whose row it is, in which place, and for how many records it stands."""
    coded = EncodedLog(log, bound.reading(log))
    rows, names = collect_rows(coded), raw_ids(coded.users)
    user_rows, size, borders = [], bound.grid.size, list(bound.grid.borders)
    for at, who in enumerate(rows.users.tolist()):
        group = 0
        if bound.by == "contexts" and rows.contexts is not None:
            group = int(rows.contexts[at])
        elif bound.by == "items":
            group = int(rows.cells[at])
        cell = 0 if rows.values is None else bisect_right(borders, float(rows.values[at]))
        user_rows.append((names[who], group * size + cell, 1 if rows.times is None else int(rows.times[at])))
    return user_rows
