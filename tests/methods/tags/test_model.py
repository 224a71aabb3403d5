"""The tag model: it spends what it is granted, says what it promises, and recommends what a crowd would."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.tags.model import TagModel
from headcount.methods.tags.recommend import ReleasedModel, topic_lists
from headcount.methods.tags.request import TagsRequest
from headcount.methods.tags.synthesize import synthesize
from headcount.noise import OperatingSystemNoise, SeededNoise
from headcount.noise.stages import charged_costs, split_among_stages
from headcount.releases.release import Release, load
from headcount.run.prepare import prepare_request
from tests.contracts.support.method_facts import Special
from tests.support.curator_runs import planned
from tests.support.tag_logs import RESOURCES, WORDS, crowd, log_of

SPECIAL = {"tag-model": Special(audit_runs=12_000)}

FEW, MANY = crowd(30), crowd(1500)
GRANTS = [("8", "1e-6"), ("8", None)]


def released(records: list[tuple[str, str, str]], epsilon: str, delta: str | None, seed: int = 1) -> Release:
    grant = Grant(epsilon, delta)
    release = TagModel().release(log_of(records), grant, SeededNoise(seed))
    assert grant.is_spent
    return release


@pytest.mark.parametrize(("epsilon", "delta"), GRANTS)
def test_a_large_crowd_has_pairs_and_a_small_one_has_popular_tags(epsilon: str, delta: str | None) -> None:
    large, small = released(MANY, epsilon, delta), released(FEW, "0.5", delta)
    assert large.chosen["model/pairs"]["measured"]
    assert ("model/together" in large.tables) == (delta is not None)
    assert large.tables["model/pairs"].num_rows == large.chosen["model/pairs"]["resources"] * len(WORDS)
    assert not small.chosen["model/pairs"]["measured"]
    assert "model/pairs" not in small.tables
    assert any("measured once more" in sentence for sentence in small.sentences())
    for release in (large, small):
        assert release.tables["model/tags"].num_rows == len(WORDS)
        assert release.tables["model/resources"].num_rows == len(RESOURCES)
        assert release.simulated
        assert not release.is_private


@pytest.mark.parametrize(("epsilon", "delta"), GRANTS)
def test_the_noise_is_the_one_that_was_announced(epsilon: str, delta: str | None) -> None:
    announced = TagModel().noise_distributions(log_of([]), Grant(epsilon, delta))
    release = released(MANY, epsilon, delta)
    assert {name: release.noise[name] for name in announced} == announced
    assert set(release.noise) == {*announced, "model/pairs"}
    nobody = released([], epsilon, delta)
    assert {name: nobody.noise[name] for name in announced} == announced
    assert set(nobody.tables) >= {"model/tags", "model/resources", "model/topics", "model/people"}


@pytest.mark.parametrize(("epsilon", "delta"), GRANTS)
def test_stages_add_up_to_the_grant_and_delta_goes_to_gaussian_noise(epsilon: str, delta: str | None) -> None:
    price = Cost.of(epsilon, delta)
    stages = TagModel().stages(log_of([]), price)
    assert [stage.name for stage in stages] == ["marginals", "pairs", "people"]
    parts = charged_costs(stages, price)
    assert sum(part.epsilon for part in parts) == price.epsilon
    assert sum(part.delta for part in parts) == price.delta
    assert not split_among_stages(stages, price)["people"].delta
    assert len(parts) == (2 if delta else 3)


def test_weights_are_near_the_truth() -> None:
    """The number of people is off by more than 40 scales once in e^40 runs."""
    release = released(MANY, "8", "1e-6")
    assert abs(release.tables["model/people"]["users"][0].as_py() - 1500) < 40 / 0.16
    weights = np.array(release.tables["model/tags"]["weight"].to_pylist())
    used = [tag for _, _, tag in MANY]
    counts = np.array([used.count(tag) for tag in WORDS])
    assert np.corrcoef(weights, counts)[0, 1] > 0.95


def test_a_ledger_is_charged_for_gaussian_noise_by_its_rho() -> None:
    log, request = log_of([]), TagsRequest(epsilon=Decimal(1), delta=Decimal("1e-6"))
    charge = prepare_request(request, log).charge
    assert charge.rho is not None
    assert 0 < charge.epsilon <= 1
    plan = planned(request, log)
    assert plan.cells == {"model/tags": len(WORDS), "model/resources": len(RESOURCES)}
    assert plan.guarantee.delta == Decimal("1e-6")


def test_a_release_comes_back_from_disk(tmp_path: Path) -> None:
    release = hc.release_tags(log_of(MANY), epsilon="4", delta="1e-6")
    assert release.is_private
    again = load(release.save(tmp_path / "tags"))
    assert again.tables.keys() == release.tables.keys()
    assert again.guarantee == release.guarantee
    assert all(again.tables[name].equals(table) for name, table in release.tables.items())
    assert again.request["tags"] == {"epsilon": "4", "delta": "1e-6"}
    recommended = ReleasedModel.from_release(again).recommend("r3", k=3)
    assert recommended == ReleasedModel.from_release(release).recommend("r3", k=3)


def test_recommended_tags_are_those_of_the_resource_and_ones_own_come_first() -> None:
    model = ReleasedModel.from_release(released(MANY, "8", "1e-6"))
    for resource, taste in (("r3", 0), ("r33", 1)):
        best = [row["tag"] for row in model.recommend(resource, k=5)]
        assert {int(tag[1:]) // 12 for tag in best} == {taste}, best
    mine = model.recommend("r3", k=2, mine=["mine", "mine", "t20"])
    assert [row["tag"] for row in mine] == ["mine", "t20"]
    assert mine[0]["score"] == pytest.approx(2 / 3)
    even = model.recommend("r3", k=2, mine=["t20", "t0"])  # of two that one has alike, others decide
    assert [row["tag"] for row in even] == ["t0", "t20"]
    assert even[0]["score"] > 0.51
    with pytest.raises(hc.HeadcountError, match="r99"):
        model.recommend("r99", k=1)


def test_topics_tell_the_two_tastes_apart() -> None:
    lists = topic_lists(released(MANY, "8", "1e-6"), 4)
    assert len(lists) >= 2
    assert sum(topic_list["weight"] for topic_list in lists) == pytest.approx(1)
    tastes = [{int(tag_row["tag"][1:]) // 12 for tag_row in topic["tags"]} for topic in lists[:2]]
    assert tastes in ([{0}, {1}], [{1}, {0}])


@pytest.mark.parametrize(("epsilon", "delta"), [*GRANTS, ("0.5", "1e-6")])
def test_synthetic_users_are_as_many_as_counted_and_tag_alike(epsilon: str, delta: str | None) -> None:
    release = released(MANY, epsilon, delta)
    table = synthesize(release, seed=1)
    assert table.equals(synthesize(release, seed=1))
    assert not table.equals(synthesize(release, seed=2))
    people = round(release.tables["model/people"]["users"][0].as_py())
    assert 0.9 * people <= len(set(table["user"].to_pylist())) <= people
    assert set(table["tag"].to_pylist()) <= set(WORDS)
    if release.chosen["model/pairs"]["measured"]:
        rows = zip(table["resource"].to_pylist(), table["tag"].to_pylist(), strict=True)
        alike = [int(resource[1:]) // 20 == int(tag[1:]) // 12 for resource, tag in rows]
        assert np.mean(alike) > (0.8 if epsilon == "8" else 0.6)


def test_what_it_cannot_use_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing is selected"):
        hc.release_tags(log_of([]), epsilon="1", delta="1e-6", select_limit=3)
    with pytest.raises(UsageError, match="method tag-model cannot use colour"):
        hc.release_tags(log_of([]), epsilon="1", colour=3)  # type: ignore[call-arg]
    with pytest.raises(UsageError, match="tags are the contexts"):
        hc.release_tags(EventLog.of([("ann", "tea")], items=["tea"]), epsilon="1")
    with pytest.raises(UsageError, match=r"pritop-published is kept for research: .*use tag-model"):
        hc.release_tags(log_of([]), epsilon="1", method="pritop-published")
    with pytest.raises(UsageError, match="claims no δ"):
        hc.release_tags(log_of([]), epsilon="1", delta="1e-6", method="pritop-published", research=True)
    with pytest.raises(UsageError, match="shares must name the stages"):
        hc.release_tags(log_of([]), epsilon="1", shares={"tags": "1"})


def test_real_noise_differs_from_run_to_run() -> None:
    tables = [
        TagModel().release(log_of(FEW), Grant("1"), OperatingSystemNoise()).tables["model/tags"] for _ in range(2)
    ]
    assert not tables[0].equals(tables[1])
