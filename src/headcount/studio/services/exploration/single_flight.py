"""A thread-safe cache that computes each key once: concurrent callers of a key wait for one computation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

Value = TypeVar("Value")


@dataclass(eq=False)
class _Slot:
    lock: threading.RLock = field(default_factory=threading.RLock)
    value: tuple[Any, ...] = ()


@dataclass(eq=False)
class SingleFlight:
    """Things by their keys. What cannot be made is not kept, and tried again when it is asked for again.

    >>> kept = SingleFlight()
    >>> kept("answer", lambda: 42), kept("answer", lambda: 43)
    (42, 42)
    """

    _slots: dict[Hashable, _Slot] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __call__(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return what was made for a key, or make it."""
        with self._lock:
            slot = self._slots.setdefault(key, _Slot())
        with slot.lock:
            if not slot.value:
                slot.value = (make(),)
            return cast("Value", slot.value[0])

    def forget(self, key: Hashable) -> None:
        """Let go of what was made for a key."""
        with self._lock:
            self._slots.pop(key, None)
