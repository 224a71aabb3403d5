"""From a posted form, or from what a program sends, to plain data; and from plain data back to a form."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from headcount.errors import HeadcountError, UsageError
from headcount.methods.family import Family
from headcount.methods.request import Spending, request_of
from headcount.studio.forms.field import COLUMNS_OF, FILE_OF, OPTION, Field, FormError
from headcount.studio.forms.labels import in_words
from headcount.studio.forms.request_fields import METHOD, fields_of, fixed, for_method

Posted: TypeAlias = Mapping[str, Sequence[str]]
"""What a browser sends: texts by the names of fields."""


def posted(items: Iterable[tuple[str, Any]]) -> dict[str, list[str]]:
    """Put texts together that were sent under one name; files are not among them.

    >>> posted([("where", "a > 1"), ("where", "b = 2"), ("k", "3")])
    {'where': ['a > 1', 'b = 2'], 'k': ['3']}
    """
    found: dict[str, list[str]] = {}
    for name, value in items:
        if isinstance(value, str):
            found.setdefault(name, []).append(value)
    return found


def values(fields: Iterable[Field], sent: Posted) -> dict[str, Any]:
    """Read a posted form back: plain data by the names of parameters. What was left empty is left out.

    >>> from headcount.methods.registry import FAMILIES
    >>> values(fields_of(FAMILIES["rankings"]), {"epsilon": ["1"], "k": ["10"], "per_context": ["on"]})
    {'epsilon': '1', 'k': 10, 'per_context': True}
    """
    return _gathered(fields, lambda each: _of_texts(each, sent))


def given(fields: Iterable[Field], sent: Mapping[str, Any]) -> dict[str, Any]:
    """Read what a program sends: texts as in a form, or data of the shapes that a field takes.

    A text is never a path: what commands read from files is text here, or a table, or a list; and a public list is
    one of the files at hand, by its name, or the list itself.
    """
    known = list(fields)
    options = sent.get(OPTION[:-1]) or {}
    if not isinstance(options, Mapping):
        raise FormError({OPTION[:-1]: "options must be a table of names and values"})
    flat = {**{k: v for k, v in sent.items() if k != OPTION[:-1]}, **{OPTION + k: v for k, v in options.items()}}
    names = [each.name for each in known]
    for name in flat:
        if name not in names:
            unknown = name.removeprefix(OPTION)
            raise FormError({name: f"there is no {unknown} here; there are {', '.join(names)}"})
    return _gathered(known, lambda each: _of_data(each, flat.get(each.name)))


def optional(fields: Iterable[Field]) -> list[Field]:
    """Return fields of which each may be left out, as in a draft."""
    return [dataclasses.replace(each, needed=False) for each in fields]


def request_from(family: Family, sent: Mapping[str, Any]) -> tuple[dict[str, Any], Spending]:
    """Return what is asked as plain data, and the request that it makes; errors say of which field they are."""
    asked = {**sent, **fixed(family)}
    kind = family.request_kind()
    try:
        request: Spending = request_of(kind, **asked)
        request.build(selecting=True)
    except FormError:
        raise
    except UsageError as error:
        raise FormError({_named_in(error, fields_of(family)): in_words(str(error))}) from error
    return asked, request


def read_request(family: Family, sent: Posted) -> dict[str, Any]:
    """Read the form of a request: the fields of the method that it names, and what goes without saying."""
    method = next(iter(sent.get(METHOD, ())), "") or None
    return {**values(for_method(fields_of(family), method, family), sent), **fixed(family)}


def shown(
    fields: Iterable[Field], held: Mapping[str, Any], sent: Posted | None = None, errors: Mapping[str, str] = {}
) -> list[Field]:
    """Return fields with what they hold: as it was sent, if it was, else as it is kept."""
    return [
        dataclasses.replace(
            each,
            value=_as_text(each, held) if sent is None else _as_sent(each, sent),
            error=errors.get(each.name, ""),
        )
        for each in fields
    ]


def _gathered(fields: Iterable[Field], read: Callable[[Field], Any]) -> dict[str, Any]:
    """Read all fields, and say of each that is wrong what is."""
    found: dict[str, Any] = {}
    options: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for each in fields:
        try:
            value = read(each)
        except HeadcountError as error:
            wrong[each.name] = in_words(str(error))
            continue
        if value is None:
            if each.needed:
                wrong[each.name] = f"{each.label} is needed"
        elif each.implied and value == each.read(each.default or ""):
            continue
        elif each.name.startswith(OPTION):
            options[each.name.removeprefix(OPTION)] = value
        else:
            found[each.name] = value
    if wrong:
        raise FormError(wrong)
    return {**found, OPTION[:-1]: options} if options else found


def _of_texts(field: Field, sent: Posted) -> Any:
    if field.kind == "listing":
        file = text(sent, f"{field.name}.{FILE_OF}")
        if file:
            return _file(field, file, text(sent, f"{field.name}.{COLUMNS_OF}"))
    written = "\n".join(sent.get(field.name, ())).strip()
    return field.read(written) if written else None


def _file(field: Field, file: str, columns: str) -> str:
    """Return how a listing names a file, which must be one of those at hand."""
    if file not in (each.value for each in field.choices):
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
        return _file(field, str(value.get(FILE_OF, "")), str(value.get(COLUMNS_OF) or ""))
    if isinstance(value, str):
        return value if field.kind == "listing" and _names_file(field, value) else field.read(value)
    if not isinstance(value, field.shapes) or (isinstance(value, bool) and bool not in field.shapes):
        raise UsageError(f"{field.label} cannot be {type(value).__name__}", given=value)
    return field.read(str(value)) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _names_file(field: Field, name: str) -> bool:
    """Tell whether a text is what a listing keeps of a file, with its columns or without."""
    return bool({name, name.rpartition(":")[0]} & {each.value for each in field.choices})


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
        file = next((each.value for each in field.choices if value.partition(":")[0] == each.value), value)
        return {FILE_OF: file, COLUMNS_OF: value[len(file) + 1 :]}
    if isinstance(value, Mapping) and field.kind == "words":
        return _toml(value)
    if isinstance(value, Mapping):
        return ",".join(f"{name}={each}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return field.default if value is None else value


def _toml(tables: Mapping[str, Any]) -> str:
    """Write tables of numbers, texts and lists of them: what JSON writes of those is TOML as well."""
    lines = []
    for name, table in tables.items():
        held = table if isinstance(table, Mapping) else {name: table}
        lines += [f"[{json.dumps(name)}]"] if held is table else []
        lines += [f"{json.dumps(key)} = {json.dumps(each)}" for key, each in held.items()]
    return "\n".join(lines)


def _named_in(error: HeadcountError, fields: Sequence[Field]) -> str:
    """Return the field that an error speaks of first, as a flag or else by its name; "" if it is none."""
    names = {each.name.removeprefix(OPTION): each.name for each in fields}
    flags = re.findall(r"--([a-z][a-z-]*)", str(error))
    words = [each.replace("-", "_") for each in (*flags, *re.findall(r"[a-z][a-z_]*", str(error)))]
    return next((names[word] for word in words if word in names), "")
