"""`headcount audit`: what it prints, when it fails, what it writes, and what it never shows of a log.

All runs are seeded, so that what is found is always the same. Runs are few: how sharp the audit is, and that it
catches bugs, is tested in tests/lab/audits.
"""

from __future__ import annotations

import base64
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headcount.accounting.budget import Grant
from headcount.cli.lab import audit_runs
from headcount.errors import UsageError
from headcount.lab.audit import sequential, target_registry
from headcount.lab.audit.targets_under_audit import Target
from headcount.methods.registry import build, describe
from tests.cli.conftest import FLAGS, Run

FEW = ("--runs", "1000")
KEYS = {
    "method", "parameters", "epsilon", "delta", "violation", "lower_bound", "confidence", "pairs", "standing",
    "reason", "edges", "visible", "runs", "releases", "seed", "sentence",
}  # fmt: skip


class Loud:
    """SRA with a third of the noise that its promise calls for."""

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        self.inner = build(name, parameters)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def release(self, log: Any, grant: Grant, *others: Any) -> Any:
        grant.spend()
        return self.inner.release(log, Grant(3), *others)


def only(monkeypatch: pytest.MonkeyPatch, *names: str, broken: str = "") -> None:
    """Let `all` be a few methods, of which one may be broken."""
    real = target_registry.target

    def target(name: str, *given: Any) -> Target:
        make: Any = Loud
        audit_target = real(name, *given)
        return replace(audit_target, make=make) if name == broken else audit_target

    monkeypatch.setattr(target_registry, "NAMES", names)
    monkeypatch.setattr(target_registry, "target", target)


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try two pairs alone: how many there are makes no difference here, but for the time it takes."""
    real = target_registry.pairs_for
    monkeypatch.setattr(target_registry, "pairs_for", lambda *given: real(*given)[:2])


# What it prints


def test_an_audit_without_violation_prints_what_it_tried(run: Run) -> None:
    done = run("audit", "sra", *FEW, "--epsilon", "2", "--limit", "3")
    assert done.code == 0
    assert done.out.startswith("sra, ε = 2, limit 3, privacy: proven\n")
    assert "No violation found: with 99.9 % confidence" in " ".join(done.out.split())
    lines = done.out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("neighbours"))
    assert lines[start].split() == ["neighbours", "runs", "ε", "at", "least", "best", "event"]
    assert len([line for line in lines[start + 1 :] if line]) == len(target_registry.pairs_for("sra", 3))
    assert "Happened" not in done.out
    assert "Finding nothing proves nothing" in done.err
    assert "NOT PRIVATE" not in done.err
    assert run("audit", "sra", *FEW, "-q").err == ""


def test_a_violation_is_an_exit_code_with_evidence(run: Run) -> None:
    done = run("audit", "lpa-published", *FEW)
    assert done.code == 1
    words = " ".join(done.out.split())
    violation = re.search(r"VIOLATION: ε ≥ (\d\.\d\d) > 1 on the pair 'at the limit'", words)
    assert violation is not None
    assert "As expected, since the noise scale is the largest number of records" in words
    assert "Pair a person with as many records as count, all of one item (nobody else)." in words
    assert "Records the person has items 0, 0; the others have nothing" in words
    assert f"in 40 of 40 runs with the person, in 0 of 40 runs without: ε ≥ {violation[1]}." in words
    assert "Finding nothing" not in done.err


def test_a_broken_proven_method_is_caught(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", broken="sra")
    done = run("audit", "sra", *FEW, "--json")
    assert (done.code, done.data["violation"], done.data["standing"]) == (1, True, "proven")


def test_json_is_one_document_of_the_agreed_shape(run: Run) -> None:
    done = run("audit", "sra", *FEW, "--json")
    assert set(done.data) == KEYS
    assert (done.data["method"], done.data["epsilon"], done.data["violation"]) == ("sra", "1", False)
    assert (done.data["confidence"], done.data["runs"], done.data["seed"]) == (0.999, 1000, 1)
    best = max(done.data["pairs"], key=lambda pair_row: float(pair_row["lower_bound"]))
    assert best["lower_bound"] == done.data["lower_bound"] > 0.5
    assert set(best) == {
        "name", "story", "items", "crowd", "person", "people", "records", "runs", "lower_bound", "evidence",
    }  # fmt: skip
    assert set(best["evidence"]) == {"event", "likelier", "hits", "runs", "lower_bound"}


def test_without_a_seed_the_system_draws(run: Run) -> None:
    """Such noise is slow to draw, so there are few runs; that they differ is tested with the audit itself."""
    result = run("audit", "sra", "--runs", "100", "--system-noise", "--json").data
    assert result["seed"] is None
    assert (
        result["releases"] == 2 * sum(pair["runs"] for pair in result["pairs"]) == 560
    )  # 40, 40 and 60 of two pairs


def test_several_epsilons_are_a_list(run: Run) -> None:
    done = run("audit", "sra", "--runs", "500", "--epsilon", "0.1, 3", "--json")
    assert [row["epsilon"] for row in done.data] == ["0.1", "3"]
    assert done.data[0]["lower_bound"] <= 0.1 < done.data[1]["lower_bound"]


def test_delta_is_gaussian_noise(run: Run) -> None:
    done = run("audit", "sra", "--runs", "100", "--delta", "1e-3")
    assert done.out.startswith("sra, ε = 1, limit 2, noise gaussian, δ = 0.001, privacy: proven")


def test_edges_are_audited_too(run: Run) -> None:
    assert run("audit", "sra", "--runs", "100", "--edges").out.startswith(
        "sra, ε = 1, limit 2, with edges, privacy: proven"
    )


# All of them


def test_only_proven_methods_decide_for_all(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", "lpa", "lpa-published", "hpa-published")
    done = run("audit", "all", "--runs", "300")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "All 2 proven promises held against the attacks." in words
    assert "Refuted, as expected of a mere claim: lpa-published." in words
    assert "Claimed, and not refuted here: hpa-published." in words
    assert "neighbours runs" not in words
    data = run("audit", "all", "--runs", "300", "--json").data
    assert [row["method"] for row in data] == ["sra", "lpa", "lpa-published", "hpa-published"]


def test_a_violation_among_all_is_an_exit_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", "lpa", broken="sra")
    done = run("audit", "all", *FEW)
    assert done.code == 1
    words = " ".join(done.out.split())
    assert "VIOLATION of what is said to be proven: sra." in words
    assert "Happened in" in words


def test_a_delta_is_left_to_those_that_can_use_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", "lpa-published")
    data = run("audit", "all", "--runs", "100", "--delta", "1e-3", "--edges", "--json").data
    assert [(row["delta"], row["edges"]) for row in data] == [("0.001", True), ("0", True)]


def table_of(out: str) -> list[list[str]]:
    """Return the rows of the table that sums up."""
    lines = out.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("method "))
    rows = lines[start + 1 : lines.index("", start)]
    return [re.split(r" {2,}", line) for line in rows]


def test_all_ends_with_a_table(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", "lpa-published")
    done = run("audit", "all", *FEW, "--report", "all.html")
    rows = table_of(done.out)
    assert [row[:3] for row in rows] == [["sra", "proven", "1"], ["lpa-published", "claimed", "1"]]
    assert [row[4] for row in rows] == ["no violation found", "refuted, as expected"]
    assert [0 < float(row[3]) < 3 for row in rows] == [True, True]
    assert "Audit of 2 methods" in Path("all.html").read_text(encoding="utf-8")


def test_all_are_all_that_methods_lists(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not run here, which takes minutes: every name is begun, and that each can be run is in tests/lab/audits."""
    begun: list[Target] = []

    def refused(target: Target, *_: Any, **__: Any) -> Any:
        begun.append(target)
        raise UsageError("not today", remedy="come back tomorrow")

    monkeypatch.setattr(sequential, "audit_sequentially", refused)
    done = run("audit", "all", "--json")
    assert done.code == 3
    assert [audit_target.shown for audit_target in begun] == [
        *(method_row["name"] for method_row in describe()),
        "selection",
        "quantiles",
    ]
    assert [audit_target["method"] for audit_target in done.data] == [audit_target.shown for audit_target in begun]
    assert {row["message"] for row in done.data} == {"not today; come back tomorrow"}


def test_a_refuted_query_claim_prints_the_reason(run: Run) -> None:
    """Its reason was forgotten, as those of all query methods were."""
    done = run("audit", "cim-published", "--runs", "200", "--json")
    assert (done.data["standing"], "couplings found in the data" in done.data["reason"]) == ("claimed", True)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, error: Exception) -> None:
    """Let the audit of one method fail."""
    real = sequential.audit_sequentially

    def audit(target: Target, *given: Any, **named: Any) -> Any:
        if target.shown == name:
            raise error
        return real(target, *given, **named)

    monkeypatch.setattr(sequential, "audit_sequentially", audit)


def test_all_go_on_after_a_failure(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed is named with its reason, on the terminal, as data and on the page; it is no success."""
    only(monkeypatch, "sra", "lpa", "lpa-published")
    failing(monkeypatch, "lpa", ValueError("no luck"))
    done = run("audit", "all", "--runs", "300", "--report", "part.html")
    assert done.code == 3
    assert table_of(done.out)[1] == ["lpa", "proven", "1", "–", "could not be audited"]
    words = " ".join(done.out.split())
    assert "lpa, ε = 1: could not be audited: ValueError: no luck" in words
    assert "The one proven promise held against the attacks." in words
    assert "Nothing is known about what could not be audited: lpa (ValueError: no luck)." in words
    page = Path("part.html").read_text(encoding="utf-8")
    assert "could not be audited" in page
    assert "no luck" in page
    data = run("audit", "all", "--runs", "300", "--json").data
    assert [row["violation"] for row in data] == [False, None, True]
    assert data[1]["error"] == "ValueError"


def test_a_violation_counts_more_than_a_failure(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", "lpa", broken="sra")
    failing(monkeypatch, "lpa", ValueError("no luck"))
    assert run("audit", "all", *FEW).code == 1


def test_one_that_fails_alone_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, "lpa", UsageError("no luck", remedy="try again"))
    done = run("audit", "lpa", *FEW)
    assert (done.code, done.complaint) == (2, "no luck; try again")


def test_killed_worker_processes_are_restarted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, "sra", "lpa")
    failing(monkeypatch, "sra", BrokenProcessPool("gone"))
    done = run("audit", "all", "--runs", "300", "--json")
    assert (done.code, [row["violation"] for row in done.data]) == (3, [None, False])
    assert "a process was ended from outside" in done.data[0]["message"]


def test_the_time_left_is_for_all_methods() -> None:
    """Two of four took a minute: two more will, about; work is compared by runs."""
    jobs = [audit_runs.Job(target_registry.target("gs-r", 2, Decimal(1)), tuple, 4_000) for _ in range(4)]
    assert audit_runs._place(jobs[:2], jobs[2:], 60) == ", 3 of 4, all in about 1 min"
    assert audit_runs._place([], jobs, 1) == ", 1 of 4"
    few = replace(jobs[0], target=target_registry.target("sra", 2, Decimal(1)), runs=200_000)
    assert few.work < jobs[0].work


# Looks of a fixed size, and one pair of runs


def test_audits_of_a_fixed_size_give_a_larger_lower_bound(run: Run) -> None:
    fixed, early = (
        run("audit", "lpa-published", *FEW, mode, "--json").data for mode in ("--fixed", "--sequential")
    )
    assert fixed["lower_bound"] > early["lower_bound"] > 1
    assert fixed["releases"] > early["releases"]
    assert run("audit", "lpa-published", *FEW, "--json").data == early


def test_a_replay_needs_one_pair_of_runs(run: Run) -> None:
    done = run("audit", "sra", "--replay")
    assert done.code == 0
    words = " ".join(done.out.split())
    assert "No violation found: with the same draws, 2 pairs of logs were asked for the same" in words
    assert "at the limit 1 100 % 1.00 alike" in words
    data = run("audit", "sra", "--replay", "--json").data
    assert (data["replay"], data["violation"], data["lower_bound"], data["releases"]) == (True, False, None, 8)
    assert [(pair_row["draws"], pair_row["furthest"], pair_row["epsilon"]) for pair_row in data["pairs"]] == [
        (1, 1, 1)
    ] * 2


def test_a_replay_that_tells_neighbours_apart_says_by_what(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done = run("audit", "lpa-published", "--replay")
    assert done.code == 1
    words = " ".join(done.out.split())
    assert "VIOLATION on the pair 'at the limit': step 2, add: declared differs between two neighbours" in words
    assert "at the limit 0 0 % 0.00 told apart" in words
    only(monkeypatch, "sra", "lpa-published")
    both = run("audit", "all", "--replay")
    assert both.code == 0
    assert [row[3:] for row in table_of(both.out)] == [["–", "no violation found"], ["–", "refuted, as expected"]]


def test_a_replay_of_a_log_tells_nothing_of_its_content(run: Run, work: Path) -> None:
    done = run("audit", "lpa-published", "visits.csv", *FLAGS, "--replay", "--json")
    assert done.code == 1
    assert "NOT PRIVATE" in done.err
    assert not re.search(r"\b(ann|bob|cyn|tea|rye|oat)\b|\"(crowd|person)\"", done.out + done.err)
    assert run("audit", "sra", "visits.csv", *FLAGS, "--replay").code == 0


# A log of one's own


def test_users_of_a_log_are_never_named(run: Run, work: Path) -> None:
    done = run("audit", "sra", "visits.csv", *FLAGS, "--runs", "500", "--report", "own.html", "--json")
    assert done.code == 0, done.err
    pairs = done.data["pairs"]
    assert [pair_row["name"] for pair_row in pairs] == [
        "the most active person",
        "a typical person",
        "the least active person",
    ]
    assert [pair_row["story"] for pair_row in pairs] == [
        "a person with 2 records, taken out of the log",
        "a person with 1 record, taken out of the log",
        "a person with 1 record, taken out of the log",
    ]
    assert [(pair_row["people"], pair_row["records"], pair_row["items"]) for pair_row in pairs] == [
        (2, 2, 3),
        (2, 1, 3),
        (2, 1, 3),
    ]
    page = re.sub(r"<script.*?</script>", "", Path("own.html").read_text(encoding="utf-8"), flags=re.DOTALL)
    link = re.search(r"base64,([^\"]+)", page)
    assert link is not None
    page = page.replace(link[0], base64.b64decode(link[1]).decode())
    for shown in (done.out, done.err, page):
        assert not re.search(r"\b(ann|bob|cyn|tea|rye|oat)\b|\"(crowd|person)\"", shown)
    assert "NOT PRIVATE" in done.err
    assert "Not private" in page
    assert "NOT PRIVATE" in run("audit", "sra", "visits.csv", *FLAGS, "--runs", "100", "--quiet").err


def test_a_violation_on_a_log_shows_no_records(run: Run, work: Path) -> None:
    done = run("audit", "lpa-published", "visits.csv", *FLAGS, *FEW)
    assert done.code == 1
    assert "a person with 2 records, taken out of the log (2 others)" in " ".join(done.out.split())
    assert "the person has items" not in done.out


def test_conditions_and_stores_work(run: Run, work: Path) -> None:
    women = run("audit", "sra", "visits.csv", *FLAGS, "--where", "sex == F", "--runs", "100", "--json").data
    assert [pair_row["people"] for pair_row in women["pairs"]] == [0]
    assert run("pack", "visits.csv", *FLAGS, "--context", "sex", "--contexts", "F,M", "--to", "store").code == 0
    packed = run("audit", "sra", "store", "--runs", "100", "--json").data
    plain = run("audit", "sra", "visits.csv", *FLAGS, "--runs", "100", "--json").data
    assert [pair_row["records"] for pair_row in packed["pairs"]] == [
        pair_row["records"] for pair_row in plain["pairs"]
    ]


def test_long_logs_get_fewer_runs_by_default(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_runs, "_WORK", 600)
    monkeypatch.setattr(audit_runs, "_FEWEST_RUNS", 100)
    assert run("audit", "sra", "visits.csv", *FLAGS, "--json").data["runs"] == 150  # of four records
    monkeypatch.setattr(audit_runs, "MOST_RECORDS", 3)
    done = run("audit", "sra", "visits.csv", *FLAGS)
    assert done.code == 2
    assert "more than 3 records that count, too many to audit; take a part of it with --where" in done.complaint


# The page


def test_the_page_is_written_and_not_overwritten(run: Run, work: Path) -> None:
    done = run("audit", "sra", "--runs", "100", "--report", "new/audit.html")
    assert done.code == 0
    assert "new/audit.html: open it in a browser" in done.err
    assert "Audit of sra" in Path("new/audit.html").read_text(encoding="utf-8")
    again = run("audit", "sra", "--runs", "100", "--report", "new/audit.html")
    assert (again.code, again.out) == (2, "")
    assert "exists already; choose another --report, or add --force" in again.complaint
    assert run("audit", "sra", "--runs", "100", "--report", "new/audit.html", "--force", "--json").code == 0


# What it refuses


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "no method": ((), "missing argument"),
    "unknown": (("srx",), "method 'srx' is not known; did you mean 'sra'?"),
    "the log first": (("visits.csv", "sra"), "the method comes before the events, not 'visits.csv'"),
    "runs of none": (("sra", "--runs", "0"), "runs must be a whole number of at least 1, not '0'"),
    "few runs": (("sra", "--runs", "99"), "runs must be a number from 100 to 100000000, not '99'"),
    "absurd runs": (("sra", "--runs", "9" * 12), "runs must be a number"),
    "a seed": (("sra", "--seed", "x"), "seed must be a whole number from 0 to 2147483647, not 'x'; try --seed 1"),
    "epsilon": (("sra", "--epsilon", "0"), "epsilon must be a positive number, not '0'"),
    "no epsilon": (("sra", "--epsilon", "1,"), "epsilon must be a positive number, not ''"),
    "twice": (("sra", "--epsilon", "1,1.0"), "names an ε twice, not '1,1.0'; keep one of them"),
    "delta": (("sra", "--delta", "2"), "delta must lie strictly between 0 and 1"),
    "useless delta": (("gs-r", "--delta", "1e-3"), "gs-r has no gaussian noise, so it takes no delta"),
    "limit": (("sra", "--limit", "0"), "limit must be a whole number of at least 1, not '0'"),
    "absurd limit": (
        ("sra", "--limit", "1001"),
        "limit must be at most 1000 in an audit, not 1001; try --limit 2",
    ),
    "edges": (("totals", "--edges"), "totals has no item-by-context counts; leave --edges out"),
    "no events": (("sra", "--user", "user"), "--user is given without EVENTS"),
    "no user": (("sra", "visits.csv", "--items", "venues.csv"), "missing option '--user'"),
    "no catalogue": (("sra", "visits.csv", "--user", "user", "--item", "venue"), "--items"),
    "a missing file": (("sra", "nowhere.csv", *FLAGS), "nowhere.csv"),
    "a missing column": (("sra", "visits.csv", *FLAGS[2:], "--user", "who"), "'who'"),
    "nobody": (("sra", "visits.csv", *FLAGS, "--where", "sex == Q"), "has no record that counts; check --items"),
    "a folder": (("sra", "--report", "."), "is a folder"),
    "runs of a replay": (("sra", "--replay", "--runs", "200"), "--replay has no use for --runs; leave --runs out"),
    "looks of a replay": (("sra", "--replay", "--fixed"), "--replay has no use for --fixed; leave --fixed out"),
    "a page of a replay": (("sra", "--replay", "--report", "a.html"), "--replay has no use for --report"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_one_sentence(run: Run, work: Path, name: str) -> None:
    flags, words = REFUSED[name]
    done = run("audit", *flags)
    assert (done.code, done.out) == (2, "")
    assert words in done.complaint


# Ctrl-C


def test_an_interrupt_keeps_the_finished_results(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of what was done, a page of it, and what is known of the one under way."""
    only(monkeypatch, "sra", "lpa")
    real = sequential.audit_sequentially

    def interrupted(target: Target, *given: Any, **named: Any) -> Any:
        if target.name == "lpa":
            named["on_finding"](real(target, *given))
            raise KeyboardInterrupt
        return real(target, *given, **named)

    monkeypatch.setattr(sequential, "audit_sequentially", interrupted)
    done = run("audit", "all", "--runs", "100", "--report", "kept.html")
    assert done.code == 130
    assert "sra, ε = 1, limit 2, privacy: proven" in done.out
    assert "The one proven promise held" in done.out
    assert "lpa, so far: No violation found" in done.out
    assert "interrupted: 1 of 2 audits were done" in done.err
    assert table_of(done.out) == [["sra", "proven", "1", "0.10", "no violation found"]]
    page = Path("kept.html").read_text(encoding="utf-8")
    assert "Audit of sra" in page
    assert "interrupted: 1 of 2 audits were done" in page
    data = run("audit", "all", "--runs", "100", "--json")
    assert (data.code, data.data["error"]) == (130, "Interrupted")
    assert [row["method"] for row in data.data["found"]] == ["sra"]
    assert [row["method"] for row in data.data["so_far"]] == ["lpa"]
    only(monkeypatch, "lpa", "sra")
    nothing = run("audit", "all", "--runs", "100", "--report", "none.html")
    assert (nothing.code, Path("none.html").exists()) == (130, False)
    assert "none.html was not written: no audit was finished" in nothing.err


def test_an_interrupt_while_modules_are_read_is_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python makes an error of it where a class is being made."""

    def interrupted(*_: Any, **__: Any) -> Any:
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr(sequential, "audit_sequentially", interrupted)
    done = run("audit", "sra", "--runs", "100")
    assert (done.code, done.err.splitlines()) == (130, ["interrupted: 0 of 1 audits were done"])


@pytest.mark.usefixtures("interruptible")
def test_a_real_interrupt_ends_all_processes(program: Callable[..., subprocess.Popen[bytes]]) -> None:
    """The signal goes to the whole group, as from a terminal; nothing but our own words may be seen."""
    process = program("audit", "sra", "--runs", "20000000", start_new_session=True)
    children = Path(
        f"/proc/{process.pid}/task/{process.pid}/children"
    )  # where there is no such thing, time will do
    patience = time.monotonic() + 60
    while time.monotonic() < patience and not (children.exists() and len(children.read_text().split()) > 2):
        time.sleep(0.1)
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.decode().splitlines() == ["interrupted: 0 of 1 audits were done"]
    assert out == b""


@pytest.mark.skipif(os.name == "nt", reason="groups of processes are looked at")
def test_no_process_outlives_a_killed_audit(program: Callable[..., subprocess.Popen[bytes]]) -> None:
    """The program alone is killed, as an operator or a lack of memory does it; its workers see that and end."""
    with program("audit", "sra", "--runs", "20000000", start_new_session=True) as process:
        started = _until(lambda: len(_group(process.pid)) > 2, 60)
        os.kill(process.pid, signal.SIGKILL)
    all_ended = _until(lambda: not _group(process.pid), 60)
    for left in _group(process.pid):
        os.kill(left, signal.SIGKILL)
    assert started, "no worker was started"
    assert all_ended, "a worker lives on"


def _group(leader: int) -> list[int]:
    """Return the processes of a group that are still there; those that ended and wait to be noticed are not."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,pgid=,stat="], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return [int(pid) for pid, group, state in rows if int(group) == leader and not state.startswith("Z")]


def _until(happened: Callable[[], bool], seconds: float) -> bool:
    patience = time.monotonic() + seconds
    while time.monotonic() < patience:
        if happened():
            return True
        time.sleep(0.1)
    return False
