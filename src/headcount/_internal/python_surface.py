"""What a caller in Python reads: errors and the help of functions with keywords in the place of flags."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from headcount._internal.parameters import Flag
from headcount.errors import HeadcountError, python, render

_IN = "    "
_F = TypeVar("_F", bound=Callable[..., Any])
_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=type)


def document_parameters(declared: Mapping[str, Flag], **more: str) -> Callable[[_F], _F]:
    """Add to a function's help what is declared of its parameters, and ``more`` by name.

    >>> from headcount.errors import param
    >>> @document_parameters({"limit": Flag(f"The most records; see {param.at_most}.")}, log="A log.")
    ... def count(log: object, *, limit: int) -> None:
    ...     '''Count.'''
    >>> print(count.__doc__)
    Count.
    <BLANKLINE>
    Parameters:
        log: A log.
        limit: The most records; see at_most=.
    """
    descriptions = {name: _without_default(render(flag.help, python)) for name, flag in declared.items()} | more

    def document(function: _F) -> _F:
        about = [
            textwrap.fill(
                f"{name}: {descriptions[name]}",
                100,
                break_on_hyphens=False,
                initial_indent=_IN,
                subsequent_indent=2 * _IN,
            )
            for name in inspect.signature(function).parameters
            if name in descriptions
        ]
        function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", "Parameters:", *about])
        return function

    return document


def _without_default(text: str) -> str:
    """Leave out what a signature says; what it does not, such as what a default depends on, stays."""
    return text.replace(" (repeatable)", "").replace("  [default", " [default")


def errors_in_python(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let the errors of a function name keywords.

    >>> from headcount.errors import param
    >>> @errors_in_python
    ... def fail() -> None:
    ...     raise HeadcountError(f"{param.items} is missing", remedy=f"list them with {param.items('FILE')}")
    >>> fail()
    Traceback (most recent call last):
    headcount.errors.HeadcountError: items= is missing; list them with items=FILE
    """

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except HeadcountError as error:
            error.render(python)
            raise

    return call


def class_errors_in_python(kind: _C) -> _C:
    """Let the errors of a class name keywords: of its construction, its methods and its properties."""
    for name, member in list(vars(kind).items()):
        wrapped: Any = None
        if name.startswith("_") and name not in ("__init__", "__post_init__"):
            continue
        if isinstance(member, FunctionType):
            wrapped = errors_in_python(member)
        elif isinstance(member, classmethod):
            wrapped = classmethod(errors_in_python(member.__func__))
        elif isinstance(member, property) and member.fget is not None:
            wrapped = property(errors_in_python(member.fget))
        if wrapped is not None:
            setattr(kind, name, cast("Any", wrapped))
    return kind
