"""Downloads of a release: tables as CSV or Parquet, charts as PNG, the folder as a ZIP."""

from __future__ import annotations

import re
from typing import Literal

from fastapi import Request
from fastapi.responses import Response

from headcount.errors import UnknownNameError
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services import charts
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.downloads import csv_of, parquet_of, zip_of
from headcount.studio.services.open_release import VisibleRelease, open_release
from headcount.studio.studio import studio_of
from headcount.studio.web import templates

_all = router_for(AccessLevel.SIGNED_IN, prefix="/releases/{release}", include_in_schema=False)

TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "png": "image/png",
    "zip": "application/zip",
    "txt": "text/plain; charset=utf-8",
}


@_all.get("/downloads")
def downloads_page(request: Request, release: str) -> Response:
    """List what can be taken home."""
    read = open_release(request, release)
    return templates.page(
        request,
        "downloads.html.jinja",
        **read.shown("downloads"),
        tables=views.table_summaries(read.opened),
        charts=list(charts.charts(read.opened).values()),
    )


@_all.get("/downloads/tables/{table:path}.{kind}")
def download_table(request: Request, release: str, table: str, kind: Literal["csv", "parquet"]) -> Response:
    """Send a table."""
    read = open_release(request, release)
    if table not in read.opened.release.tables:
        raise UnknownNameError.among("table", table, read.opened.release.tables)
    loaded = read.opened.release
    text = csv_of(loaded.bounded_table(table)) if kind == "csv" else parquet_of(loaded.tables[table])
    return sent(text, named(read, table), kind)


@_all.get("/downloads/charts/{name}.png")
def download_chart(request: Request, release: str, name: str) -> Response:
    """Send a chart as a picture."""
    read = open_release(request, release)
    return sent(charts.png(read.opened, name), named(read, name), "png")


@_all.get("/downloads/about.txt")
def download_words(request: Request, release: str) -> Response:
    """Send what was done and what is promised, in sentences."""
    read = open_release(request, release)
    held = read.opened.release
    warning = "" if held.is_private else "NOT PRIVATE: for research alone.\n"
    return sent(f"{warning}{held.explain()}\n".encode(), named(read, "about"), "txt")


@_all.get("/downloads/release.zip")
def download_all(request: Request, release: str) -> Response:
    """Send the folder of the release."""
    read = open_release(request, release)
    folder = studio_of(request).releases.folder_of(read.stored)
    packed = zip_of(folder, list(read.opened.release.tables), read.stored.digest)
    return sent(packed, named(read, ""), "zip")


def named(read: VisibleRelease, part: str) -> str:
    """Return what a file is called: by the title of the release, in plain letters."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{read.stored.title} {part}".lower()).strip("-")
    return words[:80].rstrip("-") or "release"


def sent(content: bytes, name: str, kind: str) -> Response:
    """Send a file to be kept, never to be shown."""
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, media_type=TYPES[kind], headers=headers)


ROUTERS = (_all,)
