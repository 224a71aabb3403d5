"""Keyed pseudo-random draws of bounds (SipHash, SplitMix64): the definition that every engine must equal.

A record's draw is a function of the run's secret key, the raw user id, the record's cell (its item and context
in the public catalogue) and its number among that user's equal records. Equal records are interchangeable, so
it does not matter which row gets which number, and the draws depend on no row order, no other user, no thread.

The secret and the raw id give a 64-bit user key by SipHash-2-4, a keyed pseudo-random function; from there a
user's records are numbered through SplitMix64. The secret lives as long as one run.

References
    J.-P. Aumasson, D. Bernstein. SipHash: a fast short-input PRF. INDOCRYPT 2012.
    G. Steele, D. Lea, C. Flood. Fast Splittable Pseudorandom Number Generators. OOPSLA 2014.
"""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Draws

GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def siphash(secret: bytes, message: bytes) -> int:
    """Return SipHash-2-4 of a message under a 16-byte secret.

    >>> hex(siphash(bytes(range(16)), bytes(range(15))))
    '0xa129ca6149be45e5'
    """
    k0, k1 = struct.unpack("<QQ", secret)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    whole = len(message) // 8 * 8
    last = int.from_bytes(message[whole:], "little") | (len(message) & 0xFF) << 56
    for word in [*(w for (w,) in struct.iter_unpack("<Q", message[:whole])), last]:
        v[3] ^= word
        _sip_round(v)
        _sip_round(v)
        v[0] ^= word
    v[2] ^= 0xFF
    for _ in range(4):
        _sip_round(v)
    return int(v[0] ^ v[1] ^ v[2] ^ v[3])


def user_key(secret: bytes, user: int | str) -> int:
    """Return the key of a raw user id: whole numbers as 8 bytes, text as UTF-8."""
    return siphash(secret, (user & _MASK).to_bytes(8, "little") if isinstance(user, int) else user.encode())


def mix(x: Draws) -> Draws:
    """Return SplitMix64's output function of each state."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def record_draws(keys: Draws, cells: NDArray[np.int64], numbers: NDArray[np.int64]) -> Draws:
    """Return the draw of each record: its user's key, its cell, its number among equal records.

    The first of equal records has the cell's own draw; the others follow it.
    """
    golden = np.uint64(GOLDEN)
    first = mix(keys + (cells.astype(np.uint64) + np.uint64(1)) * golden)
    later = mix(first + numbers.astype(np.uint64) * golden)
    return np.where(numbers == 0, first, later)


def item_draws(keys: Draws, item_keys: Draws) -> Draws:
    """Return the draw of each user's item, of which the smallest are kept where items are in no catalogue.

    ``item_keys`` come from the raw items as user keys come from the raw users (:func:`user_key`): a place in a
    list of items that the log itself makes up would depend on other users.
    """
    return mix(keys + item_keys * np.uint64(GOLDEN))


def admit_users(keys: Draws, admission: int) -> NDArray[np.bool_]:
    """Say which users are taken into account at all, ``admission`` of 2^64 by lot.

    The lot comes from a stream apart from those of records and contexts.

    >>> keys = np.array([7], dtype=np.uint64)
    >>> bool(admit_users(keys, 1 << 64)), bool(admit_users(keys, 0))
    (True, False)
    """
    if admission == 1 << 64:
        return np.ones(keys.size, dtype=np.bool_)
    return np.asarray(mix(mix(keys)) < np.uint64(admission), dtype=np.bool_)


def member_draws(keys: Draws) -> Draws:
    """Return the draw of each member of a group, of whom those with the smallest are kept.

    They come from a stream apart from those of records, contexts and lots: who of a group is kept tells nothing of
    which records.
    """
    return mix(mix(mix(keys)))


def follow_steady_hints(keys: Draws) -> NDArray[np.bool_]:
    """Say which users, one in four by lot, follow steady hints; the lot is a stream apart from all others.

    >>> int(follow_steady_hints(np.arange(4000, dtype=np.uint64)).sum())
    1039
    """
    return np.asarray(mix(member_draws(keys)) >> np.uint64(62) == 0, dtype=np.bool_)


def priorities(draws: Draws, ranks: NDArray[np.int64] | None, bits: int) -> Draws:
    """Put the rank of each record into the top ``bits`` and the draw below: smaller is kept first."""
    if ranks is None or bits == 0:
        return draws
    return (ranks.astype(np.uint64) << np.uint64(64 - bits)) | (draws >> np.uint64(bits))


def rank_bits(ranks: NDArray[np.int64] | None) -> int:
    """Return how many bits the largest rank takes.

    >>> rank_bits(None), rank_bits(np.array([0, 4, 2]))
    (0, 3)
    """
    return 0 if ranks is None else int(ranks.max(initial=0)).bit_length()


def _sip_round(v: list[int]) -> None:
    def rotate(x: int, by: int) -> int:
        return (x << by | x >> (64 - by)) & _MASK

    v[0] = (v[0] + v[1]) & _MASK
    v[1] = rotate(v[1], 13) ^ v[0]
    v[0] = rotate(v[0], 32)
    v[2] = (v[2] + v[3]) & _MASK
    v[3] = rotate(v[3], 16) ^ v[2]
    v[0] = (v[0] + v[3]) & _MASK
    v[3] = rotate(v[3], 21) ^ v[0]
    v[2] = (v[2] + v[1]) & _MASK
    v[1] = rotate(v[1], 17) ^ v[2]
    v[2] = rotate(v[2], 32)


def choose_contexts(tallies: NDArray[np.int64], keys: Draws) -> NDArray[np.int32]:
    """Return each user's one context: the most frequent known one, ties by the user's own draws.

    The last column counts the unknown context, which is chosen only by users who have no other. These draws come
    from a stream apart from that of the records, so that the choice tells nothing of which records are kept.

    >>> choose_contexts(np.array([[1, 3, 9], [0, 0, 2]]), np.array([7, 8], dtype=np.uint64)).tolist()
    [1, 2]
    """
    listed = tallies[:, :-1]
    tickets = context_tickets(keys[:, None], np.arange(listed.shape[1]))
    tied = listed == listed.max(axis=1, keepdims=True)
    best = np.argmin(np.where(tied, tickets, np.iinfo(np.uint64).max), axis=1)
    return np.asarray(np.where(listed.any(axis=1), best, listed.shape[1]), dtype=np.int32)


def context_tickets(keys: Draws, contexts: NDArray[np.int64]) -> Draws:
    """Return the draws that break ties between a user's contexts: the smallest wins."""
    return mix(mix(keys) + (contexts.astype(np.uint64) + np.uint64(1)) * np.uint64(GOLDEN))
