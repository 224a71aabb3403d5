"""Cells per group: equal to a plain twin draw for draw, and a group that leaves moves nothing but its own part."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from headcount.bounds import Bounded, Sensitivity, draws
from headcount.bounds.grid.user_group_cells import GroupCells
from headcount.engines.local.engine import LocalEngine
from headcount.errors import UsageError
from headcount.events.grid import Grid
from headcount.events.user_table import read_people
from tests.reference.engine import ReferenceEngine
from tests.support.distributions import LEVEL, binomial

GRID = Grid.from_mapping({"x": {"from": 0, "to": 4, "bins": 4}})
Row = tuple[int, int | None, int]  # person, household, x

rows_by_user = st.lists(
    st.tuples(st.integers(0, 7), st.sampled_from([0, 0, 0, 1, 2, None]), st.integers(0, 3)), max_size=40
)
secrets = st.binary(min_size=16, max_size=16)


def bound_of(records: int = 1, people: int = 1) -> GroupCells:
    return GroupCells(GRID, "home", records, people)


def counted(rows: list[Row], bound: GroupCells, secret: bytes, *, grouped: bool = True) -> Bounded:
    table = pa.table(
        {
            "id": pa.array([f"p{who}" for who, _, _ in rows], pa.string()),
            "home": pa.array([None if home is None else f"h{home}" for _, home, _ in rows], pa.string()),
            "x": pa.array([x for _, _, x in rows], pa.int64()),
        }
    )
    log = read_people(table, user="id")
    return LocalEngine().measure(log, bound if grouped else replace(bound, groups=None), secret)


def homes(rows: list[Row]) -> dict[int, int | None]:
    """Each person's one household: the one of most of their records, then the first by name."""
    named: dict[int, Counter[int]] = defaultdict(Counter)
    people = {who for who, _, _ in rows}
    for who, home, _ in rows:
        if home is not None:
            named[who][home] += 1
    return {who: min(named[who], key=lambda home: (-named[who][home], home), default=None) for who in people}


def plain(rows: list[Row], bound: GroupCells, secret: bytes) -> NDArray[np.int64]:
    """Keep and count one by one."""
    keys = {who: draws.user_key(secret, f"p{who}") for who, _, _ in rows}
    members: dict[Any, list[int]] = defaultdict(list)
    for who, home in homes(rows).items():
        members[("alone", who) if home is None else home].append(who)
    counts = np.zeros(4, dtype=np.int64)
    for people in members.values():
        lots = {who: draws.member_draws(np.array([keys[who]], dtype=np.uint64))[0] for who in people}
        for who in sorted(people, key=lots.__getitem__)[: bound.people]:
            occurrences: Counter[int] = Counter()
            drawn = []
            for x in sorted(x for other, _, x in rows if other == who):
                key, place = np.array([keys[who]], dtype=np.uint64), np.array([x])
                drawn.append((draws.record_draws(key, place, np.array([occurrences[x]]))[0], x))
                occurrences[x] += 1
            for _, x in sorted(drawn)[: bound.records]:
                counts[x] += 1
    return counts


@given(rows_by_user, st.integers(1, 3), st.integers(2, 3), secrets)
def test_cells_equal_a_plain_loop(rows: list[Row], records: int, people: int, secret: bytes) -> None:
    bound = bound_of(records=records, people=people)
    measured = counted(rows, bound, secret)
    assert measured.sensitive_values.tolist() == plain(rows, bound, secret).tolist()
    shuffled = [rows[at] for at in np.random.default_rng(1).permutation(len(rows))]
    assert counted(shuffled, bound, secret).sensitive_values.tolist() == measured.sensitive_values.tolist()


@given(rows_by_user, st.integers(1, 3), st.integers(2, 3), secrets)
def test_a_leaving_group_stays_within_the_sensitivity_and_moves_no_other(
    rows: list[Row], records: int, people: int, secret: bytes
) -> None:
    bound = bound_of(records=records, people=people)
    whole = counted(rows, bound, secret)
    assert whole.sensitivity == Sensitivity(
        l1=bound.max_records_of_group, l2_squared=bound.max_records_of_group**2, linf=bound.max_records_of_group
    )
    own = homes(rows)
    for home in {group for group in own.values() if group is not None}:
        inside = [row for row in rows if own[row[0]] == home]
        rest = counted([row for row in rows if own[row[0]] != home], bound, secret)
        moved = whole.sensitive_values - rest.sensitive_values
        assert np.abs(moved).sum() <= bound.max_records_of_group
        assert moved.tolist() == counted(inside, bound, secret).sensitive_values.tolist()


@given(rows_by_user, st.integers(1, 3), st.integers(2, 3), secrets)
def test_one_user_moves_cells_no_more_than_a_group(
    rows: list[Row], records: int, people: int, secret: bytes
) -> None:
    bound = bound_of(records=records, people=people)
    whole = counted(rows, bound, secret).sensitive_values
    for who in {row[0] for row in rows}:
        rest = counted([row for row in rows if row[0] != who], bound, secret).sensitive_values
        assert np.abs(whole - rest).sum() <= 2 * records <= bound.max_records_of_group


@given(rows_by_user, st.integers(1, 3), secrets)
def test_without_groups_everyone_stands_alone(rows: list[Row], records: int, secret: bytes) -> None:
    bound = bound_of(records=records)
    alone: list[Row] = [(who, None, x) for who, _, x in rows]
    assert (
        counted(rows, bound, secret, grouped=False).sensitive_values.tolist()
        == plain(alone, bound, secret).tolist()
    )


def test_members_and_records_are_drawn_uniformly() -> None:
    """Of 8 people of a household two are kept, whoever they are, and of 4 records one, whichever it is.

    Binomial tests with false-alarm rate ``laws.LEVEL`` for records; for people, who hinder each other, six
    standard deviations, 2 in a billion. The secret is fixed.
    """
    homes, secret = 4_000, bytes(range(16))
    people: list[Row] = [(8 * home + who, home, who % 4) for home in range(homes) for who in range(8)]
    records: list[Row] = [(who, None, x) for who in range(homes) for x in range(4)]
    kept = counted(people, bound_of(records=1, people=2), secret).sensitive_values
    single = counted(records, bound_of(records=1), secret).sensitive_values
    assert kept.sum() == 2 * homes
    assert all(binomial(int(count), homes, 1 / 4) > LEVEL for count in single)
    # of two kept, a cell's two people are one with probability 3/7, and both with 1/28
    variance = homes * (3 / 7 + 4 / 28 - 1 / 4)
    assert all(abs(count - homes / 2) < 6 * np.sqrt(variance) for count in kept)
    by_name: list[Row] = [(who, 0, int(f"p{who}" > "p4")) for who in range(9)]
    first = [
        counted(by_name, bound_of(records=1, people=2), bytes([n] * 16)).sensitive_values[0] for n in range(40)
    ]
    assert 10 < sum(first) < 70, "those with the first names are kept"


def test_both_engines_can() -> None:
    table = pa.table({"id": [1, 1, 2], "home": [5, 5, 5], "x": [0, 1, 2]})
    log, bound = read_people(table, user="id"), bound_of(records=1, people=2)
    for engine in (LocalEngine(), ReferenceEngine()):
        assert engine.measure(log, bound, bytes(16)).sensitive_values.sum() == 2


def test_bounds_that_make_no_sense_are_refused() -> None:
    for wrong in ({"records": 0}, {"people": 0}, {"records": 1 << 12, "people": 1 << 12}):
        with pytest.raises(UsageError):
            bound_of(**wrong)
