"""Releases, for programs: what was released, its tables searched and sorted, one item, two compared, all of it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.studio.access import Door, door, visitor
from headcount.studio.services.exploration.compare import compare
from headcount.studio.services.exploration.downloads import zip_of
from headcount.studio.services.exploration.item_profile import profile
from headcount.studio.services.exploration.lift import stands_out
from headcount.studio.services.exploration.views import title_of
from headcount.studio.services.open_release import reading
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Shape

_all = door(Door.SIGNED_IN, prefix="/api/v1", tags=["releases"])

Words = Annotated[str, Query(max_length=2000)]
Start = Annotated[int, Query(ge=0, le=2**31)]
Size = Annotated[int, Query(ge=1, le=500)]
Row = dict[str, Any]


class Listed(Shape):
    """A release that one sees; times are seconds since 1970."""

    id: str
    title: str
    note: str
    dataset: str
    family: str
    state: str
    created: float
    published: float | None

    @classmethod
    def of(cls, held: Any) -> Self:
        """Return what may be told of a release in a list: its dataset by name."""
        own = {name: getattr(held, name) for name in cls.model_fields if name != "dataset"}
        return cls(dataset=held.dataset_name, **own)


class Held(Shape):
    """A table of a release."""

    name: str
    title: str
    rows: int
    columns: list[str]


class Described(Listed):
    """A release with what it promises and holds."""

    method: str
    promise: str
    is_private: bool
    sentences: list[str]
    contexts: list[str] | None
    tables: list[Held]
    digest: str


class Rows(Shape):
    """Some rows of a table, as released; ``next`` is where the following ones start."""

    rows: list[Row]
    start: int
    found: int
    total: int
    next: int | None


class InContext(Shape):
    """What an item has in one context, and would have if it were like all others."""

    context: str
    count: float
    low: float
    high: float
    expected: float
    stands_out: bool


class Item(Shape):
    """What a release says of one item."""

    item: Any
    label: str | None
    rank: int | None
    numbers: Row | None
    contexts: list[InContext]
    places: list[Row]
    related: list[Row]


class Standing(Shape):
    """An item that has more in a context than in general, at least so many times as much as expected."""

    item: Any
    label: str | None
    count: float
    low: float
    high: float
    expected: float
    at_least: float


class Differences(Shape):
    """Two releases compared: the second less the first; ``level`` is how sure the intervals are at least."""

    table: list[Row]
    found: int
    told_apart: int
    only_first: int
    only_second: int
    level: float
    caveats: list[str]
    next: int | None


@_all.get("/releases")
def releases(request: Request) -> list[Listed]:
    """List the releases that one sees, the newest first."""
    return [Listed.of(each) for each in studio_of(request).releases.listed(visitor(request))]


@_all.get("/releases/{release}")
def release_of(request: Request, release: str) -> Described:
    """Describe a release: what it promises, how it was made, and what it holds."""
    read = reading(request, release)
    held = read.opened.release
    return Described(
        **Listed.of(read.known).model_dump(),
        method=held.method,
        promise=held.guarantee.short(),
        is_private=held.is_private,
        sentences=list(held.sentences()),
        contexts=None if held.contexts is None else list(held.contexts),
        tables=[
            Held(name=name, title=title_of(name), rows=each.num_rows, columns=each.column_names)
            for name, each in held.tables.items()
        ],
        digest=read.known.digest,
    )


@_all.get("/releases/{release}/tables/{table:path}")
def table_of(
    request: Request,
    release: str,
    table: str,
    q: Words = "",
    sort: Words = "",
    order: Literal["", "up", "down"] = "",
    context: Words = "",
    start: Start = 0,
    size: Size = 100,
) -> Rows:
    """Return rows of a table: those in which each word of ``q`` is found, sorted by a column."""
    browsed = reading(request, release).opened.browsed(table, context or None)
    descending = {"": None, "up": False, "down": True}[order]
    page = browsed.page(q, sort=sort or None, descending=descending, start=start, size=size)
    return Rows(
        rows=[plain(row) for row in page.rows],
        start=page.start,
        found=page.found,
        total=page.total,
        next=page.following,
    )


@_all.get("/releases/{release}/item")
def item_of(request: Request, release: str, item: Words) -> Item:
    """Return what a release says of an item, by its id."""
    told = profile(reading(request, release).opened, item)
    return Item(
        item=told.item,
        label=told.label,
        rank=told.rank,
        numbers=None if told.numbers is None else plain(told.numbers),
        contexts=[InContext(**vars(each)) for each in told.contexts],
        places=[plain(each) for each in told.places],
        related=[plain(each) for each in told.related.rows] if told.related else [],
    )


@_all.get("/releases/{release}/standing-out")
def standing_out(request: Request, release: str, context: Words, size: Size = 20) -> list[Standing]:
    """Return what is more popular in a context than in general, beyond the noise."""
    opened = reading(request, release).opened
    return [
        Standing(
            item=each.item,
            label=opened.labels["item"][str(each.item)],
            count=each.count,
            low=each.low,
            high=each.high,
            expected=each.expected,
            at_least=each.at_least,
        )
        for each in stands_out(opened, context, size)
    ]


@_all.get(
    "/releases/{release}/folder",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}, "description": "The folder of the release, as a ZIP."}},
)
def folder_of(request: Request, release: str) -> Response:
    """Return all of a release as the ZIP of its folder, which ``headcount.load`` reads once it is unpacked."""
    read = reading(request, release)
    folder = studio_of(request).releases.folder_of(read.known)
    return Response(
        zip_of(folder, list(read.opened.release.tables), read.known.digest), media_type="application/zip"
    )


@_all.get("/compare")
def differences(
    request: Request,
    first: Words,
    second: Words,
    table: Words = "",
    q: Words = "",
    start: Start = 0,
    size: Size = 100,
) -> Differences:
    """Compare a table that two releases have: the second less the first, with intervals."""
    one, other = (reading(request, each).opened for each in (first, second))
    told = compare(one, other, table or None)
    page = told.rows.page(q, start=start, size=size)
    return Differences(
        table=[plain(row) for row in page.rows],
        found=page.found,
        told_apart=told.told_apart,
        only_first=told.only_first,
        only_second=told.only_second,
        level=told.level,
        caveats=list(told.caveats),
        next=page.following,
    )


def plain(row: Row) -> Row:
    """Return a row as JSON can hold it: a number that is none is null.

    >>> plain({"item": "tea", "count": math.nan, "factors": [0.5, math.inf]})
    {'item': 'tea', 'count': None, 'factors': [0.5, None]}
    """
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


ROUTERS = (_all,)
