"""Parsers of baskets, sessions and visits from the publishers' files: a line per basket or per item."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa

from headcount._internal.arrays import Integers
from headcount.errors import DataError
from headcount.lab.datasets.files import Member, bad, numbers_by_line, open_member
from headcount.lab.datasets.parsed import Parsed

KOSARAK, RETAIL, BMS_SESSIONS, BMS_VIEWS, BMS_POS = (
    Member(f"{name}.dat", f"{name}.dat.gz") for name in ("kosarak", "retail", "BMS1", "BMS-WebView-1", "BMS-POS")
)
GOWALLA_TRAIN, GOWALLA_VALID, GOWALLA_TEST = (Member(f"gowalla/{name}.txt") for name in ("train", "valid", "test"))
MSWEB, MSWEB_TEST = (Member(f"anonymous-msweb.{part}", f"anonymous-msweb.{part}.gz") for part in ("data", "test"))
TEST_FROM = 100_000
"""Added to the visitors of the test file of msweb, whose numbers are used in the other file as well."""


def kosarak(folder: Path) -> Parsed:
    """Read ``kosarak.dat``: one session a line, the numbers of its pages between blanks."""
    return _line_by_line(folder, KOSARAK)


def retail(folder: Path) -> Parsed:
    """Read ``retail.dat``: one basket a line, the numbers of its goods between blanks."""
    return _line_by_line(folder, RETAIL)


def bms_sessions(folder: Path) -> Parsed:
    """Read ``BMS1.dat``: one session a line, the numbers of its pages between blanks."""
    return _line_by_line(folder, BMS_SESSIONS)


def _line_by_line(folder: Path, member: Member) -> Parsed:
    sizes, items = numbers_by_line(folder, member)
    return _log(np.repeat(np.arange(1, sizes.size + 1), sizes), items)


def bms_views(folder: Path) -> Parsed:
    """Read ``BMS-WebView-1.dat`` of KDD Cup 2000: a session and a page a line."""
    return _pair_by_line(folder, BMS_VIEWS)


def bms_pos(folder: Path) -> Parsed:
    """Read ``BMS-POS.dat`` of KDD Cup 2000: a purchase and a kind of goods a line."""
    return _pair_by_line(folder, BMS_POS)


def _pair_by_line(folder: Path, member: Member) -> Parsed:
    sizes, numbers = numbers_by_line(folder, member)
    wrong = np.flatnonzero((sizes != 2) & (sizes != 0))
    if wrong.size:
        raise bad(member.name, int(wrong[0]) + 1, "2 numbers", f"{sizes[wrong[0]]} of them")
    return _log(numbers[::2], numbers[1::2])


def gowalla_10core(folder: Path) -> Parsed:
    """Read ``train.txt``, ``test.txt`` and, if there, ``valid.txt``: a user and all of their places a line."""
    users, items = [], []
    parts = [GOWALLA_TRAIN, GOWALLA_TEST, *([GOWALLA_VALID] if GOWALLA_VALID.find(folder) else [])]
    for member in parts:
        sizes, numbers = numbers_by_line(folder, member)
        wrong = np.flatnonzero(sizes == 0)
        if wrong.size:
            raise bad(member.name, int(wrong[0]) + 1, "a user and places", "")
        heads = np.cumsum(sizes) - sizes
        users.append(np.repeat(numbers[heads], sizes - 1))
        items.append(np.delete(numbers, heads))
    return _log(np.concatenate(users), np.concatenate(items))


def msweb(folder: Path) -> Parsed:
    """Read ``anonymous-msweb.data`` and ``.test``: A (area, title), C (visitor) and V (area visited)."""
    labels: dict[int, str] = {}
    users: list[int] = []
    items: list[int] = []
    for member, first in ((MSWEB, 0), (MSWEB_TEST, TEST_FROM)):
        _read_visits(folder, member, first, labels, users, items)
    return _log(np.array(users, dtype=np.int32), np.array(items, dtype=np.int32), labels)


def _read_visits(
    folder: Path, member: Member, first: int, labels: dict[int, str], users: list[int], items: list[int]
) -> None:
    visitor = None
    with open_member(folder, member) as (file, where):
        lines = file.read().decode("latin-1").splitlines()
    for line, fields in enumerate(csv.reader(lines), 1):
        try:
            if fields[:1] == ["A"]:
                labels[int(fields[1])] = fields[3]
            elif fields[:1] == ["C"]:
                visitor = first + int(fields[2])
            elif fields[:1] == ["V"]:
                items.append(int(fields[1]))
                if visitor is None:
                    raise DataError(f"{where}, line {line}: a visit before the first visitor")
                users.append(visitor)
        except (IndexError, ValueError) as error:
            raise bad(where, line, "an area, a visitor or a visit", lines[line - 1]) from error


def _log(users: Integers, items: Integers, labels: dict[int, str] | None = None) -> Parsed:
    columns = {"user": users.astype(np.int32, copy=False), "item": items.astype(np.int32, copy=False)}
    return Parsed.from_table(pa.table(columns), labels)
