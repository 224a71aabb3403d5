"""The reference implementations by the bounds that they measure, with examples for the contracts."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

from headcount import bounds
from headcount.bounds import Bound
from tests import reference

Function = TypeVar("Function", bound=Callable[..., Any])

_REFERENCES: dict[type[Bound[Any]], Callable[..., Any]] = {}
_EXAMPLES: list[Bound[Any]] = []


def measures(*kinds: type[Bound[Any]], examples: tuple[Bound[Any], ...] = ()) -> Callable[[Function], Function]:
    """Register the reference of some bounds; contracts measure ``examples``, which are sums over listed items."""

    def register(function: Function) -> Function:
        _REFERENCES.update(dict.fromkeys(kinds, function))
        _EXAMPLES.extend(examples)
        return function

    return register


def references() -> dict[type[Bound[Any]], Callable[..., Any]]:
    """Return how each kind of bound is measured: by code that no other engine shares."""
    _import_all(reference)
    return _REFERENCES


def examples() -> list[Bound[Any]]:
    """Return the examples that references give."""
    references()
    return _EXAMPLES


def measured_bounds() -> list[type[Bound[Any]]]:
    """Return all kinds of bound that Headcount measures, found in its own modules."""
    _import_all(bounds)
    kinds, own = list[type[Bound[Any]]]([Bound]), list[type[Bound[Any]]]()
    while kinds:
        kind = kinds.pop()
        below = [other for other in kind.__subclasses__() if other.__module__.startswith(f"{bounds.__name__}.")]
        kinds += below
        if not below:
            own.append(kind)
    return own


def _import_all(package: ModuleType) -> None:
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        import_module(module.name)
