"""All papers in one go: what is absent is said, and what is finished is not run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headcount.errors import AbsentError
from headcount.lab.compare import trial_grid as grids
from headcount.lab.replicate.all_papers import PAPERS, clear_all, reproduce_all
from tests.lab.replicate import papers

SOME = {name: PAPERS[name] for name in ("kellaris", "dpsense", "cim")}
HOW: dict[str, Any] = {"papers": SOME, "quick": True, "runs": 2, "processes": 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data of two papers, and none of the third."""
    folder = papers.shared(tmp_path_factory.mktemp("shared"))
    (folder / "dpbench-1d.parquet").unlink()
    return folder


def test_an_interruption_costs_nothing_that_is_finished(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: list[str] = []
    steps: list[tuple[str, int, int | None]] = []
    original, parts = grids.run_unit, tmp_path / "parts"

    def note(unit: grids.Unit, *rest: Any) -> grids.Unit:
        run.append(unit.part.name)
        return original(unit, *rest)

    def stop(*now: Any) -> None:
        steps.append(now)
        if now[0] == "dpsense (2 of 2): running trials":
            raise KeyboardInterrupt

    monkeypatch.setattr(grids, "run_unit", note)
    with pytest.raises(KeyboardInterrupt):
        reproduce_all(shared, parts, progress=stop, **HOW)
    interrupted = len(run)
    done = reproduce_all(shared, parts, progress=lambda *now: steps.append(now), keep=True, **HOW)
    assert list(done.done) == ["kellaris", "dpsense"]
    assert 1 < interrupted < len(run)
    assert len(set(run)) == len(run), "no unit was run twice"
    assert len(list(parts.glob("*/*.parquet"))) == len(run), "kept as long as something is to be written"
    (parts / "mine").write_text("of somebody else")
    clear_all(parts)
    assert [path.name for path in parts.iterdir()] == ["mine"]

    running = [(done, total) for stage, done, total in steps if stage.endswith("running trials")]
    assert len({total for _, total in running}) == 1, "one bar for all papers"
    assert running[-1][0] == running[-1][1]
    first_of_second = next(done for stage, done, _ in steps if stage.startswith("dpsense"))
    assert 0 < first_of_second < running[-1][1]


def test_missing_datasets_are_reported_and_the_rest_is_run(shared: Path, tmp_path: Path) -> None:
    done = reproduce_all(
        shared, tmp_path / "parts", **{**HOW, "papers": {name: SOME[name] for name in ("dpsense", "cim")}}
    )
    assert list(done.done) == ["dpsense"]
    assert "none of the data of cim is at hand" in done.absent["cim"]
    assert sum(done.counts.values()) == len(PAPERS["dpsense"].claims.claim)
    assert set(done.table["paper"].to_pylist()) == {"dpsense"}
    document = done.document()
    assert document["private"] is False
    assert document["papers"]["dpsense"]["claims"][0]["id"] == PAPERS["dpsense"].claims.claim[0].id
    assert document["absent"] == done.absent


def test_no_data_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(AbsentError, match="no data of any paper are at hand"):
        reproduce_all(tmp_path, tmp_path / "parts", **HOW)
