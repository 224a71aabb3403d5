"""CRC-32 of long arrays, computed in parallel by parts and combined; equals ``zlib.crc32``.

A checksum is a remainder of polynomials over bits. That of two parts, one after the other, is the remainder of the
first, times x once for each bit of the second, plus that of the second.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from numpy.typing import NDArray

_POLYNOMIAL = 0xEDB88320  # of CRC-32, its highest power left out; the lowest bit stands for the highest power
_UNIT_POLYNOMIAL = 1 << 31
_PART = 1 << 22  # bytes, below which starting a thread does not pay
_THREADS = max(1, min(8, os.cpu_count() or 1))


def checksums(arrays: Mapping[str, NDArray[Any]]) -> dict[str, int]:
    """Return the CRC-32 of the bytes of each array.

    >>> import numpy as np
    >>> checksums({"digits": np.frombuffer(b"123456789", dtype=np.uint8)}) == {"digits": 0xCBF43926}
    True
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        return {name: _checksum(memoryview(array.data).cast("B"), pool) for name, array in arrays.items()}


def _checksum(data: memoryview, pool: ThreadPoolExecutor) -> int:
    parts = max(1, min(_THREADS, len(data) // _PART))
    if parts == 1:
        return zlib.crc32(data)
    borders = [len(data) * part // parts for part in range(parts + 1)]
    checksums_of_parts = pool.map(lambda border: zlib.crc32(data[border[0] : border[1]]), pairwise(borders))
    whole = 0
    for (first, last), part in zip(pairwise(borders), checksums_of_parts, strict=True):
        whole = combine_checksums(whole, part, last - first)
    return whole


def combine_checksums(first: int, second: int, size: int) -> int:
    """Return the checksum of two parts from those of each, the second of so many bytes.

    >>> combine_checksums(zlib.crc32(b"tea"), zlib.crc32(b"time"), 4) == zlib.crc32(b"teatime")
    True
    """
    return _times(first, _power(8 * size)) ^ second


def _power(bits: int) -> int:
    """Return the remainder of x to a power."""
    power, square = _UNIT_POLYNOMIAL, _UNIT_POLYNOMIAL >> 1
    while bits:
        power = _times(power, square) if bits & 1 else power
        square, bits = _times(square, square), bits >> 1
    return power


def _times(left: int, right: int) -> int:
    """Return the remainder of a product."""
    product = 0
    while left:
        if left & _UNIT_POLYNOMIAL:
            product ^= right
        left = left << 1 & 0xFFFFFFFF
        right = right >> 1 ^ (_POLYNOMIAL if right & 1 else 0)
    return product
