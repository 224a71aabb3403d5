"""Pages of datasets, for curators: a list, a new dataset, its columns and public lists, and its setup steps."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Form, UploadFile
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms, uploads
from headcount.studio.access import AccessLevel, router_for, takes_uploads
from headcount.studio.forms.labels import file_words, on_page
from headcount.studio.security.middleware import place_within
from headcount.studio.services import dataset_setup as services
from headcount.studio.services.budgets import budget_overview, gauge
from headcount.studio.studio import Call, Sent
from headcount.studio.web import templates
from headcount.studio.web.error_responses import form_page

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/datasets")
def datasets(call: Call) -> Response:
    """Show all datasets, with the rest of their budgets."""
    rows = budget_overview(call.studio, call.visitor)
    return templates.page(call.request, "datasets.html.jinja", rows=rows, reads=services.READS)


@_curators.get("/datasets/new")
def new(call: Call, file: str = "") -> Response:
    """Ask for a new dataset: first where it lies."""
    return _new(call, {"file": file})


@_curators.post("/datasets")
def register(call: Call, sent: Sent) -> Response:
    """Make a draft, and go on to its columns."""
    try:
        draft = services.register_dataset(call.studio, call.visitor, sent)
    except HeadcountError as error:
        return _new(call, {}, sent, error)
    return RedirectResponse(f"/datasets/{draft.id}/columns", 303)


@_curators.post("/uploads")
@takes_uploads
def upload(call: Call, file: UploadFile, next: Annotated[str, Form()] = "/datasets/new") -> Response:  # noqa: A002 - as sign-in calls it
    """Keep a file, and go on where it is wanted, in a browser with htmx or without."""
    kept = uploads.keep(call.studio.settings, file.file, file.filename or "", file.size)
    place = place_within(next)
    address = f"{place}{'&' if '?' in place else '?'}file={kept}"
    if "hx-request" in call.request.headers:
        return Response(status_code=204, headers={"HX-Redirect": address})
    return RedirectResponse(address, 303)


@_curators.get("/datasets/{dataset}")
def dataset(call: Call, dataset: str) -> Response:
    """Show a dataset: its steps, budget, members and jobs."""
    return _page(call, dataset)


@_curators.post("/datasets/{dataset}")
def change(call: Call, dataset: str, sent: Sent) -> Response:
    """Change description, source or version of a dataset."""
    changes: dict[str, Any] = {name: forms.text(sent, name) for name in ("about", "version") if name in sent}
    if file := forms.text(sent, "file"):
        changes["source"] = {"files": [file]}
    try:
        call.studio.datasets.update(call.visitor, dataset, **changes)
    except HeadcountError as error:
        return _page(call, dataset, error)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@_curators.post("/datasets/{dataset}/close")
def close(call: Call, dataset: str) -> Response:
    """Let no more releases be asked for."""
    call.studio.datasets.close(call.visitor, dataset)
    return RedirectResponse(f"/datasets/{dataset}", 303)


@_curators.post("/datasets/{dataset}/remove")
def remove(call: Call, dataset: str) -> Response:
    """Forget a draft."""
    try:
        call.studio.datasets.remove(call.visitor, dataset)
    except HeadcountError as error:
        return _page(call, dataset, error)
    return RedirectResponse("/datasets", 303)


@_curators.get("/datasets/{dataset}/columns")
def columns(call: Call, dataset: str) -> Response:
    """Show three rows, and suggest what the columns mean."""
    return _columns(call, dataset)


@_curators.post("/datasets/{dataset}/columns")
def map_columns(call: Call, dataset: str, sent: Sent) -> Response:
    """Keep what the columns mean; how text is written can be changed alone, to look again."""
    again, held = bool(forms.text(sent, "again")), call.studio.datasets.get(call.visitor, dataset)
    try:
        services.map_columns(call.studio, call.visitor, held, sent, source_only=again)
    except HeadcountError as error:
        return _columns(call, dataset, sent, error)
    if again:
        return RedirectResponse(f"/datasets/{dataset}/columns", 303)
    return RedirectResponse(services.next_step(call.studio, call.visitor, dataset, "columns"), 303)


@_curators.get("/datasets/{dataset}/public")
def public(call: Call, dataset: str, file: str = "") -> Response:
    """Ask for the public lists: the catalogue, or that there is none."""
    return _public(call, dataset, file)


@_curators.post("/datasets/{dataset}/public")
def declare_public(call: Call, dataset: str, sent: Sent) -> Response:
    """Keep the public lists."""
    held = call.studio.datasets.get(call.visitor, dataset)
    try:
        services.declare_public(call.studio, call.visitor, held, sent)
    except HeadcountError as error:
        return _public(call, dataset, "", sent, error)
    return RedirectResponse(services.next_step(call.studio, call.visitor, dataset, "public"), 303)


def _page(call: Call, dataset: str, error: HeadcountError | None = None) -> Response:
    studio, visitor = call.studio, call.visitor
    held = studio.datasets.get(visitor, dataset)
    account = studio.datasets.account(visitor, dataset)
    return form_page(
        call.request,
        "dataset.html.jinja",
        error,
        dataset=held,
        reads=services.READS.get(held.reads, held.reads),
        steps=services.steps(held, has_budget=account is not None),
        gauge=gauge(account),
        offers=forms.offers(held.reads, held.flags),
        members=studio.datasets.members(visitor, dataset),
        releases=studio.releases.listed(visitor, dataset=dataset),
        jobs=studio.jobs.listed(visitor, dataset=dataset, most=10),
        files=[(file, file_words(file)) for file in uploads.list_files(studio.settings)],
    )


def _new(
    call: Call, held: dict[str, Any], sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    return form_page(
        call.request,
        "dataset_new.html.jinja",
        error,
        fields=forms.fill_fields(services.new_fields(call.studio), held, sent, error),
        endings=uploads.ALLOWED_EXTENSIONS,
        most=call.studio.settings.limits.upload_bytes,
    )


def _columns(
    call: Call, dataset: str, sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    held = call.studio.datasets.get(call.visitor, dataset)
    preview, unreadable = services.preview_source(call.studio, call.visitor, held)
    error = error or unreadable
    is_mapped = any(name not in services.SOURCE_FLAGS for name in held.flags)
    values = held.flags if is_mapped else {**held.flags, **preview["flags"]}
    return form_page(
        call.request,
        "mapping.html.jinja",
        error,
        dataset=held,
        seen=preview,
        roles=services.role_words(preview["flags"]),
        doubt=on_page(preview["doubt"] or ""),
        guessed=not is_mapped,
        fields=forms.fill_fields(services.column_fields(call.studio, held, preview), values, sent, error),
    )


def _public(
    call: Call, dataset: str, file: str, sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    held = call.studio.datasets.get(call.visitor, dataset)
    fields = services.public_fields(call.studio, held)
    listing = next((field.name for field in fields if field.kind == "listing"), None)
    values = {**held.flags, listing: file} if file and listing else held.flags
    shown = forms.fill_fields(fields, values, sent, error)
    return form_page(call.request, "public.html.jinja", error, dataset=held, fields=shown)


ROUTERS = (_curators,)
