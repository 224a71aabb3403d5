"""The plan part of request pages: guarantee, cost and noise of a request while it is typed."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from headcount.errors import HeadcountError
from headcount.methods.family import Family
from headcount.studio import forms
from headcount.studio.access import visitor
from headcount.studio.forms.form_body import text
from headcount.studio.services.request_form import family_for, read_request_form, request_form_fields
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import studio_of
from headcount.studio.web import templates

_METHOD_SHOWN = "shown"
"""The method whose fields a form shows."""


def dataset_and_family(request: Request, dataset: str, sent: forms.Posted) -> tuple[Dataset, Family]:
    """Return what a form is about: a dataset that who asks sees, and a family that fits it."""
    held = studio_of(request).datasets.get(visitor(request), dataset)
    return held, family_for(held, text(sent, "family"))


def plan_request(
    request: Request, dataset: Dataset, family: Family, sent: forms.Posted
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a form asks for, and what would come of it; what cannot be paid is refused here already."""
    studio, who = studio_of(request), visitor(request)
    request_values = read_request_form(dataset, family, sent, curator=who.is_curator)
    return request_values, studio.work.run_quick_task(
        who, "plan", dataset=dataset.id, family=family.name, asked=request_values
    )


def plan_part(request: Request, dataset: str, sent: forms.Posted) -> Response:
    """Say what a request would promise and cost; where the method changed, show its fields, too."""
    held, family = dataset_and_family(request, dataset, sent)
    method = text(sent, "method")
    form_fields = request_form_fields(held, family, method or None, curator=visitor(request).is_curator)
    page_values: dict[str, Any] = {"plan": None, "error": None, "wrong": {}}
    try:
        page_values["plan"] = plan_request(request, held, family, sent)[1]
    except forms.FormError as error:
        page_values["wrong"] = error.by_field
    except HeadcountError as error:
        page_values["error"] = error
    return templates.part(
        request,
        "outlook.html.jinja",
        dataset=held,
        family=family,
        fields=None if method == text(sent, _METHOD_SHOWN) else forms.fill_fields(form_fields, {}, sent, {}),
        method=method,
        labels={field.name: field.label for field in form_fields},
        **page_values,
    )
