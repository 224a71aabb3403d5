"""The registry of method families: look up a family, method or table by name, build and describe methods."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from headcount.errors import UnknownNameError
from headcount.methods.family import REQUEST_FIELDS, Family, Table, fields_of, resolved

if TYPE_CHECKING:
    from headcount.methods.method import Method

_HOMES = (
    "counts:FAMILY",
    "totals:FAMILY",
    "rankings:FAMILY",
    "queries:FAMILY",
    "tags:FAMILY",
    "recommender:FAMILY",
)

FAMILIES: Mapping[str, Family] = {
    family.name: family for family in (resolved(__package__, home) for home in _HOMES)
}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods, those for research included.

    >>> method_names()[:3]
    ('adaptive', 'lpa', 'sra')
    """
    return tuple(name for family in FAMILIES.values() for name in family.kinds())


def family_of(name: str) -> Family:
    """Return the family that a method belongs to.

    >>> family_of("mwem").name
    'queries'
    """
    proven = (family for family in FAMILIES.values() if name in family.methods)
    owner = next(proven, None) or next(
        (candidate for candidate in FAMILIES.values() if name in candidate.kinds()), None
    )
    if owner is None:
        raise UnknownNameError.among("method", name, method_names())
    return owner


def family_releasing(tables: Mapping[str, object]) -> Family | None:
    """Return the family whose tables a release holds, but for those that come beside others.

    >>> family_releasing({"activity": None, "ranking": None}).name
    'rankings'
    """
    return next(
        (
            family
            for family in FAMILIES.values()
            if any(family_table.name in tables for family_table in family.tables if not family_table.beside)
        ),
        None,
    )


def table(name: str) -> Table:
    """Return what is known of a table; what is not a table of its own is called by its name."""
    named = (entry for family in FAMILIES.values() for entry in family.tables if entry.name == name)
    return next(named, Table(name, name))


def build(name: str, parameters: Mapping[str, Any]) -> Method:
    """Make a method from its name and parameters; what it cannot use is an error, never ignored.

    >>> build("sra", {"limit": 10})
    SimpleRandom(limit=10, what=None, shares=None, noise='laplace')
    >>> build("sra", {})
    Traceback (most recent call last):
    headcount.errors.UsageError: method sra needs --limit; for example --limit 10
    """
    return family_of(name).build(name, parameters)


def describe() -> list[dict[str, Any]]:
    """Describe every method as plain data."""
    from headcount.accounting.guarantee import UNIT
    from headcount.methods.method import section

    return [
        {
            "name": name,
            "family": family.name,
            "standing": method.standing.value,
            "unit": UNIT,
            "parameters": _parameters(method),
            "reference": section(method, "Reference"),
            "reason": method.reason,
        }
        for family in FAMILIES.values()
        for name, method in family.kinds().items()
    ]


def _parameters(method: type[Method]) -> list[str]:
    """Return the names of a method's parameters, its own before those that all methods have."""
    names = [name for name in fields_of(method) if name not in REQUEST_FIELDS]
    return sorted(names, key=lambda name: name in ("what", "shares", "noise"))


def summary(name: str) -> str:
    """Say in one sentence what a method does: the first of the file it lives in, without its names.

    >>> summary("sra")
    'A few random records of each user, counted with noise.'
    """
    family = family_of(name)
    method = family.kind(name)
    if name not in family.methods:  # several share a file
        return inspect.cleandoc(method.__doc__ or "").split("\n")[0]
    module = inspect.getmodule(method)
    first = inspect.cleandoc((module.__doc__ if module else None) or "").split("\n")[0]
    text = first.partition(": ")[2] or first
    return text[:1].upper() + text[1:]
