"""Downloads of a release: tables as CSV or Parquet, charts as PNG, the folder as a ZIP."""

from __future__ import annotations

import re
from typing import Literal

from fastapi.responses import Response

from headcount.errors import UnknownNameError
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.pages.releases import Visible
from headcount.studio.services import charts
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.downloads import csv_of, parquet_of
from headcount.studio.services.releases import zipped_folder
from headcount.studio.studio import Call
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
def downloads_page(call: Call, visible: Visible) -> Response:
    """List all downloads."""
    tables, figures = views.table_summaries(visible.opened), list(charts.charts(visible.opened).values())
    values = {**visible.shown("downloads"), "tables": tables, "charts": figures}
    return templates.page(call.request, "downloads.html.jinja", **values)


@_all.get("/downloads/tables/{table:path}.{kind}")
def download_table(visible: Visible, table: str, kind: Literal["csv", "parquet"]) -> Response:
    """Send a table."""
    held = visible.opened.release
    if table not in held.tables:
        raise UnknownNameError.among("table", table, held.tables)
    content = csv_of(held.bounded_table(table)) if kind == "csv" else parquet_of(held.tables[table])
    return _file(visible, table, kind, content)


@_all.get("/downloads/charts/{name}.png")
def download_chart(visible: Visible, name: str) -> Response:
    """Send a chart as a picture."""
    return _file(visible, name, "png", charts.png(visible.opened, name))


@_all.get("/downloads/about.txt")
def download_words(visible: Visible) -> Response:
    """Send the steps and the guarantee, in sentences."""
    held = visible.opened.release
    warning = "" if held.is_private else "NOT PRIVATE: for research alone.\n"
    return _file(visible, "about", "txt", f"{warning}{held.explain()}\n".encode())


@_all.get("/downloads/release.zip")
def download_all(call: Call, visible: Visible) -> Response:
    """Send the folder of the release."""
    return _file(visible, "", "zip", zipped_folder(call.studio, visible))


def _file(visible: Visible, part: str, kind: str, content: bytes) -> Response:
    """Send a file to be kept, never to be shown; its name is the title of the release, in plain letters."""
    words = re.sub(r"[^a-z0-9]+", "-", f"{visible.stored.title} {part}".lower()).strip("-")
    name = words[:80].rstrip("-") or "release"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(content, media_type=TYPES[kind], headers=headers)


ROUTERS = (_all,)
