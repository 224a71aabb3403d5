"""Read ahead: fetch the next batch in the background while this one is worked on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def read_ahead(values: Iterator[T]) -> Iterator[T]:
    """Yield the values in order, always one of them fetched beforehand.

    >>> list(read_ahead(iter("tea")))
    ['t', 'e', 'a']
    """
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(_next, values)
        while (fetched := coming.result()) is not None:
            coming = reader.submit(_next, values)
            yield fetched[0]


def _next(values: Iterator[T]) -> tuple[T] | None:
    """Return the next value, wrapped, or None at the end."""
    for value in values:
        return (value,)
    return None
