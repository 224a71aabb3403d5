"""`headcount pack`: a store stands wherever EVENTS can, and says the same of its log."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import headcount as hc
from headcount.engines.local import pack
from tests.cli.conftest import FLAGS, SPEND, WEEKDAY, Run
from tests.cli.test_options import REQUESTS, request_in

PACK = ("pack", "visits.csv", *FLAGS)
SPENT = ("shares", "option", "research")  # of the release alone


@pytest.fixture
def store(run: Run, work: Path) -> Path:
    assert run(*PACK, *WEEKDAY, "--to", "store", "--quiet").code == 0
    return work / "store"


def explained(run: Run, folder: str) -> list[str]:
    return [line for line in run("explain", folder).out.splitlines() if "ledger" not in line]


@pytest.mark.parametrize("name", [name for name in REQUESTS if name not in SPENT])
def test_a_release_from_a_store_says_what_one_from_the_log_says(run: Run, work: Path, name: str) -> None:
    anew = ("--count", "--context-of", "--what")
    flags = REQUESTS[name]
    chosen = [argument for at in range(0, len(flags), 2) if flags[at] in anew for argument in flags[at : at + 2]]
    kept = [argument for at in range(0, len(flags), 2) if flags[at] != "--what" for argument in flags[at : at + 2]]
    assert run("release", "visits.csv", *FLAGS, *flags, *SPEND, "--out", "raw").code == 0
    assert run(*PACK, *kept, "--to", "store").code == 0
    done = run("release", "store", *chosen, *SPEND, "--out", "packed")
    assert done.code == 0, done.err
    assert request_in(work / "raw") == request_in(work / "packed")
    assert explained(run, "raw") == explained(run, "packed")
    raw, packed = hc.load("raw"), hc.load("packed")
    assert (raw.catalogue, raw.contexts) == (packed.catalogue, packed.contexts)
    for table in raw.tables:
        same = [column for column in ("item", "label", "context") if column in raw.tables[table].column_names]
        assert raw.tables[table].select(same) == packed.tables[table].select(same)


def test_json_tells_where_and_how_large(run: Run, work: Path) -> None:
    done = run(*PACK, "--to", "store", "--json", "--quiet")
    assert done.code == 0
    assert done.err == ""
    assert set(done.data) == {"store", "bytes", "seconds"}
    assert done.data["store"] == "store"
    assert done.data["bytes"] == sum(path.stat().st_size for path in (work / "store").iterdir())
    released = run("release", "store", *SPEND, "--out", "out", "--json")
    assert released.code == 0
    assert released.data["out"] == "out"


def test_pack_reports_to_the_curator(run: Run, work: Path) -> None:
    done = run(*PACK, *WEEKDAY, "--count", "users", "--to", "my store")
    assert done.code == 0
    assert done.out.startswith("4 records of 3 users, ")
    assert "1 record of items outside the catalogue was dropped" in done.err
    assert "1 record with a context outside its domain" in done.err
    assert "for the curator's eyes only" in done.err
    command = shlex.split(done.err.splitlines()[-1])
    assert command[:5] == ["headcount", "release", "my store", "--count", "users"]
    released = run(*command[1:])
    assert released.code == 0
    assert "1 record of items outside the catalogue was dropped" in released.err
    assert hc.load("release").counts == "users"


def test_inspect_says_what_it_is_and_what_to_do(run: Run, store: Path) -> None:
    result = run("inspect", "store")
    assert "a packed store, 4 records of 3 users" in result.out
    assert "weekday:time" in result.out
    data = run("inspect", "store", "--json").data
    assert (data["packed"], data["rows"], data["users"], data["items"]) == (True, 4, 3, 3)
    assert data["events"] == {"user": "user", "item": "venue", "context": "weekday:time"}
    assert [column_row["name"] for column_row in data["columns"]] == ["user", "venue", "time"]
    assert run(*shlex.split(data["command"])[1:], "--dry-run").code == 0
    assert run(*shlex.split(data["command"])[1:]).code == 0
    refused = run("inspect", "store", "--delimiter", ";")
    assert (refused.code, "packed already" in refused.complaint) == (2, True)


BAKED: dict[str, tuple[str, ...]] = {
    "--user": ("user",), "--item": ("venue",), "--items": ("venues.csv",), "--context": ("weekday:time",),
    "--contexts": ("F,M",), "--where": ("stars > 1",), "--since": ("2026-01-01",), "--until": ("2027-01-01",),
    "--time": ("time",), "--times": ("stars",), "--time-format": ("s",), "--timezone": ("UTC",),
    "--delimiter": (",",), "--encoding": ("latin-1",), "--no-header": (),
}  # fmt: skip


@pytest.mark.parametrize("flag", BAKED)
def test_what_is_packed_cannot_be_given_again(run: Run, store: Path, flag: str) -> None:
    done = run("release", "store", flag, *BAKED[flag], *SPEND, "--out", "out")
    assert done.code == 2
    assert done.complaint.startswith(f"{flag} cannot be given for store, which is packed already")
    assert not (store.parent / "out").exists()


@pytest.mark.parametrize("missing", ["--user", "--item", "--items"])
def test_raw_files_need_what_a_store_knows(run: Run, work: Path, missing: str) -> None:
    at = FLAGS.index(missing)
    done = run("pack", "visits.csv", *FLAGS[:at], *FLAGS[at + 2 :], "--to", "store")
    assert done.code == 2
    assert missing in done.complaint
    assert not (work / "store").exists()


BAD: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "no target": (PACK, ("--to", "--help")),
    "a target that exists": ((*PACK, "--to", "store"), ("store exists already", "--force")),
    "a target that is no store": ((*PACK, "--to", "venues.csv", "--force"), ("is not a store",)),
    "a target that is a folder of one's own": ((*PACK, "--to", "mine", "--force"), ("is not a store",)),
    "a target below a file": ((*PACK, "--to", "venues.csv/store"), ("is a file", "--to")),
    "a store": (("pack", "store", "--to", "other"), ("store is packed already",)),
    "a store and its flags": (("pack", "store", *FLAGS, "--to", "other"), ("packed already",)),
    "a store beside a file": (("pack", "store", "visits.csv", *FLAGS, "--to", "other"), ("give it alone",)),
    "an unknown column": ((*PACK, "--where", "star > 1", "--to", "other"), ("'star'", "'stars'")),
    "a flag of release": ((*PACK, "--epsilon", "1", "--to", "other"), ("--epsilon",)),
    "context of user without context": ((*PACK, "--context-of", "user", "--to", "other"), ("--context",)),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_sentence(run: Run, store: Path, name: str) -> None:
    arguments, words = BAD[name]
    (store.parent / "mine").mkdir()
    (store.parent / "mine" / "letter.txt").write_text("dear", encoding="utf-8")
    before = sorted(store.parent.rglob("*"))
    done = run(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    for word in words:
        assert word in done.complaint
    assert sorted(store.parent.rglob("*")) == before


def test_force_replaces_a_store(run: Run, store: Path) -> None:
    assert run(*PACK, "--to", "store", "--force").code == 0
    assert run("inspect", "store", "--json").data["events"] == {"user": "user", "item": "venue"}


def test_a_damaged_store_is_refused(run: Run, store: Path) -> None:
    data = (store / "cells.npy").read_bytes()
    (store / "cells.npy").write_bytes(data[:-1])
    for command in (("inspect", "store"), ("release", "store", *SPEND, "--out", "out")):
        done = run(*command)
        assert done.code == 2
        assert "store is damaged: cells.npy cannot be read" in done.complaint
        assert "pack it again" in done.complaint


def test_an_interrupt_leaves_nothing(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    before = sorted(work.iterdir())
    monkeypatch.setattr(pack, "_merged", interrupt)
    done = run(*PACK, "--to", "store")
    assert done.code == 130
    assert sorted(work.iterdir()) == before


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be locked there")
def test_a_killed_pack_leaves_nothing_that_the_next_one_does_not_remove(run: Run, work: Path) -> None:
    code = (
        "import os, signal; from headcount.engines.local import pack as packing; "
        "packing._merged = lambda *_: os.kill(os.getpid(), signal.SIGKILL); "
        f"from headcount.cli.main import run; run({[*PACK, '--to', 'store']!r})"
    )
    before = {*work.iterdir(), work / "store"}
    other = work / ".store.old.kept"  # may hold the previous store
    other.mkdir()
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    (left,) = {*work.iterdir()} - before - {other}
    assert left.name.startswith(".store.")
    assert run(*PACK, "--to", "store").code == 0
    assert {*work.iterdir()} == before | {other}


def test_a_full_disk_is_the_surroundings_fault(run: Run, work: Path, full_disk: Path) -> None:
    log = work / "long.csv"
    log.write_text("user,venue\n" + "".join(f"user-{n},tea\n" for n in range(20_000)), encoding="utf-8")
    done = run("pack", log, *FLAGS, "--to", full_disk / "store")
    assert done.code == 3
    assert "the disk is full; nothing was left behind" in done.complaint
    assert list(full_disk.iterdir()) == []


# --- --config -------------------------------------------------------------------------------------------------

TOML = """
[events]
user = "user"
item = "venue"
items = "venues.csv"
context = "sex,age"
contexts = { sex = ["F", "M"], age = "0-24,25+" }
where = "stars >= 1"
count = "users"

[release]
epsilon = 1
method = "sra"
limit = 3
"""


def test_one_file_serves_both_commands(run: Run, work: Path) -> None:
    """What it says of events is packed; said again in the same words it does no harm."""
    (work / "job.toml").write_text(TOML, encoding="utf-8")
    assert run("pack", "visits.csv", "--config", "job.toml", "--to", "store").code == 0
    done = run("release", "store", "--config", "job.toml", "--out", "a")
    assert done.code == 0, done.err
    assert run("release", "visits.csv", "--config", "job.toml", "--out", "b").code == 0
    assert request_in(work / "a") == request_in(work / "b")
    assert run("release", "store", "--config", "a", "--epsilon", "0.5", "--out", "c").code == 0
    assert request_in(work / "c")["events"] == request_in(work / "a")["events"]


@pytest.mark.parametrize(
    ("old", "new", "flag"),
    [
        ('"user"', '"sex"', "--user"),
        ('"sex,age"', '"age"', "--context"),
        ('["F", "M"]', '["F"]', "--context"),
        (">= 1", ">= 2", "--where"),
        ('"venues.csv"', '"tea"', "--items"),
        ('count = "users"', 'times = "stars"', "--times"),
    ],
)
def test_a_file_that_says_otherwise_is_refused(run: Run, work: Path, old: str, new: str, flag: str) -> None:
    (work / "job.toml").write_text(TOML, encoding="utf-8")
    assert run("pack", "visits.csv", "--config", "job.toml", "--to", "store").code == 0
    (work / "job.toml").write_text(TOML.replace(old, new, 1), encoding="utf-8")
    done = run("release", "store", "--config", "job.toml", "--out", "a")
    assert done.code == 2
    assert "packed already" in done.complaint
    assert flag in done.complaint
    assert not (work / "a").exists()


# --- in Python ------------------------------------------------------------------------------------------------


def test_the_same_in_python(work: Path) -> None:
    log = hc.read_events("visits.csv", user="user", item="venue", items="venues.csv", context=hc.weekday("time"))
    store = hc.pack(log, "store/")
    assert store == Path("store")
    assert json.loads((store / "store.json").read_text(encoding="utf-8"))["format"] == "headcount-store"
    with pytest.raises(hc.HeadcountError, match="exists already"):
        hc.pack(log, store)
    release = hc.release(hc.read_events(hc.pack(log, store, force=True)), epsilon=1, method="sra", limit=2)
    assert release.contexts == hc.release(log, epsilon=1, method="sra", limit=2).contexts
    with pytest.raises(hc.HeadcountError, match="must be an EventLog"):
        hc.pack("visits.csv", "other")  # type: ignore[arg-type]
