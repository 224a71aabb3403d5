"""Pages of requests: plan a release, ask for it (analysts under /ask, curators under /datasets), follow its job.

Both roles have the same page with different words; analysts also see their budget. Nothing here reads an event:
plans and forecasts use public information. Analysts see their own jobs, without progress.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import FileResponse, RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.budgets import gauge, is_exhausted
from headcount.studio.services.release_requests import (
    RequestForm,
    forecast_errors,
    forecast_fields,
    plan_release,
    request_form,
    request_release,
)
from headcount.studio.studio import Call, Sent
from headcount.studio.web import templates
from headcount.studio.web.error_responses import form_page

_all = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)
_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)

Words = Annotated[str, Query(max_length=64)]
_SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'none'; base-uri 'none'"
)
"""Reports are one file with scripts of their own: they run without an origin, and cannot send anything."""
_NO_OUTCOME = {"earlier": False, "sentences": (), "page": None, "checked": None, "problem": None}


@_all.get("/ask")
def ask_page(call: Call) -> Response:
    """Choose a dataset."""
    if call.visitor.is_curator:
        return RedirectResponse("/datasets", 303)
    rows = [
        (dataset, gauge(account), is_exhausted(account), forms.offers(dataset.reads, dataset.flags))
        for dataset in call.studio.datasets.listed(call.visitor)
        if dataset.state == "open"
        for account in (call.studio.datasets.account(call.visitor, dataset.id),)
    ]
    return templates.page(call.request, "ask.html.jinja", rows=rows)


@_all.get("/ask/{dataset}")
def asking_page(call: Call, dataset: str, family: Words = "") -> Response:
    """Show the request form to an analyst."""
    if call.visitor.is_curator:
        return RedirectResponse(f"/datasets/{dataset}/plan", 303)
    return _request_page(call, "asking.html.jinja", request_form(call.studio, call.visitor, dataset, family))


@_curators.get("/datasets/{dataset}/plan")
def planning_page(call: Call, dataset: str, family: str = "", job: str = "") -> Response:
    """Show the request form to a curator; with a job, begin with its request."""
    call.studio.datasets.get(call.visitor, dataset)
    earlier = call.studio.jobs.get(call.visitor, job) if job else None
    values = dict(earlier.asked) if earlier is not None else {}
    form = request_form(call.studio, call.visitor, dataset, (earlier.family if earlier else None) or family)
    return _request_page(call, "planning.html.jinja", form, values)


@_all.post("/ask/{dataset}")
def ask(call: Call, dataset: str, sent: Sent) -> Response:
    """Ask for a release; it is charged once it is run."""
    return _request_release(call, "asking.html.jinja", dataset, sent)


@_curators.post("/datasets/{dataset}/plan")
def ask_as_curator(call: Call, dataset: str, sent: Sent) -> Response:
    """Ask for a release; it is charged once it is run."""
    return _request_release(call, "planning.html.jinja", dataset, sent)


@_all.post("/ask/{dataset}/outlook")
@_curators.post("/datasets/{dataset}/plan/outlook")
def outlook(call: Call, dataset: str, sent: Sent) -> Response:
    """Show guarantee and cost of a request while it is typed; where the method changed, show its fields, too."""
    form = request_form(call.studio, call.visitor, dataset, forms.text(sent, "family"))
    method = forms.text(sent, "method")
    fields = form.fields(method or None)
    values: dict[str, Any] = {"plan": None, "error": None, "wrong": {}}
    try:
        values["plan"] = plan_release(call.studio, call.visitor, form, form.read_posted(sent))
    except forms.FormError as error:
        values["wrong"] = error.by_field
    except HeadcountError as error:
        values["error"] = error
    return templates.part(
        call.request,
        "outlook.html.jinja",
        dataset=form.dataset,
        family=form.family,
        fields=None if method == forms.text(sent, "shown") else forms.fill_fields(fields, {}, sent),
        method=method,
        labels={field.name: field.label for field in fields},
        **values,
    )


@_all.post("/ask/{dataset}/forecast")
@_curators.post("/datasets/{dataset}/plan/forecast")
def forecast(call: Call, dataset: str, sent: Sent) -> Response:
    """Show the expected errors of a release, from public figures or from an earlier release."""
    held = call.studio.datasets.get(call.visitor, dataset)
    values: dict[str, Any] = {"forecast": None, "error": None}
    try:
        values["forecast"] = forecast_errors(call.studio, call.visitor, held, sent)
    except HeadcountError as error:
        values["error"] = error
    return templates.part(call.request, "forecast.html.jinja", **values)


def _request_release(call: Call, template: str, dataset: str, sent: forms.Posted) -> Response:
    form = request_form(call.studio, call.visitor, dataset, forms.text(sent, "family"))
    try:
        values = form.read_posted(sent)
        job = request_release(call.studio, call.visitor, form, values, forms.text(sent, "title"))
    except HeadcountError as error:
        return _request_page(call, template, form, {}, sent, error)
    return RedirectResponse(f"/runs/{job.id}", 303)


def _request_page(
    call: Call,
    template: str,
    form: RequestForm,
    values: Mapping[str, Any] | None = None,
    sent: forms.Posted | None = None,
    error: HeadcountError | None = None,
) -> Response:
    is_asking, dataset, held = template == "asking.html.jinja", form.dataset, values or {}
    form = replace(form, by_curator=not is_asking)
    method = str(held.get("method") or "") if sent is None else next(iter(sent.get("method", ())), "")
    account = call.studio.datasets.account(call.visitor, dataset.id) if is_asking else None
    return form_page(
        call.request,
        template,
        error,
        dataset=dataset,
        family=form.family,
        offers=forms.offers(dataset.reads, dataset.flags),
        fields=forms.fill_fields(form.fields(method or None), held, sent, error),
        method=method,
        figures=forecast_fields(call.studio, call.visitor, dataset),
        budget=gauge(account),
        exhausted=is_exhausted(account),
    )


@_all.get("/runs")
def jobs(call: Call) -> Response:
    """Show all jobs that the visitor sees, the newest first."""
    return templates.page(call.request, "runs.html.jinja", jobs=call.studio.jobs.listed(call.visitor))


@_all.get("/runs/{job}")
def job_page(call: Call, job: str) -> Response:
    """Show a job; its page loads progress again and again."""
    return _job_page(call, job)


@_all.get("/runs/{job}/progress")
def progress(call: Call, job: str) -> Response:
    """Show the progress of a job, to be put into its page."""
    return templates.part(call.request, "run_progress.html.jinja", **_shown(call, job))


@_all.post("/runs/{job}/cancel")
def cancel(call: Call, job: str) -> Response:
    """Cancel a job: before anything was read, it costs nothing."""
    try:
        call.studio.jobs.cancel(call.visitor, job)
    except HeadcountError as error:
        return _job_page(call, job, error)
    return RedirectResponse(f"/runs/{job}", 303)


@_all.post("/runs/{job}/again")
def again(call: Call, job: str) -> Response:
    """Ask for the same once more: a published release costs nothing."""
    try:
        repeated = call.studio.work.again(call.visitor, job)
    except HeadcountError as error:
        return _job_page(call, job, error)
    return RedirectResponse(f"/runs/{repeated.id}", 303)


@_curators.post("/datasets/{dataset}/check")
def check(call: Call, dataset: str) -> Response:
    """Search a log for rows that would not be counted: for curators alone."""
    job = call.studio.jobs.ask(call.visitor, kind="check", dataset=dataset)
    return RedirectResponse(f"/runs/{job.id}", 303)


@_curators.get("/runs/{job}/page")
def lab_page(call: Call, job: str) -> Response:
    """Show the page of a comparison or a replication, in a sandbox: its scripts reach nothing of ours."""
    path = call.studio.work.page(call.visitor, job)
    return FileResponse(path, media_type="text/html", headers={"content-security-policy": _SANDBOX})


def _job_page(call: Call, job: str, error: HeadcountError | None = None) -> Response:
    return form_page(call.request, "run.html.jinja", error, **_shown(call, job))


def _shown(call: Call, job: str) -> dict[str, Any]:
    held = call.studio.jobs.get(call.visitor, job)
    release = call.studio.releases.of_job(call.visitor, job) if held.state == "done" else None
    return {"job": held, "release": release, "outcome": {**_NO_OUTCOME, **(held.outcome or {})}}


ROUTERS = (_all, _curators)
