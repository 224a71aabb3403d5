"""Tables of users as logs: every record is its own user, and its item is a cell of a grid.

Nothing here hangs on the order of rows, so that a publisher's files and a copy of them give the same log.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.errors import DataError
from headcount.lab.datasets.files import Member, bad, delimited, open_member
from headcount.lab.datasets.parsed import Parsed

NETTRACE_CELLS = 4096
HOURS_CELLS = 99
ADULTS = 30_162
"""How many complete records of Adult the thesis keeps."""

ADULT, ADULT_TEST = Member("adult.data", "adult.zip"), Member("adult.test", "adult.zip")
NLTCS = Member("2to16disabilityNLTCS.txt", "2to16disabilityNLTCS.zip")
NETTRACE = Member("NETTRACE.n4096.npy")

_NUMBERS = ("age", "fnlwgt", "educational-num", "capital-gain", "capital-loss", "hours-per-week")
_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "educational-num", "marital-status", "occupation", "relationship",
    "race", "gender", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
)  # fmt: skip
_MISSING = ("workclass", "occupation", "native-country")
_OCCUPATIONS = (
    "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
    "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
    "Tech-support", "Transport-moving",
)  # fmt: skip


def adult(folder: Path) -> Parsed:
    """Read ``adult.data`` and ``adult.test``: 15 fields between commas, the income of the test set with a dot."""
    rows = [row for member in (ADULT, ADULT_TEST) for row in _adults(folder, member)]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(_COLUMNS)}
    kinds = [(name, pa.int64() if name in _NUMBERS else pa.string()) for name in _COLUMNS]
    return Parsed.from_table(pa.table(columns, pa.schema(kinds)))


def _adults(folder: Path, member: Member) -> Iterator[list[str | int]]:
    with open_member(folder, member) as (file, where):
        lines = file.read().decode("latin-1").splitlines()
    for line, fields in enumerate(csv.reader(lines, skipinitialspace=True), 1):
        if not fields or fields[0].startswith("|"):  # the test set has a first line of its own
            continue
        if len(fields) != len(_COLUMNS):
            raise bad(where, line, f"{len(_COLUMNS)} fields ({', '.join(_COLUMNS)})", lines[line - 1])
        try:
            named = zip(_COLUMNS, fields, strict=True)
            row = [int(text) if name in _NUMBERS else text.strip() for name, text in named]
        except ValueError as error:
            raise bad(where, line, "numbers where they belong", lines[line - 1]) from error
        yield [*row[:-1], str(row[-1]).removesuffix(".")]


def complete_adults(table: pa.Table) -> pa.Table:
    """Return 30,162 records of UCI Adult without missing values.

    The thesis has as many, and does not say which. Those whose text has the smallest digests are taken: the same
    ones from the publisher's files and from any copy, in any order.
    """
    is_complete = np.ones(table.num_rows, dtype=bool)
    for column in _MISSING:
        is_complete &= np.array([value != "?" for value in table[column].to_pylist()], dtype=bool)
    complete = table.select(list(_COLUMNS)).filter(pa.array(is_complete))
    occurrences: Counter[str] = Counter()
    digests = []
    for row in zip(*(complete[name].to_pylist() for name in _COLUMNS), strict=True):
        text = ", ".join(map(str, row))
        occurrences[text] += 1
        digests.append(hashlib.sha256(f"{text} {occurrences[text]}".encode()).digest())
    order = sorted(range(len(digests)), key=digests.__getitem__)
    return complete.take(pa.array(order[:ADULTS], pa.int64()))


def adult_cells(table: pa.Table) -> pa.Table:
    """Put people into 16 bins each of age, years of school, hours a week and occupation."""
    users = complete_adults(table)
    age, school, hours = (users[name].to_numpy() for name in ("age", "educational-num", "hours-per-week"))
    job = np.array(
        [_OCCUPATIONS.index(occupation) for occupation in users["occupation"].to_pylist()], dtype=np.int64
    )
    places = np.clip((age - 17) // 5, 0, 15)
    for column in (np.clip(school - 1, 0, 15), np.clip((hours - 1) // 6, 0, 15), job):
        places = places * 16 + column
    return _log(places)


def hours_cells(table: pa.Table) -> pa.Table:
    """Put people into cells by their hours a week: 1 to 99 hours are cells 0 to 98."""
    hours = complete_adults(table)["hours-per-week"].to_numpy().astype(np.int64)
    return _log(np.clip(hours, 1, HOURS_CELLS) - 1)


def nltcs(folder: Path) -> Parsed:
    """Read ``2to16disabilityNLTCS.txt``: under a heading, 16 answers, how many gave them, and their share."""
    answers = [f"a{place}" for place in range(16)]
    columns = {**dict.fromkeys(answers, pa.int8()), "people": pa.int64(), "percent": pa.float64()}
    table = delimited(folder, NLTCS, "\t", columns, header=True)
    rows = np.repeat(np.arange(table.num_rows), table["people"].to_numpy())
    return Parsed.from_table(table.select(answers).take(pa.array(rows)))


def nltcs_cells(table: pa.Table) -> pa.Table:
    """Number the answers to 16 questions of two values."""
    places = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.column_names:
        places = places * 2 + table[column].to_numpy()
    return _log(places)


def nettrace(folder: Path) -> Parsed:
    """Read ``NETTRACE.n4096.npy``: the connections of each of 4,096 hosts."""
    with open_member(folder, NETTRACE) as (file, where):
        try:
            counts = np.load(file, allow_pickle=False)
        except ValueError as error:
            raise DataError(f"{where} cannot be read ({error})", remedy="download it again") from error
    if counts.shape != (NETTRACE_CELLS,):
        raise DataError(f"{where} holds {counts.shape} counts where there are {NETTRACE_CELLS}")
    bins = np.arange(NETTRACE_CELLS, dtype=np.int32)
    columns = {"dataset": ["NETTRACE"] * NETTRACE_CELLS, "bin": bins, "count": counts.astype(np.int64)}
    return Parsed.from_table(pa.table(columns))


def nettrace_cells(table: pa.Table) -> pa.Table:
    """Make one record of each connection of the NETTRACE histogram."""
    trace = table.filter(pa.array([name == "NETTRACE" for name in table["dataset"].to_pylist()]))
    return _log(np.repeat(trace["bin"].to_numpy(), trace["count"].to_numpy()))


def _log(places: NDArray[np.integer]) -> pa.Table:
    """Return people in the order of their cells, so that a log does not depend on that of the file."""
    return pa.table({"user": np.arange(places.size), "item": np.sort(places).astype(np.int64)})
