"""What a trial runs, what its noise hangs on, and that reuse changes no number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from headcount.accounting.budget import Grant
from headcount.bounds import ActivityHistogram, ItemSubset, SampleRecords, WeightToThreshold
from headcount.bounds.counts.record_cap import RecordCap
from headcount.bounds.counts.users_per_column import UsersPerColumn
from headcount.engines.local.engine import LocalEngine
from headcount.events.catalogue import Catalogue
from headcount.events.log import EventLog
from headcount.lab.compare import metrics
from headcount.lab.compare.caching_engine import CachingEngine
from headcount.lab.compare.metrics import USUAL, measure_tables
from headcount.lab.compare.trials import (
    Bench,
    Number,
    Trial,
    Truth,
    measured,
    reference_of,
    resolve_reference,
    run_name,
    seed_of,
)
from headcount.methods.counts import FAMILY
from headcount.methods.registry import build
from headcount.noise import SeededNoise
from headcount.releases.release import Release

METHODS = FAMILY.kinds()

EPSILONS = ("0.5", "2")


def parameters_of(method: str) -> dict[str, Any]:
    try:
        build(method, {})
    except Exception:
        return {"limit": 3}
    return {}


TRIALS = [Trial.for_dataset("log", name, epsilon=e, **parameters_of(name)) for name in METHODS for e in EPSILONS]


def bench(log: EventLog, *, kept_bytes: int = 1 << 20, run: int = 0, seed: int = 5) -> Bench:
    engine = LocalEngine(threads=1)
    reusing = CachingEngine(engine, run_name(seed, "log", run), kept_bytes)
    return Bench(log, Truth.count(log, engine), reusing, seed)


def numbers(on: Bench, trials: Iterable[Trial]) -> list[dict[str, Any]]:
    rows = [row for trial in trials for row in measured(on, trial, USUAL)]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_the_truth_is_that_of_the_log(log: EventLog) -> None:
    rows = log.source.table.to_pylist()  # type: ignore[attr-defined]
    truth = Truth.count(log, LocalEngine())
    assert truth.users == len({row["user"] for row in rows})
    assert truth.records == len(rows)
    for place, item in enumerate(log.catalogue.ids):
        assert truth.items[place] == sum(row["item"] == item for row in rows)
        assert truth.edges[place, 2] == sum(row["item"] == item and row["context"] is None for row in rows)


def test_reuse_gives_the_same_numbers_as_counting_every_time(log: EventLog) -> None:
    kept, thrown_away = bench(log), bench(log, kept_bytes=0)
    assert numbers(kept, TRIALS) == numbers(thrown_away, TRIALS)
    assert isinstance(kept.engine, CachingEngine)
    assert isinstance(thrown_away.engine, CachingEngine)
    assert kept.engine.counted < 0.7 * thrown_away.engine.counted


def test_no_order_of_trials_changes_a_number(log: EventLog) -> None:
    forward = {str(row): row for row in numbers(bench(log), TRIALS)}
    backward = {str(row): row for row in numbers(bench(log), reversed(TRIALS))}
    assert forward == backward


def test_runs_draw_other_samples_and_other_noise(log: EventLog) -> None:
    first, again, second = (CachingEngine(LocalEngine(), run_name(1, "log", run)) for run in (0, 0, 1))
    counts = [
        engine.measure(log, SampleRecords(2), bytes(16)).edges.sensitive_values.tolist()
        for engine in (first, again, second)
    ]
    assert counts[0] == counts[1] != counts[2]
    trials = [Trial.for_dataset("log", "sra", epsilon="1", limit=99, run=run) for run in range(3)]
    values = [numbers(bench(log, run=trial.run), [trial])[0]["value"] for trial in trials]
    assert len(set(values)) == 3


def test_noise_hangs_on_everything_but_the_label(log: EventLog) -> None:
    on = bench(log)
    plain = {"dataset": "log", "method": "sra", "epsilon": "1", "delta": None, "run": 0, "limit": 2}
    others = {"dataset": "b", "method": "hpa", "epsilon": "2", "delta": "1e-6", "run": 1, "limit": 3}

    def key(**changed: Any) -> bytes:
        given: dict[str, Any] = {**plain, **changed}
        return on.noise(Trial.for_dataset(given.pop("dataset"), given.pop("method"), **given)).key()

    drawn = [key(), *(key(**{name: value}) for name, value in others.items())]
    assert len(set(drawn)) == len(drawn)
    assert key(label="SRA as in figure 7") == key() == drawn[0]
    assert bench(log, seed=6).noise(Trial.for_dataset("log", "sra", epsilon="1", limit=2)).key() != drawn[0]


def test_a_trial_that_asks_twice_gets_two_samples(log: EventLog) -> None:
    engine = CachingEngine(LocalEngine(), "run")
    first, second = (engine.measure(log, SampleRecords(1), bytes(16)).edges.sensitive_values for _ in range(2))
    assert (first != second).any()
    engine.begin()
    assert engine.measure(log, SampleRecords(1), bytes(16)).edges.sensitive_values is first


def test_samples_of_different_limits_are_independent(log: EventLog) -> None:
    """A sample of one record is not a part of a sample of three, as it would be with one key for both."""
    engines = [CachingEngine(LocalEngine(), f"run {n}") for n in range(20)]
    samples = [
        [engine.measure(log, SampleRecords(k), bytes(16)).edges.sensitive_values for k in (1, 3)]
        for engine in engines
    ]
    assert any((first > three).any() for first, three in samples)


def test_kept_counts_cannot_be_changed(log: EventLog) -> None:
    engine = CachingEngine(LocalEngine(), "run")
    rows = engine.measure(log, RecordCap("items", 40), bytes(16))
    with pytest.raises(ValueError, match="read-only"):
        rows.columns[0] = 1
    assert not engine.measure(log, WeightToThreshold(2), bytes(16)).items.sensitive_values.flags.writeable
    assert not engine.measure(log, ActivityHistogram("items", 9), bytes(16)).sensitive_values.flags.writeable
    assert not engine.measure(log, UsersPerColumn("items"), bytes(16)).sensitive_users.flags.writeable


@pytest.mark.parametrize(
    "other",
    [
        ActivityHistogram("items", 9, "l2"),
        ActivityHistogram("items", 9, among=ItemSubset(np.array([1]))),
        ActivityHistogram("items", 8),
    ],
    ids=["norm", "among", "most"],
)
def test_another_activity_is_counted_by_itself(log: EventLog, other: ActivityHistogram) -> None:
    engine = CachingEngine(LocalEngine(), "run")
    engine.measure(log, ActivityHistogram("items", 9), bytes(16))
    engine.begin()
    counted = [
        measuring_engine.measure(log, other, bytes(16)).sensitive_values
        for measuring_engine in (engine, LocalEngine())
    ]
    assert counted[0].tolist() == counted[1].tolist()


def test_cached_measurements_of_a_trial_are_not_reused_by_another(log: EventLog) -> None:
    """Two trials that selected different items ask for the same bound of different tables."""
    engine = CachingEngine(LocalEngine(), "run")
    for ids in (log.catalogue.ids[:2], log.catalogue.ids[2:4], log.catalogue.ids[:1]):
        engine.begin()
        selected = replace(log, catalogue=Catalogue.of(ids))
        counted = [
            measuring_engine.measure(selected, WeightToThreshold(99), bytes(16)).items
            for measuring_engine in (engine, LocalEngine())
        ]
        assert counted[0].sensitive_values.tolist() == counted[1].sensitive_values.tolist()


def test_memory_stays_bounded(log: EventLog) -> None:
    engine = CachingEngine(LocalEngine(), "run", kept_bytes=2000)
    for limit in range(1, 30):
        engine.begin()
        engine.measure(log, SampleRecords(limit), bytes(16))
    assert sum(size for _, size in engine._kept.values()) <= 2000


def test_a_release_is_that_of_the_method_itself(log: EventLog) -> None:
    """With a plain engine a trial is the method's own release, number by number."""
    trial = Trial.for_dataset("log", "sra", epsilon="1", limit=3)
    plain = Bench(log, Truth.count(log, LocalEngine()), LocalEngine(), 5)
    direct = build("sra", {"limit": 3}).release(log, Grant("1"), SeededNoise(seed_of(5, trial.identity)))
    assert plain.release(trial).edges == direct.edges
    assert plain.release(trial).simulated


def test_a_method_that_refuses_says_why(log: EventLog) -> None:
    (row,) = measured(bench(log), Trial.for_dataset("log", "sra", epsilon="1"), USUAL)
    assert "needs --limit" in row["refused"]
    assert "value" not in row
    (row,) = measured(bench(log), Trial.for_dataset("log", "nope", epsilon="1"), USUAL)
    assert "not known" in row["refused"]


def top_three(truth: Truth, release: Release) -> Iterator[Number]:
    for row in release.top(3):
        yield Number(table="items", k=row["rank"], key=row["item"], value=row["count"])


def chosen_theta(truth: Truth, release: Release) -> float:
    return float(release.chosen["items"]["theta"])


def users_of(on: Bench, trial: Trial) -> Iterator[Number]:
    yield Number(metric="users", value=on.truth.users * dict(trial.parameters)["times"])


def test_measures_are_numbers_or_rows(log: EventLog) -> None:
    trial = Trial.for_dataset("log", "dpsense", epsilon="1")
    rows = list(measured(bench(log), trial, {"top": top_three, "θ": chosen_theta}))
    assert [row["k"] for row in rows] == [1, 2, 3, None]
    assert all(row["key"] for row in rows[:3])
    assert rows[3]["metric"] == "θ"
    assert rows[3]["value"] >= 1


def test_a_trial_may_run_any_function(log: EventLog) -> None:
    trial = Trial.for_dataset("log", "users", epsilon="1", function=f"{__name__}:users_of", times=2)
    (row,) = measured(bench(log), trial, {})
    assert (row["metric"], row["value"]) == ("users", 80.0)


def test_the_noise_of_papers_outlives_a_move_of_their_code() -> None:
    trial = Trial.for_dataset("log", "cim", epsilon="1", function="headcount.lab.replicate.cim:answered")
    assert '"function":"headcount.lab.papers.cim:answered"' in trial.identity


def test_usual_measures_are_the_metrics(log: EventLog) -> None:
    on, trial = bench(log), Trial.for_dataset("log", "sra", epsilon="1", limit=2)
    release = on.release(trial)
    on.engine.begin()  # type: ignore[attr-defined]
    rows = {(row["metric"], row["table"]): row["value"] for row in measured(on, trial, USUAL)}
    items = release.items["count"].to_numpy()
    assert rows["MSE", "items"] == metrics.mean_squared_error(on.truth.items, items)
    assert rows["MRE", "items"] == metrics.mean_relative_error(on.truth.items, items, 1.0)
    edges = release.edges["count"].to_numpy().reshape(12, 3)
    assert rows["KL", "edges"] == metrics.kl_divergence(on.truth.edges, edges)
    expected = metrics.context_precision(on.truth.edges[:, :2], edges[:, :2], 10)
    assert rows["precision", "edges"] == expected


def test_measures_have_stable_names() -> None:
    named = reference_of(partial(measure_tables, metrics.kl_divergence))
    assert named == "headcount.lab.compare.metrics:measure_tables(headcount.lab.compare.metrics:kl_divergence)"
    with pytest.raises(ValueError, match="another process"):
        reference_of(lambda: 1)
    assert resolve_reference("numpy:float64") is np.float64
