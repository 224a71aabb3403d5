"""Compiled weights of tags and of tag pairs: each distinct assignment of a user once.

Rows are sorted by user. What a person has met is noted by the person's number, so that nothing need be cleared.
"""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Codes, Integers
from headcount._internal.compiled import Word, compiled, inlined


@inlined
def _place(resource_places: Codes, tag_places: Codes, columns: Word, resource: Word, tag: Word) -> Word:
    """Return the place of an assignment, row by row; -1 where its resource or its tag has none."""
    row, column = np.int64(resource_places[resource]), np.int64(tag_places[tag])
    return -1 if row < 0 or column < 0 else row * columns + column


@compiled
def most_rows(users: Codes) -> Word:
    """Return how many rows the user with the most has."""
    most: Word = np.int64(0)
    mine: Word = np.int64(0)
    for row in range(users.size):
        mine = mine + 1 if row > 0 and users[row] == users[row - 1] else np.int64(1)
        most = max(most, mine)
    return most


@compiled
def add_weights(
    users: Codes, resources: Codes, tags: Codes, resource_places: Codes, tag_places: Codes, columns: Word,
    weights: Integers,
    sums: Integers,
) -> None:  # fmt: skip
    """Add ``weights[n]`` for each of the n different places that a person's assignments have."""
    last_user = np.full(sums.size, -1, dtype=np.int32)
    begin: Word = np.int64(0)
    while begin < users.size:
        user, end, different = users[begin], begin, np.int64(0)
        while end < users.size and users[end] == user:
            place = _place(resource_places, tag_places, columns, resources[end], tags[end])
            if place >= 0 and last_user[place] != user:
                last_user[place] = user
                different += 1
            end += 1
        for row in range(begin, end):
            place = _place(resource_places, tag_places, columns, resources[row], tags[row])
            if place >= 0 and last_user[place] == user:
                last_user[place] = -1
                sums[place] += weights[different]
        begin = end


@compiled
def add_tag_pairs(
    users: Codes, tags: Codes, tag_places: Codes, size: Word, alone: Word, together: Word, sums: Integers
) -> None:
    """Add what each person's different tags weigh, alone and in pairs, shared by how many there are.

    Tags have ``size`` places; the sums are an upper triangle that lies row by row.
    """
    last_user, mine = np.full(size, -1, dtype=np.int32), np.empty(size, dtype=np.int32)
    begin: Word = np.int64(0)
    while begin < users.size:
        user, end, different = users[begin], begin, np.int64(0)
        while end < users.size and users[end] == user:
            place = tag_places[tags[end]]
            if place >= 0 and last_user[place] != user:
                last_user[place] = user
                mine[different] = place
                different += 1
            end += 1
        user_tags = mine[:different]
        user_tags.sort()
        for first in range(different):
            row = np.int64(user_tags[first]) * size - np.int64(user_tags[first]) * (user_tags[first] + 1) // 2
            sums[row + user_tags[first]] += alone // different
            for second in range(first + 1, different):
                sums[row + user_tags[second]] += together // different
        begin = end
