"""Fields of forms, from the declarations of parameters: of requests, of reading a log, of a budget."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from headcount._internal.parameters import method_options
from headcount.errors import UnknownNameError
from headcount.events.log_parameters import READERS
from headcount.ledger.budget_parameters import BUDGET
from headcount.methods.family import Family
from headcount.methods.family import fields_of as parameters_of
from headcount.methods.registry import FAMILIES, summary
from headcount.methods.request import flags_of
from headcount.studio.forms.field import Choice, Field, field_of, name_reader, option_field
from headcount.studio.forms.labels import on_page

METHOD = "method"
_LEFT_OUT = ("research",)
"""What the studio does not do: methods whose promise is not established are for the lab."""
_BASIC = ("delta", METHOD, "limit", "what", "noise", "per_context", "with_counts", "by", "quantiles", "distinct")
_BASIC_READING = (
    "user", "item", "items", "select_items", "context", "contexts", "where", "value", "value_range", "times",
    "resource", "tag", "resources", "vocabulary", "select_tags", "time_format", "timezone",
)  # fmt: skip
_BASIC_BUDGET = ("delta", "per_analyst", "window")
"""Parameters that forms show at once."""
_NOT_OPTIONS = ("asked", "what", "shares", "noise")


class Offer(NamedTuple):
    """A family that a dataset can be asked for, in words."""

    name: str
    heading: str
    words: str


def offers(reads: str, flags: Collection[str] = ()) -> list[Offer]:
    """Return what can be asked of data that are read so, given what is said of them.

    >>> [each.name for each in offers("events")]
    ['counts', 'totals', 'rankings', 'neighbours']
    """
    return [
        Offer(family.name, family.heading, _offer_text(family))
        for family in FAMILIES.values()
        if family.reads == reads or _can_read_as(family.reads, reads, flags)
    ]


def _offer_text(family: Family) -> str:
    """Say what a family releases: as its command does, or as its method if several share the command."""
    alone = [sibling.command for sibling in FAMILIES.values()].count(family.command) == 1
    return family.short_help if alone or len(family.methods) > 1 else summary(family.default)


def _can_read_as(wanted: str, reads: str, flags: Collection[str]) -> bool:
    """Tell whether one kind of log can be read as another: by the same function, which knows all that is said."""
    wanted_reader, given_reader = READERS[wanted], READERS[reads]
    return wanted_reader.home == given_reader.home and set(flags) <= set(wanted_reader.names)


def fields_of(family: Family) -> list[Field]:
    """Return the fields of a family's requests: those of all methods, each with the methods that use it.

    >>> [each.name for each in fields_of(FAMILIES["rankings"]) if not each.advanced]
    ['epsilon', 'delta', 'k', 'per_context', 'with_counts']
    """
    kind = family.request_kind()
    users, literals, fields = _methods_by_parameter(family), _literal_choices(family), []
    for name, flag in flags_of(kind).items():
        use = _methods_using(users.get(name, ()), family)
        if name in _LEFT_OUT or flag.read is method_options or use is None:
            continue
        if name == METHOD:
            fields += [_method_field(family, flag.help)] if len(family.methods) > 1 else []
            continue
        own = dataclasses.replace(flag, choices=literals.get(name) or flag.choices)
        field = field_of(name, own, kind.model_fields[name].annotation, plain=name in _BASIC)
        fields.append(dataclasses.replace(field, only=use))
    first = sorted(fields, key=lambda field: (field.advanced, field.name != "epsilon", field.name != METHOD))
    return [*first, *_option_fields(family)] if "options" in kind.model_fields else first


def fields_for_method(fields: Iterable[Field], method: str | None, family: Family) -> list[Field]:
    """Return the fields that a method has a use for; those that it cannot do without are needed.

    >>> counts = FAMILIES["counts"]
    >>> {each.name: each.needed for each in fields_for_method(fields_of(counts), "sra", counts)}["limit"]
    True
    """
    name = method or family.default
    if name not in family.methods:
        raise UnknownNameError.among("method", name, family.methods)
    parameters = parameters_of(family.kind(name))
    needed = {name for name, parameter in parameters.items() if parameter.default is dataclasses.MISSING}
    return [
        dataclasses.replace(field, needed=True, advanced=False) if field.name in needed else field
        for field in fields
        if not field.only or name in field.only
    ]


def implied_fields(family: Family) -> dict[str, str]:
    """Return the values that a form leaves out: the one method of a family that shares its request with others.

    >>> implied_fields(FAMILIES["totals"]), implied_fields(FAMILIES["counts"])
    ({'method': 'totals'}, {})
    """
    is_implied = len(family.methods) == 1 and len(_families_sharing_request(family)) > 1
    return {METHOD: family.default} if is_implied else {}


def _families_sharing_request(family: Family) -> list[Family]:
    """Return the families with the same request."""
    kind = family.request_kind()
    return [candidate for candidate in FAMILIES.values() if candidate.request_kind() is kind] or [family]


def _methods_by_parameter(family: Family) -> dict[str, list[str]]:
    """Return which methods have a parameter, by its name, of all families with the same request."""
    methods_by_parameter: dict[str, list[str]] = {}
    for sibling in _families_sharing_request(family):
        for name, method in sibling.kinds().items():
            for parameter in parameters_of(method):
                methods_by_parameter.setdefault(parameter, []).append(name)
    return methods_by_parameter


def _methods_using(users: Collection[str], family: Family) -> tuple[str, ...] | None:
    """Return which methods have a use for a parameter, () if it is not of single methods, None if none has."""
    mine = tuple(method for method in family.methods if method in users)
    if users and not mine:
        return None
    return () if len(mine) in (0, len(family.methods)) else mine


def _literal_choices(family: Family) -> dict[str, tuple[str, ...]]:
    """Return what the methods let one choose, by the names of parameters, where they say so themselves."""
    choices_by_parameter: dict[str, tuple[str, ...]] = {}
    for method in family.methods:
        for name, hint in typing.get_type_hints(family.kind(method)).items():
            for annotation in (hint, *get_args(hint)):
                if get_origin(annotation) is Literal:
                    choices_by_parameter.setdefault(name, get_args(annotation))
    return choices_by_parameter


def _method_field(family: Family, help_text: str) -> Field:
    choices = tuple(Choice(name, f"{name}: {summary(name)}") for name in family.methods)
    read = name_reader("method", family.methods)
    return Field(METHOD, "Method", "choice", on_page(help_text), choices, read=read)


def _option_fields(family: Family) -> list[Field]:
    """Return the options of the methods, each once, with those that have it."""
    request_fields = family.request_kind().model_fields
    hints: dict[str, tuple[Any, Any]] = {}
    methods: dict[str, tuple[str, ...]] = {}
    for method in family.methods:
        kind = family.kind(method)
        types = typing.get_type_hints(kind)
        for name, parameter in parameters_of(kind).items():
            if name not in _NOT_OPTIONS and name not in request_fields:
                hints[name] = (types[name], parameter.default)
                methods[name] = (*methods.get(name, ()), method)
    fields = (option_field(name, *hints[name], methods[name]) for name in hints)
    return [option for option in fields if option is not None]


def reading_fields(reads: str, *, columns: Sequence[str] = (), files: Sequence[str] = ()) -> list[Field]:
    """Return what can be said of a log of a kind; ``columns`` are those of its source, ``files`` those at hand.

    >>> made = {each.name: each for each in reading_fields("events", columns=["who", "when"])}
    >>> [each.value for each in made["context"].choices][1:3], made["user"].needed
    (['when', 'weekday:who'], True)
    """
    reader = READERS[reads]
    return [
        field_of(
            name,
            dataclasses.replace(flag, needed=name in reader.needed and reads != "people"),
            columns=columns,
            files=files,
            plain=name in _BASIC_READING,
        )
        for name, flag in reader.flags().items()
    ]


def budget_fields() -> list[Field]:
    """Return the fields of a budget.

    >>> [each.name for each in budget_fields() if not each.advanced]
    ['epsilon', 'delta', 'per_analyst', 'window']
    """
    return [field_of(name, flag, plain=name in _BASIC_BUDGET) for name, flag in BUDGET.items()]
