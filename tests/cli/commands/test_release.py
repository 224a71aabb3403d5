"""`headcount release`: what it prints, what it writes, what it keeps to itself."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.events.sources.files.file_source import FileSource
from headcount.releases.release import load
from tests.cli.conftest import FLAGS, RELEASE, WEEKDAY, Run

PROMISE = {"unit", "standing", "epsilon", "delta", "assumes", "reason"}


def everything_in(folder: Path) -> str:
    """All that a release holds, as text."""
    parts = [(folder / "release.json").read_text(encoding="utf-8")]
    parts += [json.dumps(pq.read_table(path).to_pylist()) for path in folder.glob("*.parquet")]
    return "\n".join(parts)


def test_threads_are_those_of_the_local_engine(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    used, measure = set[int](), LocalEngine.measure

    def noted(engine: LocalEngine, *given: Any) -> Any:
        used.add(engine.threads)
        return measure(engine, *given)

    monkeypatch.setattr(LocalEngine, "measure", noted)
    assert run(*RELEASE, "--out", "out", "--threads", "3").code == 0
    assert used == {3}
    for wrong in (("--threads", "0"), ("--threads", "1", "--engine", "spark")):
        refused = run(*RELEASE, "--out", "other", *wrong)
        assert refused.code == 2
        assert "--threads" in refused.complaint
    assert "threads" not in (work / "out" / "release.json").read_text(encoding="utf-8"), "no number hangs on it"


def test_the_folder_holds_what_the_interface_says(release_folder: Path) -> None:
    assert {path.name for path in release_folder.iterdir()} == {"release.json", "items.parquet", "edges.parquet"}
    items, edges = pq.read_table(release_folder / "items.parquet"), pq.read_table(release_folder / "edges.parquet")
    assert items.column_names == ["item", "label", "count", "low", "high"]
    assert edges.column_names == ["item", "context", "count", "low", "high"]
    assert {str(items.schema.field(name).type) for name in ("count", "low", "high")} == {"double"}
    assert items["item"].to_pylist() == ["tea", "rye", "oat"]
    assert items["label"].to_pylist() == ["Café Ω", "=1+1", "[bold]Oat[/x]"]
    assert edges.num_rows == 3 * 8
    assert edges["context"].to_pylist()[:8] == [
        "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", None,
    ]  # fmt: skip
    story = json.loads((release_folder / "release.json").read_text(encoding="utf-8"))
    expected = {"format", "version", "created", "request", "guarantee", "noise", "interval", "counts", "catalogue"}
    assert expected | {"ledger", "simulated"} <= set(story)
    assert story["interval"] == {"level": 0.95, "covers": "bounded"}
    assert (story["counts"], story["ledger"], story["simulated"]) == ("records", None, False)


def test_the_last_lines_name_the_release_and_its_folder(run: Run, work: Path) -> None:
    done = run(*RELEASE, *WEEKDAY, "--out", "my folder")
    assert done.out.startswith("3 item counts and 24 item-by-context counts, of at most 2 records per person")
    assert "my folder" in done.out
    assert "e^1" in done.out
    assert "headcount explain 'my folder'" in done.err


def test_dropped_rows_are_reported_on_standard_error_and_not_in_the_release(run: Run, work: Path) -> None:
    strange = [f"ann,nowhere{n},2026-03-06,F,0-24,1" for n in range(7919)]
    nobody = [",tea,2026-03-06,F,0-24,1"] * 6143
    timeless = ["ann,tea,,F,0-24,1"] * 4999
    lines = ["user,venue,time,sex,age,stars", *strange, *nobody, *timeless]
    (work / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run(*RELEASE, *WEEKDAY, "--drop-nulls", "--out", "out", "--json")
    assert done.code == 0
    for number in (7919, 6143, 4999):
        assert f"{number:,}" in done.err
        for text in (done.out, everything_in(work / "out")):
            assert not re.search(rf"\b{number}\b|{number:,}", text)
    explanation = run("explain", "out", "--json").out + run("explain", "out").out
    assert "7,919" not in explanation
    assert "7919" not in explanation


@pytest.mark.parametrize("method", ["lpa", "sra", "hpa"])
def test_an_empty_log_gives_a_release_of_noise(run: Run, work: Path, method: str) -> None:
    (work / "visits.csv").write_text("user,venue,time\n", encoding="utf-8")
    done = run(*RELEASE, *WEEKDAY, "--method", method, "--epsilon", "0.01", "--out", "out", "--json")
    assert done.code == 0
    counts = pq.read_table(work / "out" / "edges.parquet")["count"].to_pylist()
    assert len(counts) == 24
    assert any(counts)  # all zeros: less than (1/400)^24 at this scale


def test_a_context_outside_its_domain_counts_in_the_unknown_cell(run: Run, work: Path) -> None:
    lines = ["user,venue,sex", *(f"u{n},tea,{'X' if n % 2 else ''}" for n in range(500))]
    (work / "visits.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    context = ("--context", "sex", "--contexts", "F,M", "--limit", "1", "--epsilon", "20", "--what", "edges")
    assert run(*RELEASE, *context, "--out", "out").code == 0
    cells = {
        (row["item"], row["context"]): row["count"]
        for row in pq.read_table(work / "out" / "edges.parquet").to_pylist()
    }
    # noise of scale 1/20: beyond ±20 with probability below e^-400
    assert abs(cells["tea", None] - 500) < 20
    assert max(abs(cells["tea", sex]) for sex in ("F", "M")) < 20


def test_several_context_columns_are_joined_by_a_bar(run: Run, work: Path) -> None:
    context = ("--context", "sex,age", "--contexts", "sex=F,M", "--contexts", "age=0-24,25+")
    assert run(*RELEASE, *context, "--out", "out").code == 0
    best = run("top", "out", "--context", "M|25+", "--json")
    assert best.code == 0
    assert {row["context"] for row in best.data} == {"M|25+"}


def test_conditions_times_and_counting_users(run: Run, work: Path) -> None:
    flags = ("--where", "stars >= 3", "--time", "time", "--since", "2026-03-06", "--until", "2026-03-07")
    done = run(*RELEASE, *flags, "--count", "users", "--epsilon", "60", "--out", "out")
    assert done.code == 0
    rows = {row["item"]: row["count"] for row in pq.read_table(work / "out" / "items.parquet").to_pylist()}
    assert rows == {"tea": 2.0, "rye": 0.0, "oat": 0.0}  # noise of scale 1/30 is not 0 with probability < 1e-12
    story = json.loads((work / "out" / "release.json").read_text(encoding="utf-8"))
    assert story["counts"] == "users"
    request = story["request"]["events"]
    assert request["where"] == ["stars >= 3"]
    assert request["since"].startswith("2026-03-06")


@pytest.mark.parametrize(
    ("given", "echoed"), [("1", "1"), ("0.10", "0.10"), ("1e-2", "0.01"), ("2E1", "20"), (" 3 ", "3")]
)
def test_epsilon_is_echoed_as_it_was_meant(run: Run, work: Path, given: str, echoed: str) -> None:
    done = run(*RELEASE, "--epsilon", given, "--out", "out", "--json")
    assert done.data["guarantee"]["epsilon"] == echoed
    story = json.loads((work / "out" / "release.json").read_text(encoding="utf-8"))
    assert story["request"]["release"]["epsilon"] == echoed


def test_shares_are_taken_as_given(run: Run, work: Path) -> None:
    done = run(*RELEASE, *WEEKDAY, "--shares", "items=0.8,edges=0.2", "--out", "out", "--json")
    assert done.code == 0
    story = json.loads((work / "out" / "release.json").read_text(encoding="utf-8"))
    assert {name: law["scale"] for name, law in story["noise"].items()} == {"items": "5/2", "edges": "10"}
    assert story["request"]["release"]["shares"] == {"items": "0.8", "edges": "0.2"}


def test_an_option_of_the_method_is_used(run: Run, work: Path) -> None:
    assert run(*RELEASE, "--method", "hpa", "--option", "d=3", "--out", "out").code == 0
    assert "at most 3 records per person" in run("explain", "out").out


def test_public_scores_cost_nothing_from_plan_to_release(run: Run, work: Path) -> None:
    """The tables get all of ε; the folder says which scores were used, not where they lay."""
    arguments = [word if word != "sra" else "hpa" for word in RELEASE]
    (work / "scores.csv").write_text("item,score\nrye,2\ntea,1\n", encoding="utf-8")
    public = ["--option", "scores=scores.csv"]
    planned, paid = (run(*arguments, *more, "--dry-run", "--json").data["noise"]["items"] for more in (public, []))
    assert planned["half_width_95"] < paid["half_width_95"]
    assert run(*arguments, *public, "--out", "picked").code == 0
    release = load(work / "picked")
    assert release.noise["items"].to_json() == {key: planned[key] for key in release.noise["items"].to_json()}
    assert "scores.csv" not in everything_in(work / "picked")
    explanation = " ".join(run("explain", "picked").out.split())
    assert "Public scores (sha256:" in explanation
    assert "of 2 of the 3 items took the place of an estimate; nothing was spent on them" in explanation
    (work / "scores.csv").write_text("item,score\nrye,2\nrye,1\n", encoding="utf-8")
    failed = run(*arguments, *public, "--out", "again")
    assert failed.code == 2
    assert failed.complaint == "scores.csv: column 'item' lists 'rye' twice; remove one of them"


def test_force_replaces_a_release_and_nothing_else(run: Run, release_folder: Path, work: Path) -> None:
    before = everything_in(release_folder)
    assert run(*RELEASE, "--out", "made", "--force").code == 0
    assert everything_in(release_folder) != before
    assert not (release_folder / "edges.parquet").exists()
    (work / "photos").mkdir()
    (work / "photos" / "one.jpg").write_text("x", encoding="utf-8")
    refused = run(*RELEASE, "--out", "photos", "--force")
    assert refused.code == 2
    assert "is not a release" in refused.complaint
    assert (work / "photos" / "one.jpg").exists()
    assert leftovers(work) == []


def leftovers(folder: Path) -> list[str]:
    """What a run that failed must not leave behind."""
    return [path.name for path in folder.iterdir() if path.name.startswith(".")]


def test_a_dry_run_reads_no_event(run: Run, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalogue = (work / "venues.csv").read_text(encoding="utf-8").splitlines()[1:]
    (work / "venues.txt").write_text("\n".join(line.split(",")[0] for line in catalogue), encoding="utf-8")
    monkeypatch.setattr(FileSource, "batches", _must_not_read)
    flags = (*RELEASE, *WEEKDAY, "--items", "venues.txt", "--dry-run")
    result = run(*flags)
    assert result.code == 0
    for word in ("Promise", "e^1", "Price", "ε = 1", "Cells", "3 item counts", "24 item-by-context", "±12"):
        assert word in result.out
    plan = run(*flags, "--json")
    assert plan.code == 0
    assert set(plan.data) == {"guarantee", "price", "cells", "noise", "ledger"}
    assert plan.data["price"] == {"epsilon": "1", "delta": "0"}
    assert plan.data["cells"] == {"items": 3, "edges": 24}
    assert plan.data["noise"]["items"]["scale"] == "4"
    assert plan.data["noise"]["items"]["half_width_95"] == 12
    assert not list(work.glob("out*"))


def test_gaussian_noise_from_plan_to_release(run: Run, work: Path) -> None:
    flags = (*RELEASE, "--noise", "gaussian", "--delta", "0.000001")
    result = run(*flags, "--dry-run")
    assert result.code == 0
    for word in ("δ = 1e-6", "Price    ε = 1, δ = 1e-6", "discrete Gaussian noise of standard deviation"):
        assert word in result.out
    plan = run(*flags, "--dry-run", "--json").data
    assert plan["price"] == {"epsilon": "1", "delta": "0.000001"}
    assert plan["noise"]["items"]["law"] == "discrete-gaussian"
    done = run(*flags, "--out", "bell")
    assert done.code == 0
    assert "ε = 1, δ = 1e-6 were spent" in done.err
    release = load("bell")
    assert release.noise["items"].to_json()["sigma"] == plan["noise"]["items"]["sigma"]
    again = run(*RELEASE[:2], *FLAGS, "--config", "bell", "--out", "again", "--json")
    assert again.code == 0
    assert again.data["guarantee"]["delta"] == "0.000001"


def _must_not_read(*_: Any) -> Any:
    raise AssertionError("events were read")


def test_a_dry_run_refuses_what_a_run_would(run: Run, work: Path, release_folder: Path) -> None:
    assert run(*RELEASE, "--what", "edges", "--dry-run").code == 2
    assert run(*RELEASE, "--shares", "items=0.9", "--dry-run").code == 2
    assert run(*RELEASE, "--user", "usr", "--dry-run").code == 2
    assert run(*RELEASE, "--out", "made", "--dry-run").code == 2


def test_research_must_be_allowed_and_is_then_marked_everywhere(run: Run, work: Path) -> None:
    flags = (*RELEASE, "--method", "hpa-published")
    refused = run(*flags, "--out", "out")
    assert refused.code == 2
    assert "--research" in refused.complaint
    assert not (work / "out").exists()

    done = run(*flags, "--research", "--out", "out")
    assert "NOT PRIVATE" in done.out
    assert "not established" in done.out
    assert "NOT PRIVATE" in run(*flags, "--research", "--dry-run").out
    promise = run(*flags, "--research", "--out", "out2", "--json").data["guarantee"]
    assert (promise["standing"], "14.6" in promise["reason"]) == ("claimed", True)
    story = json.loads((work / "out" / "release.json").read_text(encoding="utf-8"))
    assert story["guarantee"]["standing"] == "claimed"
    assert story["request"]["release"]["research"] is True
    assert "NOT PRIVATE" in run("top", "out").out
    assert "NOT PRIVATE" in run("top", "out", "--json").err
    assert run("top", "out", "--json").data[0]["rank"] == 1
    assert "NOT PRIVATE" in run("top", "out", "--format", "csv").err
    assert "NOT PRIVATE" in run("explain", "out").out
    assert "Treat this output as not private" in "".join(run("explain", "out", "--json").data["sentences"])
    assert "NOT PRIVATE" in run("report", "out", "--to", "out.html").err
    page = (work / "out.html").read_text(encoding="utf-8")
    assert "CLAIMED" in page
    assert "Treat this output as not private" in page
    assert "NOT PRIVATE" in run("export", "out", "--to", "sheets").err
    assert (work / "sheets" / "about.txt").read_text(encoding="utf-8").startswith("NOT PRIVATE")


def test_a_research_method_may_know_its_noise_only_afterwards(run: Run, work: Path) -> None:
    flags = ("release", "visits.csv", *FLAGS, "--epsilon", "1", "--method", "lpa-published", "--research")
    assert "not known before the data is read" in run(*flags, "--dry-run").out
    assert run(*flags, "--dry-run", "--json").data["noise"] == {}
    assert run(*flags, "--out", "out").code == 0


def test_a_report_is_called_as_one_likes(run: Run, release_folder: Path) -> None:
    assert run("report", "made", "--to", "made.html", "--title", "Visits <by> day").code == 0
    page = (release_folder.parent / "made.html").read_text(encoding="utf-8")
    assert "<h1>Visits &lt;by&gt; day</h1>" in page
