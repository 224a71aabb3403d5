"""The lab page of curators: comparisons on a log, audits and replications. None of it is private."""

from __future__ import annotations

from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.lab import EXPERIMENTS, begin_experiment, experiment
from headcount.studio.studio import Call, Sent
from headcount.studio.web.error_responses import form_page

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/lab")
def lab(call: Call) -> Response:
    """Show the experiments, and those that were run."""
    return _page(call)


@_curators.post("/lab/{kind}")
def begin(call: Call, kind: str, sent: Sent) -> Response:
    """Put an experiment into the queue."""
    experiment(kind)
    try:
        job = begin_experiment(call.studio, call.visitor, kind, sent)
    except HeadcountError as error:
        return _page(call, kind, sent, error)
    return RedirectResponse(f"/runs/{job.id}", 303)


def _page(
    call: Call, kind: str = "", sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    shown = [
        (entry, forms.fill_fields(entry.fields(), {}, *((sent, error) if entry.kind == kind else ())))
        for entry in EXPERIMENTS
    ]
    kinds = {entry.kind for entry in EXPERIMENTS}
    datasets = call.studio.datasets.listed(call.visitor)
    return form_page(
        call.request,
        "lab.html.jinja",
        error,
        experiments=shown,
        datasets=[entry for entry in datasets if entry.reads in ("events", "ratings")],
        jobs=[entry for entry in call.studio.jobs.listed(call.visitor) if entry.kind in kinds],
    )


ROUTERS = (_curators,)
