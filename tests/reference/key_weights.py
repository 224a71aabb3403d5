"""Reference of key weights: each user divides one unit among own items; also the sign of distinct items."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np

from headcount.bounds import Bounded, draws
from headcount.bounds.keys.distinct_items_sign import DistinctItemsSign, distinct_items_sign
from headcount.bounds.keys.key_weights import UNITS, BoundedKeyWeights, KeyWeights
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from tests.reference.registry import measures


@measures(DistinctItemsSign)
def sum_distinct_items_signs(log: EventLog, bound: DistinctItemsSign, secret: bytes) -> Bounded:
    """Count each person's items, and add up what that amounts to."""
    sizes = [len(items) for _, items in _baskets(EncodedLog(log, bound.reading(log)), secret)]
    return DistinctItemsSign().seal(
        np.array([sum(int(distinct_items_sign(np.array([size]))[0]) for size in sizes if size)])
    )


@measures(KeyWeights)
def sum_key_weights(log: EventLog, bound: KeyWeights, secret: bytes) -> BoundedKeyWeights:
    """Let every person give what the rule says."""
    coded = EncodedLog(log, bound.reading(log))
    baskets = _baskets(coded, secret)
    if coded.items is None:
        raise TypeError("people have items as they come up")
    names, ids = raw_ids(coded.items.table), coded.items.ids
    hinted = [1] * len(ids) if bound.hints is None else bound.hints.factors_of(ids).tolist()
    steady = hinted if bound.hints is None else bound.hints.steady_of(ids).tolist()
    keys = [draws.user_key(secret, name) for name in names]
    given, there = [0] * len(names), [False] * len(names)
    for key, items in baskets:
        drawn = {item: _draw(key, keys[item]) for item in items}
        if bound.rule == "one":
            mine = steady if draws.follow_steady_hints(np.array([key], dtype=np.uint64))[0] else hinted
            best = min((-mine[item], drawn[item], item) for item in items)[2]
            given[best], there[best] = given[best] + 1, True
            continue
        kept = sorted(items, key=drawn.__getitem__)[: bound.most]
        squares = sum(hinted[item] ** 2 for item in kept)
        for item in kept:
            if bound.rule == "shares":
                given[item], there[item] = given[item] + UNITS["shares"] // len(kept), True
            elif hinted[item]:
                most = next(weight for number, weight in bound.ceilings if len(kept) <= number)
                root = math.isqrt(UNITS["roots"] ** 2 * hinted[item] ** 2 // squares)
                given[item], there[item] = given[item] + min(root, most), True
    return bound.seal(ids, np.array(given, dtype=np.int64), np.array(there, dtype=np.bool_))


def _draw(user: int, item: int) -> int:
    mixed = draws.item_draws(np.array([user], dtype=np.uint64), np.array([item], dtype=np.uint64))
    return int(mixed[0])


def _baskets(coded: EncodedLog, secret: bytes) -> list[tuple[int, list[int]]]:
    """Return each person's key and different items, of their own context where there is one."""
    rows = collect_rows(coded)
    contexts = [0] * rows.users.size if rows.contexts is None else rows.contexts.tolist()
    times = [1] * rows.users.size if rows.times is None else rows.times.tolist()
    records: dict[int, Counter[tuple[int, int]]] = {}
    for user, item, context, count in zip(rows.users.tolist(), rows.cells.tolist(), contexts, times, strict=True):
        records.setdefault(user, Counter())[context, item] += count
    users, baskets = raw_ids(coded.users), []
    for user, history in records.items():
        key, own = draws.user_key(secret, users[user]), 0
        if coded.log.context is not None:
            tallies = np.zeros((1, coded.log.width), dtype=np.int64)
            for (context, _), number in history.items():
                tallies[0, context] += number
            own = int(draws.choose_contexts(tallies, np.array([key], dtype=np.uint64))[0])
        baskets.append((key, sorted({item for context, item in history if context == own})))
    return baskets
