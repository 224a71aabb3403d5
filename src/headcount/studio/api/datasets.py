"""Datasets for programs: analysts see those that they may ask, curators register, open and close them."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Query, Request, Response
from pydantic import Field

from headcount.errors import UnknownNameError
from headcount.events.log_parameters import READERS
from headcount.studio import forms, uploads
from headcount.studio.access import AccessLevel, router_for, takes_uploads, visitor
from headcount.studio.studio import studio_of
from headcount.studio.web.json_bodies import Body, JsonObject, ResponseBody

_all = router_for(AccessLevel.SIGNED_IN, prefix="/api/v1", tags=["datasets"])
_curators = router_for(AccessLevel.CURATORS, prefix="/api/v1", tags=["datasets"])

Name = Annotated[str, Field(max_length=64)]
About = Annotated[str, Field(max_length=10_000)]


class DatasetInfo(ResponseBody):
    """A dataset; where it lies is told to curators alone, without passwords."""

    id: str
    name: str
    about: str
    reads: str
    place: str | None
    flags: dict[str, Any]
    version: str | None
    state: str
    created: float

    @classmethod
    def from_object(cls, held: Any) -> Self:
        """Return what may be told of a dataset."""
        fields = {name: getattr(held, name) for name in cls.model_fields if name != "place"}
        return cls(**fields, place=held.place or None)


class Source(Body):
    """Where a dataset lies: files of the studio, or an address."""

    files: list[Annotated[str, Field(max_length=500)]] | None = None
    address: Annotated[str, Field(max_length=2000)] | None = None


class NewDataset(Body):
    """A dataset to register; flags are those of the command line, by their names in Python."""

    name: Name
    source: Source
    reads: Annotated[str, Field(max_length=16)] = "events"
    flags: dict[str, Any] = Field(default_factory=dict)
    about: About = ""
    version: Name | None = None


class DatasetChanges(Body):
    """What to change of a dataset; what is left out stays."""

    name: Name | None = None
    source: Source | None = None
    flags: dict[str, Any] | None = None
    about: About | None = None
    version: Name | None = None


class Budget(Body):
    """A budget, as `headcount ledger create` makes it; nothing for a dataset that has one and is opened again."""

    budget: dict[str, Any] = Field(default_factory=dict)


class Allowance(Body):
    """How much an analyst may spend."""

    epsilon: Annotated[str, Field(max_length=32)]


class MemberInfo(ResponseBody):
    """An analyst who may ask."""

    person: str
    name: str
    epsilon: str
    added: float

    @classmethod
    def from_object(cls, held: Any) -> Self:
        """Return what is told of a member."""
        return cls(person=held.person, name=held.name, epsilon=f"{held.epsilon:f}", added=held.added)


class StoredFile(ResponseBody):
    """A file that was kept."""

    file: str


@_all.get("/datasets")
def datasets(request: Request) -> list[DatasetInfo]:
    """Return the datasets that who asks may see."""
    return [
        DatasetInfo.from_object(registered) for registered in studio_of(request).datasets.listed(visitor(request))
    ]


@_all.get("/datasets/{dataset}")
def dataset(request: Request, dataset: str) -> DatasetInfo:
    """Return a dataset."""
    return DatasetInfo.from_object(studio_of(request).datasets.get(visitor(request), dataset))


@_curators.post("/datasets", status_code=201)
def register_dataset(request: Request, new: NewDataset) -> DatasetInfo:
    """Register a dataset: a draft, until it is opened."""
    flags = _flags(request, new.reads, new.flags)
    fields = new.model_dump(exclude={"source", "flags"})
    source = new.source.model_dump(exclude_none=True)
    return DatasetInfo.from_object(
        studio_of(request).datasets.register(visitor(request), source=source, flags=flags, **fields)
    )


@_curators.patch("/datasets/{dataset}")
def change_dataset(request: Request, dataset: str, changes: DatasetChanges) -> DatasetInfo:
    """Change a dataset: all of a draft; of one that was opened neither its name nor what it is read as."""
    held = studio_of(request).datasets.get(visitor(request), dataset)
    fields = changes.model_dump(exclude_unset=True, exclude={"source", "flags"})
    fields = {name: value for name, value in fields.items() if value is not None or name == "version"}
    if changes.source is not None:
        fields["source"] = changes.source.model_dump(exclude_none=True)
    if changes.flags is not None:
        fields["flags"] = _flags(request, held.reads, changes.flags)
    return DatasetInfo.from_object(studio_of(request).datasets.update(visitor(request), dataset, **fields))


@_curators.delete("/datasets/{dataset}", status_code=204)
def remove_dataset(request: Request, dataset: str) -> Response:
    """Forget a draft."""
    studio_of(request).datasets.remove(visitor(request), dataset)
    return Response(status_code=204)


@_curators.post("/datasets/{dataset}/open")
def open_dataset(request: Request, dataset: str, budget: Budget) -> DatasetInfo:
    """Give a dataset its budget, and let releases be asked for."""
    amounts = forms.read_json(forms.budget_fields(), budget.budget) if budget.budget else {}
    return DatasetInfo.from_object(studio_of(request).datasets.open(visitor(request), dataset, **amounts))


@_curators.post("/datasets/{dataset}/close")
def close_dataset(request: Request, dataset: str) -> DatasetInfo:
    """Let nothing more be asked of a dataset."""
    return DatasetInfo.from_object(studio_of(request).datasets.close(visitor(request), dataset))


@_all.get("/datasets/{dataset}/budget")
def budget_of(request: Request, dataset: str) -> JsonObject:
    """Return what was spent and what is left: of the dataset to curators, to analysts of their own."""
    account = studio_of(request).datasets.account(visitor(request), dataset)
    if account is None:
        raise UnknownNameError("there is no budget yet", remedy="open the dataset first")
    return account.to_json()


@_curators.get("/datasets/{dataset}/members")
def members(request: Request, dataset: str) -> list[MemberInfo]:
    """Return who may ask, and how much they may spend."""
    return [
        MemberInfo.from_object(member) for member in studio_of(request).datasets.members(visitor(request), dataset)
    ]


@_curators.put("/datasets/{dataset}/members/{person}")
def allow_member(request: Request, dataset: str, person: str, allowance: Allowance) -> MemberInfo:
    """Let an analyst ask, and spend so much; it can be changed again."""
    studio, who = studio_of(request), visitor(request)
    return MemberInfo.from_object(studio.datasets.allow(who, dataset, person, allowance.epsilon))


@_curators.delete("/datasets/{dataset}/members/{person}", status_code=204)
def dismiss_member(request: Request, dataset: str, person: str) -> Response:
    """Let an analyst no longer see a dataset."""
    studio_of(request).datasets.dismiss(visitor(request), dataset, person)
    return Response(status_code=204)


@_curators.get("/datasets/{dataset}/preview")
def preview(request: Request, dataset: str) -> JsonObject:
    """Return three raw rows, and what the columns seem to be: for the curator's eyes only."""
    return studio_of(request).work.run_quick_task(visitor(request), "inspect", dataset=dataset)


@_curators.get("/files")
def files(request: Request) -> list[str]:
    """Return the files of the studio that datasets and lists can be made of."""
    return uploads.list_files(studio_of(request).settings)


@_curators.post("/files", status_code=201)
@takes_uploads
async def keep_file(request: Request, name: Annotated[str, Query(max_length=200)]) -> StoredFile:
    """Keep a file, which is the body of the request as it is."""
    length = request.headers.get("content-length")
    size = int(length) if length is not None and length.isdecimal() else None
    return StoredFile(file=await uploads.receive(studio_of(request).settings, request.stream(), name, size))


def _flags(request: Request, reads: str, sent: dict[str, Any]) -> dict[str, Any]:
    """Read how a log is read; what a draft still lacks may be missing."""
    if reads not in READERS:
        raise UnknownNameError.among("kind of log", reads, READERS)
    return forms.read_json(forms.without_required(forms.reading_fields(reads, files=files(request))), sent)


ROUTERS = (_all, _curators)
