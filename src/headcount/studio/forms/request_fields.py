"""Fields of a request form: the parameters of a family of methods and their options."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from headcount._internal.parameters import method_options
from headcount.errors import UnknownNameError
from headcount.events.log_parameters import READERS
from headcount.methods.family import Family
from headcount.methods.family import fields_of as parameters_of
from headcount.methods.registry import FAMILIES, summary
from headcount.methods.request import flags_of
from headcount.studio.forms.field import Choice, Field, field_of, option_field
from headcount.studio.forms.labels import on_page

METHOD = "method"
_LEFT_OUT = ("research",)
"""What the studio does not do: methods whose promise is not established are for the lab."""
_AT_ONCE = ("delta", METHOD, "limit", "what", "noise", "per_context", "with_counts", "by", "quantiles", "distinct")
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


def fields_of(family: Family, *, columns: Sequence[str] = ()) -> list[Field]:
    """Return the fields of a family's requests: those of all methods, each saying for which it is.

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
        annotation = kind.model_fields[name].annotation
        field = field_of(name, own, annotation, columns=columns, plain=name in _AT_ONCE)
        fields.append(dataclasses.replace(field, only=use))
    first = sorted(
        fields, key=lambda candidate: (candidate.advanced, candidate.name != "epsilon", candidate.name != METHOD)
    )
    return [*first, *_option_fields(family)] if any(name == "options" for name in kind.model_fields) else first


def fields_for_method(fields: Iterable[Field], method: str | None, family: Family) -> list[Field]:
    """Return the fields that a method has a use for; those that it cannot do without are needed.

    >>> counts = FAMILIES["counts"]
    >>> {each.name: each.needed for each in fields_for_method(fields_of(counts), "sra", counts)}["limit"]
    True
    """
    name = method or family.default
    if name not in family.methods:
        raise UnknownNameError.among("method", name, family.methods)
    needed = {
        entry for entry, field in parameters_of(family.kind(name)).items() if field.default is dataclasses.MISSING
    }
    return [
        dataclasses.replace(entry, needed=True, advanced=False) if entry.name in needed else entry
        for entry in fields
        if not entry.only or name in entry.only
    ]


def implied_fields(family: Family) -> dict[str, str]:
    """Return what goes without saying: the method, where a family that shares its request has one alone.

    >>> implied_fields(FAMILIES["totals"]), implied_fields(FAMILIES["counts"])
    ({'method': 'totals'}, {})
    """
    return (
        {METHOD: family.default} if len(family.methods) == 1 and len(_families_sharing_request(family)) > 1 else {}
    )


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
    return Field(METHOD, "Method", "choice", on_page(help_text), choices, read=_method_reader(family))


def _method_reader(family: Family) -> Any:
    def read(text: str) -> str:
        if text not in family.methods:
            raise UnknownNameError.among("method", text, family.methods)
        return text

    return read


def _option_fields(family: Family) -> list[Field]:
    """Return the options of the methods, each once, with those that have it."""
    request_fields = family.request_kind().model_fields
    held: dict[str, tuple[Any, Any, tuple[str, ...]]] = {}
    for method in family.methods:
        kind = family.kind(method)
        hints = typing.get_type_hints(kind)
        for name, parameter in parameters_of(kind).items():
            if name not in _NOT_OPTIONS and name not in request_fields:
                held[name] = (hints[name], parameter.default, (*held.get(name, ((), (), ()))[2], method))
    fields = (option_field(name, *option) for name, option in held.items())
    return [option for option in fields if option is not None]
