"""Decimal commas on the command line: from a file that nothing counts in to totals that are near the truth."""

from __future__ import annotations

import shlex
from decimal import Decimal
from pathlib import Path

import pytest

import headcount as hc
from tests.cli.conftest import Run

USERS, ROWS = 400, 4_000
FILE = "Umsätze.csv"
READ = (FILE, "--user", "Kunde", "--item", "Artikel", "--delimiter", ";", "--encoding", "cp1252")
COMMA = ("--decimal", ",", "--thousands", ".")
TOTALS = ("--what", "totals", "--value", "Umsatz", "--value-range", "0,2000", "--limit", "10", "--epsilon", "1000")


def amounts() -> list[Decimal]:
    return [Decimal(n * 7919 % 200_000) / 100 for n in range(ROWS)]


@pytest.fixture
def log(work: Path) -> list[Decimal]:
    """Write a till's log as a German office does, and return its amounts."""
    lines = ["Kunde;Artikel;Datum;Umsatz"]
    for number, amount in enumerate(amounts()):
        written = f"{amount:,.2f}".translate(str.maketrans(",.", ".,"))
        day = f"{number % 28 + 1:02d}.04.2026"
        lines.append(f"k{number % USERS};{('Käse', 'Tee')[number % 2]};{day};{written}")
    (work / FILE).write_bytes("\r\n".join(lines).encode("cp1252"))
    return amounts()


def test_totals_of_decimal_commas_are_near_the_truth(run: Run, work: Path, log: list[Decimal]) -> None:
    """At ε = 1000 each total is off by more than 100 times its noise scale less than once in e^100 runs."""
    done = run("release", *READ, *COMMA, *TOTALS, "--out", "a")
    assert done.code == 0, done.err
    totals = {row["total"]: row["value"] for row in hc.load(work / "a").totals.to_pylist()}
    assert abs(totals["users"] - USERS) <= 1
    assert abs(totals["records"] - ROWS) <= 5
    assert abs(totals["sum"] - float(sum(log))) < 20_000
    again = run("release", FILE, "--config", "a", "--out", "b")
    assert again.code == 0, again.err


def test_inspect_prints_flags_that_read_every_value(run: Run, log: list[Decimal]) -> None:
    parts = shlex.split(run("inspect", FILE, "--encoding", "cp1252", "--json").data["command"])
    given = [parts[parts.index(flag) + 1] for flag in ("--decimal", "--thousands", "--time-format")]
    assert given == [",", ".", "%d.%m.%Y"]
    assert "nothing tells" not in run("inspect", FILE, "--encoding", "cp1252").out
    checked = run("check", *parts[2 : parts.index("--items")], "--value", "Umsatz", "--json").data
    assert (checked["records"], checked["problems"]) == (ROWS, [])


def test_check_warns_and_its_remedy_can_be_copied(run: Run, log: list[Decimal]) -> None:
    read: tuple[str, ...] = (*READ, "--value", "Umsatz", "--context", "weekday:Datum", "--items", "Käse,Tee")
    result = run("check", *read, "--json")
    assert (result.code, result.data["records"]) == (1, 0)
    remedy = result.data["problems"][0]["remedy"]
    assert remedy == 'add --decimal "Umsatz=," --thousands "Umsatz=."'
    assert f"most values of column 'Umsatz' cannot be read: {remedy}" in result.data["hints"]
    read = (*read, *shlex.split(remedy.removeprefix("add ")))
    remedy = run("check", *read, "--json").data["problems"][0]["remedy"]
    assert remedy == 'add --time-format "%d.%m.%Y"'
    assert run("check", *read, *shlex.split(remedy.removeprefix("add "))).code == 0


def test_a_value_that_few_rows_write_otherwise_is_no_warning(run: Run, work: Path) -> None:
    (work / "few.csv").write_text("user,item,paid\nann,tea,5\nbob,tea,7\ncem,tea,n/a\n", encoding="utf-8")
    report = run("check", "few.csv", "--user", "user", "--item", "item", "--value", "paid", "--json").data
    assert report["problems"][0]["remedy"] is None
    assert not any("cannot be read" in hint for hint in report["hints"])


@pytest.mark.parametrize("number", ["15.30", "15,30"])
def test_a_ledger_says_of_text_columns_what_is_public_alone(
    run: Run, work: Path, number: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the values fit the notation or not, the words are the same."""
    (work / "log.csv").write_text(f'user,item,paid\nann,tea,"{number}"\n', encoding="utf-8")
    monkeypatch.setenv("HEADCOUNT_LEDGER", "sqlite:///headcount.db")
    assert run("ledger", "create", "--dataset", "till", "--epsilon", "10").code == 0
    read = ("log.csv", "--user", "user", "--item", "item", "--value", "paid", "--value-range", "0,9")
    spend = ("--what", "totals", "--limit", "1", "--epsilon", "1", "--dataset", "till")
    output = (
        "Column 'paid' is text. A value must be written as 1234.5, or it does not count: --decimal and --thousands"
    )
    for more in (("--dry-run",), ("--out", "a")):
        done = run("release", *read, *spend, *more)
        assert done.code == 0, done.err
        assert output in " ".join(done.err.split())
    done = run("release", *read, "--decimal", ",", *spend, "--out", "b")
    assert output not in " ".join(done.err.split())


def test_separators_that_no_number_has_are_refused(run: Run, work: Path) -> None:
    read = ("check", "visits.csv", "--user", "user", "--item", "venue", "--value", "stars")
    for flags, words in (
        (("--decimal", "1"), "--decimal must be a single character"),
        (("--thousands", "."), '--thousands is ".", and so is the decimal separator'),
    ):
        done = run(*read, *flags)
        assert done.code == 2
        assert words in done.complaint
