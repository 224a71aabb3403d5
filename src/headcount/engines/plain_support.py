"""The support of items in plain Python, slow and obviously right: what the local engine must equal."""

from __future__ import annotations

from collections import Counter

import numpy as np

from headcount.bounding import Support, certify_support, check_limit
from headcount.engines import draws
from headcount.events.itemised import ItemisedLog
from headcount.events.log import EventLog


def plain_support(log: EventLog, limit: int, secret: bytes) -> Support:
    """Hold every record, choose each person's context and items, and count."""
    check_limit(limit, "select_limit")
    coded = ItemisedLog(log)
    records: dict[int, Counter[tuple[int, int]]] = {}
    for batch in coded.batches():
        rows = len(batch.users)
        contexts = [0] * rows if batch.contexts is None else batch.contexts.tolist()
        times = [1] * rows if batch.times is None else batch.times.tolist()
        for user, item, context, each in zip(
            batch.users.tolist(), batch.cells.tolist(), contexts, times, strict=True
        ):
            if item >= 0:
                records.setdefault(user, Counter())[context, item] += each
    raw_users, raw_items = _names(coded.users.raw), _names(coded.items.raw)
    item_keys = np.array([draws.user_key(secret, each) for each in raw_items], dtype=np.uint64)
    people = np.zeros(len(raw_items), dtype=np.int64)
    for user, history in records.items():
        key = np.array([draws.user_key(secret, raw_users[user])], dtype=np.uint64)
        chosen = 0
        if coded.log.context is not None:
            tallies = np.zeros((1, coded.log.width), dtype=np.int64)
            for (context, _), number in history.items():
                tallies[0, context] += number
            chosen = int(draws.chosen_contexts(tallies, key)[0])
        items = np.array(sorted({item for context, item in history if context == chosen}))
        order = np.argsort(draws.item_draws(np.repeat(key, items.size), item_keys[items]), kind="stable")
        people[items[order][:limit]] += 1
    return certify_support(coded.ids, people, limit)


def _names(raw: object) -> list[int | str]:
    """Return the raw ids one by one."""
    if not isinstance(raw, tuple):
        numbers: list[int | str] = np.asarray(raw).tolist()
        return numbers
    data, ends = raw
    starts = [0, *ends[:-1].tolist()] if ends.size else []
    return [bytes(data[begin:end]).decode() for begin, end in zip(starts, ends.tolist(), strict=True)]
