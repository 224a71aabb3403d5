"""Prefetch: read the next batches in a background thread while the current batch is processed."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


_DEPTH = 2

FEW_ROWS = 1 << 12
"""Below so many rows, starting a thread takes longer than what it would do."""


def read_ahead(values: Iterator[T]) -> Iterator[T]:
    """Yield the values in order, always a few of them fetched beforehand.

    >>> list(read_ahead(iter("tea")))
    ['t', 'e', 'a']
    """
    with ThreadPoolExecutor(1) as reader:  # one thread: it asks for one value after the other
        pending = deque(reader.submit(_next, values) for _ in range(_DEPTH))
        try:
            while (fetched := pending.popleft().result()) is not None:
                pending.append(reader.submit(_next, values))
                yield fetched[0]
        finally:
            for future in pending:
                future.cancel()


def _next(values: Iterator[T]) -> tuple[T] | None:
    """Return the next value, wrapped, or None at the end."""
    for value in values:
        return (value,)
    return None
