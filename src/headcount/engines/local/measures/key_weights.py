"""Local measurement of key weights: each user's distinct items, cached between the rounds of a selection.

One pass over the log. Memory follows the number of different pairs of person and item (8 bytes each, and three
times that while they are sorted). See :mod:`headcount.bounds.keys.key_weights` for what is made of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Draws, Flags, Integers
from headcount.bounds import (
    Bounded,
    BoundedKeyWeights,
    DistinctItemsSign,
    KeyWeights,
    distinct_items_sign,
    draws,
    seal_distinct_items_sign,
    seal_key_weights,
)
from headcount.bounds.keys.key_weights import UNITS
from headcount.engines.local.partitions import user_keys
from headcount.engines.local.row_reader import CollectedRows
from headcount.engines.local.runner import LocalRunner
from headcount.events.encode.cells import GivenItems
from headcount.events.encode.id_table import Ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog


@dataclass(frozen=True)
class UserItems:
    """Every person's different items: each pair once, sorted by person, and how many items each person has."""

    people: Ids
    items: GivenItems
    users: NDArray[np.int32]
    codes: NDArray[np.int32]
    sizes: Integers


def measure_distinct_items_sign(
    passes: LocalRunner, log: EventLog, bound: DistinctItemsSign, secret: bytes
) -> Bounded:
    """Add up what the number of each person's items amounts to."""
    sizes = _items_of_users(passes, log, bound, secret).sizes
    return seal_distinct_items_sign(int(distinct_items_sign(sizes[sizes > 0]).sum()))


def measure_key_weights(passes: LocalRunner, log: EventLog, bound: KeyWeights, secret: bytes) -> BoundedKeyWeights:
    """Add up what each person gives to their items."""
    held = _items_of_users(passes, log, bound, secret)
    ids, users, codes = held.items.ids, held.users, held.codes
    factors = np.ones(len(ids), dtype=np.int64) if bound.hints is None else bound.hints.factors_of(ids)
    if bound.rule == "one":
        by = factors[codes]
        if bound.hints is not None:
            lots = draws.follow_steady_hints(user_keys(held.people.raw, secret))
            by = np.where(lots[users], bound.hints.steady_of(ids)[codes], by)
        codes = codes[_first(users, -by, _draws(held, users, codes, secret))]
        chosen = np.bincount(codes, minlength=len(ids)).astype(np.int64)
        return seal_key_weights(ids, chosen, chosen > 0, bound)
    kept = _kept(held, bound.most, secret)
    users, codes = users[kept], codes[kept]
    sizes = np.minimum(held.sizes, bound.most)[users]
    if bound.rule == "shares":
        there, weights = np.ones(codes.size, dtype=np.bool_), UNITS["shares"] // sizes
    else:
        there, weights = factors[codes] > 0, _roots(users, factors[codes], held.sizes.size)
        weights = np.minimum(weights, bound.ceilings_of(sizes))
    summed = np.bincount(codes, weights, minlength=len(ids)).astype(np.int64)  # below 2^53, so exact
    return seal_key_weights(ids, summed, np.bincount(codes[there], minlength=len(ids)) > 0, bound)


def _roots(users: NDArray[np.int32], factors: Integers, n_users: int) -> Integers:
    """Return what each item gets so that squares sum to the unit's at most, in proportion to the factors."""
    squares = factors**2
    of_all = np.bincount(users, squares, minlength=n_users).astype(np.int64)[users]
    return _whole_roots(UNITS["roots"] ** 2 * squares // np.maximum(of_all, 1))


def _whole_roots(numbers: Integers) -> Integers:
    """Return square roots of numbers below 2^54, rounded down.

    >>> _whole_roots(np.array([0, 1, 3, 4, 2**52 - 1, 2**52])).tolist()
    [0, 1, 1, 2, 67108863, 67108864]
    """
    roots = np.floor(np.sqrt(numbers.astype(np.float64))).astype(np.int64)
    roots -= roots**2 > numbers
    return np.asarray(roots + ((roots + 1) ** 2 <= numbers))


def _kept(held: UserItems, most: int, secret: bytes) -> Flags:
    """Say which pairs count: all of people with at most ``most`` items, so many random ones of the others'."""
    kept = held.sizes[held.users] <= most
    rows = np.flatnonzero(~kept)
    if rows.size:
        users, codes = held.users[rows], held.codes[rows]
        order = np.lexsort((_draws(held, users, codes, secret), users))
        begins = np.flatnonzero(np.diff(users[order], prepend=-1))
        places = np.arange(rows.size) - np.repeat(begins, np.diff(begins, append=rows.size))
        kept[rows[order[places < most]]] = True
    return kept


def _first(users: NDArray[np.int32], by: Integers, ties: Draws) -> Integers:
    """Return the row of each person that comes first."""
    order = np.lexsort((ties, by, users))
    return order[np.diff(users[order], prepend=-1) > 0]


def _draws(held: UserItems, users: NDArray[np.int32], codes: NDArray[np.int32], secret: bytes) -> Draws:
    items = user_keys(held.items.table.raw, secret)
    return draws.item_draws(user_keys(held.people.raw, secret)[users], items[codes])


def _items_of_users(
    passes: LocalRunner, log: EventLog, bound: KeyWeights | DistinctItemsSign, secret: bytes
) -> UserItems:
    """Return what people have, held between rounds; whose context is whose hangs on the secret."""
    reading = bound.reading(log)
    of_secret = None if reading.contexts == "none" else secret
    return passes.cached(log, (UserItems, reading, of_secret), lambda: _read(passes, log, bound, secret))


def _read(passes: LocalRunner, log: EventLog, bound: KeyWeights | DistinctItemsSign, secret: bytes) -> UserItems:
    coded, rows = passes.read(log, bound.reading(log), "selecting items")
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
    """Say which rows are in the one context that is their person's: see :func:`draws.chosen_contexts`."""
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
