"""Replay cases by default, for methods without cases of their own: every parameter on all kinds of logs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from headcount.accounting.guarantee import Standing
from headcount.methods.family import Family, Reads, example_of, fields_of
from headcount.methods.request import request_of
from tests.contracts.replay import user_crowds
from tests.contracts.replay.case import Case
from tests.contracts.replay.user_crowds import Crowd, Reading

EPSILONS = ("0.02", "1", "0.3", "30", "4")
RATED = {"value": "stars", "value_range": "1,5"}


def plain_cases(family: Family) -> Iterator[Case]:
    """Yield every proven method of a family; a parameter of which no other value is known stays as it is."""
    for name, kind in family.kinds().items():
        if kind.standing is Standing.CLAIMED:
            continue
        at = zlib.crc32(name.encode())
        for parameters in _variants(kind):
            for label, crowd_of, reading in _FORMS[family.reads]():
                at += 1
                words = words_for(family, name, parameters)
                request = request_of(family.request_kind(), epsilon=EPSILONS[at % 5], **words)
                yield Case(family.name, f"{name}, {label}", request, crowd_of(at), reading)


def words_for(family: Family, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a method with some parameters is asked for: those that its request does not know are options."""
    fields = family.request_kind().model_fields
    words = {"method": name, **parameters} if "method" in fields else dict(parameters)
    own = {key: words.pop(key) for key in list(words) if key in fields}
    return own | ({"options": words} if words else {})


def _variants(kind: Any) -> Iterator[dict[str, Any]]:
    base = {key: field.default for key, field in fields_of(kind).items()} | example_of(kind)
    yield example_of(kind)
    for key, value in base.items():
        if isinstance(value, int):
            yield example_of(kind) | {key: not value if isinstance(value, bool) else value + 1}


_Form = tuple[str, Callable[[int], Crowd], Callable[[user_crowds.RowsByUser], Any]]


def _events() -> Iterator[_Form]:
    for place, (form, words) in enumerate(user_crowds.FORMS.items()):
        shape = user_crowds.SHAPES[place % len(user_crowds.SHAPES)]
        yield form, partial(user_crowds.events, shape), Reading(words)


def _ratings() -> Iterator[_Form]:
    for shape in user_crowds.SHAPES:
        yield shape, partial(user_crowds.events, shape), Reading(RATED)


def _tags() -> Iterator[_Form]:
    for people in (0, 1, 8, 60):
        yield f"{people} people", partial(user_crowds.taggers, people), user_crowds.tag_log


_FORMS: Mapping[Reads, Callable[[], Iterator[_Form]]] = {"events": _events, "ratings": _ratings, "tags": _tags}
