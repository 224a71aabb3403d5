"""Every user's distinct items, cached between the rounds of a private selection.

One pass over the log. Memory follows the number of different pairs of user and item (8 bytes each, and three times
that while they are sorted).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Flags, Integers
from headcount.bounds import draws
from headcount.bounds.engine_interface import CollectedRows, Passes
from headcount.bounds.kernels.draws import user_keys
from headcount.events.encode.cells import GivenItems
from headcount.events.encode.id_table import Ids
from headcount.events.encode.passes import EncodedLog, Reading
from headcount.events.log import EventLog


@dataclass(frozen=True)
class UserItems:
    """Every user's different items: each pair once, sorted by user, and how many items each user has."""

    people: Ids
    items: GivenItems
    users: NDArray[np.int32]
    codes: NDArray[np.int32]
    sizes: Integers

    def draws_of(self, users: NDArray[np.int32], codes: NDArray[np.int32], secret: bytes) -> Draws:
        """Return the draws of some users' items."""
        items = user_keys(self.items.table.raw, secret)
        return draws.item_draws(user_keys(self.people.raw, secret)[users], items[codes])


def observed_items(log: EventLog) -> Reading:
    """Read items as they come up, with their contexts where each user keeps one alone."""
    return Reading("given", "beside" if log.context_of == "user" else "none")


def items_of_users(passes: Passes, log: EventLog, secret: bytes) -> UserItems:
    """Return the items of all users, held between rounds; which context is whose follows from the secret."""
    reading = observed_items(log)
    own_secret = None if reading.contexts == "none" else secret
    return passes.cached(log, (UserItems, reading, own_secret), lambda: _read(passes, log, secret))


def _read(passes: Passes, log: EventLog, secret: bytes) -> UserItems:
    coded, rows = passes.read(log, observed_items(log), "selecting items")
    if coded.items is None:
        raise TypeError("people have items as they come up")
    users, codes = rows.users, rows.cells
    if rows.contexts is not None:
        inside = _in_own_context(coded, rows, rows.contexts, secret)
        users, codes = users[inside], codes[inside]
    width = max(1, coded.items.table.size)
    pairs = np.sort(users.astype(np.int64) * width + codes)  # NumPy's unique hashes without a key
    pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    owners, items = np.divmod(pairs, width)
    sizes = np.bincount(owners, minlength=coded.users.size).astype(np.int64)
    return UserItems(coded.users, coded.items, owners.astype(np.int32), items.astype(np.int32), sizes)


def _in_own_context(coded: EncodedLog, rows: CollectedRows, named: NDArray[np.int32], secret: bytes) -> Flags:
    """Say which rows are in the one context that is their user's: see :func:`draws.chosen_contexts`."""
    width = coded.log.width
    places, of_rows = np.unique(rows.users.astype(np.int64) * width + named, return_inverse=True)
    records = np.zeros(places.size, dtype=np.int64)
    np.add.at(records, of_rows, 1 if rows.times is None else rows.times)
    users, contexts = np.divmod(places, width)
    tickets = draws.context_tickets(user_keys(coded.users.raw, secret)[users], contexts)
    order = np.lexsort((tickets, -records, contexts == width - 1, users))
    own = np.zeros(places.size, dtype=np.bool_)
    own[order[np.diff(users[order], prepend=-1) > 0]] = True
    return np.asarray(own[of_rows])
