"""All methods by name: the one list that the command line, the documentation and the contract suites share."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
from collections.abc import Mapping
from typing import Any, cast

from headcount.counts.adaptive import Adaptive
from headcount.counts.dpsense import SensitivityControl
from headcount.counts.dpsense_scaled import ScaledSensitivityControl
from headcount.counts.fourier import FourierPerturbation
from headcount.counts.hand_picked import HandPicked
from headcount.counts.laplace import LaplacePerturbation
from headcount.counts.random_groups import RandomGroups
from headcount.counts.sampled_groups import SampledGroups
from headcount.counts.simple_random import SimpleRandom
from headcount.counts.tuned_groups import TunedGroups
from headcount.errors import UnknownNameError, UsageError
from headcount.guarantee import UNIT, Standing
from headcount.method import Method, section
from headcount.neighbours.private import PrivateNeighbours
from headcount.neighbours.related import CoCountRelease
from headcount.queries.choosing import Automatic
from headcount.queries.histogram import Histogram
from headcount.queries.mwem import MultiplicativeWeights
from headcount.queries.private_weights import PrivateWeights
from headcount.tags.model import TagModel

RESEARCH = "headcount.lab.methods"
"""Where methods are found whose claims are not established: by name, for the product never imports the lab."""

_CLAIMED: Mapping[str, tuple[type[Method], ...]] = importlib.import_module(RESEARCH).METHODS


def _named(*methods: type[Method]) -> Mapping[str, type[Method]]:
    return {method.name: method for method in methods}


METHODS = _named(
    Adaptive,
    LaplacePerturbation,
    SimpleRandom,
    HandPicked,
    FourierPerturbation,
    RandomGroups,
    SampledGroups,
    TunedGroups,
    SensitivityControl,
    ScaledSensitivityControl,
    *_CLAIMED["counts"],
)

QUERY_METHODS = _named(Automatic, Histogram, MultiplicativeWeights, PrivateWeights, *_CLAIMED["queries"])

TAG_METHODS = _named(TagModel, *_CLAIMED["tags"])

FAMILIES: Mapping[str, Mapping[str, type[Method]]] = {
    "counts": METHODS,
    "neighbours": _named(PrivateNeighbours, CoCountRelease, *_CLAIMED["neighbours"]),
    "tags": TAG_METHODS,
    "queries": QUERY_METHODS,
}
"""The methods that a command chooses among by name, by family."""

DEFAULT_METHOD = Adaptive.name
"""How counts are released where nothing else is asked for."""

DEFAULT_QUERY_METHOD = Automatic.name
"""How queries are answered where nothing else is asked for."""

DEFAULT_TAG_METHOD = TagModel.name
"""How tags are."""


def family_of(name: str) -> str:
    """Return the family that a method belongs to.

    >>> family_of("mwem")
    'queries'
    """
    for family, methods in FAMILIES.items():
        if name in methods:
            return family
    raise UnknownNameError.among("method", name, [each for methods in FAMILIES.values() for each in methods])


def build(name: str, parameters: Mapping[str, Any], family: str = "counts") -> Method:
    """Make a method from its name and parameters; what it cannot use is an error, never ignored.

    >>> build("sra", {"limit": 10})
    SimpleRandom(limit=10, what=None, shares=None, noise='laplace')
    >>> build("sra", {})
    Traceback (most recent call last):
    headcount.errors.UsageError: method sra needs --limit; for example --limit 10
    """
    methods = FAMILIES[family]
    if name not in methods:
        raise UnknownNameError.among("method", name, methods)
    fields = {field.name: field for field in dataclasses.fields(cast("Any", methods[name]))}
    for parameter in parameters:
        if parameter == "noise" and parameter not in fields:
            able = [other for other, kind in methods.items() if "noise" in _parameters(kind)]
            raise UsageError(
                f"method {name} has no {parameters[parameter]} noise",
                remedy=f"leave --noise and --delta out, or use {', '.join(able)}",
            )
        if parameter not in fields:
            near = difflib.get_close_matches(parameter, fields, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise UsageError(
                f"method {name} cannot use {parameter}", remedy=f"{hint}(it takes {', '.join(fields)})"
            )
    for field in fields.values():
        if field.default is dataclasses.MISSING and field.name not in parameters:
            raise UsageError(f"method {name} needs --{field.name}", remedy=f"for example --{field.name} 10")
    return methods[name](**parameters)


def describe() -> list[dict[str, Any]]:
    """Describe every method as plain data."""
    return [
        {
            "name": name,
            "family": method.family,
            "standing": method.standing.value,
            "unit": UNIT,
            "parameters": _parameters(method),
            "reference": section(method, "Reference"),
            "reason": method.reason,
        }
        for methods in FAMILIES.values()
        for name, method in methods.items()
    ]


def _parameters(method: type[Method]) -> list[str]:
    """Return the names of a method's parameters, its own before those that all methods have."""
    names = [field.name for field in dataclasses.fields(cast("Any", method)) if field.name != "asked"]
    return sorted(names, key=lambda name: name in ("what", "shares", "noise"))


def summary(name: str) -> str:
    """Say in one sentence what a method does: the first of the file it lives in, without its names.

    >>> summary("sra")
    'A few random records of each user, counted with noise.'
    """
    method = FAMILIES[family_of(name)][name]
    if method.standing is Standing.CLAIMED:
        return inspect.cleandoc(method.__doc__ or "").split("\n")[0]
    module = inspect.getmodule(method)
    first = inspect.cleandoc((module.__doc__ if module else None) or "").split("\n")[0]
    text = first.partition(": ")[2] or first
    return text[:1].upper() + text[1:]
