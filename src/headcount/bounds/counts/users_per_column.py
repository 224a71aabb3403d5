"""Sparse counts of distinct users per column, of which only the non-zero columns are held.

Which columns these are, and how many, is private: it is known to the noise layer alone, which must treat the
columns that nobody is in as it treats all others. How many columns there are in all is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headcount._internal.arrays import Codes
from headcount.bounds.bound import Bound, CountTable, columns_of
from headcount.bounds.bounded import MAX_GAP, SEAL, Bounded, Sensitivity
from headcount.bounds.counts.count_bound import column_width, modes_of
from headcount.bounds.counts.kernels import users_per_column as kernels
from headcount.bounds.engine_interface import Passes
from headcount.bounds.kernels.grouping import UserRange
from headcount.bounds.kernels.histories import Modes
from headcount.events.log import EventLog

_FIRST_SLOTS = 1 << 10


class SparseCounts:
    """How many users are behind each of ``size`` columns, 0 but in a few: made by :meth:`UsersPerColumn.seal`.

    A user counts once in a column, so one who joins raises each count by 0 or 1 and lowers none.
    """

    __slots__ = ("_columns", "_size", "_users")

    def __init__(self, columns: Codes, users: Codes, size: int, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("SparseCounts are made by headcount.bounds alone; see UsersPerColumn.seal")
        self._columns, self._users, self._size = columns, users, size
        self._columns.flags.writeable = self._users.flags.writeable = False

    @property
    def size(self) -> int:
        """How many columns there are, zeros included, which is public."""
        return self._size

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one user can move the counts: by 1 in each column."""
        return Sensitivity(l1=self._size, l2_squared=self._size, linf=1)

    @property
    def sensitive_columns(self) -> Codes:
        """The columns that somebody is in, rising: for this package, and for tests."""
        return self._columns

    @property
    def sensitive_users(self) -> Codes:
        """How many users are in each of them, 1 or more: for this package, and for tests."""
        return self._users

    def with_others(self, other: SparseCounts) -> SparseCounts:
        """Add other users: nobody may be in both; see :meth:`~headcount.bounds.bounded.Bounded.with_others`."""
        if self._size != other._size:
            raise ValueError(f"{self} and {other} are not of the same bound")
        columns = np.concatenate([self._columns, other._columns])
        return SparseCounts(*merge_columns(columns, np.concatenate([self._users, other._users])), self._size, SEAL)

    def __repr__(self) -> str:
        return f"<SparseCounts over {self.size} columns>"


@dataclass(frozen=True)
class UsersPerColumn(Bound[SparseCounts]):
    """Each user once in every column of a table that they have a record in, whatever the log counts."""

    table: CountTable

    def measure(self, passes: Passes, log: EventLog, secret: bytes) -> SparseCounts:
        """Count users into one hash table a thread, and merge these."""
        tables = [UserTable() for _ in range(passes.threads)]
        settings = modes_of(log), column_width(log, self.table)
        passes.run_kernel(log, secret, _count_users, [(*settings, table) for table in tables])
        return self.seal(*merge_tables(tables), columns_of(log, self.table))

    @staticmethod
    def seal(columns: Codes, users: Codes, size: int) -> SparseCounts:
        """Turn the number of users in each column that somebody is in, rising, into sparse counts.

        >>> UsersPerColumn.seal(np.array([2, 7], np.int32), np.array([5, 1], np.int32), 10)
        <SparseCounts over 10 columns>
        """
        if columns.dtype != np.int32 or users.dtype != np.int32 or columns.shape != users.shape:
            raise ValueError("columns and people must be 32-bit integers, as many of one as of the other")
        inside = columns.size == 0 or (columns[0] >= 0 and columns[-1] < size)
        if not inside or not (np.diff(columns) > 0).all() or users.min(initial=1) < 1:
            raise ValueError(f"columns must rise within {size}, with somebody in each")
        return SparseCounts(columns, users, size, SEAL)


class UserTable:
    """A hash table from columns to numbers of users, kept between the pieces that a thread goes through."""

    def __init__(self) -> None:
        self.held: kernels.UserCountTable = kernels.new_table(_FIRST_SLOTS)

    def take_all(self) -> tuple[Codes, Codes]:
        """Return the columns and their users, in no order, and let go of the table."""
        columns, counts, _ = self.held
        self.held = kernels.new_table(_FIRST_SLOTS)
        there = columns >= 0
        return columns[there], counts[there]


def _count_users(piece: UserRange, modes: Modes, width: int, table: UserTable) -> None:
    """Count every user of a piece once in each column that they have a record in."""
    table.held = kernels.count_users(piece, modes, width, table.held)


def merge_tables(tables: Sequence[UserTable]) -> tuple[Codes, Codes]:
    """Return the columns of all tables, rising, and how many users are in each; the tables are empty then."""
    parts = [table.take_all() for table in tables]
    columns = np.concatenate([columns for columns, _ in parts])
    counts = np.concatenate([counts for _, counts in parts])
    del parts
    return merge_columns(columns, counts)


class SparseScored:
    """How far each candidate of a long public list is behind the best, for noise to choose from.

    As :class:`~headcount.bounds.bounded.Scored` in all but form: candidates without users are all equally far
    behind, so that they are held as one number.
    """

    __slots__ = ("_behind", "_columns", "_rise", "_size", "_zeros_behind")

    def __init__(self, counts: SparseCounts, seal: object) -> None:
        if seal is not SEAL:
            raise TypeError("SparseScored candidates are made by headcount.bounds alone")
        users = counts.sensitive_users
        best = int(users.max(initial=0))
        self._behind: Codes = best - users  # at most FURTHEST_BEHIND, as users are fewer than 2^31
        self._behind.flags.writeable = False
        self._zeros_behind = min(best, MAX_GAP)
        self._columns = counts.sensitive_columns
        self._size = counts.size
        self._rise = counts.sensitivity.linf

    @property
    def rise(self) -> int:
        """How far a user who joins can raise a candidate; joining lowers none."""
        return self._rise

    @property
    def size(self) -> int:
        """How many candidates there are, which is public."""
        return self._size

    @property
    def sensitive_gaps(self) -> Codes:
        """How far behind the best each one with users is: for the noise layer, and for tests."""
        return self._behind

    @property
    def sensitive_columns(self) -> Codes:
        """Which candidates these are, rising: for the noise layer, and for tests."""
        return self._columns

    @property
    def sensitive_gap_of_zeros(self) -> int:
        """How far behind the best all others are: for the noise layer, and for tests."""
        return self._zeros_behind

    def __repr__(self) -> str:
        return f"<SparseScored {self.size} candidates>"


def merge_columns(columns: Codes, users: Codes) -> tuple[Codes, Codes]:
    """Sort columns, and add up the users of those that come up more than once.

    >>> merge_columns(np.array([7, 2, 7], np.int32), np.array([1, 5, 3], np.int32))
    (array([2, 7], dtype=int32), array([5, 4], dtype=int32))
    """
    order = np.argsort(columns, kind="stable")
    columns, users = columns[order], users[order]
    first = np.ones(columns.size, dtype=bool)
    np.not_equal(columns[1:], columns[:-1], out=first[1:])
    if first.all():
        return columns, users
    return columns[first], np.add.reduceat(users, np.flatnonzero(first), dtype=np.int32)


def take_sparse_column(counts: SparseCounts, width: int, place: int) -> SparseCounts:
    """Take one column of a table with ``width`` of them, row by row: no user moves it further than the table.

    >>> table = UsersPerColumn.seal(np.array([2, 7, 8], np.int32), np.array([5, 1, 4], np.int32), 9)
    >>> second = take_sparse_column(table, 3, 2)
    >>> second, second.sensitive_columns, second.sensitive_users
    (<SparseCounts over 3 columns>, array([0, 2], dtype=int32), array([5, 4], dtype=int32))
    """
    _check(counts)
    if counts.size % width or not 0 <= place < width:
        raise ValueError(f"{counts.size} cells have no column {place} of {width}")
    inside = counts.sensitive_columns % np.int32(width) == place
    columns = counts.sensitive_columns[inside] // np.int32(width)
    return SparseCounts(columns, counts.sensitive_users[inside], counts.size // width, SEAL)


def take_sparse_places(counts: SparseCounts, places: Sequence[int]) -> Bounded:
    """Take the counts at some public places, zeros included.

    See :func:`~headcount.bounds.linear_maps.take_places`.

    >>> counts = UsersPerColumn.seal(np.array([2, 7], np.int32), np.array([5, 1], np.int32), 10)
    >>> taken = take_sparse_places(counts, [7, 0, 2])
    >>> taken.sensitive_values, taken.sensitivity
    (array([1, 0, 5]), Sensitivity(l1=3, l2_squared=3, linf=1))
    """
    _check(counts)
    if len(set(places)) != len(places) or not all(0 <= place < counts.size for place in places):
        raise ValueError(f"each of {counts.size} places may be taken once")
    wanted, columns = np.array(places, dtype=np.int64), counts.sensitive_columns
    at = np.searchsorted(columns, wanted)
    there = at < columns.size
    there[there] = columns[at[there]] == wanted[there]
    values = np.zeros(wanted.size, dtype=np.int64)
    values[there] = counts.sensitive_users[at[there]]
    # a user moves each of them by at most 1
    return Bounded(values, Sensitivity(l1=wanted.size, l2_squared=wanted.size, linf=1), SEAL)


def sparse_scores(counts: SparseCounts) -> SparseScored:
    """Weigh items by the number of users they have.

    See :func:`~headcount.bounds.scores.candidate_scores.count_scores`.

    >>> scores = sparse_scores(UsersPerColumn.seal(np.array([2, 7], np.int32), np.array([5, 1], np.int32), 10))
    >>> scores.sensitive_gaps, scores.sensitive_gap_of_zeros, scores.rise
    (array([0, 4], dtype=int32), 5, 1)
    """
    _check(counts)
    return SparseScored(counts, SEAL)


def _check(counts: SparseCounts) -> None:
    if type(counts) is not SparseCounts:
        raise TypeError(f"maps and scores take SparseCounts alone, not {type(counts).__name__}")
