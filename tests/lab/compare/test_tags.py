"""Leave-one-out evaluation of recommended tags, and what is run to reproduce PriTop."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from headcount.accounting.budget import Grant
from headcount.bounds.tags.tag_weights import tagging_of
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import read_events
from headcount.events.tag_log import Tagging
from headcount.lab.compare.tags import (
    Assignments,
    by_folkrank,
    by_model,
    by_popularity,
    leave_one_out,
    recall_and_precision,
    semantic_loss,
)
from headcount.lab.compare.trials import Bench, Trial, Truth
from headcount.lab.datasets.by_name import Dataset
from headcount.lab.replicate import pritop
from headcount.lab.replicate.pritop import PRITOP
from headcount.methods.tags.model import TagModel
from headcount.noise import SeededNoise
from tests.support.tag_logs import crowd, drawn, log_of


def triples(tagging: Tagging) -> set[tuple[int, int, int]]:
    return set(zip(tagging.user.tolist(), tagging.resource.tolist(), tagging.tag.tolist(), strict=True))


def test_one_whole_resource_of_every_user_is_hidden() -> None:
    tagging = drawn(3, size=60)
    hidden = leave_one_out(tagging, 1)
    assert hidden.users.tolist() == sorted(set(tagging.user.tolist()))
    hidden_resources = set()
    for at, (user, resource) in enumerate(zip(hidden.users.tolist(), hidden.resources.tolist(), strict=True)):
        mine = hidden.tags[hidden.starts[at] : hidden.starts[at + 1]].tolist()
        hidden_resources |= {(user, resource, tag) for tag in mine}
        assert set(mine) == {t for u, r, t in triples(tagging) if (u, r) == (user, resource)}
    assert triples(hidden.left) == triples(tagging) - hidden_resources
    picked = Counter(int(leave_one_out(tagging, seed).resources[0]) for seed in range(200))
    assert len(picked) == len({r for u, r, _ in triples(tagging) if u == 0})
    few = hidden.some(2)
    assert few.users.size == 2
    assert few.tags.size == few.starts[-1]


def test_recall_and_precision_are_those_of_the_definition() -> None:
    tagging = Tagging.from_codes([0, 0, 0, 1], [0, 0, 0, 0], [1, 2, 3, 0], people=2, resources=1, tags=6)
    hidden = leave_one_out(tagging, 1)
    recall, precision = recall_and_precision(hidden, np.array([[1, 5, 3], [4, 0, 5]]))
    assert recall == pytest.approx([(1 / 3 + 0) / 2, (1 / 3 + 1) / 2, (2 / 3 + 1) / 2])
    assert precision == pytest.approx([(1 + 0) / 2, (1 / 2 + 1 / 2) / 2, (2 / 3 + 1 / 3) / 2])
    assert semantic_loss(np.array([0, 0, 2]), np.array([1.0, 0.0, 0.2])) == pytest.approx(0.35)


def test_a_model_beats_popularity_where_tastes_differ() -> None:
    log = log_of(crowd(800))
    hidden = leave_one_out(tagging_of(LocalEngine(), log), 1)
    release = TagModel().release(log, Grant("8", "1e-6"), SeededNoise(1), Assignments(hidden.left))
    popular = np.bincount(hidden.left.tag, minlength=hidden.left.tags).astype(float)
    metrics = {
        "model": by_model(hidden, release, own=True),
        "alone": by_model(hidden, release, own=False),
        "popular": by_popularity(hidden, popular),
        "folkrank": by_folkrank(hidden),
    }
    recall = {name: recall_and_precision(hidden, best)[0][4] for name, best in metrics.items()}
    assert recall["popular"] + 0.1 < min(recall["model"], recall["alone"])
    assert recall["popular"] < recall["folkrank"]


def bench() -> Bench:
    rows = crowd(40)
    table = pa.table({"user": [int(u[1:]) for u, _, _ in rows], "item": [int(r[1:]) for _, r, _ in rows],
                      "tag": [int(t[1:]) for _, _, t in rows]})  # fmt: skip
    log = read_events(table, user="user", item="item", items=list(range(40)))
    tagging_log = PRITOP.log_of(Dataset("d", log, "shared", "", "", sizes=None))  # type: ignore[arg-type]
    engine = LocalEngine(threads=1)
    return Bench(tagging_log, Truth.count(tagging_log, engine), engine, seed=1)


def test_pairs_become_items_and_assignments_again() -> None:
    tagging = pritop.tagging_of(bench().log)
    assert tagging.people == 40
    assert tagging.size == len(set(crowd(40)))


def test_every_method_is_measured_at_every_length() -> None:
    rows = list(pritop.lists(bench(), Trial.for_dataset("d", "all", epsilon="1", quick=True)))
    names = {row.key for row in rows}
    assert names >= {"FolkRank on the true data", "suppression (0.8)", "suppression (0.6)",
                     "pritop-published (ε = 1)", "pritop-published (ε = 0.5)", "popularity (ε = 1)",
                     "tag-model (ε = 8)"}  # fmt: skip
    assert {(row.metric, row.k) for row in rows} == {(m, n) for m in ("recall", "precision") for n in range(1, 11)}
    losses = list(pritop.losses(bench(), Trial.for_dataset("d", "pritop-published", epsilon="1", topics=100)))
    assert {row.key for row in losses if row.metric == "SLoss"} == {
        "0.1",
        "0.3",
        "0.5",
        "0.7",
        "1",
        "suppression (0.8)",
    }
    assert [row.metric for row in losses if row.metric != "SLoss"] == [
        "share of users that meet the condition on Q"
    ]
    assert all(0 <= row.value <= 1 for row in losses)
