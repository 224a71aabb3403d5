"""``headcount compare``: what it measures, what it refuses, and that it says everywhere that it is not private."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headcount.errors import DataError
from headcount.methods.counts import FAMILY
from headcount.releases.release import load
from tests.cli.conftest import FLAGS, WEEKDAY, Run

METHODS = FAMILY.kinds()

COMPARE = ("compare", "visits.csv", *FLAGS)
SMALL = ("--methods", "sra,dpsense", "--epsilon", "1,2", "--limits", "1,2", "--runs", "2", "--processes", "1")
ALL = ("--epsilon", "1", "--limits", "2", "--runs", "2", "--processes", "1")


def test_it_compares_and_says_that_this_is_not_private(run: Run, work: Path) -> None:
    done = run(*COMPARE, *SMALL, "--report", "c.html", "--table", "c.parquet", "--plots", "plots")
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    assert done.out.count("Not private") == 3
    assert "For item counts, over all ε and errors together" in done.out
    page = (work / "c.html").read_text(encoding="utf-8")
    assert '<meta name="headcount-private" content="no' in page
    assert "<h2>Not private</h2>" in page
    assert "from released numbers alone" not in page
    marked = json.loads(pq.read_schema(work / "c.parquet").metadata[b"headcount"])
    assert marked["private"] is False
    assert marked["seed"] == 2015
    pictures = sorted(path.name for path in (work / "plots").iterdir())
    assert "items-mse-by-epsilon.svg" in pictures
    assert len(pictures) == 2 * 2 * 5
    svg = (work / "plots" / "items-mse-by-limit.svg").read_text(encoding="utf-8")
    assert "Not private" in svg
    assert (work / "plots" / "items-mse-by-limit.png").read_bytes().startswith(b"\x89PNG")
    assert not list(work.glob("*.parts"))


def test_the_table_has_a_row_for_every_setting_run_and_measure(run: Run, work: Path) -> None:
    done = run(*COMPARE, *SMALL, *WEEKDAY, "--json")
    assert done.code == 0
    assert done.data["private"] is False
    rows = done.data["table"]
    settings = {(row["method"], row["limit"], row["epsilon"], row["run"]) for row in rows}
    assert len(settings) == (2 + 1) * 2 * 2
    assert {(row["table"], row["metric"]) for row in rows} == {
        (table, metric) for table in ("items", "edges") for metric in ("MSE", "MAE", "MRE", "KL", "precision")
    }
    assert len(rows) == len(settings) * 10


def test_all_methods_run_without_research(run: Run, work: Path) -> None:
    done = run(*COMPARE, *ALL, "--json")
    assert done.code == 0, done.err
    rows = done.data["table"]
    assert {row["method"] for row in rows} == set(METHODS)
    assert [row["refused"] for row in rows if row["refused"]] == []


def test_what_refuses_is_shown_with_its_reason(run: Run, work: Path) -> None:
    limits = ("--methods", "sra,dpsense", "--limits", "2,3000000000", "--epsilon", "1", "--runs", "2")
    done = run(*COMPARE, *limits, "--processes", "1", "--report", "c.html", "--table", "c.parquet")
    assert done.code == 0, done.err
    page = (work / "c.html").read_text(encoding="utf-8")
    assert "What was refused" in page
    assert "sra, ε = 1 at limit 3,000,000,000" in page
    table = pq.read_table(work / "c.parquet")
    assert table.filter(pc.is_valid(table["refused"])).num_rows == 2


def test_a_packed_log_is_compared_as_it_is(run: Run, work: Path) -> None:
    assert run("pack", "visits.csv", *FLAGS, "--to", "store").code == 0
    before = sorted(path.name for path in (work / "store").iterdir())
    packed = run("compare", "store", *SMALL, "--json")
    raw = run(*COMPARE, *SMALL, "--json")
    assert packed.code == 0, packed.err
    values = [[row["value"] for row in result.data["table"]] for result in (packed, raw)]
    assert len(values[0]) == len(values[1])
    assert sorted(path.name for path in (work / "store").iterdir()) == before


def test_nothing_of_it_can_be_taken_for_a_release(run: Run, work: Path) -> None:
    assert run(*COMPARE, *SMALL, "--report", "out/c.html", "--table", "out/items.parquet").code == 0
    for path in ("out", "out/c.html", "out/items.parquet"):
        with pytest.raises(DataError):
            load(work / path)
    assert run("top", "out").code == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ((), "a comparison needs a place to go"),
        (("--json", "--methods", "sra,nope"), "method 'nope' is not known"),
        (("--json", "--methods", "sra,sra"), "without repetitions"),
        (("--json", "--methods", "sra,"), "list with commas"),
        (("--json", "--epsilon", "1,x"), "epsilon must be a positive number"),
        (("--json", "--limits", "0"), "limits must be a whole number"),
        (("--json", "--runs", "0"), "runs must be a whole number"),
        (("--json", "--seed", "-1"), "seed must be a whole number"),
        (("--report", "venues.csv"), "venues.csv exists already"),
        (("--plots", "venues.csv"), "venues.csv is a file"),
        (("--report", "."), "is a folder"),
        (("--json", "--value", "stars", "--value-range", "1,5"), "--value is of no use here"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(
    run: Run, work: Path, flags: tuple[str, ...], message: str
) -> None:
    done = run(*COMPARE, *flags)
    assert done.code == 2
    assert message in done.err


def test_flags_come_from_a_file_that_releases_share(run: Run, work: Path) -> None:
    (work / "flags.toml").write_text(
        '[events]\nuser = "user"\nitem = "venue"\nitems = "venues.csv"\n'
        '[release]\nepsilon = 1\nmethod = "hpa"\nlimit = 3\n'
        '[compare]\nmethods = "sra"\nepsilon = "2"\nlimits = "1,2"\nruns = 2\nprocesses = 1\n'
    )
    done = run("compare", "visits.csv", "--config", "flags.toml", "--json")
    assert done.code == 0, done.err
    assert {(row["method"], row["epsilon"], row["limit"]) for row in done.data["table"]} == {
        ("sra", 2.0, 1),
        ("sra", 2.0, 2),
    }


def test_items_to_be_selected_are_refused_for_counts(run: Run, work: Path) -> None:
    done = run("compare", "visits.csv", "--user", "user", "--item", "venue", "--select-items", "--json")
    assert done.code == 2
    assert "list the items" in done.err
    assert "--what selection" in done.err


RANKINGS = ("--what", "rankings", "-k", "1,2", "--methods", "sra", "--limits", "1,2", "--epsilon", "0.5,1")
FEW = ("--runs", "2", "--processes", "1")


def test_rankings_are_compared(run: Run, work: Path) -> None:
    done = run(*COMPARE, *WEEKDAY, *RANKINGS, *FEW, "--report", "c.html", "--table", "c.parquet")
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    assert "Precision of the top 2 of the items of each context" in done.out
    assert "Of the 2 items that most people have, at ε = 1:" in done.out
    page = (work / "c.html").read_text(encoding="utf-8")
    assert "<h2>Not private</h2>" in page
    assert "Top-1 precision" in page
    assert "All items: what finds the top" in page
    assert json.loads(pq.read_schema(work / "c.parquet").metadata[b"headcount"])["what"] == "rankings"
    assert {row["label"] for row in pq.read_table(work / "c.parquet").to_pylist()} == {"rank", "peeling", "sra"}
    for figure in ("items-precision-2-by-epsilon", "edges-precision-1-by-limit"):
        assert f'data-file="{figure}.csv"' in page


def test_selection_is_compared_without_a_catalogue(run: Run, work: Path) -> None:
    raw = ("compare", "visits.csv", "--user", "user", "--item", "venue", "--what", "selection")
    arguments = ("--shares", "0.3", "--delta", "1e-3,0.1", "--limits", "1", "--epsilon", "9", *FEW)
    shown = run(*raw, *arguments)
    assert shown.code == 0, shown.err
    assert "Number of selected items" in shown.out
    assert "At ε = 9, 0.3 of ε, δ 0.1:" in shown.out
    done = run(*raw, *arguments, "--json", "--select-items")
    assert (done.code, done.data["what"], done.data["private"]) == (0, "selection", False)
    assert {row["metric"] for row in done.data["table"]} == {"selected", "covered"}
    page = run(*raw, *arguments, "--report", "s.html")
    assert page.code == 0, page.err
    assert "Items that nobody has are never selected" in (work / "s.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("-k", "3"), "-k is of no use with --what counts; it is for --what rankings"),
        (("--what", "rankings", "--shares", "0.2"), "--shares is of no use with --what rankings"),
        (("--what", "selection", "--methods", "sra"), "--methods is of no use with --what selection"),
        (("--what", "selection"), "nothing is selected where the items are listed"),
        (("--what", "rankings", "-k", "1,x"), "k must be a whole number"),
        (("--what", "rankings", "-k", "1,"), "-k must be a list with commas"),
    ],
)
def test_what_a_comparison_has_no_use_for_is_refused(
    run: Run, work: Path, flags: tuple[str, ...], message: str
) -> None:
    done = run(*COMPARE, *flags, "--json")
    assert done.code == 2
    assert message in done.err


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_keeps_what_is_done(run: Run, work: Path, program: Callable[..., subprocess.Popen[bytes]]) -> None:
    """The code is 130, and a second call goes on to the same numbers as an undisturbed one."""
    many = ("--methods", "sra,hpa", "--epsilon", "1", "--limits", "1,2", "--runs", "60", "--table", "t.parquet")
    with program(*COMPARE, *many, "--processes", "1") as process:
        parts, deadline = work / "t.parquet.parts", time.monotonic() + 60
        while len(list(parts.glob("*.parquet"))) < 5 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr is not None
        assert b"give the same command again" in process.stderr.read()
    kept = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    assert len(kept) >= 5
    assert "stores" not in kept
    assert run(*COMPARE, *many, "--processes", "1").code == 0
    assert not parts.exists()
    fresh = run(*COMPARE, *many, "--processes", "1", "--table", "other.parquet")
    assert fresh.code == 0
    tables = [pq.read_table(work / name).drop_columns(["seconds"]) for name in ("t.parquet", "other.parquet")]
    assert tables[0].equals(tables[1])
