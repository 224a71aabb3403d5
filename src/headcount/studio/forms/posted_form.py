"""Reads posted forms and JSON to parameter values, and fills fields with values."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from headcount.errors import HeadcountError, UsageError
from headcount.methods.family import Family
from headcount.methods.request import ChargedRequest, request_of
from headcount.studio.forms.field import COLUMNS_OF, FILE_OF, OPTION, Field, FormError
from headcount.studio.forms.labels import error_on_page
from headcount.studio.forms.parameter_fields import fields_of, implied_fields

Posted: TypeAlias = Mapping[str, Sequence[str]]
"""What a browser sends: texts by the names of fields."""


def collect_texts(items: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Group the texts of a form by their names; files are left out.

    >>> collect_texts([("where", "a > 1"), ("where", "b = 2"), ("k", "3")])
    {'where': ['a > 1', 'b = 2'], 'k': ['3']}
    """
    texts: dict[str, list[str]] = {}
    for name, value in items:
        if isinstance(value, str):
            texts.setdefault(name, []).append(value)
    return texts


def read_posted(fields: Iterable[Field], sent: Posted) -> dict[str, Any]:
    """Read a posted form back: plain data by the names of parameters. What was left empty is left out.

    >>> from headcount.methods.registry import FAMILIES
    >>> read_posted(fields_of(FAMILIES["rankings"]), {"epsilon": ["1"], "k": ["10"], "per_context": ["on"]})
    {'epsilon': '1', 'k': 10, 'per_context': True}
    """
    return _read_fields(fields, lambda field: _of_texts(field, sent))


def read_json(fields: Iterable[Field], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a program sends: texts as in a form, or data of the shapes that a field takes.

    A text is never a path: what commands read from files is text here, or a table, or a list; and a public list is
    one of the files at hand, by its name, or the list itself.
    """
    field_list = list(fields)
    options = sent.get(OPTION[:-1]) or {}
    if not isinstance(options, Mapping):
        raise FormError({OPTION[:-1]: "options must be a table of names and values"})
    flat = {**{k: v for k, v in sent.items() if k != OPTION[:-1]}, **{OPTION + k: v for k, v in options.items()}}
    names = [field.name for field in field_list]
    for name in flat:
        if name not in names:
            unknown = name.removeprefix(OPTION)
            raise FormError({name: f"there is no {unknown} here; there are {', '.join(names)}"})
    return _read_fields(field_list, lambda field: _of_data(field, flat.get(field.name)))


def without_required(fields: Iterable[Field]) -> list[Field]:
    """Return fields of which each may be left out, as in a draft."""
    return [dataclasses.replace(field, needed=False) for field in fields]


def build_request(family: Family, sent: Mapping[str, Any]) -> tuple[dict[str, Any], ChargedRequest]:
    """Return what is asked as plain data, and the request that it makes; errors say of which field they are."""
    request_values = {**sent, **implied_fields(family)}
    kind = family.request_kind()
    try:
        request: ChargedRequest = request_of(kind, **request_values)
        request.build(selecting=True)
    except FormError:
        raise
    except UsageError as error:
        raise FormError({_field_named_in(error, fields_of(family)): error_on_page(error)}) from error
    return request_values, request


def fill_fields(
    fields: Iterable[Field],
    held: Mapping[str, Any],
    sent: Posted | None = None,
    error: HeadcountError | None = None,
) -> list[Field]:
    """Return fields with their values, as sent if they were, else as kept, and each with its part of the error."""
    errors = error.by_field if isinstance(error, FormError) else {}
    return [
        dataclasses.replace(
            field,
            value=_as_text(field, held) if sent is None else _as_sent(field, sent),
            error=errors.get(field.name, ""),
        )
        for field in fields
    ]


def _read_fields(fields: Iterable[Field], read: Callable[[Field], Any]) -> dict[str, Any]:
    """Read all fields, and say of each that is wrong what is."""
    gathered: dict[str, Any] = {}
    options: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for field in fields:
        try:
            value = read(field)
        except HeadcountError as error:
            wrong[field.name] = error_on_page(error)
            continue
        if value is None:
            if field.needed:
                wrong[field.name] = f"{field.label} is needed"
        elif field.implied and value == field.read(field.default or ""):
            continue
        elif field.name.startswith(OPTION):
            options[field.name.removeprefix(OPTION)] = value
        else:
            gathered[field.name] = value
    if wrong:
        raise FormError(wrong)
    return {**gathered, OPTION[:-1]: options} if options else gathered


def _of_texts(field: Field, sent: Posted) -> Any:
    if field.kind == "listing":
        file = text(sent, f"{field.name}.{FILE_OF}")
        if file:
            return _listing_file(field, file, text(sent, f"{field.name}.{COLUMNS_OF}"))
    written = "\n".join(sent.get(field.name, ())).strip()
    return field.read(written) if written else None


def _listing_file(field: Field, file: str, columns: str) -> str:
    """Return how a listing names a file, which must be one of those at hand."""
    if file not in (choice.value for choice in field.choices):
        raise UsageError(f"{file} is no file of the folder", remedy="choose one of the list")
    return f"{file}:{columns}" if columns else file


def text(sent: Posted, name: str) -> str:
    """Return what was sent under a name, "" if nothing was.

    >>> text({"name": [" visits "]}, "name"), text({}, "name")
    ('visits', '')
    """
    return next(iter(sent.get(name, ())), "").strip()


def _of_data(field: Field, value: Any) -> Any:
    if value is None or value == "":
        return None
    if field.kind == "flag":
        if not isinstance(value, bool):
            raise UsageError(f"{field.label} must be true or false", given=value)
        set_by_it = field.read("on")  # a flag may stand for false, as that of no header does
        return set_by_it if value == set_by_it else None
    if field.kind == "listing" and isinstance(value, Mapping):
        return _listing_file(field, str(value.get(FILE_OF, "")), str(value.get(COLUMNS_OF) or ""))
    if isinstance(value, str):
        return value if field.kind == "listing" and _names_file(field, value) else field.read(value)
    if not isinstance(value, field.shapes) or (isinstance(value, bool) and bool not in field.shapes):
        raise UsageError(f"{field.label} cannot be {type(value).__name__}", given=value)
    return field.read(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _names_file(field: Field, name: str) -> bool:
    """Tell whether a text is what a listing keeps of a file, with its columns or without."""
    return bool({name, name.rpartition(":")[0]} & {choice.value for choice in field.choices})


def _as_sent(field: Field, sent: Posted) -> Any:
    """Return what was sent, to be shown once more."""
    written = "\n".join(sent.get(field.name, ()))
    if field.kind == "flag":
        return bool(written)
    file = text(sent, f"{field.name}.{FILE_OF}") if field.kind == "listing" else ""
    return {FILE_OF: file, COLUMNS_OF: text(sent, f"{field.name}.{COLUMNS_OF}")} if file else written


def _as_text(field: Field, held: Mapping[str, Any]) -> Any:
    """Write what is kept as a form shows it."""
    where = held.get(OPTION[:-1], {}) if field.name.startswith(OPTION) else held
    value = where.get(field.name.removeprefix(OPTION))
    if field.kind == "flag":
        return field.name in where or (not held and field.default == "true")
    if isinstance(value, bool):
        return str(value).lower()
    if field.kind == "listing" and isinstance(value, str):
        file = next((entry.value for entry in field.choices if value.partition(":")[0] == entry.value), value)
        return {FILE_OF: file, COLUMNS_OF: value[len(file) + 1 :]}
    if isinstance(value, Mapping) and field.kind == "words":
        return _toml(value)
    if isinstance(value, Mapping):
        return ",".join(f"{name}={entry}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return field.default if value is None else value


def _toml(tables: Mapping[str, Any]) -> str:
    """Write tables of numbers, texts and lists of them: what JSON writes of those is TOML as well."""
    lines = []
    for name, table in tables.items():
        held = table if isinstance(table, Mapping) else {name: table}
        lines += [f"[{json.dumps(name)}]"] if held is table else []
        lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in held.items()]
    return "\n".join(lines)


def _field_named_in(error: HeadcountError, fields: Sequence[Field]) -> str:
    """Return the first field that an error names, as a parameter or else in its text; "" if it is none."""
    names = {entry.name.removeprefix(OPTION): entry.name for entry in fields}
    words = (*error.parameters, *re.findall(r"[a-z][a-z_]*", str(error)))
    return next((names[word] for word in words if word in names), "")
