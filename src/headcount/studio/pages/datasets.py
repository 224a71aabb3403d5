"""Datasets, for curators: a list, a new one from a file or an address, and each with what is still to be done."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, Request, UploadFile
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms, uploads
from headcount.studio.access import AccessLevel, router_for, takes_uploads, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.forms.labels import file_words
from headcount.studio.security.middleware import place_within
from headcount.studio.services.budgets import gauge
from headcount.studio.services.dataset_registration import new_fields, source_of
from headcount.studio.services.dataset_steps import READS, steps
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/datasets")
def datasets(request: Request) -> Response:
    """Show all datasets, with what is left of their budgets."""
    studio, who = studio_of(request), visitor(request)
    rows = [
        (registered, gauge(studio.datasets.account(who, registered.id)))
        for registered in studio.datasets.listed(who)
    ]
    return templates.page(request, "datasets.html.jinja", rows=rows, reads=READS)


@_curators.get("/datasets/new")
def new(request: Request, file: str = "") -> Response:
    """Ask for a new dataset: first where it lies."""
    return _new(request, {"file": file})


@_curators.post("/datasets")
def register(request: Request, sent: Sent) -> Response:
    """Make a draft, and go on to its columns."""
    studio = studio_of(request)
    fields = _fields(request)
    try:
        form_values = forms.read_posted(fields, sent)
        flags = {name: form_values[name] for name in ("table", "query") if form_values.get(name)}
        draft = studio.datasets.register(
            visitor(request),
            name=form_values["name"],
            reads=form_values["reads"],
            source=source_of(form_values),
            flags=flags,
            about=form_values.get("about", ""),
        )
    except HeadcountError as error:
        return _new(request, {}, sent, error)
    return RedirectResponse(f"/datasets/{draft.id}/columns", 303)


@_curators.post("/uploads")
@takes_uploads
def upload(request: Request, file: UploadFile, next: Annotated[str, Form()] = "/datasets/new") -> Response:  # noqa: A002 - as sign-in calls it
    """Keep a file, and go on where it is wanted."""
    kept = uploads.keep(studio_of(request).settings, file.file, file.filename or "", file.size)
    place = place_within(next)
    return _go(request, f"{place}{'&' if '?' in place else '?'}file={kept}")


@_curators.get("/datasets/{dataset}")
def dataset(request: Request, dataset: str) -> Response:
    """Show a dataset: its steps, budget, members and runs."""
    return _page(request, dataset)


@_curators.post("/datasets/{dataset}")
def change(request: Request, dataset: str, sent: Sent) -> Response:
    """Change what is said of a dataset, its source or the label of its version."""
    changes: dict[str, Any] = {name: text(sent, name) for name in ("about", "version") if name in sent}
    if text(sent, "file"):
        changes["source"] = {"files": [text(sent, "file")]}
    try:
        studio_of(request).datasets.update(visitor(request), dataset, **changes)
    except HeadcountError as error:
        return _page(request, dataset, error)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@_curators.post("/datasets/{dataset}/close")
def close(request: Request, dataset: str) -> Response:
    """Let nothing more be asked of it."""
    studio_of(request).datasets.close(visitor(request), dataset)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@_curators.post("/datasets/{dataset}/remove")
def remove(request: Request, dataset: str) -> Response:
    """Forget a draft."""
    try:
        studio_of(request).datasets.remove(visitor(request), dataset)
    except HeadcountError as error:
        return _page(request, dataset, error)
    return RedirectResponse("/datasets", 303)


def _page(request: Request, dataset: str, error: HeadcountError | None = None) -> Response:
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    account = studio.datasets.account(who, dataset)
    return templates.page(
        request,
        "dataset.html.jinja",
        status=200 if error is None else status_of(error),
        dataset=held,
        reads=READS.get(held.reads, held.reads),
        steps=steps(held, forms.reading_fields(held.reads), has_budget=account is not None),
        gauge=gauge(account),
        offers=forms.offers(held.reads, held.flags),
        members=studio.datasets.members(who, dataset),
        releases=studio.releases.listed(who, dataset=dataset),
        jobs=studio.jobs.listed(who, dataset=dataset, most=10),
        files=[(file, file_words(file)) for file in uploads.list_files(studio.settings)],
        error=error,
    )


def _fields(request: Request) -> list[forms.Field]:
    settings = studio_of(request).settings
    return new_fields(uploads.list_files(settings), remote=settings.remote)


def _new(
    request: Request, held: dict[str, Any], sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    settings = studio_of(request).settings
    return templates.page(
        request,
        "dataset_new.html.jinja",
        status=200 if error is None else status_of(error),
        fields=forms.fill_fields(_fields(request), held, sent, by_field),
        endings=uploads.ALLOWED_EXTENSIONS,
        most=settings.limits.upload_bytes,
        error=None if by_field else error,
    )


def _go(request: Request, address: str) -> Response:
    """Go somewhere, in a browser with htmx or without."""
    if "hx-request" in request.headers:
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


ROUTERS = (_curators,)
