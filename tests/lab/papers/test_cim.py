"""The experiments on CIM: couplings, data sets as tables of people, and what is run."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from headcount.engines.local import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.comparing.trials import Bench, Trial, Truth
from headcount.lab.datasets.by_name import load
from headcount.lab.papers import cim
from headcount.lab.papers.coupling import by_pearson, declared
from headcount.lab.papers.paper import Effort
from headcount.lab.papers.registry import PAPERS

DATA = Path(os.environ.get("HEADCOUNT_DATA", "none"))


def test_pearson_couplings_are_those_of_numpy() -> None:
    attributes = np.random.default_rng(1).normal(size=(700, 4))
    attributes[3] = 5.0  # constant: no coefficient
    with np.errstate(invalid="ignore"):
        degrees = np.abs(np.nan_to_num(np.corrcoef(attributes)))
    np.fill_diagonal(degrees, 0)
    degrees[degrees < 0.6] = 0
    found = by_pearson(attributes)
    assert found.others.tolist() == np.count_nonzero(degrees, axis=1).tolist()
    assert found.largest == found.others.max() + 1
    assert found.share == (found.others > 0).mean()


def test_declared_couplings_are_a_quarter_in_groups_of_the_given_size() -> None:
    places = np.arange(4_000) % 50
    records = declared(places, 50, 15, np.random.default_rng(1))
    members = np.bincount(records.groups)
    assert members.max() == 15
    coupled = members[records.groups] > 1
    assert 0.24 < coupled.mean() <= 0.25
    assert 1 + 14 * 0.6 <= records.sizes.max() <= 15
    assert (records.sizes[~coupled] == 1).all()


def bench(name: str = "Adult") -> Bench:
    cells = int(np.prod(cim.SHAPES[name]))
    draw = np.random.default_rng(3)
    items = np.minimum(draw.zipf(1.3, 400), cells) - 1
    log = EventLog.of([(who, int(item)) for who, item in enumerate(items)], items=list(range(cells)))
    engine = LocalEngine(threads=1)
    return Bench(log, Truth.of(log, engine), engine, 1)


@pytest.mark.parametrize("method", ["CIM&CS", "LM&CS", "LM&GS", "histogram"])
def test_every_method_is_measured(method: str) -> None:
    trial = Trial.of("NetTrace", method, epsilon="1", threshold=0.3, eta=7.0)
    rows = {row.metric: row.value for row in cim.answered(bench("NetTrace"), trial)}
    assert set(rows) == {"MSE", "mean error"} | ({"updates"} if method == "CIM&CS" else set())
    assert rows["mean error"] ** 2 <= rows["MSE"]
    if method.startswith("LM"):
        # 10,000 queries share ε: noise of scale CS · 10,000 / 400, where CS is between 1 and 10
        assert 25**2 < rows["MSE"] < 2 * 300**2


def test_each_round_has_its_part_of_epsilon() -> None:
    rows = {row.metric: row.value for row in cim.rounds(bench("NetTrace"), Trial.of("NetTrace", "x", epsilon="1"))}
    assert rows["ε₀ / ε"] == pytest.approx(49 * 0.36 / np.log(4096))
    assert rows["true ε of all rounds, over ε"] > 10_000


def test_quick_runs_have_fewer_points_of_the_same_experiments() -> None:
    names = dict.fromkeys(("Adult", "NLTCS", "NetTrace"))
    quick, full = (list(cim.settings(Effort(each, 2), names)) for each in (True, False))  # type: ignore[arg-type]
    assert {each.experiment for each in quick} == {each.experiment for each in full}
    assert len(quick) < len(full)
    assert len({(each.dataset, each.label) for each in full}) == len(full)
    assert PAPERS["cim"].claims.paper.name == "cim"


@pytest.mark.skipif(not (DATA / "uci-adult.parquet").is_file(), reason="HEADCOUNT_DATA has no uci-adult")
def test_the_data_are_as_large_as_the_thesis_says() -> None:
    sizes = {name: load(name, DATA).sizes.records for name in ("uci-adult", "nltcs", "dpbench-nettrace")}
    assert sizes == {"uci-adult": 30_162, "nltcs": 21_574, "dpbench-nettrace": 25_714}
    assert len(load("uci-adult", DATA).log.catalogue.ids) == 65_536
