"""Budgets, for curators: how much is spent, the journal, whether it is whole, and who may spend how much."""

from __future__ import annotations

from typing import Any

from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.budgets import budget_overview, gauge, journal_lines, open_dataset, verify_ledger
from headcount.studio.studio import Call, Sent
from headcount.studio.web import templates
from headcount.studio.web.error_responses import form_page

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/budgets")
def budgets(call: Call) -> Response:
    """Show all budgets."""
    return _all(call)


@_curators.post("/budgets/verify")
def verify(call: Call) -> Response:
    """Verify the journal."""
    return _all(call, verify_ledger(call.studio, call.visitor))


@_curators.get("/datasets/{dataset}/budget")
def budget(call: Call, dataset: str) -> Response:
    """Show a budget with its history, or ask for one."""
    return _page(call, dataset)


@_curators.post("/datasets/{dataset}/budget")
def open_with_budget(call: Call, dataset: str, sent: Sent) -> Response:
    """Give a dataset its budget, and open it; one that has its budget is opened again."""
    try:
        open_dataset(call.studio, call.visitor, dataset, sent)
    except HeadcountError as error:
        return _page(call, dataset, sent, error)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@_curators.post("/datasets/{dataset}/members")
def allow(call: Call, dataset: str, sent: Sent) -> Response:
    """Let an analyst see a dataset, and spend so much on it."""
    person, epsilon = forms.text(sent, "person"), forms.text(sent, "epsilon")
    try:
        call.studio.datasets.allow(call.visitor, dataset, person, epsilon)
    except HeadcountError as error:
        return _page(call, dataset, error=error)
    return RedirectResponse(f"/datasets/{dataset}/budget", 303)


@_curators.post("/datasets/{dataset}/members/{person}/dismiss")
def dismiss(call: Call, dataset: str, person: str) -> Response:
    """Let an analyst no longer see a dataset."""
    call.studio.datasets.dismiss(call.visitor, dataset, person)
    return RedirectResponse(f"/datasets/{dataset}/budget", 303)


def _all(call: Call, verified: Any = None) -> Response:
    rows = budget_overview(call.studio, call.visitor)
    return templates.page(call.request, "budgets.html.jinja", rows=rows, verified=verified)


def _page(
    call: Call, dataset: str, sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    held = call.studio.datasets.get(call.visitor, dataset)
    account = call.studio.datasets.account(call.visitor, dataset)
    members = call.studio.datasets.members(call.visitor, dataset)
    own = {} if account is None else {entry.analyst: entry for entry in account.analysts}
    return form_page(
        call.request,
        "budget.html.jinja",
        error,
        dataset=held,
        gauge=gauge(account),
        account=account,
        members=[(member, gauge(own.get(member.name))) for member in members],
        people=[entry for entry in call.studio.accounts.listed() if not entry.disabled],
        lines=[] if account is None else journal_lines(call.studio.ledger.history(held.name)),
        fields=forms.fill_fields(forms.budget_fields(), {}, sent, error),
    )


ROUTERS = (_curators,)
