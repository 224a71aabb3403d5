"""The forecast part of request pages: predicted errors from public figures or an earlier release.

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


def forecast_fields(request: Request, dataset: Dataset) -> list[forms.Field]:
    """Return the fields of a forecast, as a page shows them first: of the newest release that tells enough."""
    releases = _releases_with_activity(request, dataset)
    return forms.fill_fields(figure_fields(releases), {"activity": releases[0][0]} if releases else {})


def forecast_part(request: Request, dataset: Dataset, sent: dict[str, list[str]]) -> Response:
    """Say how far off a release would be, from public figures or from what was released before."""
    studio, who = studio_of(request), visitor(request)
    page_values: dict[str, Any] = {"forecast": None, "error": None}
    try:
        figure_values = forms.read_posted(figure_fields(_releases_with_activity(request, dataset)), sent)
        figure_values |= {name: text(sent, name) for name in ("epsilon", "delta") if text(sent, name)}
        if figure_values.get("activity"):
            release = studio.releases.get(who, figure_values["activity"])
            figure_values["activity"] = studio.releases.folder_of(release).name
        page_values["forecast"] = studio.work.run_quick_task(
            who, "forecast", dataset=dataset.id, asked=figure_values
        )
    except HeadcountError as error:
        page_values["error"] = error
    return templates.part(request, "forecast.html.jinja", **page_values)


def _releases_with_activity(request: Request, dataset: Dataset) -> list[tuple[str, str]]:
    """Return releases of a dataset that tell how active people are, the newest first."""
    releases = studio_of(request).releases
    return [
        (release.id, release.title)
        for release in releases.listed(visitor(request), dataset=dataset.id)
        if (releases.folder_of(release) / "activity.parquet").is_file()
    ]
