"""The request form of a dataset: its fields, how it is read, and the check before a job is queued."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from headcount.errors import UnknownNameError
from headcount.events.log_parameters import READERS
from headcount.methods.family import Family
from headcount.methods.registry import FAMILIES
from headcount.methods.request import CHARGING
from headcount.studio import forms
from headcount.studio.forms.field import field_of
from headcount.studio.forms.request_fields import METHOD
from headcount.studio.jobs.job_request import ANALYST_READ_FLAGS, CURATOR_READ_FLAGS
from headcount.studio.store.datasets import Dataset

AGAIN = "again"


def family_for(dataset: Dataset, name: str) -> Family:
    """Return the family that is asked for, the first that fits if none is named."""
    fitting = [offer.name for offer in forms.offers(dataset.reads, dataset.flags)]
    if name and name not in fitting:
        raise UnknownNameError.among("kind of release", name, fitting, where=dataset.name)
    return FAMILIES[name or fitting[0]]


def request_form_fields(
    dataset: Dataset, family: Family, method: str | None, *, curator: bool = True, every: bool = False
) -> list[forms.Field]:
    """Return the fields of a request for a dataset: of the family, for the method, and what narrows the log down.

    With ``every`` those of all methods are returned.
    """
    own = forms.fields_of(family) if every else forms.fields_for_method(forms.fields_of(family), method, family)
    allowed = CURATOR_READ_FLAGS if curator else ANALYST_READ_FLAGS
    narrowing = [
        dataclasses.replace(field, needed=False, advanced=True, default=None)
        for field in forms.reading_fields(family.reads)
        if field.name in allowed and field.name in READERS[dataset.reads].names
    ]
    return [*own, *narrowing, field_of(AGAIN, CHARGING[AGAIN])]


def read_request_form(
    dataset: Dataset, family: Family, sent: forms.Posted, *, curator: bool = True
) -> dict[str, Any]:
    """Read the form of a request, and refuse what no log could be asked."""
    method = next(iter(sent.get(METHOD, ())), "") or None
    return check_request(
        family, forms.read_posted(request_form_fields(dataset, family, method, curator=curator), sent)
    )


def read_request_json(
    dataset: Dataset, family: Family, sent: Mapping[str, Any], *, curator: bool = True
) -> dict[str, Any]:
    """Read what a program asks, and refuse what no log could be asked."""
    method = sent.get(METHOD)
    fields = request_form_fields(dataset, family, method if isinstance(method, str) else None, curator=curator)
    return check_request(family, forms.read_json(fields, sent))


def check_request(family: Family, request_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is asked, with what goes without saying, once it is known to make a request."""
    beside = {name: value for name, value in request_values.items() if name in (*CURATOR_READ_FLAGS, AGAIN)}
    own = {name: value for name, value in request_values.items() if name not in beside}
    return {**forms.build_request(family, own)[0], **beside}
