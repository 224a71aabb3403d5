"""Sources of randomness: the operating system, or a seed for tests alone."""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np

from headcount._internal.arrays import Words


class NoiseSource(Protocol):
    """A supply of random words and of secret keys."""

    @property
    def is_private(self) -> bool:
        """Whether nobody can foresee what it gives."""

    def words(self, count: int) -> Words:
        """Return ``count`` uniform 32-bit words."""

    def key(self) -> bytes:
        """Return a fresh 16-byte key for the random choices inside a bound."""


class OperatingSystemNoise:
    """The operating system's generator."""

    is_private = True

    def words(self, count: int) -> Words:
        """Return ``count`` uniform 32-bit words."""
        return np.frombuffer(os.urandom(4 * count), dtype=np.uint32)

    def key(self) -> bytes:
        """Return a fresh 16-byte key."""
        return os.urandom(16)


class SeededNoise:
    """A reproducible source for tests and experiments: its output is marked as not private.

    >>> SeededNoise(1).key() == SeededNoise(1).key(), SeededNoise(1).is_private
    (True, False)
    """

    is_private = False

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))

    def words(self, count: int) -> Words:
        """Return ``count`` uniform 32-bit words."""
        return np.frombuffer(self._generator.bytes(4 * count), dtype=np.uint32)

    def key(self) -> bytes:
        """Return the next 16-byte key."""
        return self._generator.bytes(16)
