"""Replay cases with private selection of contexts or tags, and sometimes of items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import cycle, product
from typing import Any

from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.rankings.request import RankRequest
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.request import ChargedRequest, request_of
from headcount.methods.tags.request import TagsRequest
from tests.contracts.replay import user_crowds
from tests.contracts.replay.case import Case
from tests.contracts.replay.user_crowds import Reading

SELECTION_BUDGET: Mapping[str, Any] = {"epsilon": "24", "delta": "0.05"}
LIMITED: Mapping[str, Any] = {**SELECTION_BUDGET, "select_limit": 2}
NOTHING: Mapping[str, Any] = {"epsilon": "0.01", "delta": "1e-9", "select_limit": 1}
"""With the last no context is selected."""

PLACED: Mapping[str, Any] = {"context": "context", "select_contexts": True}
FORMS: tuple[Mapping[str, Any], ...] = ({}, {"count": "users"}, {"context_of": "user"}, {"times": "times"})
METHODS: tuple[Mapping[str, Any], ...] = (
    {"method": "sra", "limit": 2}, {"method": "adaptive", "noise": "gaussian"},
)  # fmt: skip


def context_selection_cases() -> Iterator[Case]:
    """Yield releases that begin with a selection of contexts, or of tags; some select items as well."""
    shapes, methods = cycle(("random", "busy", "heavy", "nobody", "random")), cycle((*METHODS, METHODS[0]))
    for selects, price in product((False, True), (SELECTION_BUDGET, LIMITED, NOTHING)):
        for form, method in zip(FORMS, methods, strict=False):
            request = request_of(ReleaseRequest, **method, **price)
            yield _case(method["method"], request, next(shapes), {**PLACED, **form}, selects=selects)
        ranking = request_of(RankRequest, k=1, per_context=True, **price)
        yield _case("top-k", ranking, next(shapes), PLACED, selects=selects)
        model = request_of(RecommenderRequest, method="visits", **price)
        yield _case("visits", model, next(shapes), PLACED, selects=selects)
    for price in (SELECTION_BUDGET, LIMITED, NOTHING):
        request = request_of(ReleaseRequest, what="totals", by="contexts", limit=2, **price)
        yield _case("totals", request, next(shapes), PLACED, selects=False)
        tags = request_of(TagsRequest, **price)
        crowd = user_crowds.taggers(30, 1)
        yield Case("selection", "tag-model", tags, crowd, user_crowds.selecting_tags)


def _case(label: str, request: ChargedRequest, shape: str, words: Mapping[str, Any], *, selects: bool) -> Case:
    crowd, reading = user_crowds.events(shape, len(label)), Reading(words, selects=selects)
    return Case("selection", label, request, crowd, reading)
