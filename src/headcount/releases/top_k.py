"""Top K of released counts, overall or in one context.

Ranking noisy counts is post-processing and costs nothing. Ties are broken by the order of the catalogue.

Reference
    L. Fan, H. Jin. A Practical Framework for Privacy-Preserving Data Analytics. WWW 2015, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.errors import UnknownNameError, UsageError, param


def top(table: pa.Table, k: int) -> list[dict[str, Any]]:
    """Return the ``k`` rows with the largest counts, best first, each with its rank.

    >>> table = pa.table({"item": ["rye", "tea"], "count": [3.0, 7.0]})
    >>> top(table, 1)
    [{'rank': 1, 'item': 'tea', 'count': 7.0}]
    """
    if k < 1:
        raise UsageError("k must be a whole number of at least 1", given=k)
    best = np.argsort(-table["count"].to_numpy(), kind="stable")[:k]
    columns = {name: table[name] for name in table.column_names}
    return [
        {"rank": rank, **{name: column[at].as_py() for name, column in columns.items()}}
        for rank, at in enumerate(best.tolist(), 1)
    ]


def top_of_ranking(
    table: pa.Table, contexts: Sequence[str] | None, k: int, context: str | None
) -> list[dict[str, Any]]:
    """Return the ``k`` best rows of a table that is a ranking, or several under each other, one per context.

    >>> top_of_ranking(pa.table({"rank": [1, 2], "item": ["tea", "rye"]}), None, 1, None)
    [{'rank': 1, 'item': 'tea'}]
    """
    if k < 1:
        raise UsageError("k must be a whole number of at least 1", given=k)
    if contexts is None and context is not None:
        raise UsageError("this ranking is not per context", given=context, remedy=f"leave {param.context} out")
    if contexts and context is None:
        raise UsageError(
            "this ranking is per context", remedy=f"name one with {param.context}, such as {contexts[0]!r}"
        )
    if context is not None:
        table = in_context(table, contexts or (), context)
    rows: list[dict[str, Any]] = table.slice(0, k).to_pylist()
    return rows


def in_context(item_contexts: pa.Table, contexts: Sequence[str], context: str) -> pa.Table:
    """Return the edges of one context, found by its exact name or, if that is unique, ignoring case."""
    import pyarrow.compute as pc  # a tenth of the time that a command takes, and few need it

    return item_contexts.filter(pc.equal(item_contexts["context"], match_context(contexts, context)))


def match_context(contexts: Sequence[str], context: str) -> str:
    """Return the context that is meant, by its exact name or, if that is unique, ignoring case.

    >>> match_context(["Mon", "Tue"], "tue")
    'Tue'
    """
    close = [name for name in contexts if name.casefold() == context.casefold()]
    matches = [context] if context in contexts else close
    if len(matches) != 1:
        raise UnknownNameError.among("context", context, contexts, where="this release")
    return matches[0]
