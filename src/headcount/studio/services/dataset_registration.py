"""The form of a new dataset: name, kind and source; guessed column roles in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headcount.events.log_parameters import TEXT
from headcount.methods.registry import FAMILIES
from headcount.studio.forms import Field
from headcount.studio.forms.field import Choice
from headcount.studio.forms.labels import file_words
from headcount.studio.services.dataset_steps import READS

SOURCE_FLAGS = (*TEXT, "table", "query")
"""Flags that say how a source is opened, whatever its columns mean."""


def new_fields(files: Sequence[str], *, remote: bool) -> list[Field]:
    """Return the fields of a new dataset; an address can be named where the settings allow for it."""
    kinds = dict.fromkeys(option.reads for option in FAMILIES.values())
    reads = tuple(Choice(option, READS.get(option, option)) for option in kinds)
    chosen = tuple(Choice(option, file_words(option)) for option in files)
    where = "A database in a file of the folder, such as sqlite:///shop.db"
    far = "; or postgresql://…, s3://…, https://…" if remote else ""
    return [
        Field("name", "Name", "text", "Whose budget it is: letters, digits, dots and dashes.", needed=True),
        Field("reads", "What it holds", "choice", choices=reads, default="events", needed=True),
        Field("file", "A file of the folder", "choice", "Uploaded here, or put there by hand.", choices=chosen),
        Field("address", "Or an address", "text", f"{where}{far}.", advanced=True),
        Field("table", "Table", "text", "Of a database, such as visits.", advanced=True),
        Field("query", "Or query", "words", "In place of a table.", advanced=True),
        Field(
            "about", "About it", "words", "For analysts, in your words: who these people are, and what is counted."
        ),
    ]


def source_of(form_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return where a dataset lies, of what a form said: a file, or an address."""
    if form_values.get("address"):
        return {"address": form_values["address"]}
    return {"files": [form_values["file"]] if form_values.get("file") else []}


def role_words(flags: Mapping[str, Any]) -> dict[str, str]:
    """Return what each column seems to say, in a word, given the flags that were guessed.

    >>> role_words({"user": "who", "item": "what", "context": "weekday:at"})
    {'who': 'who', 'what': 'what', 'at': 'when'}
    """
    words = {"user": "who", "item": "what", "context": "when"}
    return {str(flags[name]).rpartition(":")[2]: word for name, word in words.items() if flags.get(name)}
