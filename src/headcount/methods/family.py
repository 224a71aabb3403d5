"""``Family`` and ``Table``: the command, methods, request class and released tables of one family, as values.

Every package of methods holds one :class:`Family` in its ``__init__``, and :mod:`headcount.methods.registry`
lists them. Commands, lists of methods, sections of a configuration, reports, audits and contract suites follow
from these values. Methods, requests and report parts are named as ``module:name``, and imported when they are
needed.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from headcount.errors import Parameter, UnknownNameError, UsageError, param

if TYPE_CHECKING:
    from dataclasses import Field

    from headcount.methods.method import Method

RESEARCH = "headcount.lab.methods"
"""Where methods are found as they were published: by name, for the product never imports the lab."""

REQUEST_FIELDS = ("table_queries", "asked")
"""Fields of methods that requests fill with their queries: no options."""

Reads = Literal["events", "ratings", "people", "tags"]
"""What kind of log is read: it decides the event flags, and the logs that contracts and audits make up."""


class Table(NamedTuple):
    """A released table: what it is called, what its numbers are, and how their noise is told of beforehand.

    In ``error``, ``{noun}`` stands for the noun, ``{reach}`` for how far noise goes, ``{noise}`` for the name of
    Gaussian noise and ``{deviation}`` for its spread. ``by_number`` says that each number of the table has noise
    of its own. ``unforeseen`` is said where the noise hangs on the data. A table that comes ``beside`` those that
    were asked for is told of in these words.
    """

    name: str
    noun: str
    title: str = ""
    columns: tuple[str, ...] = ()
    error: str = ""
    unforeseen: str = "each {noun}: not known before the data is read"
    by_number: bool = False
    beside: str = ""


class Listed(NamedTuple):
    """A method in the list of its family: where it is, and in which colour and shape plots draw it."""

    home: str
    colour: str = ""
    shape: str = ""


class Family(NamedTuple):
    """Methods that release the same tables on the same request.

    ``methods`` are those to be used, whose promise is proven; the lab has others, as published, for research.
    ``command`` are the words of its command, ``short_help`` what the list of commands says of it, ``usage`` how
    ``headcount methods`` says that its methods are asked for. ``delta`` says what a δ is for: methods that take
    Gaussian noise as a parameter, all that are proven, or none. ``report`` makes the part of a page that is its
    own. ``page`` is where its methods are explained, below ``docs``.
    """

    name: str
    package: str
    heading: str
    command: tuple[str, ...]
    short_help: str
    methods: Mapping[str, Listed]
    default: str
    tables: tuple[Table, ...]
    usage: str = ""
    reads: Reads = "events"
    request: str = "request:Request"
    delta: Literal["noise", "proven", "none"] = "none"
    report: str = ""
    page: str = "methods/{name}.md"

    @property
    def words(self) -> str:
        """How its methods are asked for."""
        return self.usage or f"headcount {' '.join(self.command)} --method …"

    def kind(self, name: str) -> type[Method]:
        """Return the class of a method, one for research included."""
        if name in self.methods:
            return cast("type[Method]", resolved(self.package, self.methods[name].home))
        published = self._published()
        if name not in published:
            raise UnknownNameError.among("method", name, (*self.methods, *published))
        return published[name]

    def kinds(self) -> dict[str, type[Method]]:
        """Return the classes of all methods, those for research after the others."""
        return {**{name: self.kind(name) for name in self.methods}, **self._published()}

    def _published(self) -> dict[str, type[Method]]:
        listed = importlib.import_module(RESEARCH).METHODS.get(self.name, ())
        return {kind.name: kind for kind in listed}

    def request_kind(self) -> Any:
        """Return the class of its requests."""
        return resolved(self.package, self.request)

    def build(self, name: str, parameters: Mapping[str, Any]) -> Method:
        """Make a method from its name and parameters; what it cannot use is an error, never ignored."""
        kind = self.kind(name)
        fields = fields_of(kind)
        for parameter in parameters:
            if parameter == "noise" and parameter not in fields:
                raise UsageError(
                    f"method {name} has no {parameters[parameter]} noise",
                    remedy=f"leave {param.noise} and {param.delta} out, or use {', '.join(self._with_noise())}",
                )
            if parameter not in fields:
                near = difflib.get_close_matches(parameter, fields, n=1)
                hint = f"did you mean {near[0]}? It" if near else "it"
                raise UsageError(
                    f"method {name} cannot use {parameter}", remedy=f"{hint} takes {', '.join(fields)}"
                )
        for parameter in needed_by(kind):
            if parameter not in parameters:
                raise UsageError(
                    f"method {name} needs {Parameter(parameter)}", remedy=f"for example {Parameter(parameter, 10)}"
                )
        return kind(**parameters)

    def _with_noise(self) -> Iterator[str]:
        return (name for name, kind in self.kinds().items() if "noise" in fields_of(kind))


def resolved(package: str, reference: str) -> Any:
    """Import what ``module:name`` stands for, in a package."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(f"{package}.{module}"), name)


def fields_of(kind: type[Method]) -> dict[str, Field[Any]]:
    """Return the parameters of a method."""
    import dataclasses  # when it is needed: `headcount --help` goes without

    return {parameter.name: parameter for parameter in dataclasses.fields(cast("Any", kind))}


def needed_by(kind: type[Method]) -> list[str]:
    """Return the parameters that a method cannot do without."""
    from dataclasses import MISSING

    return [name for name, parameter in fields_of(kind).items() if parameter.default is MISSING]


def example_of(kind: type[Method]) -> dict[str, Any]:
    """Return parameters to try a method with: those that its class names, else 3 wherever it needs one."""
    return dict(
        getattr(kind, "example", None) or {name: 3 for name in needed_by(kind) if name not in REQUEST_FIELDS}
    )
