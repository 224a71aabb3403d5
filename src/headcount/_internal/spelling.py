"""Translate command-line flags in error messages and help into Python keywords.

Everything below says how a parameter is given on the command line, since a parameter is declared so. The public
functions and classes translate on the way out, and the command line, at its edge, takes the translation back.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

from headcount._internal.parameters import Flag
from headcount.errors import HeadcountError

SWITCHES = frozenset(
    {
        "again", "distinct", "drop_nulls", "force", "no_header", "per_context", "research", "select_contexts",
        "select_items", "select_tags", "with_counts",
    }
)  # fmt: skip
"""The parameters that are true or false; a test sees that they are those which are declared so."""

_PHRASES = {
    "use --engine local": "leave engine= out",
    "another --out": "another folder",
    "another --to": "another place",
    "another --report": "another file",
    "give a folder to --to": "give a folder",
    "--no-header": "header=False",
    "see headcount release --help": "see help(headcount.release)",
}
"""What is said in other words altogether."""

_CHOSEN = ("method", "noise", "what", "by", "count", "context-of", "format", "filter")
"""Flags that take a word: it comes next, unless a sentence goes on there."""
_GOES_ON = ("out", "and", "or", "is", "are", "must", "cannot", "needs", "names", "alone", "such", "too")
_NUMBER = r"-?\d[\w.,@-]*(?<![.,])"
_FLAG = re.compile(
    rf"--(?P<chosen>{'|'.join(_CHOSEN)}) (?!(?:{'|'.join(_GOES_ON)})\b)(?P<word>[a-z][\w-]*)"
    r"|--(?P<shares>shares) (?P<pairs>\w+=[\w.]+(?:,\w+=[\w.]+)*)"
    r'|--(?P<quoting>[a-z-]+) (?P<quoted>"[^"]*")'
    r"|--option (?P<option>\w+)=(?P<given>[\w.]+)"
    rf"|--?(?P<valued>[a-z](?:[a-z-]*[a-z])?) (?P<value>{_NUMBER}|[A-Z]+\b[A-Z,:=\[\]]*)"
    r"|(?:(?<=with )|(?<=use ))--(?P<clock>time) (?P<column>\w+)"
    r"|(?<=such as )--(?P<like>[a-z][a-z-]*) (?P<example>[a-z]\w*)"
    r"|(?<=for example )--(?P<as>[a-z][a-z-]*) (?P<instance>[a-z]\w*)"
    r"|(?<![\w-])--(?P<bare>[a-z][a-z-]*[a-z])"
    r"|(?<![\w-])-(?P<short>k)(?![\w-])"
)
_IN = "    "
_QUOTED = re.compile(r"(`[^`]*`)")


def translate_flags(text: str) -> str:
    """Say in Python's words what is said with flags; commands in backticks stay commands.

    >>> translate_flags("method sra needs --limit; for example --limit 10")
    'method sra needs limit=; for example limit=10'
    >>> translate_flags("--delta needs --noise gaussian or --select-items")
    'delta= needs noise="gaussian" or select_items=True'
    >>> translate_flags("for example --shares items=0.5,edges=0.5")
    'for example shares={"items": 0.5, "edges": 0.5}'
    >>> translate_flags("give the folder that `headcount release --out` wrote")
    'give the folder that `headcount release --out` wrote'
    """
    parts = _QUOTED.split(text)
    parts[::2] = [_translated(part) for part in parts[::2]]
    return "".join(parts)


def _translated(text: str) -> str:
    for flag_phrase, python_phrase in _PHRASES.items():
        text = text.replace(flag_phrase, python_phrase)
    return _FLAG.sub(_keyword, text)


def _keyword(match: re.Match[str]) -> str:
    parts = {name: part for name, part in match.groupdict().items() if part is not None}
    if "pairs" in parts:
        pairs = (pair.split("=") for pair in parts["pairs"].split(","))
        return "shares={" + ", ".join(f'"{stage}": {share}' for stage, share in pairs) + "}"
    if len(parts) == 2:
        name, value = parts.values()
        return f"{_named(name)}={_written(value)}"
    (name,) = map(_named, parts.values())
    return name if name == "help" else f"{name}=True" if name in SWITCHES else f"{name}="


def _named(flag: str) -> str:
    return flag.replace("-", "_")


def _written(value: str) -> str:
    """Write a value: numbers and what stands for something as they are, all else in quotes."""
    plain = re.fullmatch(r'-?\d+(\.\d+)?(e-?\d+)?|[A-Z]+|".*"', value)
    return value if plain else f'"{value}"'


_F = TypeVar("_F", bound=Callable[..., Any])


def document_parameters(declared: Mapping[str, Flag], **more: str) -> Callable[[_F], _F]:
    """Tell in a function's help what is declared of its parameters, and what more there is to say, by name.

    >>> @document_parameters({"limit": Flag("The most records; see --at-most.")}, log="A log.")
    ... def count(log: object, *, limit: int) -> None:
    ...     '''Count.'''
    >>> print(count.__doc__)
    Count.
    <BLANKLINE>
    Parameters:
        log: A log.
        limit: The most records; see at_most=.
    """
    descriptions = {name: translate_flags(_without_default(flag.help)) for name, flag in declared.items()} | more

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


_P = ParamSpec("_P")
_R = TypeVar("_R")
_C = TypeVar("_C", bound=type)


def translate_errors(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let errors of a function speak to a caller in Python.

    >>> @translate_errors
    ... def fail() -> None:
    ...     raise HeadcountError("--items is missing", remedy="list them with --items FILE")
    >>> fail()
    Traceback (most recent call last):
    headcount.errors.HeadcountError: items= is missing; list them with items=FILE
    """

    @functools.wraps(function)
    def speaking(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except HeadcountError as error:
            error.put(translate_flags)
            raise

    return speaking


def translate_class_errors(kind: _C) -> _C:
    """Let errors of a class speak to a caller in Python: of how it is made, its methods and its properties."""
    for name, member in list(vars(kind).items()):
        wrapped: Any = None
        if name.startswith("_") and name not in ("__init__", "__post_init__"):
            continue
        if isinstance(member, FunctionType):
            wrapped = translate_errors(member)
        elif isinstance(member, classmethod):
            wrapped = classmethod(translate_errors(member.__func__))
        elif isinstance(member, property) and member.fget is not None:
            wrapped = property(translate_errors(member.fget))
        if wrapped is not None:
            setattr(kind, name, cast("Any", wrapped))
    return kind
