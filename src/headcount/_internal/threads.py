"""A map over threads for large work, and a plain map for small work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any


@contextmanager
def parallel_map(threads: int, *, few: bool) -> Iterator[Callable[..., Iterator[Any]]]:
    """Give a ``map`` that runs on threads, or, of what is few, on this one; what comes out is the same.

    >>> with parallel_map(2, few=True) as each:
    ...     list(each(len, ["tea", "rye bread"]))
    [3, 9]
    """
    if few:
        yield map
        return
    with ThreadPoolExecutor(threads) as pool:
        yield pool.map
