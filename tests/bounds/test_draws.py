"""The definition of the draws: published test vectors, and independence of what they must not depend on."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount._internal.arrays import Draws
from headcount.bounds import draws
from tests.support.distributions import LEVEL, binomial, fits

# From the reference implementation: key 00…0f, messages of 0, 1, 2, … bytes 00, 01, 02, …
SIPHASH_VECTORS = [
    0x726FDB47DD0E0E31, 0x74F839C593DC67FD, 0x0D6C8009D9A94F5A, 0x85676696D7FB7E2D,
    0xCF2794E0277187B7, 0x18765564CD99A68D, 0xCBC9466E58FEE3CE, 0xAB0200F58B01D137,
    0x93F5F5799A932462, 0x9E0082DF0BA9E4B0, 0x7A5DBBC594DDB9F3, 0xF4B32F46226BADA7,
    0x751E8FBC860EE5FB, 0x14EA5627C0843D90, 0xF723CA908E7AF2EE, 0xA129CA6149BE45E5,
]  # fmt: skip

# SplitMix64 from seed 1234567
SPLITMIX_VECTORS = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]


@pytest.mark.parametrize("length", range(16))
def test_siphash_is_siphash(length: int) -> None:
    assert draws.siphash(bytes(range(16)), bytes(range(length))) == SIPHASH_VECTORS[length]


def test_mix_is_splitmix() -> None:
    states = np.array([1234567 + n * draws.GOLDEN for n in range(1, 5)], dtype=object)
    mixed = draws.mix((states & (2**64 - 1)).astype(np.uint64))
    assert mixed.tolist() == SPLITMIX_VECTORS


@given(st.binary(min_size=16, max_size=16), st.integers(-(2**63), 2**63 - 1), st.text(max_size=30))
def test_a_user_key_hangs_on_the_raw_id(secret: bytes, number: int, text: str) -> None:
    assert draws.user_key(secret, number) == draws.siphash(secret, number.to_bytes(8, "little", signed=True))
    assert draws.user_key(secret, text) == draws.siphash(secret, text.encode())


def keys(count: int) -> Draws:
    return np.array([draws.user_key(b"a secret of 16 b", n) for n in range(count)], dtype=np.uint64)


def test_draws_of_records_are_uniform_and_distinct() -> None:
    """Chi-square of the top 4 bits over 20,000 records, false-alarm rate ``laws.LEVEL`` (the key is fixed)."""
    people = np.repeat(keys(200), 100)
    cells = np.tile(np.repeat(np.arange(10), 10), 200)
    numbers = np.tile(np.arange(10), 2_000)
    drawn = draws.record_draws(people, cells, numbers)
    assert np.unique(drawn).size == drawn.size
    law = dict.fromkeys(range(16), 1 / 16)
    assert fits(Counter((drawn >> np.uint64(60)).tolist()), law) > LEVEL
    assert fits(Counter((drawn & np.uint64(15)).tolist()), law) > LEVEL


@pytest.mark.parametrize("sixteenths", [1, 4, 8, 15])
def test_lots_take_users_with_the_declared_probability(sixteenths: int) -> None:
    """Exact binomial test, false-alarm rate ``laws.LEVEL`` (the key is fixed)."""
    taken = draws.admit_users(keys(6_000), sixteenths << 60)
    assert binomial(int(taken.sum()), 6_000, sixteenths / 16) > LEVEL


def test_lots_at_the_borders() -> None:
    many = keys(1_000)
    assert not draws.admit_users(many, 0).any()
    assert not draws.admit_users(many, 1).any()
    assert draws.admit_users(many, 2**64 - 1).all()
    assert draws.admit_users(many, 2**64).all()
    lowest = draws.mix(draws.mix(many)).min()
    assert draws.admit_users(many, int(lowest)).sum() == 0
    assert draws.admit_users(many, int(lowest) + 1).sum() == 1


def test_a_larger_admission_takes_the_same_users_and_more() -> None:
    few, more = (draws.admit_users(keys(1_000), admission) for admission in (2**62, 2**63))
    assert (few <= more).all()


def test_a_lot_tells_nothing_of_the_records_and_contexts_of_a_user() -> None:
    """Chi-square of who is taken, which of two records comes first and which context wins, at ``laws.LEVEL``."""
    many, zeros = keys(8_000), np.zeros(8_000, dtype=np.int64)
    taken = draws.admit_users(many, 2**63)
    contexts = draws.choose_contexts(np.tile(np.array([[1, 1, 0]]), (8_000, 1)), many)
    for cell in (0, 1, 77):
        first, other = (
            draws.record_draws(many, zeros + context_number, zeros) for context_number in (cell, cell + 1)
        )
        outcomes = Counter(zip(taken.tolist(), (first < other).tolist(), contexts.tolist(), strict=True))
        law = dict.fromkeys(itertools.product((False, True), (False, True), (0, 1)), 1 / 8)
        assert fits(outcomes, law) > LEVEL
        assert fits(Counter(zip(taken.tolist(), (first < 2**63).tolist(), strict=True)),
                    dict.fromkeys(itertools.product((False, True), repeat=2), 1 / 4)) > LEVEL  # fmt: skip


@given(st.lists(st.integers(0, 9), min_size=1, max_size=20), st.integers(0, 2**64 - 1))
def test_priorities_order_by_rank_first(ranks: list[int], seed: int) -> None:
    given_ranks = np.array(ranks)
    drawn = draws.mix(np.arange(len(ranks), dtype=np.uint64) + np.uint64(seed))
    priority = draws.priorities(drawn, given_ranks, draws.rank_bits(given_ranks))
    order = np.argsort(priority, kind="stable")
    assert (np.diff(given_ranks[order]) >= 0).all()
    for rank in set(ranks):
        inside = given_ranks == rank
        assert np.argsort(priority[inside]).tolist() == np.argsort(drawn[inside]).tolist()
    assert draws.priorities(drawn, None, 0) is drawn


@pytest.mark.parametrize(("ranks", "bits"), [(None, 0), ([0], 0), ([0, 1], 1), ([3], 2), ([2**20], 21), ([], 0)])
def test_rank_bits(ranks: Any, bits: int) -> None:
    assert draws.rank_bits(None if ranks is None else np.array(ranks, dtype=np.int64)) == bits


def test_ties_of_the_most_frequent_context_break_at_random() -> None:
    many = keys(6_000)
    tallies = np.tile(np.array([[2, 5, 5, 1, 5, 99]]), (6_000, 1))
    chosen = draws.choose_contexts(tallies, many)
    assert fits(Counter(chosen.tolist()), {1: 1 / 3, 2: 1 / 3, 4: 1 / 3}) > LEVEL
    assert draws.choose_contexts(np.array([[0, 0, 7], [0, 0, 0], [1, 0, 7]]), many[:3]).tolist() == [2, 2, 0]


def test_the_choice_of_a_context_is_independent_of_the_records_kept_in_it() -> None:
    """Ties between contexts once were broken by the very draws of the first item's records."""
    many = keys(6_000)
    chosen = draws.choose_contexts(np.tile(np.array([[1, 1, 0]]), (6_000, 1)), many)
    first = draws.record_draws(many, chosen.astype(np.int64), np.zeros(6_000, dtype=np.int64))
    other = draws.record_draws(many, 3 + chosen.astype(np.int64), np.zeros(6_000, dtype=np.int64))
    assert fits(Counter((first < other).tolist()), {True: 0.5, False: 0.5}) > LEVEL
