"""Replay cases of every proven method of counts, rankings, totals and selection, with every option."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle
from typing import Any

from headcount.accounting.guarantee import Standing
from headcount.errors import UsageError
from headcount.events.log import EventLog
from headcount.methods.counts import FAMILY
from headcount.methods.counts.request import ReleaseRequest
from headcount.methods.method import Method
from headcount.methods.rankings import top_k
from headcount.methods.rankings.request import RankRequest
from headcount.methods.recommender.request import RecommenderRequest
from headcount.methods.request import ChargedRequest, request_of
from tests.contracts.replay import user_crowds
from tests.contracts.replay.case import Case
from tests.contracts.replay.user_crowds import Reading
from tests.reference.engine import ReferenceEngine

METHODS = FAMILY.kinds()

# Counts

EPSILONS = ("0.02", "1", "0.3", "30", "4")

VALUES: Mapping[str, Sequence[Any]] = {
    "limit": (1, 4, 8),
    "what": ("items", "edges"),
    "noise": ("gaussian",),
    "shares": ("uneven",),
    "d": (3,),
    "at_most": (5,),
    "integers": (True,),
    "sampling": ("row", "none"),
    "repeats": (3,),
    "choice": ("0.4",),
    "scores": ({"i02": 5, "i00": 2.5, "i07": -1, "elsewhere": 9},),
}
"""Other values of every parameter that a method of counts has: one that is not here has no replay case."""

NEEDED = {"limit": 2}
"""What a method cannot do without."""


def variants(method: type[Method]) -> Iterator[dict[str, Any]]:
    """Yield a method's parameters as they are by default, and with each of them changed."""
    fields = {field.name: field for field in dataclasses.fields(method)}  # type: ignore[arg-type]
    base = {name: NEEDED[name] for name, field in fields.items() if field.default is dataclasses.MISSING}
    yield base
    for name in fields:
        for value in VALUES[name]:
            yield {**base, name: value}


def count_request(name: str, parameters: Mapping[str, Any], epsilon: str, **more: Any) -> ReleaseRequest:
    """Ask for a method of counts."""
    own = {key: value for key, value in parameters.items() if key in ("limit", "at_most", "what", "noise")}
    options = {key: value for key, value in parameters.items() if key not in (*own, "shares")}
    delta = {"delta": "1e-4"} if parameters.get("noise") == "gaussian" else {}
    claimed = METHODS[name].standing is Standing.CLAIMED
    words = {"epsilon": epsilon, "method": name, "options": options, "research": claimed}
    return request_of(ReleaseRequest, **words, **own, **delta, **more)


def uneven(stages: Sequence[str]) -> dict[str, str]:
    """Return shares for so many stages, no two alike."""
    shares = [str(round(2 * n / (len(stages) * (len(stages) + 1)), 2)) for n in range(1, len(stages))]
    return dict(zip(stages, [*shares, str(round(1 - sum(map(float, shares)), 2))], strict=True))


STAGES = (
    (), ("activity", "shares"), ("activity", "shares", "first"), ("scores",), ("activity", "scores", "shares"),
)  # fmt: skip


def fitting(name: str, parameters: Mapping[str, Any], epsilon: str, log: EventLog) -> ReleaseRequest | None:
    """Return a request that fits a log, None if there is none: not every option goes with every form."""
    tables = ("items", "edges") if log.context is not None else ("items",)
    given: list[dict[str, Any]] = [{}]
    if "shares" in parameters:
        given = [{"shares": uneven((*first, *tables))} for first in STAGES if first or len(tables) > 1]
    for shares in given:
        try:
            request = count_request(name, parameters, epsilon, **shares)
            request.build().noise_distributions(log, request.grant())
        except UsageError:
            continue
        return request
    return None


def count_cases(name: str) -> Iterator[Case]:
    """Yield a method of counts with all its options on all forms of logs, shapes and ε taking turns."""
    at = zlib.crc32(name.encode())
    for parameters in variants(METHODS[name]):
        for form, words in user_crowds.FORMS.items():
            reading = Reading(words)
            at += 1
            shape, epsilon = user_crowds.SHAPES[at % 6], EPSILONS[at % 5]
            request = fitting(name, parameters, epsilon, reading({}))
            if request is not None:
                engine: dict[str, Any] = {"engine": ReferenceEngine} if at % 7 == 0 else {}
                yield Case("counts", f"{name}, {form}", request, user_crowds.events(shape, at), reading, **engine)


# Rankings

HELD = top_k.MANY_CELLS


def rank_cases() -> Iterator[Case]:
    """Yield rankings: short and long, dense and sparse, with and without contexts, counts and δ."""
    epsilon, shape, delta = cycle(("0.05", "3", "40")), cycle(user_crowds.SHAPES), cycle((None, "1e-5"))
    for form in ("records", "contexts", "one context each", "times", "conditions"):
        for per_context in (False, True) if "context" in user_crowds.FORMS[form] else (False,):
            for with_counts in (False, True):
                for k, many in ((1, HELD), (3, 1), (2, HELD), (12, HELD), (12, 1)):
                    shares = {"ranking": "0.3", "counts": "0.7"} if with_counts and k == 2 else None
                    request = request_of(
                        RankRequest,
                        epsilon=next(epsilon),
                        delta=next(delta),
                        k=k,
                        per_context=per_context,
                        with_counts=with_counts,
                        shares=shares,
                    )
                    crowd, reading = user_crowds.events(next(shape), k), Reading(user_crowds.FORMS[form])
                    yield Case("rankings", f"top-k, {form}", request, crowd, reading, many_cells=many)


# Totals


def totals_cases() -> Iterator[Case]:
    """Yield totals, with a value and without."""
    forms: Sequence[Mapping[str, Any]] = (
        {},
        {"value": "stars", "value_range": "1,5"},
        {"value": "stars", "value_range": "-2,7", "where": "item != i01"},
        {"times": "times"},
        {"value": "stars"},
        {"value": "stars", "times": "times"},
    )
    yield from _more_totals()
    for place, words in enumerate(forms):
        for limit in (1, 4, 12):
            for shape in user_crowds.SHAPES:
                epsilon = EPSILONS[(place + limit) % 5]
                ranged = ["range"] if "value" in words and "value_range" not in words else []
                stages = ("users", "records", *ranged, *(["sum"] if "value" in words else []))
                shares = uneven(stages) if shape == "heavy" else None
                request = request_of(ReleaseRequest, epsilon=epsilon, what="totals", limit=limit, shares=shares)
                label = "totals of a found range" if ranged else "totals"
                yield Case("totals", label, request, user_crowds.events(shape, limit), Reading(words))


def _more_totals() -> Iterator[Case]:
    """Yield quantiles, totals of groups and different items, each with values that are in the log and without."""
    starred = {"value": "stars", "value_range": "1,5"}
    placed = {"context": "context"}
    forms: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = (
        ({"quantiles": "0.5"}, starred),
        ({"quantiles": "0.1,0.3,0.5,0.9,0.999"}, starred),
        ({"quantiles": "0.25,0.75"}, {"value": "stars", "times": "times"}),
        ({"quantiles": "0.8,0.9"}, starred),
        ({"quantiles": "0.1,0.2"}, starred),
        ({"quantiles": "0.9"}, starred),
        ({"quantiles": "0.2,0.5", "by": "contexts"}, {**starred, **placed}),
        ({"quantiles": "0.5", "by": "items", "distinct": True}, starred),
        ({"by": "contexts", "distinct": True}, {**placed, "times": "times"}),
        ({"by": "items"}, {}),
        ({"distinct": True}, {}),
    )
    for place, (options, words) in enumerate(forms):
        for at, shape in enumerate(user_crowds.SHAPES):
            limit, epsilon = (1, 4)[(place + at) % 2], EPSILONS[(place + at) % 5]
            request = request_of(ReleaseRequest, epsilon=epsilon, what="totals", limit=limit, **options)
            yield Case("totals", "totals with more", request, user_crowds.events(shape, limit), Reading(words))


# Selection

ROOMY: Mapping[str, Any] = {"epsilon": "12", "delta": "0.05", "select_limit": 3, "shares": {"selection": "0.6"}}
NARROW: Mapping[str, Any] = {"epsilon": "0.01", "delta": "1e-9", "select_limit": 1}
"""With the first a few people are enough for an item; with the second no item is selected."""

UNLIMITED: Mapping[str, Any] = {"epsilon": "24", "delta": "1e-9", "shares": {"selection": "0.6"}}
"""Without a limit, items are looked for in rounds, or each person names one."""


def selection_cases() -> Iterator[Case]:
    """Yield releases that begin with a selection of items: of counts by every proven method, rankings, models."""
    shapes = cycle(("random", "alike", "heavy", "nobody"))
    for price in (ROOMY, NARROW):
        for name, method in METHODS.items():
            if method.standing is Standing.CLAIMED:
                continue
            limit = {"limit": 2} if "limit" in {field.name for field in dataclasses.fields(method)} else {}  # type: ignore[arg-type]
            for form in ("records", "contexts", "users"):
                request = request_of(ReleaseRequest, method=name, **limit, **price)
                yield _selecting(f"{name}, {form}", request, next(shapes), form)
        request = request_of(ReleaseRequest, method="sra", limit=2, noise="gaussian", **price)
        yield _selecting("sra", request, "random", "users")
        for form in ("records", "contexts", "one context each"):
            for k in (1, 12):
                words = {"k": k, "with_counts": k == 1, "per_context": form != "records", **price}
                yield _selecting(f"top-k, {form}", request_of(RankRequest, **words), next(shapes), form)
        model = {key: value for key, value in price.items() if key != "shares"}
        rated = {"value": "stars", "value_range": "1,5"}
        yield _selecting("visits", request_of(RecommenderRequest, method="visits", **model), "random", "contexts")
        yield _selecting("co-counts", request_of(RecommenderRequest, method="co-counts", **model), "random", {})
        yield _selecting(
            "private", request_of(RecommenderRequest, options={"relations": True}, **model), "random", rated
        )
    for many in (4, 7):  # more than the other cases allow, and less than the newcomer with every item has
        request = request_of(ReleaseRequest, method="sra", limit=2, **{**ROOMY, "select_limit": many})
        yield _selecting(f"sra, {many} items", request, "busy", "records")
    for form in ("records", "contexts", "users", "one context each"):
        for shape in ("random", "alike", "heavy", "nobody"):
            request = request_of(ReleaseRequest, method="sra", limit=2, **UNLIMITED)
            yield _selecting(f"sra without a limit, {form}", request, shape, form)


def _selecting(label: str, request: ChargedRequest, shape: str, form: str | Mapping[str, Any]) -> Case:
    words = user_crowds.FORMS[form] if isinstance(form, str) else form
    crowd = user_crowds.events(shape, len(label))
    return Case("selection", f"selection before {label}", request, crowd, Reading(words, selects=True))
