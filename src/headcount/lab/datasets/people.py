"""Tables of people as logs: every record is a person of its own, and its item the cell of a grid it falls into."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

ADULT_CELLS = NLTCS_CELLS = 16**4
NETTRACE_CELLS = 4096

_TRAINING = 16_281  # rows of the test set come first in the copy
_OCCUPATIONS = (
    "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing", "Handlers-cleaners",
    "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty", "Protective-serv", "Sales",
    "Tech-support", "Transport-moving",
)  # fmt: skip


def complete_adults(table: pa.Table) -> pa.Table:
    """Return the training records of UCI Adult without missing values, as the literature does."""
    training = table.slice(_TRAINING)
    known = np.ones(training.num_rows, dtype=bool)
    for column in ("workclass", "occupation", "native-country"):
        known &= np.array([value != "?" for value in training[column].to_pylist()], dtype=bool)
    return training.filter(pa.array(known))


def adult_cells(table: pa.Table) -> pa.Table:
    """Put people into 16 bins each of age, years of school, hours a week and occupation."""
    people = complete_adults(table)
    age, school, hours = (people[name].to_numpy() for name in ("age", "educational-num", "hours-per-week"))
    job = np.array([_OCCUPATIONS.index(each) for each in people["occupation"].to_pylist()])
    places = np.clip((age - 17) // 5, 0, 15)
    for column in (np.clip(school - 1, 0, 15), np.clip((hours - 1) // 6, 0, 15), job):
        places = places * 16 + column
    return _log(places)


def nltcs_cells(table: pa.Table) -> pa.Table:
    """Number the answers to 16 questions of two values."""
    places = np.zeros(table.num_rows, dtype=np.int64)
    for column in table.column_names:
        places = places * 2 + table[column].to_numpy()
    return _log(places)


def nettrace_cells(table: pa.Table) -> pa.Table:
    """Make one record of each connection of the NETTRACE histogram."""
    trace = table.filter(pa.array([name == "NETTRACE" for name in table["dataset"].to_pylist()]))
    return _log(np.repeat(trace["bin"].to_numpy(), trace["count"].to_numpy()))


def _log(places: NDArray[np.integer]) -> pa.Table:
    return pa.table({"user": np.arange(places.size), "item": places.astype(np.int64)})
