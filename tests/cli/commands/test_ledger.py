"""Charged commands and ``headcount ledger``, end to end on a SQLite file."""

from __future__ import annotations

import gzip
import io
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.ledger import Ledger, Reservation
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import Release
from tests.cli.conftest import FLAGS, RELEASE, WEEKDAY, Outcome, Run

pytestmark = pytest.mark.usefixtures("own_keys")

URL = "sqlite:///headcount.db"
CHARGED = ("--ledger", URL, "--dataset", "visits@w46", "--analyst", "ann")
RANK = ("rank", "visits.csv", *FLAGS, "--epsilon", "0.5", "-k", "1")
FIXED = "the release failed after the data was opened"


@pytest.fixture
def budget(run: Run, work: Path) -> Callable[..., Outcome]:
    """Create a budget."""

    def create(*flags: str, epsilon: str = "3") -> Outcome:
        done = run("ledger", "create", "--dataset", "visits", "--epsilon", epsilon, *flags)
        assert done.code == 0, done.err
        return done

    return create


def account(run: Run) -> Any:
    return run("ledger", "show", "--dataset", "visits", "--json").data[0]


def spent(run: Run) -> tuple[str, dict[str, int]]:
    accounts = account(run)
    return accounts["epsilon"]["spent"], accounts["requests"]


def test_delta_is_shown_where_there_is_some(run: Run, work: Path, budget: Any) -> None:
    budget("--delta", "1e-5")
    gaussian = ("--delta", "1e-6", "--noise", "gaussian", "--count", "users", "--out", "g")
    assert run(*RELEASE, *CHARGED, *gaussian).code == 0
    lines = run("ledger", "show").out.splitlines()
    assert lines[0].split()[5:9] == ["left", "budget", "δ", "spent"]
    assert lines[1].split()[4:6] == ["1e-5", "1e-6"]
    assert account(run)["delta"] == {"budget": "0.00001", "spent": "0.000001"}


# Spending


def test_a_release_is_charged_and_published(run: Run, work: Path, budget: Any) -> None:
    budget()
    done = run(*RELEASE, *CHARGED, "--out", "a")
    assert done.code == 0
    assert "ε = 1 was spent, charged to visits@w46 by ann, entry 2." in done.err
    assert "curator only" not in done.err  # an analyst learns nothing but the release
    charge = json.loads((work / "a" / "release.json").read_text(encoding="utf-8"))["ledger"]
    assert set(charge) == {"entry", "head"}
    assert charge["entry"] == 2
    assert "Charged to ledger entry 2." in run("explain", "a").out
    assert spent(run) == ("1", {"open": 0, "published": 1, "refunded": 0})
    kinds = [(record["kind"], record["analyst"]) for record in run("ledger", "history", "--json").data]
    assert kinds == [("create", None), ("reserve", "ann"), ("publish", "ann")]
    published = run("ledger", "history", "--json").data[-1]
    assert published["folder"] == str((work / "a").resolve())
    assert published["digest"] == folder_digest(work / "a")
    assert run("ledger", "verify", "a").out == "3 entries, no problem found.\n"


def test_json_says_the_entry(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a", "--json").data["ledger"]["entry"] == 2
    again = run(*RELEASE, *CHARGED, "--out", "b", "--json").data
    assert again["ledger"]["entry"] == 2
    assert again["earlier"] == str((work / "a").resolve())
    assert run(*RANK, *CHARGED, "--json").data["ledger"]["entry"] == 4
    assert "ledger" not in run(*RANK, "--json").data


def test_the_ledger_of_the_environment(run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    budget()
    monkeypatch.setenv("HEADCOUNT_LEDGER", URL)
    done = run(*RELEASE, "--out", "a")
    assert (done.code, "--dataset" in done.complaint) == (2, True)
    assert run(*RELEASE, "--dataset", "visits", "--out", "a").code == 0
    assert run(*RANK, "--dataset", "visits").code == 0
    assert spent(run)[0] == "1.5"
    assert run("demo", "--help").code == 0


def test_without_a_ledger_nothing_is_charged(run: Run, work: Path) -> None:
    done = run(*RELEASE, "--out", "a")
    assert "not charged to any ledger" in done.err
    assert json.loads((work / "a" / "release.json").read_text(encoding="utf-8"))["ledger"] is None
    assert not (work / "headcount.db").exists()
    for flags in (("--dataset", "visits"), ("--analyst", "ann"), ("--again",)):
        refused = run(*RELEASE, "--out", "b", *flags)
        assert refused.code == 2
        assert f"{flags[0]} is given without a ledger" in refused.complaint
    assert run("ledger", "verify", "a").code == 2


def test_over_budget_is_refused_before_anything_is_read(
    run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget(epsilon="1.5")
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0

    def read(*_: object) -> None:
        raise AssertionError("the data was read")

    monkeypatch.setattr(LocalEngine, "measure", read)
    for last in (("--out", "b"), ("--dry-run",)):
        done = run(*RELEASE, *CHARGED, "--again", *last)
        assert done.code == 1
        assert "visits has spent ε = 1 of 1.5, and this request costs ε = 1" in done.complaint
    assert not (work / "b").exists()
    assert spent(run)[0] == "1"
    assert run(*RELEASE, *CHARGED, "--again", "--out", "b", "--json").data["error"] == "RefusedError"


def test_per_analyst_budgets_are_enforced(run: Run, work: Path, budget: Any) -> None:
    budget("--per-analyst", "1")
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    done = run(*RANK, *CHARGED, "--out", "b")
    assert (done.code, "ann on visits has spent ε = 1 of 1" in done.complaint) == (1, True)
    assert run(*RANK, *CHARGED, "--analyst", "bob", "--out", "b").code == 0
    assert "ε = 0.5 for bob" in run(*RELEASE, *CHARGED, "--analyst", "bob", "--epsilon", "0.2", "--dry-run").out
    rows = run("ledger", "show").out
    assert [line.split()[:2] for line in rows.splitlines()[2:]] == [["visits", "ann"], ["visits", "bob"]]


def test_an_analyst_is_allowed_an_amount_of_their_own(run: Run, work: Path, budget: Any) -> None:
    budget("--per-analyst", "0.5")
    allowed = run("ledger", "allow", "visits", "ann", "2")
    assert [line.split()[:3] for line in allowed.out.splitlines()[2:]] == [["visits", "ann", "2"]]
    assert run(*RELEASE, *CHARGED, "--out", "one").code == 0
    assert "may spend ε = 2" in run("ledger", "history").out
    own = run("ledger", "allow", "visits", "ann", "1", "--json").data["analysts"][0]
    assert own["epsilon"] == {"budget": "1", "spent": "1", "left": "0"}
    less = run("ledger", "allow", "visits", "ann", "0.9")
    assert (less.code, "ann has spent ε = 1 on visits already" in less.err) == (1, True)


def test_a_dry_run_shows_what_is_left_and_charges_nothing(run: Run, work: Path, budget: Any) -> None:
    budget()
    done = run(*RELEASE, *CHARGED, "--dry-run")
    assert "ε = 1, charged to visits@w46 by ann" in done.out
    assert "ε = 3, before this" in done.out
    as_data = run(*RELEASE, *CHARGED, "--dry-run", "--json").data["ledger"]
    assert (as_data["left"], as_data["published"], as_data["version"]) == ("3", None, "w46")
    assert len(run("ledger", "history", "--json").data) == 1
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    assert "nothing: published already in" in run(*RELEASE, *CHARGED, "--dry-run").out


def test_what_is_only_claimed_is_refused(run: Run, work: Path, budget: Any) -> None:
    budget()
    done = run(*RELEASE, *WEEKDAY, *CHARGED, "--method", "hpa-published", "--research", "--out", "a")
    assert done.code == 1
    assert "proven promises alone" in done.complaint
    assert spent(run)[0] == "0"


def test_delta_needs_a_budget_with_delta(run: Run, work: Path, budget: Any) -> None:
    budget()
    flags = (*RELEASE, *CHARGED, "--noise", "gaussian", "--delta", "1e-6", "--out", "a")
    done = run(*flags)
    assert (done.code, "one of pure ε" in done.complaint) == (1, True)


# Reuse


def test_the_same_request_costs_nothing(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    (work / "a" / "report.html").write_text("beside it", encoding="utf-8")
    done = run(*RELEASE, *CHARGED, "--analyst", "bob", "--epsilon", "1.0", "--out", "b")
    assert done.code == 0
    assert f"Nothing was spent: this was published already, in {(work / 'a').resolve()}" in " ".join(
        done.err.split()
    )
    assert {path.name for path in (work / "b").iterdir()} == {"release.json", "items.parquet"}
    assert folder_digest(work / "a") == folder_digest(work / "b")
    assert spent(run)[0] == "1"


@pytest.mark.parametrize(
    "other",
    [
        ("--dataset", "visits@w47"),
        ("--dataset", "visits"),
        ("--items", "tea,rye"),
        ("--count", "users"),
        ("--limit", "3"),
        ("--epsilon", "1.01"),
        ("--method", "hpa"),
        ("--where", "venue != oat"),
        ("--again",),
    ],
    ids=" ".join,
)
def test_another_request_is_charged(run: Run, work: Path, budget: Any, other: tuple[str, ...]) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    assert run(*RELEASE, *CHARGED, *other, "--out", "b").code == 0
    assert spent(run)[0] == ("2.01" if "1.01" in other else "2")


@pytest.mark.parametrize("how", ["gone", "edited", "table replaced"])
def test_a_published_folder_that_has_changed(run: Run, work: Path, budget: Any, how: str) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    if how == "gone":
        (work / "a").rename(work / "elsewhere")
    elif how == "edited":
        (work / "a" / "release.json").write_text("[]", encoding="utf-8")
    else:
        pq.write_table(pa.table({"item": ["tea"]}), work / "a" / "items.parquet")
    for last in (("--out", "b"), ("--dry-run",)):
        done = run(*RELEASE, *CHARGED, *last)
        assert done.code == 2
        assert "would be charged as new, ε = 1" in done.complaint
    assert not (work / "b").exists()
    assert spent(run)[0] == "1"
    assert run(*RELEASE, *CHARGED, "--again", "--out", "b").code == 0
    assert run(*RELEASE, *CHARGED, "--out", "c").code == 0  # the newest one counts
    assert folder_digest(work / "b") == folder_digest(work / "c")


def test_a_ranking_that_is_kept_nowhere_is_charged_again(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert "kept nowhere" in run(*RANK, *CHARGED).err
    assert run(*RANK, *CHARGED).code == 0
    assert spent(run) == ("1", {"open": 2, "published": 0, "refunded": 0})
    assert "2 requests charged and not published" in run("ledger", "show").err
    assert run(*RANK, *CHARGED, "--out", "a").code == 0
    again = run(*RANK, *CHARGED)
    assert "Nothing was spent" in again.err
    assert spent(run)[0] == "1.5"


# Faults


def test_data_that_cannot_be_opened_is_refunded(
    run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget()
    whole = Ledger.reserve

    def reserve(*arguments: Any, **named: Any) -> Any:
        reservation = whole(*arguments, **named)
        os.rename("visits.csv", "away.csv")
        return reservation

    monkeypatch.setattr(Ledger, "reserve", reserve)
    done = run(*RELEASE, *CHARGED, "--out", "a")
    assert (done.code, "visits.csv does not exist" in done.complaint) == (2, True)
    assert spent(run) == ("0", {"open": 0, "published": 0, "refunded": 1})
    assert (
        run("ledger", "history", "--json").data[-1]["reason"]
        == "the data could not be opened, and nothing was read"
    )


def test_missing_data_is_not_even_reserved(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert run("release", "nowhere.csv", *FLAGS, "--epsilon", "1", *CHARGED, "--out", "a").code == 2
    assert spent(run) == ("0", {"open": 0, "published": 0, "refunded": 0})


ROWS = b"user,venue\n" + b"".join(b"u%d,tea\n" % number for number in range(30_000))


def _damaged_parquet() -> bytes:
    """Write a file whose footer is whole and whose pages are not."""
    out = io.BytesIO()
    table = pa.table({"user": [f"u{number}" for number in range(900)], "venue": ["tea"] * 900})
    pq.write_table(table, out, use_dictionary=False, compression="gzip")
    content = bytearray(out.getvalue())
    content[40:140] = bytes(100)
    return bytes(content)


TORN = {"cut.csv.gz": gzip.compress(ROWS)[:-4_000], "page.parquet": _damaged_parquet()}


def test_a_file_that_is_torn_is_one_sentence_and_stays_charged(
    run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headcount.events.sources.files.text_blocks.BLOCK_BYTES", 1 << 14
    )  # so that the header is whole
    budget()
    messages = set()
    for number, (name, content) in enumerate(TORN.items(), 1):
        (work / name).write_bytes(content)
        done = run("release", name, *RELEASE[2:], *CHARGED, "--out", "a")
        messages.add((done.code, done.out, done.complaint))
        assert spent(run) == (str(number), {"open": number, "published": 0, "refunded": 0})
    assert len(messages) == 1
    code, _, words = messages.pop()
    assert code == 2
    assert words.startswith(FIXED)
    assert not (work / "a").exists()


class Crash(BaseException):
    """What no code catches: as if the process ended here."""


def crash(*_: Any, **__: Any) -> Any:
    raise Crash


POINTS = {
    "reserved": ("headcount.run.charge.begin_reading", None),
    "reading": (LocalEngine, "measure"),
    "counted": ("headcount.run.charge.record_charge", None),
    "writing": (Release, "_write"),
    "written": (Reservation, "issue"),
}


@pytest.mark.parametrize("point", POINTS)
def test_a_crash_anywhere_leaves_it_spent(run: Run, work: Path, budget: Any, point: str) -> None:
    budget()
    where, name = POINTS[point]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, crash) if name is None else patch.setattr(where, name, crash)  # type: ignore[call-overload]
        with pytest.raises(Crash):
            run(*RELEASE, *CHARGED, "--out", "a")
    assert spent(run) == ("1", {"open": 1, "published": 0, "refunded": 0})
    assert (work / "a").exists() == (point == "written")
    assert run("ledger", "verify").code == 0
    assert run(*RELEASE, *CHARGED, "--out", "b").code == 0  # unpublished is not reused
    assert spent(run) == ("2", {"open": 1, "published": 1, "refunded": 0})


def test_an_interrupt_says_that_it_stays_charged(
    run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget()

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "measure", interrupt)
    done = run(*RELEASE, *CHARGED, "--out", "a")
    assert (done.code, "stays charged" in done.err) == (130, True)
    assert spent(run)[1]["open"] == 1


def test_the_anchor_knows_the_reservation_before_data_is_read(
    run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    budget()
    entries = []

    def look(*_: Any, **__: Any) -> None:
        with Ledger(URL) as ledger:
            mark = ledger._open().anchor.read()
            entries.append(mark and mark.count)
        raise RuntimeError

    monkeypatch.setattr(LocalEngine, "measure", look)
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 2
    assert entries == [2]


def test_a_ledger_that_fails_after_writing(
    run: Run, work: Path, budget: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from headcount.errors import SurroundingsError

    budget()

    def lose_connection(*_: Any, **__: Any) -> None:
        raise SurroundingsError("the database is gone")

    monkeypatch.setattr(Ledger, "keep_issued", lose_connection)
    done = run(*RELEASE, *CHARGED, "--out", "a")
    assert done.code == 3
    assert "a is written and charged, but the ledger could not note it" in done.complaint
    assert run("top", "a").code == 0


# headcount ledger


def test_create_shows_and_refuses(run: Run, work: Path, budget: Any) -> None:
    done = budget("--per-analyst", "1", "--delta", "1e-6")
    assert f"{os.sep}keys{os.sep}" in done.err
    assert account(run)["per_analyst"] == "1"
    for flags in (("--epsilon", "3"), ("--epsilon", "none"), ("--epsilon", "1", "--per-analyst", "2")):
        assert run("ledger", "create", "--dataset", "visits", *flags).code == 2
    assert run("ledger", "create", "--dataset", "visits@1", "--epsilon", "1").code == 2
    created = run("ledger", "create", "--dataset", "other", "--epsilon", "2", "--json").data
    assert created["epsilon"] == {"budget": "2", "spent": "0", "left": "2"}
    assert [account["dataset"] for account in run("ledger", "show", "--json").data] == ["other", "visits"]


def test_unknown_names(run: Run, work: Path, budget: Any) -> None:
    assert run("ledger", "show").code == 2  # there is no ledger yet
    budget()
    assert "did you mean 'visits'" in run("ledger", "show", "--dataset", "visit").complaint
    assert "did you mean 'show'" in run("ledger", "shw").complaint
    done = run(*RELEASE, *CHARGED, "--dataset", "visit", "--out", "a")
    assert (done.code, "did you mean 'visits'" in done.complaint) == (2, True)
    for bad in ("", "@w46", "visits@"):
        assert run(*RELEASE, "--ledger", URL, "--dataset", bad, "--out", "a").code == 2
    assert run(*RELEASE, *CHARGED, "--ledger", "", "--out", "a").code == 2
    assert run(*RELEASE, *CHARGED, "--ledger", "mysql://x/y", "--out", "a").code == 2
    assert run("ledger", "show", "--ledger", "").code == 2


def test_verify_fails_on_an_edit(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    with sqlite3.connect("headcount.db") as connection:
        connection.execute("UPDATE accounts SET loss = '0'")
    connection.close()
    done = run("ledger", "verify", "a")
    assert done.code == 1
    assert "does not follow from the journal" in done.out
    as_data = run("ledger", "verify", "--json")
    assert (as_data.code, as_data.data["ok"]) == (1, False)


def test_a_release_is_a_witness(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    for path in work.glob("headcount.db*"):
        path.unlink()
    budget()  # a new ledger in place of the old one
    done = run("ledger", "verify", "a")
    assert (done.code, "the release that names entry 2" in " ".join(done.out.split())) == (1, True)


def test_export_and_import(run: Run, work: Path, budget: Any) -> None:
    budget()
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    assert run("ledger", "export", "--to", "journal.jsonl", "--json").data == {
        "file": "journal.jsonl",
        "entries": 3,
    }
    assert run("ledger", "export", "--to", "journal.jsonl").code == 2
    new = ("--ledger", "sqlite:///new.db")
    assert run("ledger", "import", "journal.jsonl", *new).out == "3 entries from journal.jsonl.\n"
    assert run("ledger", "show", "--json", *new).data == run("ledger", "show", "--json").data
    assert run("ledger", "verify", "a", *new).code == 0
    assert run("ledger", "import", "journal.jsonl", *new).code == 2


def test_history_as_a_table(run: Run, work: Path, budget: Any) -> None:
    budget("--per-analyst", "1")
    assert run(*RELEASE, *CHARGED, "--out", "a").code == 0
    lines = run("ledger", "history", "--dataset", "visits").out.splitlines()
    assert "budget ε = 3, 1 per analyst" in lines[1]
    assert lines[2].split()[3:6] == ["reserve", "visits@w46", "ann"]
    assert "of 2:" in lines[3]


def test_flags_from_a_file(run: Run, work: Path, budget: Any) -> None:
    budget()
    lines = ["[release]", f'ledger = "{URL}"', 'dataset = "visits"', 'analyst = "ann"', 'epsilon = "0.5"']
    (work / "own.toml").write_text("\n".join(lines), encoding="utf-8")
    done = run("release", "visits.csv", *FLAGS, "--config", "own.toml", "--out", "a")
    assert done.code == 0, done.err
    assert "charged to visits by ann, entry 2" in done.err
    again = run("release", "visits.csv", "--items", "venues.csv", "--config", "a", *CHARGED, "--out", "b")
    assert again.code == 0, again.err
    assert spent(run)[0] == "1"  # another version is another request


def test_the_duration_is_not_shown_to_an_analyst(run: Run, work: Path, budget: Any) -> None:
    budget()
    for more in ((*RELEASE, "--out", "a"), (*RANK, "--out", "b")):
        result = run(*more, *CHARGED, "--json")
        assert result.code == 0, result.err
        assert "seconds" not in result.data
    again = run(*RELEASE, "--out", "c", "--json")
    assert "seconds" in again.data


def test_a_misspelt_column_says_nothing_of_files_that_a_folder_holds(run: Run, work: Path, budget: Any) -> None:
    """The error is free, so files named after users must not be in it; the curator may know them."""
    budget()
    flags = [*(flag for flag in FLAGS if flag != "user"), "--epsilon", "0.5", "-k", "1", *CHARGED]
    flags[flags.index("--user") + 1 : flags.index("--user") + 1] = ["usr"]
    outcomes: list[tuple[int, str]] = []
    for users in (["ann0815"], ["ann0815", "bob4711"], ["bob4711", "liv9999"]):
        for user in users:
            (work / f"logs{len(outcomes)}" / f"key={user}").mkdir(parents=True)
            (work / f"logs{len(outcomes)}" / f"key={user}" / "part.csv").write_text("user,venue\nann,tea\n")
        refused = run("rank", f"logs{len(outcomes)}", *flags)
        outcomes.append((refused.code, refused.complaint.replace(f"logs{len(outcomes)}", "logs")))
    assert len(set(outcomes)) == 1
    assert outcomes[0][0] == 2
    assert "column 'usr' is not in logs" in outcomes[0][1]
    assert spent(run)[0] == "0"
    path = work / "logs2" / "key=bob4711" / "part.csv"
    path.write_text("user,user\nann,tea\n")
    for command in ("inspect", "check"):
        looked = run(command, "logs2", *(() if command == "inspect" else FLAGS))
        assert f"the file is {path.relative_to(work)}" in looked.err
