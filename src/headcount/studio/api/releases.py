"""Releases, for programs: what was released, its tables searched and sorted, one item, two compared, all of it."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from fastapi import Query
from fastapi.responses import Response
from pydantic import Field

from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.exploration.compare import compare
from headcount.studio.services.exploration.item_contexts import items_with_lift
from headcount.studio.services.exploration.item_profile import profile
from headcount.studio.services.exploration.views import title_of
from headcount.studio.services.releases import open_release, zipped_folder
from headcount.studio.studio import Call
from headcount.studio.web.json_api import Body, ResponseBody

_all = router_for(AccessLevel.SIGNED_IN, prefix="/api/v1", tags=["releases"])
_curators = router_for(AccessLevel.CURATORS, prefix="/api/v1", tags=["releases"])

Words = Annotated[str, Query(max_length=2000)]
Start = Annotated[int, Query(ge=0, le=2**31)]
Size = Annotated[int, Query(ge=1, le=500)]
Row = dict[str, Any]


class ReleaseSummary(ResponseBody):
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
    def from_object(cls, held: Any) -> Self:
        """Return what may be told of a release in a list: its dataset by name."""
        own = {name: getattr(held, name) for name in cls.model_fields if name != "dataset"}
        return cls(dataset=held.dataset_name, **own)


class TableInfo(ResponseBody):
    """A table of a release."""

    name: str
    title: str
    rows: int
    columns: list[str]


class ReleaseInfo(ReleaseSummary):
    """A release with what it promises and holds."""

    method: str
    promise: str
    is_private: bool
    sentences: list[str]
    contexts: list[str] | None
    tables: list[TableInfo]
    digest: str


class Rows(ResponseBody):
    """Some rows of a table, as released; ``next`` is where the following ones start."""

    rows: list[Row]
    start: int
    found: int
    total: int
    next: int | None


class InContext(ResponseBody):
    """What an item has in one context, and would have if it were like all others."""

    context: str
    count: float
    low: float
    high: float
    expected: float
    stands_out: bool


class Item(ResponseBody):
    """What a release says of one item."""

    item: Any
    label: str | None
    rank: int | None
    numbers: Row | None
    contexts: list[InContext]
    places: list[Row]
    related: list[Row]


class LiftedItem(ResponseBody):
    """An item that has more in a context than in general, at least so many times as much as expected."""

    item: Any
    label: str | None
    count: float
    low: float
    high: float
    expected: float
    at_least: float


class ComparisonRows(ResponseBody):
    """Two releases compared: the second less the first; ``level`` is how sure the intervals are at least."""

    table: list[Row]
    found: int
    told_apart: int
    only_first: int
    only_second: int
    level: float
    caveats: list[str]
    next: int | None


class ReviewChanges(Body):
    """What is said of a release; what is left out stays."""

    title: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    note: Annotated[str, Field(max_length=10_000)] | None = None


class ReviewedRelease(ResponseBody):
    """A release, and what was decided of it."""

    id: str
    title: str
    note: str
    state: str
    published: float | None


@_all.get("/releases")
def releases(call: Call) -> list[ReleaseSummary]:
    """List the releases that one sees, the newest first."""
    return [ReleaseSummary.from_object(stored) for stored in call.studio.releases.listed(call.visitor)]


@_all.get("/releases/{release}")
def release_of(call: Call, release: str) -> ReleaseInfo:
    """Describe a release: what it promises, how it was made, and what it holds."""
    read = open_release(call.studio, call.visitor, release)
    held = read.opened.release
    return ReleaseInfo(
        **ReleaseSummary.from_object(read.stored).model_dump(),
        method=held.method,
        promise=held.guarantee.short(),
        is_private=held.is_private,
        sentences=list(held.sentences()),
        contexts=None if held.contexts is None else list(held.contexts),
        tables=[
            TableInfo(name=name, title=title_of(name), rows=table.num_rows, columns=table.column_names)
            for name, table in held.tables.items()
        ],
        digest=read.stored.digest,
    )


@_all.get("/releases/{release}/tables/{table:path}")
def table_of(
    call: Call,
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
    browsed = open_release(call.studio, call.visitor, release).opened.browsed(table, context or None)
    descending = {"": None, "up": False, "down": True}[order]
    page = browsed.page(q, sort=sort or None, descending=descending, start=start, size=size)
    return Rows(
        rows=[plain(row) for row in page.rows],
        start=page.start,
        found=page.matches,
        total=page.total,
        next=page.following,
    )


@_all.get("/releases/{release}/item")
def item_of(call: Call, release: str, item: Words) -> Item:
    """Return what a release says of an item, by its id."""
    shown = profile(open_release(call.studio, call.visitor, release).opened, item)
    return Item(
        item=shown.item,
        label=shown.label,
        rank=shown.rank,
        numbers=None if shown.numbers is None else plain(shown.numbers),
        contexts=[InContext(**vars(entry)) for entry in shown.contexts],
        places=[plain(entry) for entry in shown.places],
        related=[plain(entry) for entry in shown.related.rows] if shown.related else [],
    )


@_all.get("/releases/{release}/standing-out")
def standing_out(call: Call, release: str, context: Words, size: Size = 20) -> list[LiftedItem]:
    """Return what is more popular in a context than in general, beyond the noise."""
    opened = open_release(call.studio, call.visitor, release).opened
    labels = opened.labels["item"]
    return [
        LiftedItem(label=labels[str(lifted.item)], **{k: v for k, v in vars(lifted).items() if k != "context"})
        for lifted in items_with_lift(opened, context, size)
    ]


@_all.get(
    "/releases/{release}/folder",
    response_class=Response,
    responses={200: {"content": {"application/zip": {}}, "description": "The folder of the release, as a ZIP."}},
)
def folder_of(call: Call, release: str) -> Response:
    """Return all of a release as the ZIP of its folder, which ``headcount.load`` reads once it is unpacked."""
    read = open_release(call.studio, call.visitor, release)
    return Response(zipped_folder(call.studio, read), media_type="application/zip")


@_all.get("/compare")
def differences(
    call: Call,
    first: Words,
    second: Words,
    table: Words = "",
    q: Words = "",
    start: Start = 0,
    size: Size = 100,
) -> ComparisonRows:
    """Compare a table that two releases have: the second less the first, with intervals."""
    first_opened, second_opened = (
        open_release(call.studio, call.visitor, release).opened for release in (first, second)
    )
    comparison = compare(first_opened, second_opened, table or None)
    page = comparison.rows.page(q, start=start, size=size)
    return ComparisonRows(
        table=[plain(row) for row in page.rows],
        found=page.matches,
        told_apart=comparison.told_apart,
        only_first=comparison.only_first,
        only_second=comparison.only_second,
        level=comparison.level,
        caveats=list(comparison.caveats),
        next=page.following,
    )


@_curators.post("/releases/{release}/publish")
def publish(call: Call, release: str, changes: ReviewChanges) -> ReviewedRelease:
    """Let every analyst see a release."""
    call.studio.releases.retitle(call.visitor, release, title=changes.title, note=changes.note)
    return ReviewedRelease.from_object(call.studio.releases.publish(call.visitor, release))


@_curators.post("/releases/{release}/withhold")
def withhold(call: Call, release: str, changes: ReviewChanges) -> ReviewedRelease:
    """Let no analyst see a release; what was charged for it stays charged."""
    call.studio.releases.retitle(call.visitor, release, title=changes.title, note=changes.note)
    return ReviewedRelease.from_object(call.studio.releases.withhold(call.visitor, release))


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
        return [_plain(element) for element in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)


ROUTERS = (_all, _curators)
