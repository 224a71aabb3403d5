"""Work for programs: plan a request, ask for it, see how far it is; curators also check, compare and review."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import Field

from headcount.studio import forms
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.services.lab_forms import EXPERIMENTS, experiment
from headcount.studio.services.request_form import family_for, read_request_json, request_form_fields
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Body, JsonObject, ResponseBody

_all = router_for(AccessLevel.SIGNED_IN, prefix="/api/v1", tags=["jobs"])
_curators = router_for(AccessLevel.CURATORS, prefix="/api/v1", tags=["jobs"])

Word = Annotated[str, Field(max_length=64)]


class PlanRequest(Body):
    """What is asked of a dataset: a family of methods, and the fields of its request."""

    family: Word = ""
    asked: dict[str, Any]


class ReleaseRequest(PlanRequest):
    """A release that is asked for."""

    dataset: Word
    title: Annotated[str, Field(max_length=120)] = ""


class ExperimentRequest(Body):
    """Work that is not private: a check of a dataset, or an experiment."""

    kind: Word
    dataset: Word | None = None
    asked: dict[str, Any] = Field(default_factory=dict)
    title: Annotated[str, Field(max_length=120)] = ""


class JobInfo(ResponseBody):
    """A job, as far as who asks is told; times are seconds since 1970."""

    id: str
    kind: str
    dataset: str | None
    dataset_name: str | None
    family: str | None
    asked: dict[str, Any]
    title: str
    state: str
    created: float
    ended: float | None
    progress: dict[str, Any] | None
    outcome: dict[str, Any] | None
    asker_name: str


class RequestField(ResponseBody):
    """A field of a request."""

    name: str
    label: str
    kind: str
    help: str
    choices: list[str]
    default: str | None
    needed: bool
    only: list[str]


@_all.get("/datasets/{dataset}/fields")
def fields(
    request: Request, dataset: str, family: Annotated[str, Query(max_length=64)] = ""
) -> list[RequestField]:
    """Return what can be asked of a dataset: the fields of a family's requests, and for which methods each is."""
    who = visitor(request)
    held = studio_of(request).datasets.get(who, dataset)
    form_fields = request_form_fields(held, family_for(held, family), None, curator=who.is_curator, every=True)
    return [
        RequestField(
            name=field.name,
            label=field.label,
            kind=field.kind,
            help=field.help,
            choices=[choice.value for choice in field.choices],
            default=field.default,
            needed=field.needed,
            only=list(field.only),
        )
        for field in form_fields
    ]


@_all.post("/datasets/{dataset}/plan")
def plan(request: Request, dataset: str, wanted: PlanRequest) -> JsonObject:
    """Say what a request would promise and cost, and how noisy it would be; reads no event, charges nothing."""
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    family = family_for(held, wanted.family)
    request_values = read_request_json(held, family, wanted.asked, curator=who.is_curator)
    return studio.work.run_quick_task(who, "plan", dataset=dataset, family=family.name, asked=request_values)


@_all.post("/jobs", status_code=202)
def ask(request: Request, wanted: ReleaseRequest) -> JobInfo:
    """Ask for a release: it is refused if the budget does not allow for it, and charged when it is run."""
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, wanted.dataset)
    family = family_for(held, wanted.family)
    request_values = read_request_json(held, family, wanted.asked, curator=who.is_curator)
    job = studio.work.ask(who, dataset=held.id, family=family.name, asked=request_values, title=wanted.title)
    return JobInfo.from_object(job)


@_curators.post("/trials", status_code=202)
def try_out(request: Request, trial: ExperimentRequest) -> JobInfo:
    """Check a dataset, compare methods on it, audit one, or run a paper again. None of it is private."""
    request_values: dict[str, Any] = {}
    if trial.kind in {entry.kind for entry in EXPERIMENTS} or trial.asked:
        request_values = forms.read_json(experiment(trial.kind).fields(), trial.asked)
    who = visitor(request)
    queued = studio_of(request).jobs.ask(
        who, kind=trial.kind, dataset=trial.dataset, asked=request_values, title=trial.title
    )
    return JobInfo.from_object(queued)


@_all.get("/jobs")
def jobs(request: Request, dataset: Annotated[str | None, Query(max_length=64)] = None) -> list[JobInfo]:
    """Return the jobs that who asks sees, the newest first."""
    return [
        JobInfo.from_object(listed_job)
        for listed_job in studio_of(request).jobs.listed(visitor(request), dataset=dataset)
    ]


@_all.get("/jobs/{job}")
def job(request: Request, job: str) -> JobInfo:
    """Return a job."""
    return JobInfo.from_object(studio_of(request).jobs.get(visitor(request), job))


@_all.post("/jobs/{job}/cancel")
def cancel_job(request: Request, job: str) -> JobInfo:
    """Cancel a job: what was not read yet costs nothing."""
    return JobInfo.from_object(studio_of(request).jobs.cancel(visitor(request), job))


@_all.post("/jobs/{job}/again", status_code=202)
def ask_again(request: Request, job: str) -> JobInfo:
    """Ask for the same once more: what was published already costs nothing."""
    return JobInfo.from_object(studio_of(request).work.again(visitor(request), job))


ROUTERS = (_all, _curators)
