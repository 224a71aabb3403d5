"""Budgets, for curators: how much is spent, the journal, whether it is whole, and who may spend how much."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.services.budgets import gauge, journal_lines
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/budgets")
def budgets(request: Request) -> Response:
    """Show all budgets."""
    return _all(request)


@_curators.post("/budgets/verify")
def verify(request: Request) -> Response:
    """Look whether the journal is whole."""
    studio = studio_of(request)
    verification = studio.ledger.verify()
    studio.audit_log.note(visitor(request), "verified the ledger", ok=verification.ok)
    return _all(request, verified=verification)


@_curators.get("/datasets/{dataset}/budget")
def budget(request: Request, dataset: str) -> Response:
    """Show a budget with its history, or ask for one."""
    return _page(request, dataset)


@_curators.post("/datasets/{dataset}/budget")
def open_dataset(request: Request, dataset: str, sent: Sent) -> Response:
    """Give a dataset its budget, and open it; one that has its budget is opened again."""
    studio, who = studio_of(request), visitor(request)
    try:
        has_budget = studio.datasets.account(who, dataset) is not None
        studio.datasets.open(
            who, dataset, **({} if has_budget else forms.read_posted(forms.budget_fields(), sent))
        )
    except HeadcountError as error:
        return _page(request, dataset, sent, error)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@_curators.post("/datasets/{dataset}/members")
def allow(request: Request, dataset: str, sent: Sent) -> Response:
    """Let an analyst see a dataset, and spend so much on it."""
    try:
        studio_of(request).datasets.allow(visitor(request), dataset, text(sent, "person"), text(sent, "epsilon"))
    except HeadcountError as error:
        return _page(request, dataset, error=error)
    return RedirectResponse(f"/datasets/{dataset}/budget", 303)


@_curators.post("/datasets/{dataset}/members/{person}/dismiss")
def dismiss(request: Request, dataset: str, person: str) -> Response:
    """Let an analyst no longer see a dataset."""
    studio_of(request).datasets.dismiss(visitor(request), dataset, person)
    return RedirectResponse(f"/datasets/{dataset}/budget", 303)


def _all(request: Request, **more: Any) -> Response:
    studio, who = studio_of(request), visitor(request)
    held = [(dataset, gauge(studio.datasets.account(who, dataset.id))) for dataset in studio.datasets.listed(who)]
    return templates.page(request, "budgets.html.jinja", rows=held, **{"verified": None, **more})


def _page(
    request: Request, dataset: str, sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    account = studio.datasets.account(who, dataset)
    members = studio.datasets.members(who, dataset)
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    own = {entry.analyst: entry for entry in account.analysts} if account is not None else {}
    return templates.page(
        request,
        "budget.html.jinja",
        status=200 if error is None else status_of(error),
        dataset=held,
        gauge=gauge(account),
        account=account,
        members=[(entry, gauge(own.get(entry.name))) for entry in members],
        people=[entry for entry in studio.users.listed() if not entry.disabled],
        lines=[] if account is None else journal_lines(studio.ledger.history(held.name)),
        fields=forms.fill_fields(forms.budget_fields(), {}, sent, by_field),
        error=None if by_field else error,
    )


ROUTERS = (_curators,)
