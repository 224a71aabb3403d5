"""Compiled loops of packing: sort each user's records by cell and merge equal ones, and gather texts."""

from __future__ import annotations

import numpy as np

from headcount._internal.arrays import Bytes, Codes, Integers
from headcount._internal.compiled import Word, compiled

_MOST_TIMES = (1 << 31) - 1  # that one entry can stand for
_FEW = 48  # below this a plain insertion is quicker


@compiled
def _insert(cells: Codes, weights: Integers, begin: Word, end: Word) -> None:
    """Sort a few records by insertion."""
    for at in range(begin + 1, end):
        cell = cells[at]
        weight = weights[at] if weights.size > 0 else np.int64(1)
        to = at
        while to > begin and cells[to - 1] > cell:
            cells[to] = cells[to - 1]
            if weights.size > 0:
                weights[to] = weights[to - 1]
            to -= 1
        cells[to] = cell
        if weights.size > 0:
            weights[to] = weight


@compiled
def _distribute(cells: Codes, weights: Integers, begin: Word, end: Word, bits: Word) -> None:
    """Sort many records, eight bits of the cell after the other."""
    spare = np.empty(end - begin, dtype=np.int32)
    others = np.empty(spare.size if weights.size > 0 else 0, dtype=np.int64)
    ahead = np.empty(257, dtype=np.int64)
    for shift in range(0, bits, 8):
        ahead[:] = 0
        for at in range(begin, end):
            ahead[(cells[at] >> shift & 255) + 1] += 1
        for digit in range(256):
            ahead[digit + 1] += ahead[digit]
        for at in range(begin, end):
            digit = cells[at] >> shift & 255
            spare[ahead[digit]] = cells[at]
            if weights.size > 0:
                others[ahead[digit]] = weights[at]
            ahead[digit] += 1
        for at in range(spare.size):  # one by one: assigning a slice takes seconds to compile
            cells[begin + at] = spare[at]
            if weights.size > 0:
                weights[begin + at] = others[at]


@compiled
def merge(
    starts: Integers, cells: Codes, weights: Integers, bits: Word, lengths: Integers, out: Codes, times: Codes
) -> Word:
    """Sort and merge every user's records, which are grouped; cells have so many bits.

    Writes how many entries each user has, their cells and how many records each stands for; returns how many
    entries there are. Records of one cell beyond what an entry can stand for go into further entries.
    """
    to: Word = np.int64(0)
    for user in range(starts.size - 1):
        begin, end = starts[user], starts[user + 1]
        if end - begin < _FEW:
            _insert(cells, weights, begin, end)
        else:
            _distribute(cells, weights, begin, end, bits)
        first, at = to, begin
        while at < end:
            cell = cells[at]
            total: Word = np.int64(0)
            while at < end and cells[at] == cell:
                total += weights[at] if weights.size > 0 else np.int64(1)
                at += 1
            while total > 0:
                out[to] = cell
                times[to] = min(total, _MOST_TIMES)
                total -= times[to]
                to += 1
        lengths[user] = to - first
    return to


@compiled
def gather(data: Bytes, ends: Integers, codes: Integers, out: Bytes, out_ends: Integers) -> None:
    """Copy some texts, one after the other, and write where each one ends."""
    to: Word = np.int64(0)
    for place in range(codes.size):
        code = codes[place]
        for at in range(ends[code - 1] if code > 0 else 0, ends[code]):
            out[to] = data[at]
            to += 1
        out_ends[place] = to
