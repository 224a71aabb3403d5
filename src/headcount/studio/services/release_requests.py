"""Requests for releases: their forms, plans that charge nothing, forecasts, and the request that is queued."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headcount.errors import UnknownNameError
from headcount.events.log_parameters import READERS
from headcount.methods.family import Family
from headcount.methods.registry import FAMILIES
from headcount.methods.request import CHARGING
from headcount.studio import forms
from headcount.studio.access import Visitor
from headcount.studio.forms.field import field_of
from headcount.studio.forms.parameter_fields import METHOD
from headcount.studio.jobs.ipc import ANALYST_READ_FLAGS, CURATOR_READ_FLAGS
from headcount.studio.services.error_forecast import figure_fields
from headcount.studio.store.datasets import Dataset
from headcount.studio.store.jobs import Job
from headcount.studio.studio import Studio

AGAIN = "again"


@dataclass(frozen=True)
class RequestForm:
    """The form of a request to a dataset, for a family of methods and a role."""

    dataset: Dataset
    family: Family
    by_curator: bool

    def fields(self, method: str | None) -> list[forms.Field]:
        """Return the fields for a method: of its family's requests, and those that narrow the log down."""
        return self._with_reading(forms.fields_for_method(forms.fields_of(self.family), method, self.family))

    def all_fields(self) -> list[forms.Field]:
        """Return the fields for all methods."""
        return self._with_reading(forms.fields_of(self.family))

    def _with_reading(self, own: list[forms.Field]) -> list[forms.Field]:
        allowed = CURATOR_READ_FLAGS if self.by_curator else ANALYST_READ_FLAGS
        narrowing = [
            dataclasses.replace(field, needed=False, advanced=True, default=None)
            for field in forms.reading_fields(self.family.reads)
            if field.name in allowed and field.name in READERS[self.dataset.reads].names
        ]
        return [*own, *narrowing, field_of(AGAIN, CHARGING[AGAIN])]

    def read_posted(self, sent: forms.Posted) -> dict[str, Any]:
        """Read the posted form, and refuse what is no request."""
        method = next(iter(sent.get(METHOD, ())), "") or None
        return self._checked(forms.read_posted(self.fields(method), sent))

    def read_json(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Read what a program sends, and refuse what is no request."""
        method = sent.get(METHOD)
        return self._checked(forms.read_json(self.fields(method if isinstance(method, str) else None), sent))

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        beside = {name: value for name, value in values.items() if name in (*CURATOR_READ_FLAGS, AGAIN)}
        own = {name: value for name, value in values.items() if name not in beside}
        return {**forms.build_request(self.family, own)[0], **beside}


def request_form(studio: Studio, visitor: Visitor, dataset: str, family: str) -> RequestForm:
    """Return the form of a dataset that the visitor sees, for a fitting family: the first if none is named."""
    held = studio.datasets.get(visitor, dataset)
    fitting = [offer.name for offer in forms.offers(held.reads, held.flags)]
    if family and family not in fitting:
        raise UnknownNameError.among("kind of release", family, fitting, where=held.name)
    return RequestForm(held, FAMILIES[family or fitting[0]], visitor.is_curator)


def plan_release(studio: Studio, visitor: Visitor, form: RequestForm, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return guarantee, cost and noise of a request; reads no event, charges nothing.

    A request beyond the budget is refused here already.
    """
    about = {"dataset": form.dataset.id, "family": form.family.name}
    return studio.work.run_quick_task(visitor, "plan", **about, asked=values)


def request_release(
    studio: Studio, visitor: Visitor, form: RequestForm, values: Mapping[str, Any], title: str
) -> Job:
    """Plan a request, then queue it: it is charged when it is run."""
    about = {"dataset": form.dataset.id, "family": form.family.name}
    return studio.work.ask(visitor, **about, asked=values, title=title)


def forecast_fields(studio: Studio, visitor: Visitor, dataset: Dataset) -> list[forms.Field]:
    """Return the fields of a forecast, filled in with the newest release that has an activity histogram."""
    releases = _releases_with_activity(studio, visitor, dataset)
    return forms.fill_fields(figure_fields(releases), {"activity": releases[0][0]} if releases else {})


def forecast_errors(studio: Studio, visitor: Visitor, dataset: Dataset, sent: forms.Posted) -> dict[str, Any]:
    """Predict the errors of a release from public figures, or from a release that the visitor sees."""
    values = forms.read_posted(figure_fields(_releases_with_activity(studio, visitor, dataset)), sent)
    values |= {name: forms.text(sent, name) for name in ("epsilon", "delta") if forms.text(sent, name)}
    if values.get("activity"):
        release = studio.releases.get(visitor, values["activity"])
        values["activity"] = studio.releases.folder_of(release).name
    return studio.work.run_quick_task(visitor, "forecast", dataset=dataset.id, asked=values)


def _releases_with_activity(studio: Studio, visitor: Visitor, dataset: Dataset) -> list[tuple[str, str]]:
    """Return ids and titles of the releases of a dataset with an activity histogram, the newest first."""
    return [
        (release.id, release.title)
        for release in studio.releases.listed(visitor, dataset=dataset.id)
        if (studio.releases.folder_of(release) / "activity.parquet").is_file()
    ]
