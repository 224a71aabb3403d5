"""Ids and cells that were crafted to meet in one slot of a hash table cost no more than random ones.

They are crafted for the functions that said where a value belongs before tables had secret words, which could be
inverted. A table is looked at for its longest run of taken slots: with n ids in one run, n ids take n²/2 steps. Of
random ids a run above 1,000 has a probability below 1e-20 at the load that tables have.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import headcount as hc
from headcount.bounds.counts.users_per_column import UsersPerColumn
from headcount.bounds.kernels import sort_rows
from headcount.bounds.kernels.sort_rows import sort_numbers
from headcount.engines.local.engine import LocalEngine
from headcount.events.catalogue import Catalogue
from headcount.events.encode import kernels
from headcount.events.encode.id_table import NumberTable, TextTable, secret_words
from headcount.events.log import EventLog
from headcount.events.roles import Roles
from headcount.events.sources.source import TableSource
from headcount.events.times import TimeFormat
from tests.mutants.planted import Plant

Words = NDArray[np.uint64]
IDS, LONGEST_RUN = 20_000, 1_000
_FACTOR, _GOLDEN, _HALF = 0xD6E8FEB86659FD93, 0x9E3779B97F4A7C15, np.uint64(32)


def _times(words: Words, factor: int) -> Words:
    return words * np.uint64(factor % 2**64)


def _scattered(x: Words) -> Words:
    x = _times(x ^ (x >> _HALF), _FACTOR)
    return x ^ (x >> _HALF)


def _gathered(x: Words) -> Words:
    """Invert the function that had no key."""
    x = _times(x ^ (x >> _HALF), pow(_FACTOR, -1, 2**64))
    return x ^ (x >> _HALF)


def meeting_numbers(many: int) -> pa.Array:
    """Return numbers whose old hashes had the same lower half, and so the same slot in every table."""
    return pa.array(_gathered(np.arange(many, dtype=np.uint64) << _HALF).view(np.int64))


def meeting_texts(many: int) -> pa.Array:
    """Return texts of 16 ASCII letters whose old hashes had the same lower half."""
    start = _times(np.array([16], dtype=np.uint64), _GOLDEN)
    chosen, random = [np.zeros((0, 2), dtype=np.uint64)], np.random.default_rng(1)
    while sum(map(len, chosen)) < many:
        first = random.integers(0, 2**63, 1 << 20, dtype=np.uint64) & np.uint64(0x7F7F7F7F7F7F7F7F)
        wanted = np.arange(first.size, dtype=np.uint64) << _HALF
        inner = _times(_gathered(_gathered(wanted)), pow(_GOLDEN, -1, 2**64))
        second = _gathered(inner) ^ _times(_scattered(start ^ first), _GOLDEN)
        letters = second & np.uint64(0x8080808080808080) == 0
        chosen.append(np.stack([first, second], axis=1)[letters])
    both = np.unique(np.concatenate(chosen)[:many], axis=0)
    assert len(both) == many
    return pa.array([row.tobytes() for row in both], pa.binary()).cast(pa.string())


def longest_run(taken: NDArray[np.bool_]) -> int:
    """Return the most slots side by side that are taken."""
    free = np.flatnonzero(~taken)
    return int(np.diff(free, prepend=-1, append=taken.size).max()) - 1


def test_crafted_numbers_spread_over_a_table() -> None:
    table = NumberTable()
    assert (table.codes(meeting_numbers(IDS)) == np.arange(IDS)).all()
    assert longest_run(table._slots[1::2] >= 0) <= LONGEST_RUN


def test_crafted_texts_spread_over_a_table() -> None:
    table = TextTable()
    assert (table.codes(meeting_texts(IDS)) == np.arange(IDS)).all()
    assert longest_run(table._slots != 0) <= LONGEST_RUN


@pytest.mark.parametrize("shift", [0, 8, 16, 17, 32, 44])
def test_evenly_spaced_numbers_spread_over_a_table(shift: int) -> None:
    table = NumberTable()
    table.codes(pa.array(np.arange(IDS, dtype=np.int64) << shift))
    assert longest_run(table._slots[1::2] >= 0) <= LONGEST_RUN


@pytest.mark.parametrize("size", [*range(17), kernels.SHORT - 1, kernels.SHORT, kernels.SHORT + 1, 999])
def test_texts_of_any_length_spread_over_a_table(size: int) -> None:
    """Also those for which there are not enough secret words, and those that differ in their length alone."""
    texts = [f"{number:x}" * (size // 4) + f"{number:04x}" for number in range(5_000)]
    table = TextTable()
    codes = table.codes(pa.array([*texts, *("a" * length for length in range(1_200))]))
    assert table.size == 6_200
    assert (codes == np.arange(6_200)).all()
    assert longest_run(table._slots != 0) <= LONGEST_RUN


def seconds(work: Callable[[], object]) -> float:
    """Return the least processor time of three runs: other processes do not count."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def _release(ids: pa.Array) -> None:
    """One user has as many records as there are ids; without a catalogue, items are ids as well."""
    table = pa.table({"user": pa.array(np.zeros(len(ids), np.int64)), "item": ids})
    log = hc.read_events(table, user="user", item="item", select_items=True)
    hc.release(log, method="sra", limit=5, epsilon="1", delta="1e-6")


@pytest.mark.parametrize("craft", [meeting_numbers, meeting_texts])
def test_a_release_takes_no_longer_because_of_crafted_ids(craft: Callable[[int], pa.Array]) -> None:
    """Formerly 60,000 of them took 2·10⁹ steps, several seconds; random ones take hundredths of one."""
    crafted = craft(60_000)
    random = np.random.default_rng(2).integers(0, 2**62, len(crafted))
    ordinary = pa.array(random) if pa.types.is_integer(crafted.type) else pa.array([f"{n:016x}" for n in random])
    _release(ordinary.slice(0, 100))
    assert seconds(partial(_release, crafted)) <= 5 * seconds(partial(_release, ordinary)) + 0.1


CELLS, ROWS = 2_000_000, 100_000


def _counts_in_histories(cells: Words) -> Words:
    return (_times(cells, 0x9E3779B1) >> np.uint64(12)) & np.uint64((1 << 18) - 1)


def _counts_among_columns(cells: Words) -> Words:
    mixed = _times(cells, _GOLDEN)
    return (mixed ^ (mixed >> _HALF)) & np.uint64((1 << 18) - 1)


@pytest.mark.parametrize("slot", [_counts_in_histories, _counts_among_columns])
def test_crafted_cells_take_no_longer(slot: Callable[[Words], Words]) -> None:
    """One user has those of the first slots alone: formerly 10⁹ steps and more."""
    catalogue, engine = Catalogue.of(range(CELLS)), LocalEngine(threads=1)

    def counted(cells: NDArray[np.int64]) -> float:
        table = pa.table({"user": np.zeros(cells.size, np.int64), "item": cells})
        log = EventLog(source=TableSource(table), roles=Roles("user", "item", None), catalogue=catalogue)
        measured = engine.measure(log, UsersPerColumn("items"), bytes(16))
        assert measured.sensitive_columns.tolist() == np.sort(cells).tolist()
        return seconds(lambda: engine.measure(log, UsersPerColumn("items"), bytes(16)))

    random = np.random.default_rng(3).permutation(CELLS)[:ROWS]
    crafted = np.argsort(slot(np.arange(CELLS, dtype=np.uint64)), kind="stable")[:ROWS]
    assert counted(crafted) <= 3 * counted(random) + 0.1


_DRAW = "from headcount.events.encode.id_table import secret_words; print(secret_words().tolist())"


def test_every_process_and_every_table_draws_other_words() -> None:
    """Of 64 words each; that two of 448 are equal has a probability below 1e-14."""
    processes = [subprocess.run([sys.executable, "-c", _DRAW], capture_output=True, check=True) for _ in range(2)]
    tables = NumberTable()._words, NumberTable()._words, TextTable()._words, TextTable()._words
    words = [
        *(eval(process.stdout) for process in processes),
        secret_words().tolist(),
        *(process.tolist() for process in tables),
    ]
    assert len({word for words_of_process in words for word in words_of_process}) == 7 * kernels.WORDS


def test_tables_draw_other_words_in_one_process() -> None:
    """Other words, other slots; the codes stay those of the order of first occurrence."""
    ids, first, second = meeting_numbers(100), NumberTable(), NumberTable()
    assert (first.codes(ids) == second.codes(ids)).all()
    assert (first._slots != second._slots).any()


CONSTANT = Plant(
    "all tables have the same words", "events", "", "events.encode.id_table:secret_words",
    "os.urandom(8 * kernels.WORDS)", "bytes(8 * kernels.WORDS)",
)  # fmt: skip


def test_constant_words_are_noticed() -> None:
    with CONSTANT.planted(), pytest.raises(AssertionError):
        test_tables_draw_other_words_in_one_process()
    with CONSTANT.planted(), pytest.raises(AssertionError):
        test_evenly_spaced_numbers_spread_over_a_table(0)


def _meeting_for_arrow(many: int) -> pa.Array:
    """Return texts of 16 ASCII letters that Arrow's hash of texts, which has no key, sends to one place."""
    first, second = 11400714785074694791, 14029467366897019727
    chosen, random, size = [], np.random.default_rng(1), 0
    while size < many:
        ahead = random.integers(0x61, 0x7B, size=(1 << 18, 8), dtype=np.uint8)
        behind = _times(ahead.view(np.uint64).ravel(), first).byteswap() ^ np.uint64(0x0123456789ABCDEF)
        letters = _times(behind.byteswap(), pow(second, -1, 2**64)).view(np.uint8).reshape(-1, 8)
        printable = ((letters > 0x20) & (letters < 0x7F)).all(axis=1)
        chosen.append(np.concatenate([letters[printable], ahead[printable]], axis=1))
        size += len(chosen[-1])
    return pa.array([bytes(row).decode() for row in np.concatenate(chosen)[:many]])


def test_times_in_a_pattern_take_no_longer_because_of_crafted_texts() -> None:
    read = partial(TimeFormat("%Y%m%d").part, part="weekday")
    many = IDS // 2
    crafted, ordinary = _meeting_for_arrow(many), pa.array([f"{number:016}" for number in range(many)])
    assert seconds(crafted.dictionary_encode) > 10 * seconds(ordinary.dictionary_encode)  # they do meet in Arrow
    assert seconds(lambda: read(crafted)) < 3 * seconds(lambda: read(ordinary)) + 0.2


def test_many_rows_of_a_user_are_not_sorted_by_quicksort() -> None:
    """A user can choose an order of rows for which quicksort takes quadratic time."""

    class Rows(np.ndarray[Any, np.dtype[np.int64]]):
        def sort(self, *_: Any, **__: Any) -> None:
            raise AssertionError("quicksort")

    function: Any = sort_numbers
    sift: Any = sort_rows._sift
    many = np.random.default_rng(1).permutation(sort_rows._SOON + 1)
    with mock.patch.object(sort_rows, "_sift", sift.py_func):
        function.py_func(rows := many.view(Rows))
        with pytest.raises(AssertionError, match="quicksort"):
            function.py_func(many[:9].view(Rows))
    assert (np.asarray(rows) == np.arange(many.size)).all()
