"""The fast Walsh-Hadamard transform, compiled; in 64-bit integers, or floating point for released numbers."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from headcount._internal.compiled import Word, compiled, inlined

_CACHED = 1 << 13  # so many values are transformed at once, within the processor's cache


@inlined
def _butterfly(values: NDArray[Any], begin: Word, end: Word, half: Word) -> None:
    """Replace pairs that are ``half`` apart by their sum and difference."""
    for start in range(begin, end, 2 * half):
        left, right = values[start : start + half], values[start + half : start + 2 * half]
        for at in range(half):
            a, b = left[at], right[at]
            left[at], right[at] = a + b, a - b


@inlined
def _two_butterflies(values: NDArray[Any], begin: Word, end: Word, half: Word) -> None:
    """Do two rounds at once, ``half`` and twice as much: memory is what they wait for."""
    for start in range(begin, end, 4 * half):
        first, second = values[start : start + half], values[start + half : start + 2 * half]
        third, fourth = values[start + 2 * half : start + 3 * half], values[start + 3 * half : start + 4 * half]
        for at in range(half):
            a, b = first[at] + second[at], first[at] - second[at]
            c, d = third[at] + fourth[at], third[at] - fourth[at]
            first[at], second[at], third[at], fourth[at] = a + c, b + d, a - c, b - d


@compiled
def walsh_hadamard(values: NDArray[Any]) -> None:
    """Transform in place, in natural order; the number of values is a power of two."""
    block = min(values.size, _CACHED)
    for begin in range(0, values.size, block):
        half = 1
        while 4 * half <= block:
            _two_butterflies(values, begin, begin + block, half)
            half *= 4
        if half < block:
            _butterfly(values, begin, begin + block, half)
    half = block
    while 4 * half <= values.size:
        _two_butterflies(values, 0, values.size, half)
        half *= 4
    if half < values.size:
        _butterfly(values, 0, values.size, half)


@inlined
def _next_by_sequency(at: Word, number: Word, size: Word) -> Word:
    """Return the natural place of coefficient ``number`` + 1, given that of ``number``.

    The place is the bit-reversed Gray code, of which one bit changes from each number to the next.
    """
    bit, rest = size >> 1, number + 1
    while rest & 1 == 0:
        bit, rest = bit >> 1, rest >> 1
    return at ^ bit


@compiled
def by_sequency(natural: NDArray[Any], out: NDArray[Any]) -> None:
    """Put coefficients into the order of rising numbers of sign changes."""
    at = 0
    for number in range(out.size):
        out[number] = natural[at]
        at = _next_by_sequency(at, number, natural.size)


@compiled
def from_sequency(coefficients: NDArray[Any], out: NDArray[Any]) -> None:
    """Put the first coefficients back into their natural places."""
    at = 0
    for number in range(coefficients.size):
        out[at] = coefficients[number]
        at = _next_by_sequency(at, number, out.size)
