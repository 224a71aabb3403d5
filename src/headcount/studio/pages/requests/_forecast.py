"""Forecasts on pages: how far off a release would be, told to whoever asks before they pay.

They are made of figures that are typed in, or of a release that who asks may see; no log is opened.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from headcount.errors import HeadcountError
from headcount.studio import forms
from headcount.studio.access import visitor
from headcount.studio.forms.form_body import text
from headcount.studio.services.error_forecast import figure_fields
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import studio_of
from headcount.studio.web import templates


def figures(request: Request, dataset: Dataset) -> list[forms.Field]:
    """Return the fields of a forecast, as a page shows them first: of the newest release that tells enough."""
    known = _known(request, dataset)
    return forms.shown(figure_fields(known), {"activity": known[0][0]} if known else {})


def forecast_part(request: Request, dataset: Dataset, sent: dict[str, list[str]]) -> Response:
    """Say how far off a release would be, from public figures or from what was released before."""
    studio, who = studio_of(request), visitor(request)
    found: dict[str, Any] = {"forecast": None, "error": None}
    try:
        said = forms.values(figure_fields(_known(request, dataset)), sent)
        said |= {name: text(sent, name) for name in ("epsilon", "delta") if text(sent, name)}
        if said.get("activity"):
            release = studio.releases.get(who, said["activity"])
            said["activity"] = studio.releases.folder_of(release).name
        found["forecast"] = studio.work.look(who, "forecast", dataset=dataset.id, asked=said)
    except HeadcountError as error:
        found["error"] = error
    return templates.part(request, "forecast.html.jinja", **found)


def _known(request: Request, dataset: Dataset) -> list[tuple[str, str]]:
    """Return releases of a dataset that tell how active people are, the newest first."""
    releases = studio_of(request).releases
    return [
        (each.id, each.title)
        for each in releases.listed(visitor(request), dataset=dataset.id)
        if (releases.folder_of(each) / "activity.parquet").is_file()
    ]
