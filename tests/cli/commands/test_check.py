"""`headcount check`: what of a log would not be counted, told to the curator alone, with an exit code."""

from __future__ import annotations

import gzip
import json
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import python
from headcount.events.inspect.scan import scan
from headcount.run.withhold import WithheldError
from tests.cli.conftest import FLAGS, RELEASE, Run

HOSTILE: list[tuple[bytes | None, bytes | None, bytes | None, bytes | None]] = [
    (b"ann", b"tea", b"2026-03-06T10:00:00", b"1"),
    (b"ann", b"tea", b"2026-03-06T10:00:00Z", b"2"),
    (b"bob", b"rye", b"soon", b"1"),
    (b"bob", b"rye", None, b"1"),
    (None, b"tea", b"2026-03-06", b"1"),
    (b"caf\xe9", b"tea", b"2026-03-06", b"1"),
    (b"cyn", None, b"2026-03-06", b"1"),
    (b"cyn", b"tee", b"2026-03-06", b"3"),
    (b"cyn", b"tea", b"2026-03-06", b"many"),
    (b"cyn", b"tea", b"2026-03-06", b"0"),
    ("🦊".encode(), b"rye", b"99999-01-01", b"1"),
]
NAMES = ("user", "venue", "time", "n")
READ = (*FLAGS, "--context", "weekday:time", "--times", "n")


def as_csv(broken: bool = False) -> bytes:
    lines = [b",".join(value or b"" for value in row) for row in HOSTILE]
    lines += [b'dan,"tea,2026-03-06,1', b"dan,tea"] if broken else []
    return b"\n".join([b",".join(name.encode() for name in NAMES), *lines, b""])


def as_json_lines(broken: bool = False) -> bytes:
    lines = []
    for row in HOSTILE:
        named = zip(NAMES, row, strict=True)
        members = [b'"%s": "%s"' % (name.encode(), value) for name, value in named if value is not None]
        lines.append(b"{" + b", ".join(members) + b"}")
    lines += [b'{"user": "dan", "venue"', b"[1, 2]"] if broken else []
    return b"\n".join([*lines, b""])


def write_parquet(path: Path) -> None:
    columns = (pa.array(values, pa.binary()).view(pa.string()) for values in zip(*HOSTILE, strict=True))
    pq.write_table(pa.table(dict(zip(NAMES, columns, strict=True))), path)


@pytest.fixture
def hostile(work: Path) -> Path:
    (work / "log.csv").write_bytes(as_csv())
    (work / "log.jsonl").write_bytes(as_json_lines())
    (work / "log.csv.gz").write_bytes(gzip.compress(as_csv()))
    write_parquet(work / "log.parquet")
    return work


def numbers(report: Any) -> list[tuple[str, str, int]]:
    return [
        (problem["role"], problem["what"], problem.get("rows", problem.get("records")))
        for problem in report["problems"]
    ]


LOST = [
    ("user", "no user in column 'user'", 1),
    ("user", "a user that is no text, in column 'user'", 1),
    ("item", "no item in column 'venue'", 1),
    ("times", "no number of records in column 'n' (--times)", 1),
    ("item", "an item outside the catalogue", 3),
    ("context", "no time in column 'time', so the weekday is unknown", 1),
    ("context", "no time that can be read in column 'time', so the weekday is unknown", 2),
]


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.csv.gz", "log.parquet"])
def test_what_is_lost_is_the_same_in_every_format(run: Run, hostile: Path, name: str) -> None:
    done = run("check", name, *READ, "--json")
    assert done.code == 1
    assert done.err == ""
    report = done.data
    assert (report["rows"], report["records"], report["people"]) == (11, 6, 3)
    assert numbers(report) == LOST
    examples = {
        problem["what"]: [example["text"] for example in problem["examples"]] for problem in report["problems"]
    }
    assert examples["a user that is no text, in column 'user'"] == ["caf\\xe9"]
    assert examples["no number of records in column 'n' (--times)"] == ["many"]
    assert examples["an item outside the catalogue"] == ["tee"]
    assert set(examples["no time that can be read in column 'time', so the weekday is unknown"]) == {
        "soon", "99999-01-01",
    }  # fmt: skip
    assert report["repeats"] == {"records": 3, "share": 0.5, "share_of_people": 1.0}


def test_a_store_reports_problems_recorded_at_packing(run: Run, hostile: Path) -> None:
    assert run("pack", "log.csv", *READ, "--to", "log.store", "--quiet").code == 0
    done = run("check", "log.store", "--json")
    assert done.code == 1
    raw = run("check", "log.csv", *READ, "--json").data
    same = ("rows", "records", "people", "repeats", "activity", "contexts_without_records")
    assert {name: done.data[name] for name in same} == {name: raw[name] for name in same}
    assert [(role, number) for role, _, number in numbers(done.data)] == [
        ("user", 2), ("item", 1), ("times", 1), ("item", 1), ("context", 3),
    ]  # fmt: skip
    assert "Raw data, for the curator's eyes only." in run("check", "log.store").out


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_malformed_lines_say_neither_who_nor_what(run: Run, work: Path, name: str) -> None:
    (work / name).write_bytes(as_csv(broken=True) if name == "log.csv" else as_json_lines(broken=True))
    report = run("check", name, *READ, "--json").data
    assert report["rows"] == 13
    assert numbers(report)[0] == ("user", "no user in column 'user'", 3)
    assert ("item", "no item in column 'venue'", 3) in numbers(report)
    assert report["hints"] == ["2 rows without user and item: a line that is damaged or malformed looks like that"]


CLEAN = "user,venue,time\nann,tea,2026-03-06\nann,rye,2026-03-07\nbob,tea,2026-03-06\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_log_that_counts_in_full_exits_with_0(run: Run, work: Path, packed: bool) -> None:
    (work / "clean.csv").write_text(CLEAN, encoding="utf-8")
    events: tuple[str, ...] = ("clean.csv", *FLAGS, "--context", "weekday:time")
    if packed:
        assert run("pack", *events, "--to", "clean.store", "--quiet").code == 0
        events = ("clean.store",)
    done = run("check", *events)
    assert done.code == 0
    assert done.err == ""
    assert "Everything counts: 3 records of 2 people." in done.out
    assert "each person has an item once: --count users is more accurate" in done.out
    assert run("check", *events, "--json").data["all_counts"] is True
    assert run("check", *events, "--count", "users", "--json").data["hints"] == []


def test_what_a_condition_leaves_out_is_no_problem_but_what_it_cannot_read_is(run: Run, work: Path) -> None:
    (work / "log.csv").write_text("user,venue,stars\nann,tea,5\nbob,tea,1\n", encoding="utf-8")
    done = run("check", "log.csv", *FLAGS, "--where", "stars >= 3")
    assert done.code == 0
    assert "1 row does not fulfil the conditions." in done.out
    (work / "log.csv").write_text("user,venue,stars\nann,tea,5\nbob,tea,lots\n", encoding="utf-8")
    done = run("check", "log.csv", *FLAGS, "--where", "stars >= 3")
    assert done.code == 1
    assert "nothing to compare in column 'stars' (stars >= 3): 'lots'" in done.out
    since = ("--time", "stars", "--since", "2026-01-01")
    assert "no time that can be read in column 'stars'" in run("check", "log.csv", *FLAGS, *since).out


def test_a_forgotten_flag_shows(run: Run, work: Path) -> None:
    (work / "app.jsonl").write_text('{"user": "ann", "item": "tea", "at": 1772821800}\n' * 3, encoding="utf-8")
    read = ("app.jsonl", "--item", "item", "--items", "tea,rye", "--context", "hour:at")
    done = run("check", *read, "--user", "user")
    assert done.code == 1
    assert "'1772821800'; see --time-format" in " ".join(done.out.split())
    assert run("check", *read, "--user", "user", "--time-format", "s").code == 0
    done = run("check", *read, "--user", "usr", "--time-format", "s")
    assert done.code == 1
    assert "no row has such a column: did you mean 'user'? (there are: 'user', 'item', 'at')" in " ".join(
        done.out.split()
    )


def test_values_and_selection_and_no_catalogue(run: Run, work: Path) -> None:
    read = ("check", "visits.csv", "--user", "user", "--item", "venue")
    report = run(*read, "--value", "stars", "--value-range", "2,4", "--json").data
    assert report["values_cut"] == {"below": 1, "above": 1}
    assert "--what totals" in report["hints"][-1]
    selected = run(*read, "--select-items")
    assert (selected.code, "Everything counts: 5 records of 3 people." in selected.out) == (0, True)


def test_it_is_marked_and_refuses_a_ledger(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = run("check", "visits.csv", *FLAGS, "--ledger", "sqlite:///headcount.db")
    assert refused.code == 2
    assert "for the curator alone: it tells exact numbers" in refused.complaint
    assert not (work / "headcount.db").exists()
    monkeypatch.setenv("HEADCOUNT_LEDGER", "sqlite:///headcount.db")
    done = run("check", "visits.csv", *FLAGS)
    assert "Raw data, for the curator's eyes only." in done.out
    assert not (work / "headcount.db").exists()
    assert run("check", "visits.csv", *FLAGS, "--json").data["for"] == "the curator's eyes only"


def test_flags_that_spend_are_refused_together(run: Run, work: Path) -> None:
    refused = run(
        *("check" if argument == "release" else argument for argument in RELEASE), "--out", "a", "--again"
    )
    assert refused.code == 2
    assert "no use for --epsilon, --method, --limit, --out, --again" in refused.complaint
    assert "--epsilon" not in run("check", "--help").out


def test_a_configuration_may_be_shared_with_a_release(run: Run, work: Path) -> None:
    text = '[events]\nuser = "user"\nitem = "venue"\nitems = "venues.csv"\n[release]\nepsilon = "1"\n'
    (work / "weekly.toml").write_text(text, encoding="utf-8")
    shared, given = run("check", "visits.csv", "--config", "weekly.toml"), run("check", "visits.csv", *FLAGS)
    assert (shared.out, shared.code) == (given.out, given.code)


def test_python_has_the_same(run: Run, hostile: Path) -> None:
    words = {"user": "user", "item": "venue", "items": "venues.csv", "context": "weekday:time", "times": "n"}
    log = hc.read_events("log.csv", **words)  # type: ignore[arg-type]
    assert scan(log).to_json() == run("check", "log.csv", *READ, "--json").data
    report = hc.check(log)
    assert report == scan(log, surface=python)  # but for flags, which are keywords there
    assert not report.all_counts
    with pytest.raises(hc.HeadcountError, match="log must be an EventLog"):
        hc.check("log.csv")  # type: ignore[arg-type]


def test_a_narrow_terminal_is_enough_and_raw_values_do_not_steer_it(
    run: Run, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    rows = [{"user": n, "venue": item} for n, item in enumerate(["\x1b[31mred", "x" * 500, "a\nb", "tea"])]
    (work / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = run("check", "log.jsonl", *FLAGS)
    assert max(len(line) for line in done.out.splitlines()) <= 80
    assert "\x1b" not in done.out
    assert "xxx…" in done.out


# Who points to it, and who is told what


def test_inspect_shows_a_check_that_runs(run: Run, work: Path) -> None:
    output = run("inspect", "visits.csv").out
    shown = output[output.index("  headcount check") : output.index("which shows you alone")]
    parts = shlex.split(shown.replace("\\\n", " "))
    (work / "catalogue.csv").write_text("id\ntea\nrye\n", encoding="utf-8")
    assert run(*parts[1:]).code == 1
    assert run("pack", "visits.csv", *FLAGS, "--to", "v.store", "--quiet").code == 0
    assert "  headcount check v.store\n" in run("inspect", "v.store").out


def test_a_dry_run_and_a_withheld_error_point_to_it(run: Run, work: Path) -> None:
    words = "`headcount check`, with the same event flags, shows the curator alone what would not be counted"
    assert words in " ".join(run(*RELEASE, "--dry-run").out.split())
    assert "headcount check" not in run(*RELEASE, "--dry-run", "--json").out
    assert "`headcount check`, with the same flags" in str(WithheldError())


def test_without_a_ledger_dropped_rows_are_reported_per_column(run: Run, work: Path) -> None:
    (work / "log.csv").write_text(
        "user,venue,n,stars\nann,tea,1,5\nbob,tea,lots,five\nbob,tea,1,2\n", encoding="utf-8"
    )
    read = ("release", "log.csv", *FLAGS, "--epsilon", "1", "--limit", "2")
    times = run(*read, "--method", "sra", "--times", "n", "--out", "a")
    assert "For the curator only: 1 record for which column 'n' says no number was dropped." in times.err
    value = run(*read, "--what", "totals", "--value", "stars", "--value-range", "1,5", "--out", "b")
    assert "1 record for which column 'stars' says no number was dropped." in value.err
    fit = ("neighbours", "fit", "log.csv", *FLAGS, "--value", "stars", "--value-range", "1,5")
    fitted = run(*fit, "--epsilon", "1", "--delta", "1e-6", "--out", "c")
    assert fitted.code == 0, fitted.err
    for done in (times, value, fitted):
        assert "says no number was dropped" in done.err
        assert "without user or item" not in done.err
        assert "`headcount check`, with the same event flags, shows more." in done.err


def test_a_model_of_pairs_tells_the_curator_too(run: Run, work: Path) -> None:
    fit = ("neighbours", "fit", "visits.csv", *FLAGS, "--method", "co-counts", "--epsilon", "1", "--out", "m")
    assert "1 record of items outside the catalogue was dropped." in run(*fit).err


def test_with_a_ledger_dropped_rows_are_not_reported(
    run: Run, hostile: Path, own_keys: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADCOUNT_LEDGER", "sqlite:///headcount.db")
    assert run("ledger", "create", "--dataset", "visits", "--epsilon", "9").code == 0
    (hostile / "clean.csv").write_text(
        CLEAN.replace("time\n", "time,n\n").replace("6\n", "6,1\n").replace("7\n", "7,1\n")
    )
    spend = ("--epsilon", "1", "--method", "sra", "--limit", "2", "--dataset")
    outputs = []
    for version, log in enumerate(("log.csv", "clean.csv")):
        done = run("release", log, *READ, *spend, f"visits@{version}", "--out", f"out{version}")
        assert done.code == 0, done.err
        outputs.append(
            (done.out + done.err).replace(f"out{version}", "out").replace(f"@{version}", "").split("entry")[0]
        )
    assert outputs[0] == outputs[1]
    assert "curator" not in outputs[0]
