"""Cases of recorded releases: every method with every option, rankings, totals, selection, sessions.

Plain data: what is asked for in the words of the Python functions, and how the log is read. A case is known by its
name, which must stay: its seed is made of it.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from tests.seeded.crowds import BINS, CONTEXTS, ITEMS

Words = Mapping[str, Any]

BOTH = ("local", "reference")


@dataclass(frozen=True)
class Case:
    """A request, in words, over a fixed log, with noise from a seed."""

    name: str
    command: str
    words: Words
    kind: str = "events"
    people: int = 150
    reading: Words = field(default_factory=dict)
    engines: Sequence[str] = BOTH
    many_cells: int | None = None
    """From how many cells on rankings hold no zeros; None: as always."""

    @property
    def seed(self) -> int:
        """A seed that hangs on the name alone."""
        return zlib.crc32(self.name.encode())


LISTED: Words = {"item": "item", "items": ITEMS}
SELECTED: Words = {"item": "item", "select_items": True}
PLACED: Words = {"context": "context", "contexts": CONTEXTS}

FORMS: Mapping[str, Words] = {
    "contexts": PLACED,
    "contexts of users": {**PLACED, "count": "users"},
    "records": {},
    "users": {"count": "users"},
    "one context each": {**PLACED, "context_of": "user"},
    "one context each, users": {**PLACED, "context_of": "user", "count": "users"},
    "times": {**PLACED, "times": "times"},
    "conditions": {"where": ["stars >= 2", "item != i01"]},
}
"""How a log of events is read; the first two with every option of every method, the others in turns."""


def _named(words: Words) -> str:
    """Write words as a name."""

    def shown(value: Any) -> str:
        if isinstance(value, Mapping):
            return "+".join(f"{key}={option}" for key, option in value.items())
        return str(value)

    return ", ".join(f"{key} {shown(value)}" for key, value in words.items())


# Counts

_WHAT: Sequence[Words] = ({"what": "items"}, {"what": "edges"}, {"what": "both"})
_GAUSSIAN: Sequence[Words] = (
    {"noise": "gaussian", "delta": "1e-4"},
    {"noise": "gaussian", "delta": "1e-6", "what": "items"},
    {"noise": "gaussian", "delta": "1e-6", "what": "edges"},
)
_SHARES: Sequence[Words] = (
    {"shares": {"items": "0.3", "edges": "0.7"}},
    {"what": "items", "shares": {"items": "1"}},
)
_LIMITED: Sequence[Words] = ({"limit": 1}, {"limit": 9})
_SCORED: Words = {"shares": {"scores": "0.2", "items": "0.3", "edges": "0.5"}}
_PUBLIC: Words = {"options": {"scores": {"i03": 4, "i07": "2.5", "i00": -1, "no item": 9}}}
_STEERED: Words = {"shares": {"activity": "0.1", "shares": "0.1", "items": "0.3", "edges": "0.5"}}

COUNTS: Mapping[str, tuple[Words, Sequence[Words]]] = {
    "adaptive": (
        {},
        (
            *_WHAT, *_GAUSSIAN, *_LIMITED, _STEERED, {**_STEERED, **_GAUSSIAN[0]},
            {"limit": 4, **_STEERED}, {"limit": 4, **_GAUSSIAN[0]},
            {"options": {"integers": True}},
            {"at_most": 4}, {"at_most": 9, "limit": 1},
            {"options": {"integers": True}, **_GAUSSIAN[0]},
        ),
    ),
    "lpa": ({"limit": 3}, (*_WHAT, *_SHARES, *_LIMITED)),
    "sra": ({"limit": 3}, (*_WHAT, *_GAUSSIAN, *_SHARES, *_LIMITED, {**_SHARES[0], **_GAUSSIAN[0]})),
    "hpa": (
        {"limit": 3},
        (
            *_WHAT, *_GAUSSIAN, *_LIMITED, _SCORED, {**_SCORED, **_GAUSSIAN[0]}, {"options": {"d": 3}},
            {"options": {"d": 2}, **_GAUSSIAN[0]}, _PUBLIC, {**_PUBLIC, **_GAUSSIAN[0]}, {**_PUBLIC, **_SHARES[0]},
        ),
    ),
    "fpa": ({"limit": 3}, (*_WHAT, *_SHARES, *_LIMITED)),
    "gs-r": ({"limit": 3}, (*_WHAT, *_SHARES, *_LIMITED)),
    "gs-s": (
        {"limit": 3},
        (*_WHAT, *_SHARES, *_LIMITED, {"options": {"sampling": "row"}}, {"options": {"sampling": "none"}}),
    ),
    "gs": (
        {"limit": 3},
        (*_WHAT, *_SHARES, *_LIMITED, {"options": {"sampling": "row"}}, {"options": {"sampling": "none"}}),
    ),
    "dpsense": ({}, (*_WHAT, *_SHARES, {"options": {"repeats": 3}})),
    "dpsense-s": ({}, (*_WHAT, *_SHARES, {"options": {"repeats": 3}})),
    "lpa-published": ({}, (*_WHAT, *_SHARES)),
    "hpa-published": ({"limit": 3}, (*_WHAT, _SCORED, *_LIMITED)),
    "fpa-published": ({}, (*_WHAT, *_SHARES)),
    "gs-r-published": ({}, (*_WHAT, *_SHARES)),
    "gs-s-published": ({}, (*_WHAT, *_SHARES, {"options": {"sampling": "row"}})),
    "gs-published": ({}, (*_WHAT, *_SHARES, {"options": {"sampling": "row"}})),
    "dpsense-published": ({}, (*_WHAT, *_SHARES, {"options": {"repeats": 3}}, {"options": {"choice": "0.4"}})),
    "dpsense-s-published": ({}, (*_WHAT, *_SHARES, {"options": {"choice": "0.4"}})),
}  # fmt: skip
"""The parameters that each method needs, and what else can be said of it."""

EPSILONS = ("0.3", "1", "4", "30")


def _request_words(name: str, words: Words) -> dict[str, Any]:
    research = {"research": True} if name.endswith("-published") else {}
    return {"method": name, **words, **research}


def count_cases() -> Iterator[Case]:
    """Yield every method of counts by default over every form, and with every option over some."""
    for method, (needed, options) in COUNTS.items():
        for changed in ({}, *options):
            for form in _forms(method, changed) if changed else FORMS:
                epsilon = EPSILONS[zlib.crc32(f"{method} {form} {changed}".encode()) % 4]
                words = {"epsilon": epsilon, **needed, **changed}
                name = f"counts: {method}, {form}, {_named(words)}"
                yield Case(name, "release", _request_words(method, words), reading={**LISTED, **FORMS[form]})
        words = _request_words(method, {"epsilon": "1", **needed})
        yield Case(f"counts: {method}, nobody", "release", words, people=0, reading={**LISTED, **PLACED})
    unknown = {"epsilon": "1", "method": "sra", "limit": 2, "what": "edges"}
    yield Case("counts: edges without contexts", "release", unknown, reading=LISTED)
    numbered = {"item": "number", "items": [7_000_000_000 + place for place in range(12)], **PLACED}
    for method in ("adaptive", "sra", "hpa"):
        words = _request_words(method, {"epsilon": "2", **COUNTS[method][0]})
        yield Case(f"counts: {method}, items that are numbers", "release", words, reading=numbered)
        counted = {**LISTED, **PLACED, "user": "person"}
        yield Case(f"counts: {method}, people that are numbers", "release", words, reading=counted)


def _forms(method: str, changed: Words) -> Sequence[str]:
    """Return the forms that an option is recorded over: two of them always, and some other that fits."""
    always, others = list(FORMS)[:2], list(FORMS)[2:]
    if changed.get("what") in ("edges", "both") or "edges" in changed.get("shares", {}):
        others = [form for form in others if "context" in FORMS[form]]
    if changed.get("noise") == "gaussian":
        others = [form for form in others if "count" in FORMS[form]]
    return [*always, others[zlib.crc32(f"{method} {changed}".encode()) % len(others)]]


# Totals

TOTALS: Mapping[str, Words] = {
    "records": LISTED,
    "no catalogue": {"item": "item"},
    "values": {**LISTED, "value": "stars", "value_range": "1,5"},
    "values below zero": {**LISTED, "value": "stars", "value_range": "-2,7", "where": "item != i01"},
    "values, times": {**LISTED, "value": "stars", "value_range": "0,3.5", "times": "times"},
    "times": {**LISTED, "times": "times"},
    "contexts": {**LISTED, **PLACED},
}


def totals_cases() -> Iterator[Case]:
    """Yield totals, with a value and without."""
    for form, reading in TOTALS.items():
        for number, limit in enumerate((1, 5, 40)):
            words = {"epsilon": EPSILONS[number], "what": "totals", "limit": limit}
            yield Case(f"totals: {form}, limit {limit}", "release", words, reading=reading)
    shares = {
        "epsilon": "1",
        "what": "totals",
        "limit": 5,
        "shares": {"users": "0.1", "records": "0.3", "sum": "0.6"},
    }
    yield Case("totals: values, shares", "release", shares, reading=TOTALS["values"])
    yield Case("totals: nobody", "release", shares, people=0, reading=TOTALS["values"])
    for levels in ("0.5", "0.1,0.5,0.9", "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9"):
        words = {"epsilon": "2", "what": "totals", "limit": 5, "quantiles": levels}
        yield Case(f"totals: quantiles {levels}", "release", words, reading=TOTALS["values"])


# Rankings


def rank_cases() -> Iterator[Case]:
    """Yield rankings: short and long, where zeros are held and where not, with and without contexts and counts."""
    epsilons = cycle(("0.5", "3", "40"))
    for form in ("records", "contexts", "one context each", "times", "conditions", "users"):
        for per_context in (False, True) if "context" in FORMS[form] else (False,):
            for with_counts in (False, True):
                for k, many_cells in ((1, None), (3, 1), (3, None), (12, None), (12, 1)):
                    words: dict[str, Any] = {"k": k, "per_context": per_context, "with_counts": with_counts}
                    if with_counts and k == 3:
                        words["shares"] = {"ranking": "0.3", "counts": "0.7"}
                    name = f"rankings: {form}, {_named(words)}{'' if many_cells is None else ', sparse'}"
                    words["epsilon"] = next(epsilons)
                    yield Case(name, "rank", words, reading={**LISTED, **FORMS[form]}, many_cells=many_cells)
    for form in ("records", "contexts", "one context each"):
        for with_counts in (False, True):
            words = {"epsilon": next(epsilons), "delta": "1e-6", "k": 3, "with_counts": with_counts}
            words["per_context"] = "context" in FORMS[form]
            yield Case(f"rankings: {form}, {_named(words)}", "rank", words, reading={**LISTED, **FORMS[form]})
    words = {"epsilon": "1", "k": 2, "with_counts": True}
    yield Case("rankings: nobody", "rank", words, people=0, reading=LISTED)
    yield Case("rankings: per context without contexts", "rank", {**words, "per_context": True}, reading=LISTED)


# Selection

PRICES: Mapping[str, Words] = {
    "": {"epsilon": "12", "delta": "0.01", "select_limit": 3, "shares": {"selection": "0.6"}},
    ", by default": {"epsilon": "4", "delta": "1e-4"},
    ", nothing found": {"epsilon": "0.01", "delta": "1e-9", "select_limit": 1},
}


def selection_cases() -> Iterator[Case]:
    """Yield releases that begin with a selection of items: counts, rankings, models."""
    for paid, price in PRICES.items():
        for method, (needed, _) in COUNTS.items():
            if method.endswith("-published") and paid:
                continue
            for form in ("contexts", "users"):
                words = _request_words(method, {**needed, **price})
                yield _selecting(f"{method}, {form}{paid}", "release", words, FORMS[form])
        for method in ("sra", "hpa", "adaptive"):
            words = _request_words(method, {**COUNTS[method][0], **price, "noise": "gaussian"})
            yield _selecting(f"{method}, gaussian{paid}", "release", words, FORMS["contexts of users"])
        for form in ("records", "contexts", "one context each"):
            for k in (1, 12):
                words = {"k": k, "with_counts": k == 1, "per_context": form != "records", **price}
                yield _selecting(f"top-k, {form}, k {k}{paid}", "rank", words, FORMS[form])
        own = {key: value for key, value in price.items() if key != "shares"}
        rated = {"value": "stars", "value_range": "1,5"}
        yield _selecting(f"visits{paid}", "neighbours", {"method": "visits", **own}, {})
        yield _selecting(f"co-counts{paid}", "neighbours", {"method": "co-counts", **own}, {})
        yield _selecting(f"private{paid}", "neighbours", {"options": {"relations": True}, **own}, rated)
    shares = {"selection": "0.2", "items": "0.5", "edges": "0.3"}
    words = {"method": "sra", "limit": 2, "epsilon": "9", "delta": "1e-3", "shares": shares}
    yield _selecting("sra, all shares", "release", words, PLACED)
    yield Case("selection: numbers", "release", words, reading={"item": "number", "select_items": True, **PLACED})


def _selecting(name: str, command: str, words: Words, form: Words) -> Case:
    return Case(f"selection: {name}", command, words, reading={**SELECTED, **form})


# Models of ratings

PAIRS = [("u7", "i00"), ("u3", "i05"), ("nobody", "i02")]
NEIGHBOURS: Mapping[str, Sequence[Words]] = {
    "private": (
        {},
        {"options": {"relations": True}},
        {"options": {"relations": False}},
        {"options": {"relations": True, "refine": True}},
    ),
    "visits": ({},),
    "co-counts": (
        {},
        {"limit": 2},
        {"options": {"items": 4}},
        {"options": {"items": 9}, "limit": 3},
        {"options": {"sampling": "sra"}},
        {"options": {"sampling": "hpa"}, "limit": 3},
    ),
    "pncf-published": ({}, {"options": {"k": 3}}, {"options": {"metric": "pcc"}}),
    "pncf-predictions-published": (
        {"asked": PAIRS},
        {"options": {"k": 3, "perturbation": "algorithm"}, "asked": PAIRS},
        {"options": {"by": "user", "metric": "pcc"}, "asked": PAIRS},
    ),
}
UNRATED = ("visits", "co-counts")
RATINGS: Mapping[str, Words] = {
    "stars": {"value": "stars", "value_range": "1,5"},
    "all stars": {"value": "stars", "value_range": "0,6", "where": "item != i01"},
    "no stars": {},
}


def neighbour_cases() -> Iterator[Case]:
    """Yield models of ratings, and of who has what."""
    for method, options in NEIGHBOURS.items():
        for changed in options:
            for rated, reading in RATINGS.items():
                for epsilon, delta in (("4", None), ("4", "1e-5"), ("60", None), ("60", "1e-5")):
                    if (rated == "no stars") != (method in UNRATED) and (changed or epsilon == "60"):
                        continue  # refused: once is enough
                    price = {"epsilon": epsilon, **({} if delta is None else {"delta": delta})}
                    name = f"neighbours: {method}, {rated}, {_named({**price, **changed})}"
                    words = _request_words(method, {**price, **changed})
                    yield Case(name, "neighbours", words, reading={**LISTED, **reading})
    for method in ("private", *UNRATED):
        words = {"epsilon": "1", "method": method}
        reading = RATINGS["no stars" if method in UNRATED else "stars"]
        yield Case(f"neighbours: {method}, nobody", "neighbours", words, people=0, reading={**LISTED, **reading})


# Tags


def tag_cases() -> Iterator[Case]:
    """Yield tag models, of crowds where pairs are measured and where they are not."""
    shares = {"marginals": "0.2", "pairs": "0.5", "people": "0.3"}
    for people in (0, 8, 150):
        for epsilon in ("0.2", "6", "300"):
            for delta in (None, "1e-5"):
                for given in (None, shares):
                    words: dict[str, Any] = {"epsilon": epsilon}
                    words |= {} if delta is None else {"delta": delta}
                    words |= {} if given is None else {"shares": given}
                    yield Case(f"tags: tag-model, {people} people, {_named(words)}", "tags", words, "tags", people)
    claimed: Mapping[str, Sequence[Words]] = {
        "pritop-published": ({}, {"topics": 3}),
        "suppression-published": ({}, {"kept": 0.5}),
    }
    for method, options in claimed.items():
        for changed in options:
            request = _request_words(method, {"epsilon": "1", "options": changed})
            yield Case(f"tags: {method}, {_named(changed)}", "tags", request, "tags", 40)


# Queries

STATEMENTS = (
    "SELECT COUNT(*) FROM people",
    "SELECT COUNT(*) FROM people WHERE age >= 60",
    "SELECT COUNT(*) FROM people WHERE job = 'cook' AND hours < 40",
    "SELECT COUNT(*) FROM people WHERE age < 48 OR hours >= 70",
    "SELECT COUNT(*) FROM people GROUP BY job",
)
QUERIES: Mapping[str, Sequence[Words]] = {
    "auto": ({}, {"delta": "1e-6"}),
    "histogram": (
        {}, {"options": {"consistent": True}}, {"shares": {"cells": "1"}},
        {"delta": "1e-6"}, {"delta": "1e-6", "options": {"consistent": True}},
    ),
    "residuals": (
        {}, {"options": {"consistent": True}}, {"delta": "1e-6"},
        {
            "delta": "1e-6", "options": {"consistent": True},
            "shares": {"total": "0.1", "contrasts": "0.8", "error": "0.1"},
        },
    ),
    "pairs": (
        {}, {"synthetic": 9}, {"delta": "1e-6"},
        {"shares": {"columns": "0.3", "scores": "0.2", "pairs": "0.4", "error": "0.1"}},
    ),
    "mwem": (
        {}, {"options": {"rounds": 0}}, {"options": {"rounds": 3}},
        {"shares": {"total": "0.1", "start": "0.3", "rounds": "0.5", "error": "0.1"}},
    ),
    "pmw": (
        {}, {"options": {"updates": 4}}, {"options": {"expected": 3}},
        {"shares": {"total": "0.1", "start": "0.3", "tests": "0.2", "answers": "0.4"}},
    ),
    "cim-published": (
        {}, {"options": {"threshold": 0.1}}, {"options": {"eta": 3.0}},
        {"options": {"threshold": 0.02, "coupling": "attribute:household"}},
        {"options": {"threshold": 0.02, "coupling": "pearson"}},
    ),
}  # fmt: skip
GROUPS: Mapping[str, Words] = {
    "people": {},
    "people, 3 records": {"max_records": 3},
    "households": {"groups": "household", "max_group": 3},
    "households, 2 records": {"groups": "household", "max_group": 2, "max_records": 2},
}


def query_cases() -> Iterator[Case]:
    """Yield every method of queries with every option, for people and for groups."""
    for method, options in QUERIES.items():
        for changed in options:
            for counted, limits in GROUPS.items():
                for epsilon in ("0.5", "20"):
                    words = _request_words(method, {"epsilon": epsilon, **changed})
                    name = f"queries: {method}, {counted}, {_named({'epsilon': epsilon, **changed})}"
                    yield Case(
                        name, "query", {**words, **limits, "bins": BINS, "queries": STATEMENTS}, "people", 300
                    )
        words = {**_request_words(method, {"epsilon": "1"}), "bins": BINS, "queries": STATEMENTS}
        yield Case(f"queries: {method}, nobody", "query", words, "people", 0)
        where = {"where": "age >= 20"}
        yield Case(f"queries: {method}, conditions", "query", words, "people", 200, where)
    rows = [[(cell * (row + 3)) % 7 < 3 for cell in range(256)] for row in range(40)]
    for epsilon in ("0.1", "60"):
        for people in (300, 900):
            words = {"epsilon": epsilon, "bins": BINS, "rows": rows}
            yield Case(f"queries: rows, epsilon {epsilon}, {people} people", "query", words, "people", people)


def session_cases() -> Iterator[Case]:
    """Yield sessions in which every question hangs on the answers before it."""
    for counted, limits in GROUPS.items():
        for epsilon in ("0.5", "8", "300"):
            for updates in (None, 1, 3):
                words = {"epsilon": epsilon, "updates": updates, "expected": 9, **limits}
                name = f"sessions: {counted}, epsilon {epsilon}, updates {updates}"
                yield Case(name, "session", {**words, "bins": BINS}, "people", 300, engines=("local",))


def every_case() -> list[Case]:
    """Return all cases; no two have the same name."""
    cases = [
        *count_cases(), *totals_cases(), *rank_cases(), *selection_cases(), *neighbour_cases(), *tag_cases(),
        *query_cases(), *session_cases(),
    ]  # fmt: skip
    if len({case.name for case in cases}) != len(cases):
        raise ValueError("two cases have the same name")
    return cases
