"""`headcount inspect`: the curator's look at a file, and a command that really fits it."""

from __future__ import annotations

import gzip
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Run


def suggested(run: Run, work: Path, *arguments: str) -> list[str]:
    """Return the suggested command, after checking that it parses and fits, given a catalogue."""
    parts = shlex.split(run("inspect", *arguments, "--json").data["command"])
    assert parts[:2] == ["headcount", "release"]
    refused = run(*parts[1:])
    assert refused.code == 2, "it must not run before there is a catalogue"
    assert "catalogue.csv does not exist" in refused.complaint
    (work / "catalogue.csv").write_text("id\n1\n2\n", encoding="utf-8")
    checked = run("check", *parts[2 : parts.index("--epsilon")], "--json")
    assert checked.code in (0, 1), checked.err  # 1: not everything counts, which it may say
    assert "no time that can be read" not in checked.out
    for command in ([*parts[1:], "--dry-run"], parts[1:]):
        done = run(*command)
        assert done.code == 0, done.err
    return parts


def test_the_ranking_runs_as_it_is_printed(run: Run, work: Path) -> None:
    """It needs no catalogue, so a newcomer copies it and has a result.

    Noise is not seeded. One in eight of 3,000 people names each item, or more do, and an item that 80 name is
    always released (:func:`~headcount.noise.partition_selection.single_key.release_probabilities_for`): fewer do
    so less than once in 10^50 times.
    """
    rows = [(f"p{n}", item, 970_000_000 + n) for n in range(3_000) for item in ("tea", "rye")]
    names = dict(zip(("customer", "product", "timestamp"), zip(*rows, strict=True), strict=True))
    pq.write_table(pa.table(names), work / "shop.parquet")
    output = run("inspect", "shop.parquet").out
    shown = shlex.split(output[output.index("  headcount rank") :].replace("\\\n", " "))
    assert shown == shlex.split(run("inspect", "shop.parquet", "--json").data["ranking"])
    assert after(shown, "--time-format") == "s"
    done = run(*shown[1:], "--json")
    assert done.code == 0, done.err
    assert {row["item"] for row in done.data["ranking"]} == {"tea", "rye"}


def test_it_shows_columns_types_nulls_and_rows(run: Run, work: Path) -> None:
    description = run("inspect", "visits.csv", "--json").data
    assert list(description) == ["source", "rows", "columns", "command", "ranking"]
    assert (description["source"], description["rows"]) == ("visits.csv", 5)
    columns = {column["name"]: column for column in description["columns"]}
    assert columns["user"] == {"name": "user", "type": "text", "nulls": 0, "first": ["ann", "ann", "bob"]}
    assert columns["time"]["nulls"] == 1
    output = run("inspect", "visits.csv")
    assert "5 rows" in output.out
    assert "for the curator's eyes only" in output.out
    assert "headcount release visits.csv" in output.out
    assert output.err == ""


def test_nulls_are_counted_over_the_whole_file(run: Run, work: Path) -> None:
    rows = 3_000_000  # several batches
    user = pa.array([1, None]).take(pa.array([0] * (rows - 2) + [1, 1]))
    pq.write_table(pa.table({"user": user, "item": pa.nulls(rows, pa.string())}), work / "big.parquet")
    columns = run("inspect", "big.parquet", "--json").data["columns"]
    assert [column["nulls"] for column in columns] == [2, rows]


def test_a_missing_value_inside_a_dictionary_counts(run: Run, work: Path) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, None]), pa.array(["tea", None]))
    with pa.OSFile(str(work / "log.arrow"), "wb") as out:
        table = pa.table({"user": ["a", "b", "c", "d"], "item": column})
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table)
    columns = run("inspect", "log.arrow", "--json").data["columns"]
    assert [column["nulls"] for column in columns] == [0, 3]


def test_the_command_fits_a_csv_with_times(run: Run, work: Path) -> None:
    parts = suggested(run, work, "visits.csv")
    assert parts[parts.index("--context") + 1] == "weekday:time"
    assert parts[parts.index("--item") + 1] == "venue"


@pytest.mark.parametrize(("unit", "factor"), [("s", 1), ("ms", 1000), ("us", 1_000_000)])
@pytest.mark.parametrize("second", [978_300_760, 1_700_000_000])
def test_the_command_fits_epoch_numbers(run: Run, work: Path, unit: str, factor: int, second: int) -> None:
    table = pa.table({"uid": [1, 2], "movie": [1, 2], "rated_at": [second * factor] * 2})
    pq.write_table(table, work / "ratings.parquet")
    parts = suggested(run, work, "ratings.parquet")
    assert parts[parts.index("--time-format") + 1] == unit


def test_the_command_carries_how_text_is_written(run: Run, work: Path) -> None:
    data = "".join(["wer;was\n", *(f"Jürg{n};{n % 3}\n" for n in range(9))])
    (work / "besuche mit Leerzeichen.csv.gz").write_bytes(gzip.compress(data.encode("latin-1")))
    flags = ("--delimiter", ";", "--encoding", "latin-1")
    parts = suggested(run, work, "besuche mit Leerzeichen.csv.gz", *flags)
    assert parts[parts.index("--user") + 1 : parts.index("--user") + 4] == ["wer", "--item", "was"]


def test_the_command_fits_a_file_without_header(run: Run, work: Path) -> None:
    (work / "plain.csv").write_text("a,1\nb,2\n", encoding="utf-8")
    parts = suggested(run, work, "plain.csv", "--no-header")
    assert parts[parts.index("--user") + 1] == "1"
    assert "--context" not in parts


def test_the_command_fits_json_lines(run: Run, work: Path) -> None:
    (work / "log.jsonl").write_text('{"who": "a", "what": 1, "when": "2026-03-06"}\n', encoding="utf-8")
    parts = suggested(run, work, "log.jsonl")
    assert parts[parts.index("--context") + 1] == "weekday:when"


def test_a_file_that_fits_nothing_is_still_shown(run: Run, work: Path) -> None:
    pq.write_table(pa.table({"price": [1.5], "paid": [True]}), work / "odd.parquet")
    result = run("inspect", "odd.parquet")
    assert result.code == 0
    assert "--user COL --item COL" in result.out


def test_an_empty_log_is_shown(run: Run, work: Path) -> None:
    (work / "none.csv").write_text("user,item\n", encoding="utf-8")
    description = run("inspect", "none.csv", "--json").data
    assert (description["rows"], [column["first"] for column in description["columns"]]) == (0, [[], []])


def test_the_command_is_folded_for_copying(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    output = run("inspect", "visits.csv").out
    shown = output[output.index("  headcount release") : output.index("\nWithout a public list")]
    assert max(len(line) for line in shown.splitlines()) <= 80
    wanted = run("inspect", "visits.csv", "--json").data["command"]
    assert shlex.split(shown.replace("\\\n", " ")) == shlex.split(wanted)


def after(parts: list[str], flag: str) -> str:
    return parts[parts.index(flag) + 1]


def test_the_command_fits_a_log_with_empty_ids(run: Run, work: Path) -> None:
    (work / "gaps.csv").write_text("user,venue\na,1\n,2\nb,\n", encoding="utf-8")
    assert after(suggested(run, work, "gaps.csv"), "--user") == "user"


@pytest.mark.parametrize(
    ("dates", "pattern"),
    [
        (("01/12/2010 08:26", "13/12/2010 09:00"), "%d/%m/%Y %H:%M"),
        (("12/1/2010 8:26", "12/13/2010 9:00"), "%m/%d/%Y %H:%M"),
        (("01.12.2010",), "%d.%m.%Y"),
        (("2010/12/31 08:26:00",), "%Y/%m/%d %H:%M:%S"),
        (("12/1/2010 8:26 PM",), "%d/%m/%Y %I:%M %p"),
    ],
)
def test_the_command_says_how_dates_are_written(
    run: Run, work: Path, dates: tuple[str, ...], pattern: str
) -> None:
    """What tells days from months may come far below the rows that are shown; where nothing does, that is said."""
    rows = [*dates[:1] * 5, *dates[1:]]
    lines = ["InvoiceNo,StockCode,InvoiceDate,CustomerID", *(f"7,{n},{date},{n}" for n, date in enumerate(rows))]
    (work / "retail.csv").write_text("\n".join(lines), encoding="utf-8")
    parts = suggested(run, work, "retail.csv")
    assert [after(parts, flag) for flag in ("--user", "--item", "--time-format")] == [
        "CustomerID", "StockCode", pattern,
    ]  # fmt: skip
    doubtful = "nothing tells whether the day or the month" in " ".join(run("inspect", "retail.csv").out.split())
    assert doubtful == (len(dates) == 1 and pattern.startswith("%d/"))


@pytest.mark.parametrize(("delimiter", "flag"), [(";", ";"), ("\t", "\\t"), ("|", "|")])
@pytest.mark.parametrize("header", [True, False])
def test_the_command_names_the_delimiter(run: Run, work: Path, delimiter: str, flag: str, header: bool) -> None:
    rows = ["user;venue;price, paid", "a;1;3,50", "b;2;1,00"][0 if header else 1 :]
    (work / "odd.csv").write_text("\n".join(rows).replace(";", delimiter), encoding="utf-8")
    no_header = [] if header else ["--no-header"]
    parts = suggested(run, work, "odd.csv", *no_header)
    assert after(parts, "--delimiter") == flag
    assert after(parts, "--item") == ("venue" if header else "2")
    assert len(run("inspect", "odd.csv", *no_header, "--json").data["columns"]) == 3


@pytest.mark.parametrize("own", ["", "id"])
def test_the_command_fits_a_table_of_users(run: Run, work: Path, own: str) -> None:
    rows = ["age,job,sex,hours-per-week", "30,cook,F,40", "70,clerk,M,0"]
    rows = [f"{'id' if n == 0 else n},{row}" for n, row in enumerate(rows)] if own else rows
    (work / "people.csv").write_text("\n".join(rows), encoding="utf-8")
    parts = shlex.split(run("inspect", "people.csv", "--json").data["command"])
    assert parts[:2] == ["headcount", "query"]
    assert ("--user" in parts) == bool(own)
    refused = run(*parts[1:])
    assert refused.code == 2
    assert "bins.toml cannot be read" in refused.complaint or "queries.sql cannot be read" in refused.complaint
    shown = run("inspect", "people.csv").out
    for name, rest in (("bins.toml", "queries.sql"), ("queries.sql", "Then run")):
        example = shown[shown.index(f"  {name}\n") :].partition("\n")[2].partition(f"\n  {rest}")[0]
        (work / name).write_text(example.partition("\nThen")[0], encoding="utf-8")
    done = run(*parts[1:])
    assert done.code == 0, done.err
    output = " ".join(shown.split())
    assert "It looks like a table of people" in output
    assert "one row per person" in output or own
