"""Datasets for programs: analysts see those that they may ask, curators register, open and close them."""

from __future__ import annotations

from typing import Annotated, Any, Self

from fastapi import Query, Response
from pydantic import Field

from headcount.errors import UnknownNameError
from headcount.studio import forms, uploads
from headcount.studio.access import AccessLevel, router_for, takes_uploads
from headcount.studio.services.dataset_setup import read_flags
from headcount.studio.studio import Call
from headcount.studio.web.json_api import Body, JsonObject, ResponseBody

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
def datasets(call: Call) -> list[DatasetInfo]:
    """Return the datasets that who asks may see."""
    return [DatasetInfo.from_object(registered) for registered in call.studio.datasets.listed(call.visitor)]


@_all.get("/datasets/{dataset}")
def dataset(call: Call, dataset: str) -> DatasetInfo:
    """Return a dataset."""
    return DatasetInfo.from_object(call.studio.datasets.get(call.visitor, dataset))


@_curators.post("/datasets", status_code=201)
def register_dataset(call: Call, new: NewDataset) -> DatasetInfo:
    """Register a dataset: a draft, until it is opened."""
    fields = new.model_dump(exclude={"source", "flags"})
    fields["flags"] = read_flags(call.studio, new.reads, new.flags)
    fields["source"] = new.source.model_dump(exclude_none=True)
    return DatasetInfo.from_object(call.studio.datasets.register(call.visitor, **fields))


@_curators.patch("/datasets/{dataset}")
def change_dataset(call: Call, dataset: str, changes: DatasetChanges) -> DatasetInfo:
    """Change a dataset: all of a draft; of one that was opened neither its name nor what it is read as."""
    held = call.studio.datasets.get(call.visitor, dataset)
    fields = changes.model_dump(exclude_unset=True, exclude={"source", "flags"})
    fields = {name: value for name, value in fields.items() if value is not None or name == "version"}
    if changes.source is not None:
        fields["source"] = changes.source.model_dump(exclude_none=True)
    if changes.flags is not None:
        fields["flags"] = read_flags(call.studio, held.reads, changes.flags)
    return DatasetInfo.from_object(call.studio.datasets.update(call.visitor, dataset, **fields))


@_curators.delete("/datasets/{dataset}", status_code=204)
def remove_dataset(call: Call, dataset: str) -> Response:
    """Forget a draft."""
    call.studio.datasets.remove(call.visitor, dataset)
    return Response(status_code=204)


@_curators.post("/datasets/{dataset}/open")
def open_dataset(call: Call, dataset: str, budget: Budget) -> DatasetInfo:
    """Give a dataset its budget, and let releases be asked for."""
    amounts = forms.read_json(forms.budget_fields(), budget.budget) if budget.budget else {}
    return DatasetInfo.from_object(call.studio.datasets.open(call.visitor, dataset, **amounts))


@_curators.post("/datasets/{dataset}/close")
def close_dataset(call: Call, dataset: str) -> DatasetInfo:
    """Let nothing more be asked of a dataset."""
    return DatasetInfo.from_object(call.studio.datasets.close(call.visitor, dataset))


@_all.get("/datasets/{dataset}/budget")
def budget_of(call: Call, dataset: str) -> JsonObject:
    """Return what was spent and what is left: of the dataset to curators, to analysts of their own."""
    account = call.studio.datasets.account(call.visitor, dataset)
    if account is None:
        raise UnknownNameError("there is no budget yet", remedy="open the dataset first")
    return account.to_json()


@_curators.get("/datasets/{dataset}/members")
def members(call: Call, dataset: str) -> list[MemberInfo]:
    """Return who may ask, and how much they may spend."""
    return [MemberInfo.from_object(member) for member in call.studio.datasets.members(call.visitor, dataset)]


@_curators.put("/datasets/{dataset}/members/{person}")
def allow_member(call: Call, dataset: str, person: str, allowance: Allowance) -> MemberInfo:
    """Let an analyst ask, and spend so much; it can be changed again."""
    member = call.studio.datasets.allow(call.visitor, dataset, person, allowance.epsilon)
    return MemberInfo.from_object(member)


@_curators.delete("/datasets/{dataset}/members/{person}", status_code=204)
def dismiss_member(call: Call, dataset: str, person: str) -> Response:
    """Let an analyst no longer see a dataset."""
    call.studio.datasets.dismiss(call.visitor, dataset, person)
    return Response(status_code=204)


@_curators.get("/datasets/{dataset}/preview")
def preview(call: Call, dataset: str) -> JsonObject:
    """Return three raw rows, and what the columns seem to be: for the curator's eyes only."""
    return call.studio.work.run_quick_task(call.visitor, "inspect", dataset=dataset)


@_curators.get("/files")
def files(call: Call) -> list[str]:
    """Return the files of the studio that datasets and lists can be made of."""
    return uploads.list_files(call.studio.settings)


@_curators.post("/files", status_code=201)
@takes_uploads
async def keep_file(call: Call, name: Annotated[str, Query(max_length=200)]) -> StoredFile:
    """Keep a file, which is the body of the request as it is."""
    length = call.request.headers.get("content-length")
    size = int(length) if length is not None and length.isdecimal() else None
    return StoredFile(file=await uploads.receive(call.studio.settings, call.request.stream(), name, size))


ROUTERS = (_all, _curators)
