"""Bad input gets a clear error and loses nothing: exit 2, one sentence that names the culprit and the remedy."""

from __future__ import annotations

import gzip
import os
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import FLAGS, RELEASE, SPEND, WEEKDAY, Run

Prepare = Callable[[Path], object]


def _write(name: str, text: str) -> Prepare:
    return lambda work: (work / name).write_text(text, encoding="utf-8")


def _nothing(work: Path) -> None:
    pass


def _truncated_parquet(work: Path) -> None:
    table = pa.table({"user": [f"u{n}" for n in range(5000)], "venue": ["tea"] * 5000})
    pq.write_table(table, work / "whole.parquet")
    data = (work / "whole.parquet").read_bytes()
    (work / "bad.parquet").write_bytes(data[: len(data) // 2])


def _truncated_gzip(work: Path) -> None:
    data = gzip.compress("".join(["user,venue\n", *(f"u{n * 7919},tea\n" for n in range(90000))]).encode())
    (work / "bad.csv.gz").write_bytes(data[: len(data) // 2])


def _numbers(work: Path) -> None:
    pq.write_table(pa.table({"user": [1, 2], "venue": [10, 11], "time": [5, 6]}), work / "numbers.parquet")


def _two_types(work: Path) -> None:
    (work / "both").mkdir()
    pq.write_table(pa.table({"user": ["a"], "venue": ["tea"]}), work / "both" / "a.parquet")
    pq.write_table(pa.table({"user": ["a"], "venue": [3]}), work / "both" / "b.parquet")


REFUSED: dict[str, tuple[str, ...]] = {
    "--user usr": ("'usr'", "did you mean 'user'", "visits.csv"),
    "--item venu": ("'venu'", "did you mean 'venue'"),
    "--context weekday:tme": ("'tme'", "'time'"),
    "--where 'star > 1'": ("'star'", "'stars'"),
    "--items venue.csv": ("venue.csv", "does not exist", "--items"),
    "--items venues.csv:venu": ("'venu'", "'venue'"),
    "--context weekday:time --timezone Mars/North": ("'Mars/North'", "Europe/Zurich"),
    "--context sex": ("'sex'", "--contexts"),
    "--where stars": ("'stars'", "COL OP VALUE"),
    "--since 2026-01-01": ("--time COL",),
    "--epsilon 0": ("epsilon", "'0'", "for example"),
    "--epsilon '٣'": ("epsilon", "'٣'"),
    "--delta 1e-1_0": ("delta", "'1e-1_0'"),
    "--limit '٣'": ("limit", "'٣'"),
    "--limit 1_0": ("limit", "'1_0'"),
    "--shares items=1_0": ("items", "'1_0'"),
    "--threads 1_0": ("--threads", "'1_0'"),
    "--limit 0": ("limit", "at least 1", "'0'", "--limit 10"),
    "--limit -3": ("limit", "'-3'"),
    "--limit 1.5": ("limit", "'1.5'"),
    "--limit '²'": ("limit", "'²'"),
    "--limit +-3": ("limit", "'+-3'"),
    "--shares items=0": ("share of items", "'0'"),
    "--limit 9999999999999999999999999": ("limit", "9999999999999999999999999"),
    "--delta 1": ("delta", "'1'", "between 0 and 1"),
    "--delta 1e-6": ("--delta", "leave it out"),
    "--noise gaussian": ("gaussian", "--delta 1e-6"),
    "--method fpa --noise gaussian --delta 1e-6": ("method fpa has no gaussian noise", "lpa, sra, hpa"),
    "--method hpaa": ("'hpaa'", "did you mean 'hpa'"),
    "--method lpa-published --research": ("lpa-published", "cannot use limit"),
    "--option d=3": ("sra", "cannot use d", "limit"),
    "--at-most 9": ("sra", "cannot use at_most", "limit"),
    "--option shares=1": ("shares", "use --shares"),
    "--option d": ("--option", "NAME=VALUE", "'d'"),
    "--method hpa --option d=x": ("d ", "'x'"),
    "--context weekday:time --shares items=0.5,edges=0.4": ("sum to 1", "'0.9'", "--shares"),
    "--context weekday:time --shares items=0.5,scores=0.5": ("items, edges", "scores"),
    "--shares 0.5,0.5": ("--shares", "NAME=VALUE", "'0.5'"),
    "--shares items=0.5,items=0.5": ("items twice",),
    "--what edges": ("edges needs a context", "--context"),
    "--context-of user": ("--context",),
    "--what all": ("--what", "'all'", "items"),
    "--limt 3": ("--limt", "did you mean --limit?"),
    "--zzz": ("--zzz", "headcount release --help"),
    "--out visits.csv/out": ("is a file", "--out"),
    "--config x.toml": ("x.toml", "does not exist"),
    "--ledger sqlite:///x": ("a ledger needs --dataset",),
}  # fmt: skip
"""Flags beside those of a release, and words of the sentence that refuses them."""


CASES: dict[str, tuple[Prepare, tuple[str, ...], tuple[str, ...]]] = {
    "no such file": (_nothing, ("release", "visit.csv", *FLAGS, *SPEND), ("visit.csv", "does not exist")),
    "no such glob": (_nothing, ("release", "no*.csv", *FLAGS, *SPEND), ("no*.csv", "check the path")),
    "unreadable parquet": (
        _write("bad.parquet", "this is not parquet"),
        ("release", "bad.parquet", *FLAGS, *SPEND),
        ("bad.parquet", "cannot be read"),
    ),
    "truncated parquet": (
        _truncated_parquet,
        ("release", "bad.parquet", *FLAGS, *SPEND),
        ("bad.parquet", "cannot be read"),
    ),
    "truncated gzip": (_truncated_gzip, ("release", "bad.csv.gz", *FLAGS, *SPEND), ("bad.csv.gz",)),
    "a header that is not utf-8": (
        lambda work: (work / "visits.csv").write_bytes(b"user,caf\xe9\nann,tea\n"),
        RELEASE,
        ("visits.csv", "--encoding"),
    ),
    "mixed types over files": (_two_types, ("release", "both", *FLAGS, *SPEND), ("'venue'", "of both", "another")),
    "no known format": (
        _write("visits.xyz", "x"),
        ("release", "visits.xyz", *FLAGS, *SPEND),
        ("visits.xyz", ".parquet"),
    ),
    "duplicate catalogue entry": (_write("venues.csv", "venue\ntea\nrye\ntea\n"), RELEASE, ("'tea' twice",)),
    "empty catalogue": (_write("venues.csv", "venue\n"), RELEASE, ("venues.csv", "is empty", "at least one")),
    "empty text catalogue": (_write("v.txt", ""), (*RELEASE, "--items", "v.txt"), ("v.txt", "is empty")),
    "no catalogue": (
        _nothing,
        ("release", "visits.csv", "--user", "user", "--item", "venue", *SPEND, "--out", "out"),
        ("no catalogue", "--items FILE"),
    ),
    "catalogue id that cannot be cast": (
        _numbers,
        ("release", "numbers.parquet", "--user", "user", "--item", "venue", "--items", "10,tea", *SPEND),
        ("'tea'", "'venue'", "whole numbers"),
    ),
    "context that cannot be cast": (
        _numbers,
        (
            "release",
            "numbers.parquet",
            *FLAGS[:4],
            "--items",
            "10",
            "--context",
            "time",
            "--contexts",
            "a",
            *SPEND,
        ),
        ("'time'", "--contexts"),
    ),
    "bare number as time": (
        _numbers,
        ("release", "numbers.parquet", *FLAGS[:4], "--items", "10", *WEEKDAY, *SPEND),
        ("'time'", "--time-format"),
    ),
    "no limit": (
        _nothing,
        ("release", "visits.csv", *FLAGS, "--epsilon", "1", "--method", "sra", "--out", "out"),
        ("needs --limit", "--limit 10"),
    ),
    "missing required option": (
        _nothing,
        ("release", "visits.csv", "--item", "venue", "--out", "out"),
        ("'--user'", "--help"),
    ),
    "no events": (_nothing, ("release", *FLAGS, *SPEND), ("EVENTS",)),
    **{flags: (_nothing, (*RELEASE, *shlex.split(flags)), words) for flags, words in REFUSED.items()},
}


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_in_one_sentence(run: Run, work: Path, name: str) -> None:
    prepare, arguments, words = CASES[name]
    prepare(work)
    out = () if "--out" in arguments else ("--out", "out")
    before = sorted(work.iterdir())
    done = run(*arguments, *out)
    assert done.code == 2, done.err
    assert done.out == ""
    for word in words:
        assert word in done.complaint
    assert sorted(work.iterdir()) == before, "something was written"

    as_data = run(*arguments, *out, "--json")
    assert as_data.code == 2
    assert set(as_data.data) == {"error", "problem", "given", "remedy", "message"}
    assert as_data.data["message"] == done.complaint


def test_no_folder_is_given(run: Run, work: Path) -> None:
    done = run(*RELEASE)
    assert done.code == 2
    assert "--out DIR" in done.complaint
    assert run(*RELEASE, "--out", "").code == 2


NOT_COUNTED = {
    "nobody": (b"user,venue\nann,tea\n,tea\n", "1 record without user or item was dropped"),
    "a row that is cut off": (b"user,venue\nann,tea\nbob\n", "records without user or item were dropped"),
    "no text": (b"user,venue\nann,tea\nbob,caf\xe9\n", "1 record without user or item was dropped"),
    "an open quote": (b'user,venue\nann,tea\nbob,"tea\n', "records without user or item were dropped"),
}


@pytest.mark.parametrize("name", NOT_COUNTED)
@pytest.mark.parametrize("more", [(), ("--drop-nulls",)], ids=["", "flag"])
def test_unreadable_rows_are_dropped_and_reported_to_the_curator(
    run: Run, work: Path, name: str, more: tuple[str, ...]
) -> None:
    content, words = NOT_COUNTED[name]
    (work / "visits.csv").write_bytes(content)
    done = run(*RELEASE, *more, "--out", "out")
    assert done.code == 0
    assert words in done.err or "1 record without user or item was dropped" in done.err
    assert "headcount check" in done.err


def test_a_time_that_cannot_be_read_is_unknown(run: Run, work: Path) -> None:
    (work / "visits.csv").write_text("user,venue,time\nann,tea,yesterday\n", encoding="utf-8")
    done = run(*RELEASE, *WEEKDAY, "--out", "out")
    assert done.code == 0
    assert "or that cannot be read, was counted as unknown" in " ".join(done.err.split())


READING: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no such release": (("top", "nowhere"), ("nowhere", "release.json is missing")),
    "a file": (("top", "visits.csv"), ("visits.csv", "is a file")),
    "an unknown context": (("top", "made", "--context", "Fridy"), ("'Fridy'", "did you mean 'Friday'")),
    "no such count": (("top", "made", "-k", "0"), ("k must be", "0")),
    "other digits for k": (("top", "made", "-k", "٣"), ("-k", "'٣'", "0 to 9")),
    "sheets for a file": (("export", "made", "--to", "x.csv"), ("x.csv names a file", "--to sheets")),
    "text for k": (("top", "made", "-k", "x"), ("-k", "'x'")),
    "two formats": (("top", "made", "--json", "--format", "csv"), ("--format csv", "give one")),
    "no context to recommend for": (("recommend", "made"), ("--context",)),
    "a page that exists": (("report", "made", "--to", "visits.csv"), ("visits.csv", "--force")),
    "a page that is a folder": (("report", "made", "--to", "made"), ("made is a folder", "report.html")),
    "sheets onto a file": (("export", "made", "--to", "visits.csv"), ("visits.csv is a file", "folder")),
    "an unknown sheet": (("export", "made", "--to", "s", "--format", "ods"), ("'ods'", "xlsx")),
    "a demo onto a file": (("demo", "--out", "visits.csv"), ("visits.csv is a file", "--out")),
    "a demo among other things": (("demo", "--out", "made"), ("made exists", "--out")),
    "a command": (("relese", "x"), ("'relese'", "did you mean 'release'")),
    "inspect nothing": (("inspect", "nowhere.csv"), ("nowhere.csv", "does not exist")),
}


@pytest.mark.parametrize("name", READING)
def test_reading_refuses_in_one_sentence(run: Run, release_folder: Path, name: str) -> None:
    arguments, words = READING[name]
    before = {path: path.read_bytes() for path in release_folder.parent.rglob("*") if path.is_file()}
    done = run(*arguments)
    assert done.code == 2
    assert "--json" in arguments or done.out == ""
    for word in words:
        assert word in done.complaint
    assert before == {path: path.read_bytes() for path in release_folder.parent.rglob("*") if path.is_file()}


def test_a_damaged_release_is_refused(run: Run, release_folder: Path) -> None:
    (release_folder / "items.parquet").write_bytes(b"PAR1 and then nothing")
    done = run("top", release_folder)
    assert done.code == 2
    assert "is damaged" in done.complaint
    (release_folder / "release.json").write_text("{", encoding="utf-8")
    assert "is damaged" in run("explain", release_folder).complaint


def test_items_are_not_shown_where_only_edges_were_released(run: Run, work: Path) -> None:
    assert run(*RELEASE, *WEEKDAY, "--what", "edges", "--out", "edges").code == 0
    done = run("top", "edges")
    assert done.code == 2
    assert "holds no items" in done.complaint
    assert run("top", "edges", "--context", "Friday").code == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("place", ["events", "folder of events", "catalogue", "list", "ledger", "key", "anchor"])
def test_a_pipe_in_place_of_a_file_is_refused_at_once(
    program: Callable[..., subprocess.Popen[bytes]], work: Path, place: str
) -> None:
    """Opening it would wait for a writer, for ever."""
    for name in ("pipe.csv", "pipe"):
        os.mkfifo(work / name)
    flags = {"user": "user", "item": "venue", "items": "venues.csv", "epsilon": "1", "method": "sra", "limit": "2"}
    events, named = "visits.csv", dict[str, str]()
    if place in ("events", "folder of events"):
        events = "pipe.csv" if place == "events" else "pip*.csv"
    elif place in ("catalogue", "list"):
        flags["items"] = "pipe.csv:venue" if place == "catalogue" else "pipe"  # not an item of that name
    else:
        flags |= {"ledger": "sqlite:///pipe" if place == "ledger" else "sqlite:///new.db", "dataset": "visits"}
        named = {} if place == "ledger" else {f"HEADCOUNT_LEDGER_{place.upper()}": "pipe"}
    command = [
        "release",
        events,
        *(part for name, value in flags.items() for part in (f"--{name}", value)),
        "--out",
        "out",
    ]
    if place in ("key", "anchor"):
        command = ["ledger", "create", "--ledger", "sqlite:///new.db", "--dataset", "visits", "--epsilon", "1"]
        if place == "anchor":
            named["HEADCOUNT_LEDGER_KEY"] = "new.key"
    _, err = program(*command, cwd=work, env=named).communicate(timeout=30)
    assert b"pipe" in err
    assert b"is a pipe, a socket or a device; give a regular file" in b" ".join(err.split())
