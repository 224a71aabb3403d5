"""``headcount query``, end to end."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import headcount as hc
from tests.cli.conftest import Run
from tests.support.town import table

BINS = """
[age]
from = 0
to = 96
bins = 8
[job]
values = ["clerk", "cook", "smith"]
other = true
"""
QUERIES = """
SELECT COUNT(*) FROM people WHERE age >= 60;  -- the old
SELECT job, COUNT(*) FROM people GROUP BY job;
"""
ASK = ("query", "people.csv", "--user", "id", "--bins", "bins.toml", "--queries", "queries.sql")
HOMES = ("--groups", "household", "--max-group", "3")


@pytest.fixture(autouse=True)
def town(work: Path) -> Path:
    """Return a working folder with a table of people, bins and queries."""
    pacsv.write_csv(table(400), work / "people.csv")
    (work / "bins.toml").write_text(BINS, encoding="utf-8")
    (work / "queries.sql").write_text(QUERIES, encoding="utf-8")
    return work


def test_answers_are_printed_kept_and_explained(run: Run, work: Path) -> None:
    done = run(*ASK, *HOMES, "--epsilon", "100000", "--out", "out")
    assert done.code == 0, done.err
    assert "5 answers, of at most 1 record per person and 3 people per household: out" in done.out
    assert "ε = 100000 was spent, not charged to any ledger" in done.err
    assert "one whole group, all people with the same 'household'" in " ".join(done.out.split())
    release = hc.load("out")
    assert {path.name for path in (work / "out").iterdir()} == {"release.json", "answers.parquet"}
    assert release.answers["cell"].to_pylist() == [
        None, "job = clerk", "job = cook", "job = smith", "job = (other)",
    ]  # fmt: skip
    assert sum(release.answers["answer"].to_pylist()[1:]) == pytest.approx(300, abs=2)
    explanation = " ".join(run("explain", "out").out.split())
    assert "Records were counted in 32 cells of a public grid" in explanation
    assert "Of all people with the same 'household', at most 3 counted" in explanation
    assert run("export", "out", "--to", "sheets").code == 0
    assert (work / "sheets" / "answers.csv").read_text("utf-8").startswith('"query","cell","job","answer","low"')
    assert run("report", "out", "--to", "out.html").code == 0
    page = (work / "out.html").read_text(encoding="utf-8")
    assert "Answers to queries" in page
    assert len(re.findall(r"<caption>SELECT [^<]*GROUP BY job", page)) == 1, "a statement stands once"
    assert '<th scope="col" class="text">job</th>' in page
    assert '<th scope="row" class="text"><bdi>clerk</bdi></th>' in page
    assert "No counts" not in page
    assert "per group of at most 3 people" in page
    top = run("top", "out")
    assert top.code == 2
    assert "it holds answers" in top.complaint


def test_group_by_prints_a_column_per_attribute_and_only_once(run: Run, work: Path) -> None:
    statement = "SELECT COUNT(*) FROM people WHERE age < 24 GROUP BY job, age"
    (work / "queries.sql").write_text(f"SELECT COUNT(*) FROM people;{statement};", encoding="utf-8")
    done = run(*ASK, "--epsilon", "100000", "--out", "out")
    assert done.code == 0, done.err
    assert done.out.count(statement) == 1
    lines = [line.split() for line in done.out.splitlines()]
    assert ["job", "age", "answer", "low", "high"] in lines
    assert ["clerk", "12..23"] in [line[:2] for line in lines]
    answers = hc.load("out").answers
    assert answers.column_names == ["query", "cell", "job", "age", "answer", "low", "high"]
    rows = answers.select(["cell", "job", "age"]).to_pylist()
    assert rows[0] == {"cell": None, "job": None, "age": None}
    assert rows[2] == {"cell": "job = clerk, age = 12..23", "job": "clerk", "age": "12..23"}


def test_a_table_of_one_row_per_user_needs_no_id(run: Run, work: Path) -> None:
    ask = [argument for argument in ASK if argument not in ("--user", "id")]
    done = run(*ask, "--epsilon", "100000", "--out", "rows")
    assert done.code == 0, done.err
    assert "It is taken for granted that every row is one person, and nobody has two" in " ".join(done.err.split())
    assert run(*ASK, "--epsilon", "100000", "--out", "ids").code == 0
    rows, ids = hc.load("rows"), hc.load("ids")
    assert rows.answers["answer"].to_pylist() == pytest.approx(ids.answers["answer"].to_pylist(), abs=0.5)
    assert any(assumption.startswith("every row is one person") for assumption in rows.guarantee.assumes)
    assert not any(assumption.startswith("every row is one person") for assumption in ids.guarantee.assumes)
    assert "Each row counted as one person." in " ".join(run("explain", "rows").out.split())
    assert rows.request["events"] == {}
    again = run("query", "people.csv", "--config", "rows", "--out", "again", "--json")
    assert again.code == 0, again.err
    homes = run(*ask, *HOMES, "--epsilon", "100000", "--out", "homes")
    assert homes.code == 0, homes.err
    refused = run(*ask, "--max-records", "2", "--epsilon", "1", "--out", "no")
    assert refused.code == 2
    assert "--max-records 2 is given without --user" in refused.complaint


def test_rows_without_a_stable_order_are_refused(run: Run, work: Path) -> None:
    with contextlib.closing(sqlite3.connect(work / "people.sqlite")) as shop:
        shop.execute("CREATE TABLE people (age INTEGER, job TEXT)")
        shop.commit()
    ask = ("query", "sqlite:///people.sqlite", "--table", "people", *ASK[4:])
    refused = run(*ask, "--epsilon", "1", "--out", "no")
    assert refused.code == 2
    assert "have no order that stays" in refused.complaint


def test_a_log_of_events_still_needs_its_users(run: Run, work: Path) -> None:
    refused = run(
        "release", "visits.csv", "--item", "venue", "--items", "venues.csv", "--epsilon", "1", "--out", "no"
    )
    assert refused.code == 2
    assert "--user" in refused.complaint


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT COUNT(*) FROM people WHERE hours-per-week >= 40",
        "SELECT hours-per-week, COUNT(*) FROM people GROUP BY hours-per-week",
        "SELECT COUNT(*) FROM people WHERE 1st job = 'cook'",
    ],
)
def test_a_name_that_needs_quotes_gets_a_hint(run: Run, work: Path, statement: str) -> None:
    bins = '["hours-per-week"]\nedges = [0, 40, 100]\n["1st job"]\nvalues = ["cook"]\n'
    (work / "bins.toml").write_text(bins, encoding="utf-8")
    (work / "people.csv").write_text("id,hours-per-week,1st job\na,41,cook\n", encoding="utf-8")
    (work / "queries.sql").write_text(statement, encoding="utf-8")
    refused = run(*ASK, "--epsilon", "1", "--out", "no")
    name = "hours-per-week" if "hours" in statement else "1st job"
    assert refused.code == 2
    assert refused.complaint.endswith(f'write it in double quotes: "{name}"')
    (work / "queries.sql").write_text(statement.replace(name, f'"{name}"'), encoding="utf-8")
    done = run(*ASK, "--epsilon", "1", "--dry-run")
    assert done.code == 0, done.err


def test_a_dry_run_reads_nothing_and_prints_the_cost(run: Run, work: Path) -> None:
    done = run(*ASK, *HOMES, "--epsilon", "1", "--dry-run", "--json")
    assert done.code == 0, done.err
    assert done.data["cells"] == {"answers": 5}
    assert done.data["guarantee"]["unit"] == "add-or-remove-group"
    shown = run(*ASK, "--epsilon", "1", "--method", "histogram", "--dry-run").out
    assert "5 answers" in shown
    assert "a query over one cell: standard deviation 1.4" in " ".join(shown.split())
    assert not (work / "out").exists()


def test_options_of_methods_are_passed_on(run: Run) -> None:
    done = run(*ASK, "--epsilon", "1", "--method", "mwem", "--option", "rounds=2", "--out", "out", "--json")
    assert done.code == 0, done.err
    assert json.loads(Path("out/release.json").read_text("utf-8"))["chosen"]["answers"]["rounds"] == 2
    done = run(*ASK, "--epsilon", "1", "--method", "histogram", "--option", "consistent=true", "--out", "more")
    assert done.code == 0, done.err
    assert "not negative and add up" in " ".join(run("explain", "more").out.split())


RESEARCH = ("--epsilon", "1", "--method", "cim-published", "--research", "--option", "threshold=0.01")


@pytest.mark.parametrize(
    "coupled",
    [
        ("--degrees", "degrees.csv"),
        ("--option", "coupling=attribute:household"),
        ("--option", "coupling=time:seen/2h"),
        ("--option", "coupling=pearson"),
    ],
)
def test_couplings_come_from_a_file_or_from_the_table(run: Run, work: Path, coupled: tuple[str, str]) -> None:
    (work / "degrees.csv").write_text("a,b,degree\np1,p2,0.8\np3,p1,-0.6\n", encoding="utf-8")
    times = pa.array([f"2026-03-01T{n % 24:02}:30:00" for n in range(400)])
    pacsv.write_csv(table(400).append_column("seen", times), work / "people.csv")
    done = run(*ASK, *RESEARCH, *coupled, "--out", "out", "--json")
    assert done.code == 0, done.err
    assert (done.data["method"], done.data["guarantee"]["standing"]) == ("cim-published", "claimed")
    again = run("query", "people.csv", "--config", "out", "--out", "again", "--json")
    assert again.code == 0, again.err
    assert hc.load("again").request == hc.load("out").request
    (work / "degrees.csv").write_text("a,b,degree\np1,p2,8\n", encoding="utf-8")
    if coupled[0] == "--degrees":
        done = run(*ASK, *RESEARCH, *coupled, "--dry-run")
        assert done.code == 2
        assert "must be a number from -1 to 1 in row 1, not 8.0" in done.complaint


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (("--degrees", "degrees.csv"), "method auto cannot use degrees"),
        (("--groups", "household"), "--groups and --max-group go together"),
        (("--groups", "home", "--max-group", "3"), "'home' is not in"),
        (("--max-records", "0"), "max-records must be a whole number"),
        (("--method", "sra"), "method 'sra'"),
        (("--delta", "1e-6", "--method", "mwem"), "--delta is of no use here: mwem answers with pure ε"),
        (("--select-limit", "3"), "there is no option --select-limit"),
        (("--queries", "none.sql"), "none.sql cannot be read"),
        (("--bins", "none.toml"), "none.toml cannot be read"),
        (("--option", "rounds=2"), "cannot use rounds"),
    ],
)
def test_what_makes_no_sense_is_refused(run: Run, work: Path, flags: tuple[str, ...], complaint: str) -> None:
    done = run(*ASK, "--epsilon", "1", "--out", "out", *flags)
    assert done.code == 2
    assert complaint in done.complaint
    assert not (work / "out").exists()


def test_a_condition_that_cuts_a_bin_says_where_and_what_to_do(run: Run, work: Path) -> None:
    (work / "queries.sql").write_text("SELECT COUNT(*) FROM people WHERE age >= 65", encoding="utf-8")
    done = run(*ASK, "--epsilon", "1", "--out", "out")
    assert done.code == 2
    assert "'age' cuts the bin 60..71 at 65" in done.complaint
    assert "the edges are 0, 12, 24" in done.complaint
    assert "add 65 to the edges of 'age'" in done.complaint
    (work / "queries.sql").write_text("-- nothing\n", encoding="utf-8")
    assert "no query is asked" in run(*ASK, "--epsilon", "1", "--out", "out").complaint


WIDE = BINS + "".join(f'[x{n}]\nvalues = ["p{n}"]\nother = true\n' for n in range(24))


def test_a_wide_table_has_answers_and_synthetic_rows(run: Run, work: Path) -> None:
    people = table(400)
    for n in range(24):
        people = people.append_column(f"x{n}", pa.array([f"p{row % (n + 2)}" for row in range(people.num_rows)]))
    pacsv.write_csv(people, work / "people.csv")
    (work / "bins.toml").write_text(WIDE, encoding="utf-8")
    planned = run(*ASK, "--epsilon", "1", "--delta", "1e-9", "--synthetic", "50", "--dry-run")
    assert planned.code == 0, planned.err
    shown = " ".join(planned.out.split())
    assert "5 answers and 50 synthetic rows" in shown
    assert "Of 325 pairs of columns those that are worth it are counted" in shown
    done = run(*ASK, "--epsilon", "1", "--delta", "1e-9", "--synthetic", "50", "--out", "out")
    assert done.code == 0, done.err
    assert "5 answers, of at most 1 record per person, and 50 synthetic rows: out" in " ".join(done.out.split())
    rows = hc.load("out").tables["synthetic"]
    assert (rows.num_rows, rows.num_columns) == (50, 26)
    assert (work / "out" / "synthetic.parquet").exists()
    assert run("export", "out", "--to", "sheets").code == 0
    assert (work / "sheets" / "synthetic.csv").read_text("utf-8").startswith('"age","job","x0"')
    refused = run(*ASK, "--epsilon", "1", "--method", "histogram", "--out", "more")
    assert "use --method pairs" in " ".join(refused.err.split())
