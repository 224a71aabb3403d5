"""The lab page of curators: comparisons on a log, audits and replications. None of it is private."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.services.lab_forms import EXPERIMENTS, experiment
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/lab")
def lab(request: Request) -> Response:
    """Show what can be tried, and what was."""
    return _page(request)


@_curators.post("/lab/{kind}")
def begin(request: Request, kind: str, sent: Sent) -> Response:
    """Put an experiment into the queue."""
    chosen = experiment(kind)
    try:
        form_values = forms.read_posted(chosen.fields(), sent)
        dataset = text(sent, "dataset") or None
        job = studio_of(request).jobs.ask(visitor(request), kind=kind, dataset=dataset, asked=form_values)
    except HeadcountError as error:
        return _page(request, kind, sent, error)
    return RedirectResponse(f"/runs/{job.id}", 303)


def _page(
    request: Request, kind: str = "", sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    studio, who = studio_of(request), visitor(request)
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    shown = [
        (entry, forms.fill_fields(entry.fields(), {}, *((sent, by_field) if entry.kind == kind else ())))
        for entry in EXPERIMENTS
    ]
    kinds = {entry.kind for entry in EXPERIMENTS}
    return templates.page(
        request,
        "lab.html.jinja",
        status=200 if error is None else status_of(error),
        experiments=shown,
        datasets=[entry for entry in studio.datasets.listed(who) if entry.reads in ("events", "ratings")],
        jobs=[entry for entry in studio.jobs.listed(who) if entry.kind in kinds],
        error=None if by_field else error,
    )


ROUTERS = (_curators,)
