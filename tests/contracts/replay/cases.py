"""All cases of the replay contract by group; cases of models are defined here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from headcount.accounting.guarantee import Standing
from headcount.methods.queries.request import QueryRequest
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.registry import FAMILIES, family_of
from headcount.methods.request import request_of
from headcount.methods.tags.request import TagsRequest
from tests.contracts.replay import user_crowds
from tests.contracts.replay.case import Case
from tests.contracts.replay.contexts import context_selection_cases
from tests.contracts.replay.counts import count_cases, rank_cases, selection_cases, totals_cases
from tests.contracts.replay.defaults import plain_cases
from tests.contracts.replay.queries import STATEMENTS, query_cases, session_cases
from tests.contracts.replay.user_crowds import Crowd, Reading

# Neighbours


def neighbour_cases() -> Iterator[Case]:
    """Yield models of ratings, of few items and of more than relations are released among, and of who has what."""
    rated, stretched = {"value": "stars", "value_range": "1,5"}, {"value": "stars", "value_range": "0,6"}
    wide = Reading(rated, items=tuple(user_crowds.WIDE))
    prices = [(epsilon, delta) for epsilon in ("2000", "4", "0.1") for delta in ("1e-5", None)]
    for place, (epsilon, delta) in enumerate(prices):
        for people, relations in ((0, True), (6, True), (15, None), (15, True), (40, None)):
            yield _rated(epsilon, delta, relations, user_crowds.raters(people, people), wide)
        if delta:
            yield _rated(epsilon, delta, True, user_crowds.raters(15, 15), wide, refine=True)
        for shape in user_crowds.SHAPES[place % 2 :: 2]:
            for relations, read in ((True, rated), (None, stretched), (False, rated | {"where": "item != i01"})):
                yield _rated(epsilon, delta, relations, user_crowds.events(shape, 3), Reading(read))
            for items, limit, more in ((2, 1, {}), (5, None, {"sampling": "sra"}), (500, 3, {"sampling": "hpa"})):
                options = {"items": items, **(more if epsilon == "4" else {})}
                words: dict[str, Any] = {"options": options, "limit": limit}
                request = request_of(RecommenderRequest, epsilon=epsilon, delta=delta, method="co-counts", **words)
                yield Case("neighbours", "co-counts", request, user_crowds.events(shape, 4), Reading())
            request = request_of(RecommenderRequest, epsilon=epsilon, delta=delta, method="visits")
            for form in ("records", "contexts"):
                yield Case(
                    "neighbours", "visits", request, user_crowds.events(shape, 5), Reading(user_crowds.FORMS[form])
                )
        request = request_of(RecommenderRequest, epsilon=epsilon, delta=delta, method="visits")
        for people in (0, 6, 40):
            unrated = Reading(items=tuple(user_crowds.WIDE))
            yield Case("neighbours", "visits", request, user_crowds.raters(people, people), unrated)


def _rated(
    epsilon: str, delta: str | None, relations: bool | None, crowd: Crowd, reading: Reading, **more: bool
) -> Case:
    options = more if relations is None else {"relations": relations, **more}
    request = request_of(RecommenderRequest, epsilon=epsilon, delta=delta, options=options)
    return Case("neighbours", "private", request, crowd, reading)


# Tags


def tag_cases() -> Iterator[Case]:
    """Yield tag models, of crowds where pairs are measured and where they are not."""
    shares = {"marginals": "0.2", "pairs": "0.5", "people": "0.3"}
    for place, (people, epsilon, delta) in enumerate(
        (people, epsilon, delta)
        for people in (0, 1, 8, 60)
        for epsilon in ("0.2", "6", "300")
        for delta in (None, "1e-5")
    ):
        request = request_of(TagsRequest, epsilon=epsilon, delta=delta, shares=shares if place % 3 == 0 else None)
        yield Case("tags", "tag-model", request, user_crowds.taggers(people, place), user_crowds.tag_log)


# What is only claimed


def claimed_cases(name: str) -> Iterator[Case]:
    """Yield a method whose claim does not hold, on small crowds."""
    words: dict[str, Any] = {"epsilon": "1", "method": name, "research": True}
    family = family_of(name).name
    if family == "counts":
        yield from count_cases(name)
    elif family == "tags":
        tags = request_of(TagsRequest, **words, options={"topics": 3} if name == "pritop-published" else {})
        for people in (1, 8, 20):
            yield Case("tags", name, tags, user_crowds.taggers(people, people), user_crowds.tag_log)
    elif family == "queries":
        queries = request_of(QueryRequest, **words, queries=STATEMENTS, bins=user_crowds.BINS)
        for people in (9, 40):
            yield Case("queries", name, queries, user_crowds.town(people, people), user_crowds.town_log)
    else:
        pairs = [("u0", "i01"), ("u1", "i02")] if name == "pncf-predictions-published" else []
        ratings, reading = (
            request_of(RecommenderRequest, **words, asked=pairs),
            Reading({"value": "stars", "value_range": "1,5"}),
        )
        for shape in ("random", "busy"):
            yield Case("neighbours", name, ratings, user_crowds.events(shape, 1), reading)


# All of them


def _proven(family: str, cases: Callable[[str], Iterator[Case]]) -> dict[str, Callable[[], Iterator[Case]]]:
    methods = FAMILIES[family].kinds().items()
    return {name: partial(cases, name) for name, method in methods if method.standing is Standing.PROVEN}


_OWN: Mapping[str, Callable[[], Iterator[Case]]] = {
    "rankings": rank_cases, "totals": totals_cases, "neighbours": neighbour_cases, "tags": tag_cases,
}  # fmt: skip

GROUPS: Mapping[str, Callable[[], Iterator[Case]]] = {
    **_proven("counts", count_cases),
    **_proven("queries", query_cases),
    **{
        name: _OWN.get(name, partial(plain_cases, family))
        for name, family in FAMILIES.items()
        if name not in ("counts", "queries")
    },
    "selection": selection_cases,
    "selection of contexts": context_selection_cases,
    "sessions": session_cases,
}
"""What a method is registered under is what its cases are found under: a new one has some without further ado."""
