"""The request page of curators: guarantee, cost and expected error of a release, then its job.

Nothing on this page reads an event: plans are made of what is public, and figures are typed in or were released.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.methods.family import Family
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.pages.requests._forecast import forecast_fields, forecast_part
from headcount.studio.pages.requests._request_plan import dataset_and_family, plan_part, plan_request
from headcount.studio.services.request_form import family_for, request_form_fields
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/datasets/{dataset}/plan")
def plan(request: Request, dataset: str, family: str = "", job: str = "") -> Response:
    """Ask what to release; with a job, begin with what that was asked for."""
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    earlier = studio.jobs.get(who, job) if job else None
    request_values = dict(earlier.asked) if earlier is not None else {}
    return _page(request, held, family_for(held, (earlier.family if earlier else None) or family), request_values)


@_curators.post("/datasets/{dataset}/plan")
def ask(request: Request, dataset: str, sent: Sent) -> Response:
    """Put a release into the queue."""
    studio, who = studio_of(request), visitor(request)
    held, family = dataset_and_family(request, dataset, sent)
    try:
        request_values, _ = plan_request(request, held, family, sent)  # what fails, fails here
        job = studio.jobs.ask(
            who, dataset=dataset, family=family.name, asked=request_values, title=text(sent, "title")
        )
    except HeadcountError as error:
        return _page(request, held, family, {}, sent, error)
    return RedirectResponse(f"/runs/{job.id}", 303)


@_curators.post("/datasets/{dataset}/plan/outlook")
def outlook(request: Request, dataset: str, sent: Sent) -> Response:
    """Say what a request would promise and cost; where the method changed, show its fields, too."""
    return plan_part(request, dataset, sent)


@_curators.post("/datasets/{dataset}/plan/forecast")
def forecast(request: Request, dataset: str, sent: Sent) -> Response:
    """Say how far off a release would be, from public figures or from what was released before."""
    return forecast_part(request, studio_of(request).datasets.get(visitor(request), dataset), sent)


def _fields(
    dataset: Dataset,
    family: Family,
    request_values: dict[str, Any],
    sent: forms.Posted | None,
    errors: dict[str, str],
) -> list[forms.Field]:
    method = str(request_values.get("method") or "") if sent is None else next(iter(sent.get("method", ())), "")
    return forms.fill_fields(request_form_fields(dataset, family, method or None), request_values, sent, errors)


def _page(
    request: Request,
    dataset: Dataset,
    family: Family,
    request_values: dict[str, Any],
    sent: forms.Posted | None = None,
    error: HeadcountError | None = None,
) -> Response:
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    unplaced = by_field.get("")
    return templates.page(
        request,
        "planning.html.jinja",
        status=200 if error is None else status_of(error),
        dataset=dataset,
        family=family,
        offers=forms.offers(dataset.reads, dataset.flags),
        fields=_fields(dataset, family, request_values, sent, by_field),
        method=str(request_values.get("method") or "") if sent is None else next(iter(sent.get("method", ())), ""),
        figures=forecast_fields(request, dataset),
        error=error if error is not None and (not by_field or unplaced) else None,
    )


ROUTERS = (_curators,)
