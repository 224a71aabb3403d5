"""Pages of jobs: request, progress, outcome. Analysts see their own jobs, without progress."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_everybody = router_for(AccessLevel.SIGNED_IN, include_in_schema=False)
_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)

_SANDBOX = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'unsafe-inline'; img-src data:; font-src data:; frame-ancestors 'none'; base-uri 'none'"
)
"""Reports are one file with scripts of their own: they run as nobody, and nothing can be sent anywhere."""
_NOTHING = {"earlier": False, "sentences": (), "page": None, "checked": None, "problem": None}
"""What a run that ended may tell."""


@_everybody.get("/runs")
def runs(request: Request) -> Response:
    """Show all runs that somebody sees, the newest first."""
    return templates.page(request, "runs.html.jinja", jobs=studio_of(request).jobs.listed(visitor(request)))


@_everybody.get("/runs/{job}")
def run(request: Request, job: str) -> Response:
    """Show a run; its progress follows by itself."""
    return _page(request, job)


@_everybody.get("/runs/{job}/progress")
def progress(request: Request, job: str) -> Response:
    """Show how far a run is, to be put into its page."""
    return templates.part(request, "run_progress.html.jinja", **_shown(request, job))


@_everybody.post("/runs/{job}/cancel")
def cancel(request: Request, job: str) -> Response:
    """Cancel a run: what was not read yet costs nothing."""
    try:
        studio_of(request).jobs.cancel(visitor(request), job)
    except HeadcountError as error:
        return _page(request, job, error)
    return RedirectResponse(f"/runs/{job}", 303)


@_everybody.post("/runs/{job}/again")
def again(request: Request, job: str) -> Response:
    """Ask for the same once more: what was published already costs nothing."""
    try:
        repeated = studio_of(request).work.again(visitor(request), job)
    except HeadcountError as error:
        return _page(request, job, error)
    return RedirectResponse(f"/runs/{repeated.id}", 303)


@_curators.post("/datasets/{dataset}/check")
def check(request: Request, dataset: str) -> Response:
    """Look through a log for what would not be counted: for the curator's eyes only."""
    job = studio_of(request).jobs.ask(visitor(request), kind="check", dataset=dataset)
    return RedirectResponse(f"/runs/{job.id}", 303)


@_curators.get("/runs/{job}/page")
def page(request: Request, job: str) -> Response:
    """Show the page that a comparison or a reproduction wrote, in a sandbox: its scripts reach nothing of ours."""
    path = studio_of(request).work.page(visitor(request), job)
    return FileResponse(path, media_type="text/html", headers={"content-security-policy": _SANDBOX})


def _page(request: Request, job: str, error: HeadcountError | None = None) -> Response:
    status = 200 if error is None else status_of(error)
    return templates.page(request, "run.html.jinja", status=status, error=error, **_shown(request, job))


def _shown(request: Request, job: str) -> dict[str, Any]:
    studio, who = studio_of(request), visitor(request)
    held = studio.jobs.get(who, job)
    release = studio.releases.of_job(who, job) if held.state == "done" else None
    return {"job": held, "release": release, "outcome": {**_NOTHING, **(held.outcome or {})}}


ROUTERS = (_everybody, _curators)
