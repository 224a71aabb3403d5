"""Work for programs: plan a request, ask for it, see how far it is; curators also check, compare and review."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Query
from pydantic import Field

from headcount.studio.access import AccessLevel, router_for
from headcount.studio.services.lab import read_experiment
from headcount.studio.services.release_requests import plan_release, request_form, request_release
from headcount.studio.studio import Call
from headcount.studio.web.json_api import Body, JsonObject, ResponseBody

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

    @classmethod
    def from_object(cls, held: Any) -> Self:
        """Return a field with its choices by value."""
        own = {name: getattr(held, name) for name in cls.model_fields}
        return cls(**{**own, "choices": [choice.value for choice in held.choices], "only": list(held.only)})


@_all.get("/datasets/{dataset}/fields")
def fields(call: Call, dataset: str, family: Annotated[str, Query(max_length=64)] = "") -> list[RequestField]:
    """Return what can be asked of a dataset: the fields of a family's requests, and for which methods each is."""
    form = request_form(call.studio, call.visitor, dataset, family)
    return [RequestField.from_object(field) for field in form.all_fields()]


@_all.post("/datasets/{dataset}/plan")
def plan(call: Call, dataset: str, wanted: PlanRequest) -> JsonObject:
    """Say what a request would promise and cost, and how noisy it would be; reads no event, charges nothing."""
    form = request_form(call.studio, call.visitor, dataset, wanted.family)
    return plan_release(call.studio, call.visitor, form, form.read_json(wanted.asked))


@_all.post("/jobs", status_code=202)
def ask(call: Call, wanted: ReleaseRequest) -> JobInfo:
    """Ask for a release: it is refused if the budget does not allow for it, and charged when it is run."""
    form = request_form(call.studio, call.visitor, wanted.dataset, wanted.family)
    values = form.read_json(wanted.asked)
    return JobInfo.from_object(request_release(call.studio, call.visitor, form, values, wanted.title))


@_curators.post("/trials", status_code=202)
def try_out(call: Call, trial: ExperimentRequest) -> JobInfo:
    """Check a dataset, compare methods on it, audit one, or run a paper again. None of it is private."""
    values = read_experiment(trial.kind, trial.asked)
    job = call.studio.jobs.ask(
        call.visitor, kind=trial.kind, dataset=trial.dataset, asked=values, title=trial.title
    )
    return JobInfo.from_object(job)


@_all.get("/jobs")
def jobs(call: Call, dataset: Annotated[str | None, Query(max_length=64)] = None) -> list[JobInfo]:
    """Return the jobs that who asks sees, the newest first."""
    return [JobInfo.from_object(entry) for entry in call.studio.jobs.listed(call.visitor, dataset=dataset)]


@_all.get("/jobs/{job}")
def job(call: Call, job: str) -> JobInfo:
    """Return a job."""
    return JobInfo.from_object(call.studio.jobs.get(call.visitor, job))


@_all.post("/jobs/{job}/cancel")
def cancel_job(call: Call, job: str) -> JobInfo:
    """Cancel a job: what was not read yet costs nothing."""
    return JobInfo.from_object(call.studio.jobs.cancel(call.visitor, job))


@_all.post("/jobs/{job}/again", status_code=202)
def ask_again(call: Call, job: str) -> JobInfo:
    """Ask for the same once more: what was published already costs nothing."""
    return JobInfo.from_object(call.studio.work.again(call.visitor, job))


ROUTERS = (_all, _curators)
