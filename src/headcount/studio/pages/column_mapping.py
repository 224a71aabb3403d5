"""The pages where curators map columns to roles and declare public lists, beside three raw rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio import forms, uploads
from headcount.studio.access import AccessLevel, router_for, visitor
from headcount.studio.forms.form_body import Sent, text
from headcount.studio.forms.labels import on_page
from headcount.studio.services.dataset_registration import SOURCE_FLAGS, role_words
from headcount.studio.services.dataset_steps import is_public, is_source, steps
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import studio_of
from headcount.studio.web import templates
from headcount.studio.web.error_responses import status_of

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/datasets/{dataset}/columns")
def columns(request: Request, dataset: str) -> Response:
    """Show three rows, and what the columns seem to be."""
    return _columns(request, dataset)


@_curators.post("/datasets/{dataset}/columns")
def map_columns(request: Request, dataset: str, sent: Sent) -> Response:
    """Keep what the columns mean; how text is written can be changed alone, to look again."""
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    again = bool(text(sent, "again"))
    try:
        preview = {} if again else _preview(request, held)
        fields = [
            field
            for field in _fields(request, held, preview, _is_column)
            if not again or field.name in SOURCE_FLAGS
        ]
        form_values = forms.read_posted(fields, sent)
        kept = {name: value for name, value in held.flags.items() if name not in {field.name for field in fields}}
        studio.datasets.update(who, dataset, flags={**kept, **form_values})
    except HeadcountError as error:
        return _columns(request, dataset, sent, error)
    return RedirectResponse(f"/datasets/{dataset}/columns" if again else _next(request, dataset, "columns"), 303)


@_curators.get("/datasets/{dataset}/public")
def public(request: Request, dataset: str, file: str = "") -> Response:
    """Ask what is public: the catalogue, or that there is none."""
    return _public(request, dataset, file)


@_curators.post("/datasets/{dataset}/public")
def say_public(request: Request, dataset: str, sent: Sent) -> Response:
    """Keep what is public."""
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    fields = _fields(request, held, {}, is_public)
    try:
        form_values = forms.read_posted(fields, sent)
        kept = {name: value for name, value in held.flags.items() if name not in {field.name for field in fields}}
        studio.datasets.update(who, dataset, flags={**kept, **form_values})
        studio.work.run_quick_task(who, "log", dataset=dataset)
    except HeadcountError as error:
        return _public(request, dataset, "", sent, error)
    return RedirectResponse(_next(request, dataset, "public"), 303)


def _is_column(field: forms.Field) -> bool:
    return not is_public(field) and not is_source(field)


def _preview(request: Request, dataset: Dataset) -> dict[str, Any]:
    """Look at the first rows, in a process of its own."""
    return studio_of(request).work.run_quick_task(visitor(request), "inspect", dataset=dataset.id)


def _fields(
    request: Request, dataset: Dataset, preview: Mapping[str, Any], which: Callable[[forms.Field], bool]
) -> list[forms.Field]:
    names = [entry["name"] for entry in preview.get("columns", ())]
    files = uploads.list_files(studio_of(request).settings)
    return [entry for entry in forms.reading_fields(dataset.reads, columns=names, files=files) if which(entry)]


def _columns(
    request: Request, dataset: str, sent: forms.Posted | None = None, error: HeadcountError | None = None
) -> Response:
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    try:
        preview = _preview(request, held)
    except HeadcountError as unreadable:
        error, preview = (
            error or unreadable,
            {"columns": [], "rows": 0, "flags": {}, "doubt": None, "reads": held.reads},
        )
    mapped = {name for name in held.flags if name not in SOURCE_FLAGS}
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    fields = _fields(request, held, preview, _is_column)
    return templates.page(
        request,
        "mapping.html.jinja",
        status=200 if error is None else status_of(error),
        dataset=held,
        seen=preview,
        roles=role_words(preview["flags"]),
        doubt=on_page(preview["doubt"] or ""),
        guessed=not mapped,
        fields=forms.fill_fields(
            fields, held.flags if mapped else {**held.flags, **preview["flags"]}, sent, by_field
        ),
        error=None if by_field else error,
    )


def _public(
    request: Request,
    dataset: str,
    file: str,
    sent: forms.Posted | None = None,
    error: HeadcountError | None = None,
) -> Response:
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    fields = _fields(request, held, {}, is_public)
    listing = next((field.name for field in fields if field.kind == "listing"), None)
    shown = dict(held.flags) | ({listing: file} if file and listing else {})
    by_field = error.by_field if isinstance(error, forms.FormError) else {}
    return templates.page(
        request,
        "public.html.jinja",
        status=200 if error is None else status_of(error),
        dataset=held,
        fields=forms.fill_fields(fields, shown, sent, by_field),
        error=None if by_field else error,
    )


def _next(request: Request, dataset: str, after: str) -> str:
    """Return where to go on: the next step that is to be done, else the dataset."""
    studio, who = studio_of(request), visitor(request)
    held = studio.datasets.get(who, dataset)
    has_budget = studio.datasets.account(who, dataset) is not None
    dataset_steps = steps(held, forms.reading_fields(held.reads), has_budget=has_budget)
    later = dataset_steps[next(number for number, step in enumerate(dataset_steps) if step.name == after) + 1 :]
    return next((step.address for step in later if not step.done), f"/datasets/{dataset}")


ROUTERS = (_curators,)
