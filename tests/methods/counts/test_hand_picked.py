"""HPA: popularity by a private estimate, then the records about the most popular items."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headcount.accounting.budget import Cost, Grant
from headcount.bounds import BoundedCounts, CountBound, KeepTopScored, Noisy, SampleRecords
from headcount.bounds.counts.keep_top_scored import DeclaredScores
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts.hand_picked import DEFAULT_SHARES, PUBLISHED_SHARES, HandPicked, popularity
from headcount.methods.counts.public_scores import PublicScores
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.request import request_of
from headcount.noise import SeededNoise
from headcount.run.prepare import prepare_request
from tests.contracts.support.method_checks import recorded_spending, town
from tests.contracts.support.method_facts import Special
from tests.reference.engine import ReferenceEngine
from tests.reference.engine_in_parts import InParts
from tests.support.curator_runs import ran
from tests.support.small_logs import LAW, scale_of

SPECIAL = {"hpa": Special({"stages": ("scores", "items", "edges")})}


class Watching(InParts):
    """The reference engine, remembering what it was asked."""

    def __init__(self) -> None:
        self.measured_bounds: list[tuple[CountBound, bytes]] = []

    def count(self, log: EventLog, bound: CountBound, secret: bytes) -> BoundedCounts:
        self.measured_bounds.append((bound, secret))
        return super().count(log, bound, secret)


def test_two_stages_use_separate_secrets() -> None:
    engine = Watching()
    HandPicked(limit=3, d=2).release(town(), Grant("1"), SeededNoise(1), engine)
    (sample, first), (pick, second) = engine.measured_bounds
    assert sample == SampleRecords(2)
    assert isinstance(pick, KeepTopScored)
    assert pick.limit == 3
    assert isinstance(pick.scores, Noisy)
    assert (pick.scores.values >= 0).all()
    assert first != second


def test_the_scores_cost_their_share() -> None:
    """Noise of scale d / ε₀ on the scores: by default 0.3 of ε, 0.1 as published."""
    for shares, scale in ((DEFAULT_SHARES, Fraction(20, 3)), (PUBLISHED_SHARES, Fraction(20))):
        engine = Watching()
        with recorded_spending() as spent:
            HandPicked(limit=3, d=2, shares=dict(shares)).release(town(), Grant("1"), SeededNoise(1), engine)
        bound = engine.measured_bounds[1][0]
        assert isinstance(bound, KeepTopScored)
        assert isinstance(bound.scores, Noisy)
        assert scale_of(bound.scores.distribution) == scale
        assert [str(grant.epsilon) for grant in spent] == list(shares.values())


@pytest.mark.parametrize(("what", "first"), [("items", "0.4615"), ("edges", "0.4615"), ("both", "0.3")])
def test_default_shares_are_renormalised_over_the_stages_that_run(what: str, first: str) -> None:
    with recorded_spending() as spent:
        HandPicked(limit=3, what=what).release(town(), Grant("1"), SeededNoise(1))  # type: ignore[arg-type]
    assert str(spent[0].epsilon).startswith(first)
    assert sum(grant.epsilon for grant in spent) == 1


def test_popularity_ties_all_that_is_not_popular() -> None:
    scores = popularity(Noisy(np.array([-5, 0, 3, -1, 3]), LAW))
    assert scores.values.tolist() == [0, 0, 3, 0, 3]
    assert KeepTopScored(1, scores).ranks is not None
    assert KeepTopScored(1, scores).ranks.tolist() == [1, 1, 0, 1, 0]  # type: ignore[union-attr]


def test_popular_items_survive_the_limit() -> None:
    rows = [(f"u{n}", item) for n in range(200) for item in ("tea", f"rare{n % 20}", f"odd{n % 10}")]
    items = ["tea", *(f"rare{n}" for n in range(20)), *(f"odd{n}" for n in range(10))]
    log = EventLog.of(rows, items=items)
    counts = HandPicked(limit=1).release(log, Grant("40"), SeededNoise(1)).items["count"].to_pylist()
    assert counts[0] > 190
    assert max(counts[1:]) < 20


@pytest.mark.parametrize("d", [0, -1, 1.5, True])
def test_d_is_a_positive_whole_number(d: int) -> None:
    with pytest.raises(UsageError, match="d must be a whole number"):
        HandPicked(limit=1, d=d)


# Public scores

SCORES = {"i3": 2, "i0": "1.5", "i5": -4, "elsewhere": 9}


def test_public_scores_decide_what_is_kept_and_cost_nothing() -> None:
    """Everyone has three items; of the rarest, which is scored best, every record survives."""
    rows = [(f"u{n}", item) for n in range(120) for item in ("tea", "rye", f"odd{n % 2}")]
    log = EventLog.of(rows, items=["tea", "rye", "odd0", "odd1"])
    engine = Watching()
    with recorded_spending() as spent:
        release = HandPicked(limit=1, scores={"odd1": 3, "rye": 1}).release(
            log, Grant("40"), SeededNoise(1), engine
        )
    assert release.items["count"].to_pylist() == [0, 60, 0, 60]
    assert [type(bound) for bound, _ in engine.measured_bounds] == [KeepTopScored]
    assert [grant.epsilon for grant in spent] == [40]


@pytest.mark.parametrize(("what", "shares"), [("items", ["1"]), ("edges", ["1"]), ("both", ["0.5", "0.5"])])
def test_the_tables_share_all_that_there_is(what: str, shares: list[str]) -> None:
    method = HandPicked(limit=3, what=what, scores=SCORES)  # type: ignore[arg-type]
    assert [str(stage.share) for stage in method.stages(town(), Cost.of("1"))] == shares
    given = {stage.name: stage.share for stage in method.stages(town(), Cost.of("1"))}
    with pytest.raises(UsageError, match="shares must name the stages that run"):
        HandPicked(limit=3, scores=SCORES, shares={"scores": "0.3", "items": "0.7"}).stages(town(), Cost.of("1"))
    assert "scores" not in given


def test_the_sensitivity_does_not_depend_on_scores() -> None:
    log, ties = town(), np.zeros(6, dtype=np.int64)
    scored: list[DeclaredScores | Noisy] = [
        DeclaredScores(ties),
        DeclaredScores(np.array([5, 1, 3, 2, 0, 4])),
        Noisy(ties, LAW),
    ]
    counts = [ReferenceEngine().measure(log, KeepTopScored(2, scores), bytes(16)) for scores in scored]
    assert len({(measured.items.sensitivity, measured.edges.sensitivity) for measured in counts}) == 1
    assert np.array_equal(counts[0].items.sensitive_values, counts[2].items.sensitive_values)
    assert not np.array_equal(counts[0].items.sensitive_values, counts[1].items.sensitive_values)


def test_the_release_says_which_scores_were_taken_for_public() -> None:
    method = HandPicked(limit=3, scores=SCORES)
    release = method.release(town(), Grant("1"), SeededNoise(1))
    digest = PublicScores.read(SCORES).digest
    assert (
        f"the scores of items ({digest}) are public, fixed without looking at the log" in release.guarantee.assumes
    )
    assert f"Public scores ({digest}) of 3 of the 6 items" in release.steps[0]
    assert "d = " not in " ".join(release.guarantee.assumes)
    with pytest.raises(UsageError, match="d is of no use"):
        HandPicked(limit=3, d=2, scores=SCORES)


def test_a_request_holds_the_digest_and_never_where_scores_lie(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("item,score\ni3,2\ni0,1.50\ni5,-4\nelsewhere,9\n", encoding="utf-8")
    words: dict[str, Any] = {"epsilon": "1", "method": "hpa", "limit": 3}
    request = ReleaseRequest(**words, options={"scores": str(tmp_path / "scores.csv")})
    assert request == ReleaseRequest(**words, options={"scores": SCORES})
    assert ReleaseRequest.model_validate_json(request.model_dump_json()) == request
    document = json.dumps(ran(request, town()).to_json())
    assert str(PublicScores.read(SCORES)) in document
    assert "scores.csv" not in document
    with pytest.raises(UsageError, match="only the digest is known; give what they were read from"):
        ReleaseRequest.model_validate_json(request.model_dump_json()).build()


def test_requests_are_the_same_if_the_scores_are_and_those_without_are_what_they_were() -> None:
    """A ledger finds what was issued before there were scores: they are no part of a request without them."""

    def identity(**options: Any) -> str:
        request = request_of(ReleaseRequest, epsilon="1", method="hpa", limit=3, options=options)
        return prepare_request(request, town()).identity()[0]

    assert "scores" not in json.loads(identity())["parameters"]
    assert identity(scores=SCORES) == identity(scores={**SCORES, "i3": "2.0"}) != identity()
    assert identity(scores=SCORES) != identity(scores={**SCORES, "i3": 3})
