"""``--what totals``, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import openpyxl
import pytest

import headcount as hc
from tests.cli.commands.test_release import everything_in
from tests.cli.conftest import Run

TOTALS = ("release", "visits.csv", "--user", "user", "--item", "venue", "--what", "totals", "--limit", "5")
VALUE = ("--value", "stars", "--value-range", "1,5")


def test_totals_without_a_catalogue(run: Run, work: Path) -> None:
    done = run(*TOTALS, *VALUE, "--epsilon", "100000", "--out", "out")
    assert done.code == 0, done.err
    rows = {line.split()[0]: float(line.split()[1]) for line in done.out.splitlines()[2:6]}
    assert rows == pytest.approx({"users": 3, "records": 5, "sum": 17, "mean": 3.4}, abs=0.01)
    assert "4 totals, of at most 5 records per person: out" in done.out
    assert {path.name for path in (work / "out").iterdir()} == {"release.json", "totals.parquet"}
    assert hc.load("out").totals["total"].to_pylist() == ["users", "records", "sum", "mean"]
    assert "tea" not in everything_in(work / "out")


def test_a_release_of_totals_is_read_like_any_other(run: Run, work: Path) -> None:
    assert run(*TOTALS, *VALUE, "--epsilon", "1", "--out", "out", "--quiet").code == 0
    explanation = " ".join(run("explain", "out").out.split())
    assert "The number of people got discrete Laplace noise of scale 5" in explanation
    assert "cut to lie between 1 and 5" in explanation
    assert "Their distances from 3 were added up" in explanation
    assert run("report", "out", "--to", "out.html").code == 0
    page = (work / "out.html").read_text(encoding="utf-8")
    assert "Totals over all people" in page
    assert "No counts" not in page
    for kind in ("csv", "xlsx"):
        assert run("export", "out", "--to", kind, "--format", kind).code == 0
    written = (work / "csv" / "totals.csv").read_text(encoding="utf-8").splitlines()
    assert written[0] == '"total","value","low","high","max_records"'
    for command in (("top", "out", "--context", "AM"), ("recommend", "out", "--context", "AM")):
        done = run(*command)
        assert done.code == 2
        assert "totals, which are not per item" in done.complaint
    assert "Totals, of at most 5 records per person:" in run("top", "out").out
    assert [row["max_records"] for row in run("top", "out", "--json").data] == [5] * 4
    assert run("top", "out", "--format", "csv").out.splitlines()[0] == "total,value,low,high,max_records"
    again = run("release", "visits.csv", "--config", "out", "--out", "again", "--json")
    assert again.code == 0, again.err
    assert again.data["method"] == "totals"
    assert hc.load("again").request == hc.load("out").request


MORE = ("--value", "stars", "--quantiles", "0.5,0.1", "--context", "weekday:time", "--by", "contexts")


def test_quantiles_groups_and_an_estimated_range_are_explained_and_shown(run: Run, work: Path) -> None:
    planned = " ".join(run(*TOTALS, *MORE, "--epsilon", "1", "--dry-run").out.split())
    assert "4 totals and 16 group totals and 16 quantiles" in planned
    assert "records from their rank" in planned
    assert "as noisy as the range that will be found" in planned
    done = run(*TOTALS, *MORE, "--epsilon", "1", "--out", "more", "--quiet")
    assert done.code == 0, done.err
    assert "highest rank" in done.out
    assert "No range was given for the values of column 'stars'" in " ".join(run("explain", "more").out.split())
    assert run("report", "more", "--to", "more.html").code == 0
    page = (work / "more.html").read_text(encoding="utf-8")
    assert "Quantiles" in page
    assert "Monday" in page
    assert run("export", "more", "--to", "sheets").code == 0
    columns = '"of","quantile","value","rank_low","rank_high"'
    assert (work / "sheets" / "quantiles.csv").read_text(encoding="utf-8").startswith(columns)
    again = run("release", "visits.csv", "--config", "more", "--out", "again", "--json")
    assert again.code == 0, again.err
    assert hc.load("again").request == hc.load("more").request


def test_a_dry_run_of_totals(run: Run, work: Path) -> None:
    output = " ".join(run(*TOTALS, *VALUE, "--epsilon", "1", "--dry-run").out.split())
    assert "Cells 4 totals" in output
    assert "the number of users: standard deviation 7.1" in output
    assert "the sum of distances from 3: standard deviation 28.3" in output
    data = json.loads(run(*TOTALS, "--epsilon", "1", "--dry-run", "--json").out)
    assert data["cells"] == {"totals": 2}
    assert set(data["noise"]) == {"users", "records"}


BAD = {
    "a method for counts": (("--method", "hpa"), ("one method alone", "leave --method out")),
    "quantiles of nothing": (("--quantiles", "0.5"), ("--value COL",)),
    "quantiles beyond 1": (("--value", "stars", "--quantiles", "0.5,7"), ("--quantiles", "which 7 does not")),
    "groups without contexts": (("--by", "contexts"), ("--context COL",)),
    "a range without value": (("--value-range", "1,5"), ("--value COL",)),
    "a range upside down": (("--value", "stars", "--value-range", "5,1"), ("'5,1'",)),
    "no such column": (("--value", "star", "--value-range", "1,5"), ("did you mean 'stars'",)),
    "a context": (("--context", "weekday:time"), ("--context", "--where")),
    "people": (("--count", "users"), ("--count users",)),
    "selection": (("--select-items", "--delta", "1e-6"), ("--select-items",)),
    "an option": (("--option", "d=2"), ("cannot use d",)),
    "a cap": (("--at-most", "9"), ("totals cannot use --at-most", "--limit is a cap already")),
    "shares of others": (("--shares", "items=1"), ("users, records",)),
}


@pytest.mark.parametrize("name", BAD)
def test_what_totals_cannot_use(run: Run, work: Path, name: str) -> None:
    flags, words = BAD[name]
    done = run(*TOTALS, "--epsilon", "1", *flags, "--out", "out")
    assert done.code == 2
    for word in words:
        assert word in done.complaint
    assert not (work / "out").exists()


def test_a_value_is_for_totals(run: Run, work: Path) -> None:
    common = ("visits.csv", "--user", "user", "--item", "venue", "--items", "tea", *VALUE, "--epsilon", "1")
    for command in (
        ("release", *common, "--method", "sra", "--limit", "2", "--out", "out"),
        ("rank", *common, "-k", "1"),
    ):
        done = run(*command)
        assert done.code == 2
        assert "--value is of no use here" in done.complaint


def test_missing_values(run: Run, work: Path) -> None:
    (work / "gaps.csv").write_text("user,venue,stars\nann,tea,5\nbob,tea,\ncyn,tea,nan\n", encoding="utf-8")
    flags = ("release", "gaps.csv", *TOTALS[2:], *VALUE, "--epsilon", "100000", "--out", "out")
    done = run(*flags)
    assert done.code == 0
    assert "2 records for which column 'stars' says no number were dropped" in done.err
    assert hc.load("out").totals["value"].to_pylist()[:2] == [1, 1]


def test_every_display_of_a_bounded_total_says_with_how_many_records_a_user_counts(run: Run, work: Path) -> None:
    rows = "".join(f"u{n},tea,v{n % 50:02},4\n" for n in range(100))
    (work / "many.csv").write_text(f"user,item,place,stars\n{rows}", encoding="utf-8")
    places = ",".join(f"v{n:02}" for n in range(50))
    done = run(
        "release", "many.csv", "--user", "user", "--item", "item", "--what", "totals", "--limit", "1234",
        "--context", "place", "--contexts", places, "--by", "contexts", "--value", "stars", "--value-range", "1,5",
        "--quantiles", "0.5", "--epsilon", "1", "--out", "out",
    )  # fmt: skip
    assert done.code == 0, done.err
    bound = "of at most 1,234 records per person"
    for text in (done.out, run("top", "out").out):
        assert [line for line in text.splitlines() if bound in line and line.endswith(":")] == [
            f"Totals, {bound}:", f"By group, {bound}, over all groups together:", f"Quantiles, {bound}:",
        ]  # fmt: skip
        assert "… and 62 more, all in the release." in text  # of 51 groups with two numbers each
        assert "… and 11 more, all in the release." in text
    assert bound.removeprefix("of ") in " ".join(run("explain", "out").out.split())
    release = hc.load("out")
    for table in release.tables:
        assert set(release.to_pandas(table)["max_records"]) == {1234}
        assert set(release.to_polars(table)["max_records"]) == {1234}
        assert "max_records" not in release.tables[table].column_names  # the stored format is version 1
    assert run("report", "out", "--to", "out.html").code == 0
    assert (work / "out.html").read_text(encoding="utf-8").count(f"{bound};") == 3
    for kind in ("csv", "xlsx"):
        assert run("export", "out", "--to", kind, "--format", kind).code == 0
    for table in release.tables:
        assert "max_records" in (work / "csv" / f"{table}.csv").read_text(encoding="utf-8").splitlines()[0]
    book = openpyxl.load_workbook(work / "xlsx" / "release.xlsx")
    assert all(book[table].cell(2, book[table].max_column).value == 1234 for table in release.tables)
