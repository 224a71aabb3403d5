"""Datasets for curators: registration, columns, public lists, and the setup steps before releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from headcount.errors import HeadcountError, UnknownNameError
from headcount.events.log_parameters import READERS, TEXT
from headcount.events.selection_targets import SELECTABLE
from headcount.methods.registry import FAMILIES
from headcount.studio import forms, uploads
from headcount.studio.access import Visitor, check_curator
from headcount.studio.forms.field import Choice
from headcount.studio.forms.labels import file_words
from headcount.studio.store.datasets import Dataset
from headcount.studio.studio import Studio

READS = {
    "events": "Events: people do things, such as visits, purchases or plays",
    "ratings": "Ratings: people give numbers to things",
    "people": "People: one row, or a few, about each person",
    "tags": "Tags: people describe things with words",
}
"""Kinds of data in words."""
_DATABASE = ("table", "query")
SOURCE_FLAGS = (*TEXT, *_DATABASE)
"""Flags of how a source is opened, whatever its columns mean."""
_ROLES = {"user": "who", "item": "what", "context": "when"}
_UNREADABLE: Mapping[str, Any] = {"columns": [], "rows": 0, "flags": {}, "doubt": None}


class Step(NamedTuple):
    """A step on the way to an open dataset."""

    name: str
    words: str
    address: str
    done: bool


class Preview(NamedTuple):
    """The first rows of a source with suggested roles, or why it cannot be read."""

    content: Mapping[str, Any]
    error: HeadcountError | None


def new_fields(studio: Studio) -> list[forms.Field]:
    """Return the fields of a new dataset; remote addresses are named where the settings allow for them."""
    kinds = dict.fromkeys(option.reads for option in FAMILIES.values())
    reads = tuple(Choice(option, READS.get(option, option)) for option in kinds)
    chosen = tuple(Choice(option, file_words(option)) for option in uploads.list_files(studio.settings))
    remote = "; or postgresql://…, s3://…, https://…" if studio.settings.remote else ""
    address = f"A database in a file of the folder, such as sqlite:///shop.db{remote}."
    about = "For analysts, in your words: who these people are, and what is counted."
    return [
        forms.Field("name", "Name", "text", "Whose budget it is: letters, digits, dots and dashes.", needed=True),
        forms.Field("reads", "What it holds", "choice", choices=reads, default="events", needed=True),
        forms.Field(
            "file", "A file of the folder", "choice", "Uploaded here, or put there by hand.", choices=chosen
        ),
        forms.Field("address", "Or an address", "text", address, advanced=True),
        forms.Field("table", "Table", "text", "Of a database, such as visits.", advanced=True),
        forms.Field("query", "Or query", "words", "In place of a table.", advanced=True),
        forms.Field("about", "About it", "words", about),
    ]


def register_dataset(studio: Studio, visitor: Visitor, sent: forms.Posted) -> Dataset:
    """Make a draft from the form of a new dataset."""
    check_curator(visitor)
    values = forms.read_posted(new_fields(studio), sent)
    address, file = values.get("address"), values.get("file")
    return studio.datasets.register(
        visitor,
        name=values["name"],
        reads=values["reads"],
        source={"address": address} if address else {"files": [file] if file else []},
        flags={name: values[name] for name in _DATABASE if values.get(name)},
        about=values.get("about", ""),
    )


def read_flags(studio: Studio, reads: str, sent: Mapping[str, Any]) -> dict[str, Any]:
    """Read the flags of a log that a program sends; a draft may lack some."""
    if reads not in READERS:
        raise UnknownNameError.among("kind of log", reads, READERS)
    fields = forms.reading_fields(reads, files=uploads.list_files(studio.settings))
    return forms.read_json(forms.without_required(fields), sent)


def preview_source(studio: Studio, visitor: Visitor, dataset: Dataset) -> Preview:
    """Read the first rows of a dataset in another process, and suggest what its columns mean."""
    try:
        return Preview(studio.work.run_quick_task(visitor, "inspect", dataset=dataset.id), None)
    except HeadcountError as error:
        return Preview({**_UNREADABLE, "reads": dataset.reads}, error)


def column_fields(studio: Studio, dataset: Dataset, preview: Mapping[str, Any]) -> list[forms.Field]:
    """Return the fields of what columns mean; the columns of a preview can be chosen."""
    names = [column["name"] for column in preview.get("columns", ())]
    fields = forms.reading_fields(dataset.reads, columns=names, files=uploads.list_files(studio.settings))
    return [field for field in fields if not is_public(field) and field.name not in _DATABASE]


def public_fields(studio: Studio, dataset: Dataset) -> list[forms.Field]:
    """Return the fields of public lists."""
    fields = forms.reading_fields(dataset.reads, files=uploads.list_files(studio.settings))
    return [field for field in fields if is_public(field)]


def map_columns(
    studio: Studio, visitor: Visitor, dataset: Dataset, sent: forms.Posted, *, source_only: bool
) -> None:
    """Keep what the columns mean, or only how the source is opened, to look at it again."""
    check_curator(visitor)
    if source_only:
        fields = [field for field in column_fields(studio, dataset, {}) if field.name in SOURCE_FLAGS]
    else:
        preview = studio.work.run_quick_task(visitor, "inspect", dataset=dataset.id)
        fields = column_fields(studio, dataset, preview)
    _keep_flags(studio, visitor, dataset, fields, sent)


def declare_public(studio: Studio, visitor: Visitor, dataset: Dataset, sent: forms.Posted) -> None:
    """Keep the public lists, and see that they can be read."""
    check_curator(visitor)
    _keep_flags(studio, visitor, dataset, public_fields(studio, dataset), sent)
    studio.work.run_quick_task(visitor, "log", dataset=dataset.id)


def _keep_flags(
    studio: Studio, visitor: Visitor, dataset: Dataset, fields: Sequence[forms.Field], sent: forms.Posted
) -> None:
    values, names = forms.read_posted(fields, sent), {field.name for field in fields}
    kept = {name: value for name, value in dataset.flags.items() if name not in names}
    studio.datasets.update(visitor, dataset.id, flags={**kept, **values})


def is_public(field: forms.Field) -> bool:
    """Tell whether a field declares what is public: a list, its values, or that there is none.

    >>> [field.name for field in forms.reading_fields("events") if is_public(field)]
    ['items', 'select_items', 'contexts', 'select_contexts']
    """
    lists = {name for entry in SELECTABLE for name in (entry.listed, entry.request_field)}
    return field.kind == "listing" or field.name in lists


def role_words(flags: Mapping[str, Any]) -> dict[str, str]:
    """Return the role of each column in a word, given suggested flags.

    >>> role_words({"user": "who", "item": "what", "context": "weekday:at"})
    {'who': 'who', 'what': 'what', 'at': 'when'}
    """
    return {str(flags[name]).rpartition(":")[2]: word for name, word in _ROLES.items() if flags.get(name)}


def steps(dataset: Dataset, *, has_budget: bool) -> list[Step]:
    """Return the steps of a dataset, given whether the ledger has its budget."""
    at, flags = f"/datasets/{dataset.id}", dataset.flags
    needed = () if dataset.reads == "people" else READERS[dataset.reads].needed or ("user",)
    mapped = all(flags.get(name) for name in needed)
    is_listed = mapped and _lists_are_given(dataset.reads, flags)
    has_lists = any(is_public(field) for field in forms.reading_fields(dataset.reads))
    opened = has_budget and dataset.state != "draft"
    return [
        Step("columns", "Say what its columns mean", f"{at}/columns", mapped),
        *([Step("public", "Say what is public", f"{at}/public", is_listed)] if has_lists else []),
        Step("budget", "Set its budget, and open it", f"{at}/budget", opened),
    ]


def next_step(studio: Studio, visitor: Visitor, dataset: str, after: str) -> str:
    """Return the address of the next step that is not done, else of the dataset."""
    has_budget = studio.datasets.account(visitor, dataset) is not None
    entries = steps(studio.datasets.get(visitor, dataset), has_budget=has_budget)
    later = entries[[step.name for step in entries].index(after) + 1 :]
    return next((step.address for step in later if not step.done), f"/datasets/{dataset}")


def _lists_are_given(reads: str, flags: Mapping[str, Any]) -> bool:
    """Tell whether each list is given, or is to be selected, as far as one is needed."""
    context = flags.get("context")
    needs_contexts = context is not None and ":" not in str(context)  # those of times are known beforehand
    return all(
        flags.get(entry.listed) or flags.get(entry.request_field)
        for entry in SELECTABLE
        if entry.request_field in READERS[reads].names
        and (entry.request_field != "select_contexts" or needs_contexts)
    )
