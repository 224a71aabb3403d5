"""The experiments on CIM: couplings, data sets as tables of people, and what is run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.as_published.cim import Iterated
from headcount.lab.compare.trials import Bench, Trial, Truth
from headcount.lab.datasets.by_name import load
from headcount.lab.replicate import cim
from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.cim import by_pearson, declared
from headcount.lab.replicate.paper import Effort

DATA = Path(os.environ.get("HEADCOUNT_DATA", "none"))


def test_pearson_couplings_are_those_of_numpy() -> None:
    attributes = np.random.default_rng(1).normal(size=(700, 4))
    attributes[3] = 5.0  # constant: no coefficient
    with np.errstate(invalid="ignore"):
        degrees = np.abs(np.nan_to_num(np.corrcoef(attributes)))
    np.fill_diagonal(degrees, 0)
    degrees[degrees < 0.6] = 0
    couplings = by_pearson(attributes)
    assert couplings.others.tolist() == np.count_nonzero(degrees, axis=1).tolist()
    assert couplings.largest == couplings.others.max() + 1
    assert couplings.share == (couplings.others > 0).mean()


def test_declared_couplings_are_a_quarter_in_groups_of_the_given_size() -> None:
    degrees = declared(4_000, 15, np.random.default_rng(1))
    assert degrees.others.max() == 14
    assert 0.24 < (degrees.others > 0).mean() <= 0.25
    assert 0.6 <= degrees.degrees.min() < 0.61 < 0.99 < degrees.degrees.max() <= 1
    assert np.unique(degrees.degrees).size == degrees.degrees.size, "each pair has one of its own"
    assert 1 + 14 * 0.6 <= degrees.record_sensitivities.max() <= 15


def bench(name: str = "NetTrace") -> Bench:
    cells = int(np.prod(cim.SHAPES[name]))
    draw = np.random.default_rng(3)
    items = np.minimum(draw.zipf(1.3, 400), cells) - 1
    log = EventLog.of([(who, int(item)) for who, item in enumerate(items)], items=list(range(cells)))
    engine = LocalEngine(threads=1)
    return Bench(log, Truth.count(log, engine), engine, 1)


@pytest.mark.parametrize("method", ["CIM&CS", "LM&CS", "LM&GS", "histogram"])
def test_every_method_is_measured(method: str) -> None:
    trial = Trial.for_dataset("NetTrace", method, epsilon="1", threshold=0.3, eta=7.0)
    rows = {row.metric: row.value for row in cim.answered(bench("NetTrace"), trial)}
    assert {"MSE", "mean error"} <= set(rows)
    assert ("updates" in rows) == (method == "CIM&CS")
    assert rows["mean error"] ** 2 <= rows["MSE"]
    if method.startswith("LM"):
        # 10,000 queries share ε: noise of scale CS · 10,000 / 400, where CS is between 1 and 10
        assert 25**2 < rows["MSE"] < 2 * 300**2


def measured(name: str, **parameters: Any) -> dict[str, float]:
    usual: dict[str, Any] = {"threshold": 0.3, "eta": 7.0}
    trial = Trial.for_dataset(name, "CIM&CS", epsilon="1", **usual | parameters)
    return {row.metric: row.value for row in cim.answered(bench(name), trial)}


def test_figure_5_5_has_all_of_its_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = cim.settings(Effort(quick=True, runs=2), dict.fromkeys(("Adult",)))  # type: ignore[arg-type]
    assert {setting.parameters["rounds"] for setting in settings if setting.experiment == "step"} == {100_000}
    iterations: list[int] = []

    def counting(_: object, noisy: Any, **how: float) -> Iterated:
        iterations.append(noisy.size)
        return Iterated(noisy, len(how), 0.1)

    monkeypatch.setattr(cim, "iterated", counting)
    assert measured("Adult", rounds=25_000)["updates"] == 2
    assert iterations == [25_000]


def test_the_proven_guarantee_stands_beside_the_measured_loss() -> None:
    rows = measured("Adult", threshold=0.2)
    assert rows["updates over those of lemma 4"] == pytest.approx(rows["updates"] * 49 * 0.36 / np.log(99))
    assert rows["updates beyond corollary 2"] <= rows["updates"]
    assert rows["largest error over that of theorem 5.5.1"] > 0
    never = measured("Adult", threshold=5.0)
    assert never["updates"] == 0
    assert never["updates beyond corollary 2"] <= 0


def test_noise_that_figures_imply_takes_the_place_of_that_of_the_text() -> None:
    """At ε = 1 and T = 0.01 nearly all answers are noisy ones: their MSE is 2 · 0.5²."""
    assert measured("Adult", threshold=0.01, scale=0.5)["MSE"] == pytest.approx(0.5, rel=0.1)


def test_couplings_of_a_run_are_the_same_for_all_methods_and_others_in_another_run() -> None:
    counts = np.arange(99).tobytes()
    first, other = (cim.coupled_records(counts, "Adult", run).degrees for run in (0, 1))
    assert cim.coupled_records(counts, "Adult", 0).degrees is first
    assert not np.array_equal(first.first, other.first)
    assert cim.coupled_records(counts, "NLTCS", 0).degrees.others.max() == 9


def test_every_query_is_of_cells_there_are() -> None:
    sizes = cim.random_queries(99).sizes
    assert (sizes.max() <= 99, abs(sizes.mean() - 49.5) < 0.2) == (True, True)


def test_scales_that_figures_of_the_thesis_imply() -> None:
    """Laplace noise of scale b has the MSE 2 b²: three figures of LM&CS agree on 0.2 / ε."""
    implied = [np.sqrt(mse / 2) * epsilon for epsilon, mse in ((0.3, 0.8906), (0.4, 0.5171), (1.0, 0.0850))]
    assert implied == pytest.approx([0.203] * 3, abs=0.004)
    assert np.sqrt(5.5350 / 2) * 0.1 == pytest.approx(cim.IMPLIED, abs=0.001)


def test_every_round_gets_its_part_of_epsilon() -> None:
    rows = {
        row.metric: row.value
        for row in cim.rounds(bench("NetTrace"), Trial.for_dataset("NetTrace", "x", epsilon="1"))
    }
    assert rows["ε₀ / ε"] == pytest.approx(49 * 0.36 / np.log(4096))
    assert rows["true ε of all rounds, over ε"] > 10_000


def test_quick_runs_have_fewer_points_of_the_same_experiments() -> None:
    names = dict.fromkeys(cim.SHAPES)
    quick, full = (list(cim.settings(Effort(is_quick, 2), names)) for is_quick in (True, False))  # type: ignore[arg-type]
    assert {setting.experiment for setting in quick} == {setting.experiment for setting in full}
    assert len(quick) < len(full)
    assert len({(setting.dataset, setting.label) for setting in full}) == len(full)
    assert PAPERS["cim"].claims.paper.name == "cim"


@pytest.mark.skipif(not (DATA / "uci-adult.parquet").is_file(), reason="HEADCOUNT_DATA has no uci-adult")
def test_the_data_are_as_large_as_the_thesis_says() -> None:
    sizes = {
        name: load(name, DATA).sizes.records
        for name in ("uci-adult", "uci-adult-hours", "nltcs", "dpbench-nettrace")
    }
    assert sizes == {"uci-adult": 30_162, "uci-adult-hours": 30_162, "nltcs": 21_574, "dpbench-nettrace": 25_714}
    assert len(load("uci-adult", DATA).log.catalogue.ids) == 65_536


@pytest.mark.skipif(not (DATA / "uci-adult.parquet").is_file(), reason="HEADCOUNT_DATA has no uci-adult")
def test_the_uniform_table_is_as_far_off_as_where_figure_5_4_ends() -> None:
    log = load("uci-adult-hours", DATA).log
    counts = Truth.count(log, LocalEngine(threads=1)).items.astype(np.int64)
    table = cim.query_table(counts.tobytes())
    uniform = table.queries.sizes / 99
    assert np.mean((table.exact - uniform) ** 2) == pytest.approx(0.0582, abs=0.001)
