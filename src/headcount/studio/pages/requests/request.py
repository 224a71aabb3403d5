"""The request page of analysts: guarantee, cost and expected error within one's own budget.

Nothing here reads an event: plans are made of what is public. Curators ask where they plan.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.ledger import Account
from headcount.methods.family import Family
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.pages.requests._forecast import forecast_fields, forecast_part
from headcount.studio.pages.requests._request_plan import dataset_and_family, plan_part, plan_request
from headcount.studio.services.budgets import gauge
from headcount.studio.services.request_form import family_for, request_form_fields
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_all = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)

Words = Annotated[str, Query(max_length=64)]


@_all.get("/ask")
def ask_page(request: Request) -> Response:
    """Choose of what to ask."""
    studio, who = studio_of(request), visitor(request)
    if who.is_curator:
        return RedirectResponse("/datasets", 303)
    open_datasets = [dataset for dataset in studio.datasets.listed(who) if dataset.state == "open"]
    rows = [
        (dataset, gauge(account), is_exhausted(account), forms.offers(dataset.reads, dataset.flags))
        for dataset, account in ((dataset, studio.datasets.account(who, dataset.id)) for dataset in open_datasets)
    ]
    return templates.page(request, "ask.html.jinja", rows=rows)


@_all.get("/ask/{dataset}")
def asking_page(request: Request, dataset: str, family: Words = "") -> Response:
    """Ask what to release."""
    if visitor(request).is_curator:
        return RedirectResponse(f"/datasets/{dataset}/plan", 303)
    held = studio_of(request).datasets.get(visitor(request), dataset)
    return _page(request, held, family_for(held, family))


@_all.post("/ask/{dataset}/outlook")
def outlook(request: Request, dataset: str, sent: Sent) -> Response:
    """Say what a request would promise and cost, and what is left; where the method changed, show its fields."""
    return plan_part(request, dataset, sent)


@_all.post("/ask/{dataset}")
def ask(request: Request, dataset: str, sent: Sent) -> Response:
    """Ask for it; it is charged once it is run."""
    studio, who = studio_of(request), visitor(request)
    held, family = dataset_and_family(request, dataset, sent)
    try:
        request_values, _ = plan_request(request, held, family, sent)
        job = studio.jobs.ask(
            who, dataset=dataset, family=family.name, asked=request_values, title=text(sent, "title")
        )
    except HeadcountError as error:
        return _page(request, held, family, sent, error)
    return RedirectResponse(f"/runs/{job.id}", 303)


@_all.post("/ask/{dataset}/forecast")
def forecast(request: Request, dataset: str, sent: Sent) -> Response:
    """Say how far off a release would be, from what is published or from public figures."""
    return forecast_part(request, studio_of(request).datasets.get(visitor(request), dataset), sent)


def is_exhausted(account: Account | None) -> bool:
    """Say whether nothing is left to be spent; with windows, each has its own budget."""
    return account is None or (account.left <= 0 and account.budget.windows is None)


def _fields(
    dataset: Dataset, family: Family, sent: forms.Posted | None, errors: dict[str, str]
) -> list[forms.Field]:
    method = "" if sent is None else next(iter(sent.get("method", ())), "")
    return forms.fill_fields(request_form_fields(dataset, family, method or None, curator=False), {}, sent, errors)


def _page(
    request: Request,
    dataset: Dataset,
    family: Family,
    sent: forms.Posted | None = None,
    error: HeadcountError | None = None,
) -> Response:
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    account = studio_of(request).datasets.account(visitor(request), dataset.id)
    return templates.page(
        request,
        "asking.html.jinja",
        status=200 if error is None else status_of(error),
        dataset=dataset,
        family=family,
        offers=forms.offers(dataset.reads, dataset.flags),
        fields=_fields(dataset, family, sent, by_field),
        method="" if sent is None else next(iter(sent.get("method", ())), ""),
        figures=forecast_fields(request, dataset),
        budget=gauge(account),
        exhausted=is_exhausted(account),
        error=error if error is not None and (not by_field or "" in by_field) else None,
    )


ROUTERS = (_all,)
