"""PriTop and tag suppression as published: what they do, and that nobody takes it for private."""

from __future__ import annotations

import numpy as np
import pytest

import headcount as hc
from headcount.accounting.guarantee import Standing
from headcount.errors import UsageError
from headcount.events.tag_log import Tagging
from headcount.lab.as_published.pritop_operations import private_topics, replaced
from headcount.lab.as_published.suppression import SuppressionPublished, most_used
from headcount.lab.tags.topics import fit_topics
from tests.support.tag_logs import crowd, drawn, log_of


def blocks() -> Tagging:
    """Return ten resources of two tastes: 0 to 4 have tags 0 to 3, 5 to 9 have tags 4 to 7."""
    rows = [(user, resource, 4 * (resource // 5) + tag) for user in range(4) for resource in range(10)
            for tag in range(4) if (user + resource + tag) % 2]  # fmt: skip
    return Tagging.from_codes(*zip(*rows, strict=True), people=4, resources=10, tags=8)


def test_gibbs_sampling_finds_the_two_tastes_and_keeps_count() -> None:
    tagging = blocks()
    topics = fit_topics(tagging, 2, seed=1)
    assert topics.of_tag.sum() == topics.of_resource.sum() == tagging.size
    assert (topics.of_tag.sum(axis=1) == np.bincount(tagging.tag, minlength=8)).all()
    assert (topics.of_resource.sum(axis=1) == np.bincount(tagging.resource, minlength=10)).all()
    home = topics.of_tag.argmax(axis=1)
    assert set(home[:4]) != set(home[4:])
    assert len(set(home[:4])) == len(set(home[4:])) == 1
    assert topics.tags_of_topics.sum(axis=1) == pytest.approx([1, 1])
    again = fit_topics(tagging, 2, seed=1)
    assert (again.of_tag == topics.of_tag).all()


def test_noise_of_topics_grows_as_epsilon_shrinks() -> None:
    tagging, model = blocks(), fit_topics(blocks(), 2, seed=1)
    exact = model.of_tag.argmax(axis=1)[tagging.tag]
    near, far = (
        np.mean(
            [
                (private_topics(tagging, model, e, np.random.default_rng(n)).topic == exact).mean()
                for n in range(20)
            ]
        )
        for e in (50.0, 0.05)
    )
    assert near > 0.95
    assert far < 0.75


def test_tags_are_replaced_within_their_topics_and_resources_stay() -> None:
    tagging, model = blocks(), fit_topics(blocks(), 2, seed=1)
    done = replaced(tagging, model, 50.0, np.random.default_rng(1))
    published = done.published(np.random.default_rng(1))
    assert (published.tag // 4 == published.resource // 5).mean() > 0.9
    assert 0 <= done.distances.min() <= done.distances.max() <= 1
    before, after = ({*zip(log.user, log.resource, strict=True)} for log in (tagging, published))
    assert after <= before
    wild = replaced(tagging, model, 0.1, np.random.default_rng(1))
    assert wild.stays.mean() < done.stays.mean()
    assert (wild.distances[~wild.stays] == 1).all()
    nobody = tagging.where(tagging.user < 0)
    empty = replaced(nobody, fit_topics(nobody, 2, 1), 1.0, np.random.default_rng(1))
    assert empty.published(np.random.default_rng(1)).size == 0


def test_suppression_keeps_the_most_used_tags_of_every_user() -> None:
    tagging = drawn(2, size=80)
    for kept in (0.5, 0.8, 1.0):
        stays = most_used(tagging, kept)
        for user in range(6):
            mine = tagging.user == user
            times = np.bincount(tagging.tag[mine], minlength=4)
            left = set(tagging.tag[mine & stays].tolist())
            assert len(left) == max(1, int(kept * np.count_nonzero(times) + 0.5))
            suppressed = set(np.flatnonzero(times).tolist()) - left
            assert min(times[list(left)]) >= max([times[tag] for tag in suppressed], default=0)


@pytest.mark.parametrize("method", ["pritop-published", "suppression-published"])
def test_releases_say_that_they_are_not_private(method: str) -> None:
    options = {"topics": 3} if method.startswith("pritop") else {"kept": 0.5}
    release = hc.release_tags(log_of(crowd(20)), epsilon="1", method=method, research=True, **options)
    assert release.guarantee.standing is Standing.CLAIMED
    assert not release.is_private
    assert "Treat this output as not private" in release.explain()
    table = release.tables["model/assignments"]
    assert table.column_names == ["user", "resource", "tag"]
    assert {user.partition("-")[0] for user in table["user"].to_pylist()} == {"person"}


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="kept must lie between 0 and 1"):
        SuppressionPublished(kept=1.2)
    with pytest.raises(UsageError, match="topics"):
        hc.release_tags(log_of([]), epsilon="1", method="pritop-published", research=True, topics=0)
