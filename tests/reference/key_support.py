"""Reference of key support for private item selection: users behind each item, each for a limited number."""

from __future__ import annotations

from collections import Counter

import numpy as np

from headcount.bounds import draws
from headcount.bounds.keys.key_support import BoundedKeySupport, KeySupport
from headcount.engines.local.encoded_rows import collect_rows
from headcount.events.encode.id_table import raw_ids
from headcount.events.encode.passes import EncodedLog
from headcount.events.log import EventLog
from tests.reference.registry import measures


@measures(KeySupport)
def count_key_support(log: EventLog, bound: KeySupport, secret: bytes) -> BoundedKeySupport:
    """Hold every record, choose each person's context and items, and count."""
    coded = EncodedLog(log, bound.reading(log))
    if coded.items is None:
        raise TypeError("support is of items as they come up")
    rows = collect_rows(coded)
    contexts = [0] * rows.users.size if rows.contexts is None else rows.contexts.tolist()
    times = [1] * rows.users.size if rows.times is None else rows.times.tolist()
    records: dict[int, Counter[tuple[int, int]]] = {}
    for user, item, context, count in zip(rows.users.tolist(), rows.cells.tolist(), contexts, times, strict=True):
        records.setdefault(user, Counter())[context, item] += count
    raw_users, raw_items = raw_ids(coded.users), raw_ids(coded.items.table)
    item_keys = np.array([draws.user_key(secret, item_id) for item_id in raw_items], dtype=np.uint64)
    people = np.zeros(len(raw_items), dtype=np.int64)
    for user, history in records.items():
        key = np.array([draws.user_key(secret, raw_users[user])], dtype=np.uint64)
        chosen = 0
        if coded.log.context is not None:
            tallies = np.zeros((1, coded.log.width), dtype=np.int64)
            for (context, _), number in history.items():
                tallies[0, context] += number
            chosen = int(draws.choose_contexts(tallies, key)[0])
        items = np.array(sorted({item for context, item in history if context == chosen}))
        order = np.argsort(draws.item_draws(np.repeat(key, items.size), item_keys[items]), kind="stable")
        people[items[order][: bound.limit]] += 1
    return KeySupport(bound.limit).seal(coded.items.ids, people)
