"""The recipes of docs/extending.md work as written, and the contracts hold for what they add."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import settings

from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from tests.contracts.rows import hostile_values
from tests.contracts.rows.raw_files import COLUMNS, Format, Row, table_of, written
from tests.contracts.rows.test_row_reading import RULES, SOUND, fate_of
from tests.contracts.support import engine_checks
from tests.contracts.support.measurements import MEASUREMENTS
from tests.contracts.test_additivity import check_random_hostile_rows
from tests.docs.recipes import Copy, broken, recipes, run_in_place
from tests.lab.replicate.papers import shared

pytestmark = [pytest.mark.long, pytest.mark.slow]

RECIPES = recipes()
MOST_LINES = {"A family": 100}


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy.in_folder(tmp_path / "copy")


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_short(name: str) -> None:
    lines = [line for block in RECIPES[name] for line in block.text.splitlines() if line.strip()]
    occurrences = sum(
        line.startswith(" ") for block in RECIPES[name] if block.kind == "diff" for line in block.text.splitlines()
    )
    assert len(lines) - occurrences <= MOST_LINES.get(name, 60)


@pytest.mark.parametrize("name", ["A method", "A family", "A bound", "A paper"])
def test_what_a_recipe_adds_is_in_style(name: str, copy: Copy) -> None:
    files = [str(path) for path in copy.follow(RECIPES[name]) if path.suffix == ".py"]
    for check in (["format", "--check"], ["check"]):
        done = copy.run("-m", "ruff", *check, *files)
        assert done.returncode == 0, done.stdout


# A method and a family


LOG = "visits.csv --user user --item venue --items venues.csv"


def released(name: str, copy: Copy, prepared: Path) -> str:
    """Follow a recipe and write the lists of the pages, run the command that it shows, and return its page."""
    copy.follow(RECIPES[name])
    shutil.copytree(prepared, copy.root, dirs_exist_ok=True)
    for tool in ("cli_reference.py", "method_lists.py"):
        assert copy.run(f"tools/docs/{tool}").returncode == 0
    [command] = [block.text for block in RECIPES[name] if block.kind == "text" and not block.mark]
    folder = command.split()[-1]
    assert folder in copy.headcount(command.removeprefix("headcount "))
    copy.headcount(f"report {folder} --to page.html")
    return (copy.root / "page.html").read_text(encoding="utf-8")


def test_a_method_is_everywhere_without_another_line(copy: Copy, prepared: Path) -> None:
    assert "weighed" in released("A method", copy, prepared)
    compared = copy.headcount(
        f"compare {LOG} --methods weighed,sra --epsilon 1 --limits 3 --runs 1 --processes 1 --report all.html"
    )
    assert "weighed" in compared
    assert "weighed" in (copy.root / "all.html").read_text(encoding="utf-8")
    assert "weighed        privacy: proven\n    Everything each person did" in copy.headcount("methods")
    assert "weighed" in copy.headcount("plan --users 900 --items 9 --median 5 --max 60 --epsilon 1")
    assert "weighed" in copy.headcount("audit weighed --limit 2 --runs 200")


def test_a_method_keeps_the_contracts(copy: Copy) -> None:
    copy.follow(RECIPES["A method"])
    assert copy.run("tools/docs/method_lists.py").returncode == 0
    files = (
        "tests/methods/counts/test_weighed.py",
        "src/headcount/methods/counts/weighed.py",
        "tests/methods/test_registry.py",
    )
    suites = ("methods", "plans", "replay", "success")
    done = copy.test(
        *files, "tests/docs/test_pages.py", *(f"tests/contracts/test_{suite}.py" for suite in suites),
        "-m", "not slow", "-k", "weighed or every_proven_method or method_lists or can_be_reached",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "instead",
    [
        {"= (WeightToThreshold,)": "= ()"},
        {"self.limit * FIXED_POINT": "FIXED_POINT"},
        {"self.limit, None, grant,": "self.limit + 1, None, grant,"},
    ],
    ids=["declares no bound", "announces too little noise", "allows for more"],
)
def test_a_broken_method_is_caught(instead: Mapping[str, str], copy: Copy) -> None:
    copy.follow(broken(RECIPES["A method"], instead))
    assert copy.test("tests/contracts/test_methods.py", "-k", "weighed").returncode == 1


def test_a_family_is_everywhere_without_another_line(copy: Copy, prepared: Path) -> None:
    assert "<h1>How many are regulars</h1>" in released("A family", copy, prepared)
    assert "regulars    Release how many people have so many records." in copy.headcount("--help")
    assert "Regulars: headcount regulars\n\nat-least       privacy: proven" in copy.headcount("methods")
    planned = copy.headcount(f"regulars {LOG} --epsilon 1 --least 5 --dry-run")
    assert "each number: standard deviation" in planned
    assert "at-least" in copy.headcount("audit at-least --runs 200")


@pytest.mark.slow
def test_a_family_keeps_the_contracts(copy: Copy) -> None:
    copy.follow(RECIPES["A family"])
    assert copy.run("tools/docs/method_lists.py").returncode == 0
    suites = ("families", "plans", "replay", "success")
    done = copy.test(
        "tests/methods/regulars", "tests/methods/test_registry.py", "tests/docs/test_pages.py",
        *(f"tests/contracts/test_{suite}.py" for suite in suites),
        "-m", "not slow", "-k", "regulars or at-least or every_proven_method or every_charged or can_be_reached",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    linted = copy.run("-c", "from importlinter.cli import lint_imports_command; lint_imports_command()")
    assert linted.returncode == 0, linted.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    "instead",
    [
        {"= (ActivityHistogram,)": "= ()"},
        {"of_l1(1)": "of_l1(2)"},
        {"noisy = add_noise(enough, grant, noise)": "noisy = add_noise(enough, Grant(grant.cost), noise)"},
    ],
    ids=["declares no bound", "announces too much noise", "spends what nobody handed over"],
)
def test_a_broken_family_is_caught(instead: Mapping[str, str], copy: Copy) -> None:
    copy.follow(broken(RECIPES["A family"], instead))
    assert copy.test("tests/contracts/test_families.py", "-k", "at-least").returncode == 1


# A bound


def test_a_bound_adds_up_within_its_reach(copy: Copy) -> None:
    copy.follow(RECIPES["A bound"])
    files = "tests/bounds/test_regulars.py", "tests/contracts/test_additivity.py"
    done = copy.test(*files, "-m", "not slow", "-k", "regulars or every_bound")
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout  # its own test, three engines, and that all bounds are measured


@pytest.mark.slow
@pytest.mark.parametrize(
    "instead",
    [
        {"l1=1, l2_squared=1, linf=1": "l1=0, l2_squared=0, linf=0"},
        {"1 if rows.times is None else rows.times": "1"},
        {"np.count_nonzero(records >= self.least)": "records.max(initial=0) // self.least"},
    ],
    ids=["declares too little", "engines differ", "no sum over people"],
)
def test_a_broken_bound_is_caught(instead: Mapping[str, str], copy: Copy) -> None:
    copy.follow(broken(RECIPES["A bound"], instead))
    assert copy.test("tests/bounds/test_regulars.py").returncode == 1


# An engine


def engine_of(instead: Mapping[str, str]) -> Engine:
    engine: Engine = run_in_place(broken(RECIPES["An engine"][:1], instead))["DealingEngine"]()
    return engine


STATISTICAL = (engine_checks.check_law_of_the_choice, engine_checks.check_secrets_matter)
QUICK = (engine_checks.check_equals_reference,)
LIGHT = [
    pytest.param(check, id=str(check.__name__), marks=[] if check in QUICK else [pytest.mark.slow])
    for check in engine_checks.CHECKS
    if check not in STATISTICAL
]


@pytest.mark.slow
@pytest.mark.parametrize("check", LIGHT)
def test_an_engine_keeps_the_contracts(check: Callable[[Engine], None]) -> None:
    check(engine_of({}))


@pytest.fixture
def _no_shrinking() -> Iterator[None]:
    settings.load_profile("twins")
    yield
    settings.load_profile("headcount")


@pytest.mark.slow
@pytest.mark.usefixtures("_no_shrinking")
@pytest.mark.parametrize(
    "instead",
    [
        {"rows[log.roles.user].to_pylist()": "range(len(rows))"},
        {"one.with_others(other), parts": "one.with_others(other), [*parts, parts[0]]"},
    ],
    ids=["deals rows", "adds somebody twice"],
)
def test_a_broken_engine_is_caught(instead: Mapping[str, str]) -> None:
    with pytest.raises(AssertionError):
        engine_checks.check_sensitivity(engine_of(instead))


# A source


def format_of(source: Any) -> Format:
    """How rows are put into a table of SQLite; bytes are laid down as text, be they UTF-8 or not."""

    def write(kind: Format, folder: Path, rows: Sequence[Row], one_by_one: bool) -> Any:
        path, texts = folder / "events.db", table_of(kind, rows)
        columns = [texts[name].combine_chunks().view(pa.binary()).to_pylist() for name in COLUMNS]
        named, marks = (
            ", ".join(words) for words in (map('"{}"'.format, COLUMNS), ["CAST(? AS TEXT)"] * len(COLUMNS))
        )
        database = sqlite3.connect(path, isolation_level=None)
        database.execute(f"CREATE TABLE events ({named})")
        database.executemany(f"INSERT INTO events VALUES ({marks})", zip(*columns, strict=True))
        database.close()
        return source(str(path), "events", dict.fromkeys(COLUMNS, "text"))

    return Format("SQLite", "arrow", write)


@pytest.fixture(scope="module")
def sqlite() -> Format:
    return format_of(run_in_place(RECIPES["A source"][:1])["SqliteTable"])


@pytest.mark.parametrize("name", RULES)
def test_a_source_reads_row_by_row(name: str, sqlite: Format, tmp_path: Path) -> None:
    rule = RULES[name]
    for number, text in enumerate(rule.texts):
        row = Row({**rule.beside, "user": "b1", rule.column: hostile_values.text("said", text)})
        assert fate_of(sqlite, row, rule.options, tmp_path / str(number), Row(rule.beside)) == rule.fate, (
            f"{text!r}"
        )


@pytest.mark.parametrize("name", ["sample", "totals, times", "support, context of user", "cells, groups"])
def test_what_is_measured_of_a_source_adds_up(name: str, sqlite: Format, tmp_path: Path) -> None:
    check_random_hostile_rows(MEASUREMENTS[name], sqlite, LocalEngine(), tmp_path, 3, one_by_one=False)


def test_a_value_of_another_kind_is_missing(sqlite: Format, tmp_path: Path) -> None:
    source = written(sqlite, tmp_path, [Row(SOUND), Row({**SOUND, "user": "b1"})])
    with sqlite3.connect(tmp_path / "events.db") as database:
        database.execute("UPDATE events SET user = 7 WHERE user = 'b1'")
    database.close()
    source = type(source)(str(tmp_path / "events.db"), "events", dict.fromkeys(COLUMNS, "text"))
    [batch] = source.batches(["user", "item"])
    assert batch.column("user").to_pylist() == [SOUND["user"], None]


@pytest.mark.slow
@pytest.mark.parametrize(
    "instead",
    [
        {"        self._database.text_factory = bytes": "        "},
        {"(values, pa.binary())": "(values if all(values) else [None] * len(values), pa.binary())"},
    ],
    ids=["fails on what is no text", "looks at other rows"],
)
def test_a_broken_source_is_caught(instead: Mapping[str, str], tmp_path: Path) -> None:
    kind = format_of(run_in_place(broken(RECIPES["A source"][:1], instead))["SqliteTable"])
    with pytest.raises((AssertionError, sqlite3.OperationalError)):
        check_random_hostile_rows(MEASUREMENTS["sample"], kind, LocalEngine(), tmp_path, 3, one_by_one=False)


# A paper


def test_a_paper_is_run_and_judged(copy: Copy, tmp_path: Path) -> None:
    copy.follow(RECIPES["A paper"])
    (tmp_path / "data").mkdir()
    [command] = [block.text for block in RECIPES["A paper"] if block.kind == "text"]
    line, _, result = command.strip().removeprefix("headcount ").partition(" > ")
    line = line.replace("DIR", str(shared(tmp_path / "data")))
    printed = copy.headcount(f"{line} --processes 1 --quiet")
    document = json.loads(printed)
    assert [row["verdict"] for row in document["claims"]] == ["reproduced"]
    assert (copy.root / "nobody.html").exists()
    (copy.root / result).write_text(printed, encoding="utf-8")
    filled = copy.run("tools/docs/verdict_tables.py", result, "--commit", "0123abc")
    assert filled.returncode == 0, filled.stderr
    tested = copy.test("tests/lab/replicate/claims/test_claims.py", "tests/docs/test_verdicts.py", "-k", "nobody")
    assert tested.returncode == 0, tested.stdout
