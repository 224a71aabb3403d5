"""What is measured of two groups of people is what is measured of each, added up: from the raw bytes on."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from headcount.bounds import Bound, Measured_co
from headcount.bounds.counts.record_cap import RecordCap
from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.events.sources.files.formats import OPENERS, format_from_name
from tests.contracts.rows import hostile_values
from tests.contracts.rows.raw_files import FORMATS, Format, Row, small_batches, written
from tests.contracts.rows.roles import ROLES, Case, begins_a_row, every_case, fields_of
from tests.contracts.support.additivity import Bench, check_sum
from tests.contracts.support.measurements import MEASUREMENTS, Measurement, Sums, opened
from tests.reference.engine import ReferenceEngine
from tests.reference.registry import measured_bounds, references

MAIN = ("csv", "jsonl", "parquet text")
DATABASE_ROLES = ("item", "hour in Zurich", "value")
SLOW = 6
"""One of so many cases is tried by the slow sweep, each in all orders and batches."""


def _chosen() -> Iterator[tuple[Case, bool]]:
    """Yield some cases: each field in each role in one of the main formats, and some in all others.

    Every other one is read row by row.
    """
    roles, formats, uses = list(ROLES), list(FORMATS), Counter[tuple[str, str]]()
    for number, case in enumerate(every_case()):
        own = case.format.name, case.role.name
        place = uses[own] + roles.index(case.role.name)
        uses[own] += 1
        if case.format.name in MAIN:
            if (place + MAIN.index(case.format.name)) % 3 == 0:
                yield case, place // 3 % 2 == 0
        elif case.format.table is not None:  # databases take long to make; the slow sweep tries the rest
            if place % 5 == 0 and case.role.name in DATABASE_ROLES and uses[own] <= 5:
                yield case, place // 5 % 2 == 0
        elif (number + 3 * formats.index(case.format.name)) % 97 == 0 or case.format.shape == "typed":
            yield case, place % 2 == 0


def _name(case: Case, one_by_one: bool) -> str:
    return f"{case.name}-{'rows of 1' if one_by_one else 'whole'}"


CHOSEN = {_name(*case_key): case_key for case_key in _chosen()}


@pytest.fixture(scope="module")
def ordinary(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case, bool], Sums]:
    """Return what is measured of the ordinary people alone, which no hostile field changes."""

    @cache
    def measured(format_name: str, role_name: str, one_by_one: bool) -> Sums:
        case = Case(FORMATS[format_name], ROLES[role_name], None)
        sums = _bench(case, one_by_one, tmp_path_factory.mktemp("ordinary")).measure(case.ordinary())
        assert sums, "nothing is measured of the ordinary people"
        return sums

    return lambda case, one_by_one: measured(case.format.name, case.role.name, one_by_one)


def _bench(case: Case, one_by_one: bool, folder: Path) -> Bench:
    measurement = MEASUREMENTS[case.role.measurement]
    return Bench(folder, case.format, measurement, dict(case.role.options), one_by_one)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_hostile_field_affects_its_own_user_alone(
    name: str, tmp_path: Path, ordinary: Callable[[Case, bool], Sums]
) -> None:
    case, one_by_one = CHOSEN[name]
    bench = _bench(case, one_by_one, tmp_path)
    own, others = ordinary(case, one_by_one), bench.measure(case.others())
    orders = list(case.orders())
    for order, rows in (orders[0], orders[1 + case.number % 2]):
        check_sum(bench.measure(rows), own, others, order)


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("kind", FORMATS)
def test_hostile_fields_in_all_orders_and_batches(
    kind: str, role: str, tmp_path: Path, ordinary: Callable[[Case, bool], Sums]
) -> None:
    failures = []
    for case in every_case():
        if (case.format.name, case.role.name) != (kind, role) or case.number % SLOW:
            continue
        for one_by_one in (False, True):
            bench = _bench(case, one_by_one, tmp_path / f"{case.number}{one_by_one}")
            try:
                own, others = ordinary(case, one_by_one), bench.measure(case.others())
                for order, rows in case.orders():
                    check_sum(bench.measure(rows), own, others, order)
            except Exception as error:  # all of them are told, not the first alone
                failures.append(f"{_name(case, one_by_one)}: {error}")
    assert not failures, "\n".join(failures)


# Every measurement and every engine, with people who write anything anywhere


ENGINES: dict[str, Callable[[], Engine]] = {
    "reference": ReferenceEngine,
    "local": lambda: LocalEngine(threads=2),
    "local, 64 bytes": lambda: LocalEngine(threads=2, memory=64),
}


def random_hostile_rows(seed: int, kind: Format, *, people: int = 8) -> tuple[list[Row], list[Row]]:
    """Return the rows of two groups who write anything anywhere: no two people of both have an id in common.

    Users of one group are told from the others by the id, which is ordinary; what they write as a user otherwise
    is for the roles to see.
    """
    rng = random.Random(seed)
    plain = {name: ROLES["item"].spellings(name) for name in ("item", "place", "when", "stars", "many", "age")}
    groups: tuple[list[Row], list[Row]] = ([], [])
    for number in range(people):
        for _ in range(rng.randint(1, 5)):
            cells: dict[str, str | hostile_values.Field] = {
                name: rng.choice(spellings) for name, spellings in plain.items()
            }
            cells |= {"user": f"{'ab'[number % 2]}{number}", "home": f"h{'ab'[number % 2]}{number // 4}"}
            for column in plain:
                odd = [field for field in fields_of(kind, _ROLE_OF[column]) if not begins_a_row(kind, field)]
                if odd and rng.random() < 0.25:
                    cells[column] = rng.choice(odd)
            groups[number % 2].append(Row(cells))
    return groups


_ROLE_OF = {
    "item": ROLES["item"], "place": ROLES["context"], "when": ROLES["weekday"], "stars": ROLES["value"],
    "many": ROLES["times"], "age": ROLES["where a number"],
}  # fmt: skip
_READ_LESS = {"when": {"context": "hour:when", "timezone": "Europe/Zurich"}, "age": {"where": "age < 1e3"}}


def check_random_hostile_rows(
    measurement: Measurement, kind: Format, engine: Engine, folder: Path, seed: int, *, one_by_one: bool
) -> None:
    """Measure two groups of wild people, and both together."""
    bench = Bench(folder, kind, measurement, {}, one_by_one, engine)
    if measurement.kind == "counts" and measurement.options and seed % 2:
        bench.options = _READ_LESS["age"]
    own, other = random_hostile_rows(seed, kind)
    mixed = own + other
    random.Random(seed).shuffle(mixed)
    first, second = bench.measure(own), bench.measure(other)
    for order, rows in (("one first", own + other), ("the other first", other + own), ("mixed", mixed)):
        check_sum(bench.measure(rows), first, second, order)


def _measured_cases() -> Iterator[tuple[str, str, str, int, bool]]:
    """Yield every measurement with every engine, in one of the main formats in turn."""
    for at, (name, engine) in enumerate(itertools.product(MEASUREMENTS, ENGINES)):
        yield MAIN[(at + at // 3) % 3], name, engine, at, at // 2 % 2 == 0


MEASURED = {
    f"{kind}-{name}-{engine}-{'rows of 1' if small else 'whole'}": (kind, name, engine, seed, small)
    for kind, name, engine, seed, small in _measured_cases()
}


@pytest.mark.parametrize("case_name", MEASURED)
def test_everything_that_is_measured_adds_up(case_name: str, tmp_path: Path) -> None:
    kind, name, engine, seed, small = MEASURED[case_name]
    check_random_hostile_rows(
        MEASUREMENTS[name], FORMATS[kind], ENGINES[engine](), tmp_path, seed, one_by_one=small
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASUREMENTS)
@pytest.mark.parametrize("kind", FORMATS)
def test_everything_in_every_format_adds_up(kind: str, name: str, tmp_path: Path) -> None:
    if FORMATS[kind].packs and MEASUREMENTS[name].kind not in ("counts", "tags"):
        return
    for seed, engine in itertools.product(range(4), ENGINES):
        place, small = tmp_path / f"{seed}{engine}", seed % 2 == 0
        check_random_hostile_rows(
            MEASUREMENTS[name], FORMATS[kind], ENGINES[engine](), place, seed, one_by_one=small
        )


# The suite sees what it is to see


def test_every_bound_is_measured(tmp_path: Path) -> None:
    """Rows are what DPSense looks at: histories, and no sum."""
    requested: set[type[Bound[Any]]] = set()

    class Recording(LocalEngine):
        def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
            requested.add(type(bound))
            return super().measure(log, bound, secret)

    for number, measurement in enumerate(MEASUREMENTS.values()):
        case = Case(FORMATS["csv"], ROLES["item"], None)
        assert Bench(tmp_path / str(number), case.format, measurement, engine=Recording()).measure(case.ordinary())
    assert set(measured_bounds()) - requested == {RecordCap}
    assert set(measured_bounds()) == set(references())
    assert all(engine().can(kind) for kind in measured_bounds() for engine in (LocalEngine, ReferenceEngine))


def test_every_format_and_every_shape_is_written() -> None:
    assert {format_from_name(f"x{entry.ending}") for entry in FORMATS.values() if entry.ending} == {
        "csv",
        "jsonl",
        "arrow",
    }
    assert set(OPENERS) == {"csv", "jsonl", "arrow", "parquet"}
    tried = {(case.role.name, case.field.name) for case, _ in CHOSEN.values() if case.field}
    assert tried >= {(role.name, entry.name) for role in ROLES.values() for entry in role.fields}
    assert {case.format.name for case, _ in CHOSEN.values()} == set(FORMATS)
    assert {case.line[0] for case, _ in CHOSEN.values() if case.line} == {
        *hostile_values.CSV_LINES,
        *hostile_values.JSON_LINES,
    }


@pytest.mark.parametrize("kind", [name for name, file_format in FORMATS.items() if not file_format.packs])
def test_small_batches_are_small(kind: str, tmp_path: Path) -> None:
    case = Case(FORMATS[kind], ROLES["item"], None)
    with small_batches():
        events = written(case.format, tmp_path, case.ordinary(), one_by_one=True)
        log = opened("counts", events, case.format, {})
        sizes = [batch.num_rows for batch in log.source.batches(log.columns)]
    assert sum(sizes) == len(case.ordinary())
    assert len(sizes) >= (3 if case.format.shape in ("csv", "json") else sum(sizes))
