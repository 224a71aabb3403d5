"""A synthetic log generated from public figures: distributions of user activity and item popularity.

What people have hangs on nothing but popularity, the same for light and heavy users, and contexts are dealt at
random. Items have random places in the catalogue, so that no order of ties favours popular ones.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Floats
from headcount.adaptive.activity_histogram import EstimatedActivity
from headcount.events.catalogue import Catalogue
from headcount.events.contexts import Context
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from headcount.lab.synthetic.draws import Ints, below, distinct_items, draw, generator, whole

_ROWS = 50_000  # of a block whose users share one line of items


def log_like(
    activity: EstimatedActivity,
    shares: Floats,
    *,
    people: int,
    distinct: bool,
    contexts: int = 0,
    seed: int = 2015,
) -> EventLog:
    """Make a log of so many people, of this activity; items have these shares of all records.

    ``distinct``: activity is that of different items, and nobody has one twice.

    >>> activity = EstimatedActivity(np.array([1.0, 3.0]), np.array([500.0, 500.0]))
    >>> log = log_like(activity, np.array([0.6, 0.3, 0.1]), people=10, distinct=True)
    >>> log.cells, log.source.rows
    (3, 20)
    """
    rng = generator(seed)
    places = rng.permutation(shares.size)
    popularity = whole(shares[places])
    counts = _numbers(activity, people)
    if distinct:
        blocks = list(distinct_items(rng, np.minimum(counts, shares.size), popularity, rows=_ROWS))
        users, items = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    else:
        users = np.repeat(np.arange(people), counts)
        items = draw(rng, np.cumsum(popularity), users.size)
    columns = {"user": users, "item": items}
    names = tuple(str(number) for number in range(1, contexts + 1))
    if contexts:
        columns["context"] = np.array(names)[below(rng, contexts, users.size)]
    return EventLog(
        source=TableSource(pa.table(columns)),
        roles=Roles("user", "item"),
        catalogue=Catalogue.of(range(shares.size)),
        context=Context(("context",), (names,)) if contexts else None,
        counting="users",
    )


def _numbers(activity: EstimatedActivity, users: int) -> Ints:
    """Return how many records each person has: evenly spread over the law, so that chance plays no part in it."""
    order = np.argsort(activity.records)
    passed = np.cumsum(activity.users[order])
    targets = (np.arange(users) + 0.5) / users * passed[-1]
    numbers = activity.records[order][np.minimum(np.searchsorted(passed, targets), order.size - 1)]
    return np.asarray(np.maximum(np.rint(numbers), 1), dtype=np.int64)
