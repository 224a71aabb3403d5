"""Headcount's exceptions: the tree of errors, with parameter, given value and remedy as fields.

::

    HeadcountError
    ├── CallerError            exit 2: the caller can mend it (usage, input, an existing folder)
    │   ├── UsageError             a parameter, flag or combination that is not allowed
    │   │   └── NotSelectedError       what is still to be selected of a log is asked for before
    │   ├── DataError              what was found in a file, column or catalogue
    │   │   └── AbsentError            a data set that is not at hand
    │   └── UnknownNameError       an item, context, method or column that does not exist
    ├── RefusedError           exit 1: refused, or a check failed
    │   └── GrantError             an amount of privacy budget was to be spent twice, or not at all
    └── SurroundingsError      exit 3: disk full, file system or service gone

An error says in one sentence what was given and what to do. Its texts name parameters by :data:`param`, never
by a flag, so that the command line, Python and the studio each write a parameter in their own way.
"""

from __future__ import annotations

import difflib
import errno
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

_BEGIN, _END = "\x02", "\x03"
"""Where a parameter begins and ends in a text that is not yet rendered."""


class Parameter(NamedTuple):
    """A parameter named in a text, such as an error: alone, or with a value; each surface writes it its own way.

    A value of true or false is that of a switch. Values in capitals, such as ``COL``, stand for one.
    """

    name: str
    value: Any = None

    def __call__(self, value: object) -> Parameter:
        """Return the parameter with a value."""
        return Parameter(self.name, value)

    def __str__(self) -> str:
        return f"{_BEGIN}{json.dumps(self, default=str)}{_END}"

    def __format__(self, _: str) -> str:
        return str(self)


Surface = Callable[[Parameter], str]
"""Writes a parameter as the readers of a text know it."""


class _Parameters:
    """Parameters by name: ``param.limit`` names one, ``param.limit(10)`` one with its value."""

    def __getattr__(self, name: str) -> Parameter:
        return Parameter(name)


param = _Parameters()

_IN_PYTHON = "in Python"


def in_python(words: str, otherwise: str) -> str:
    """Return a part of a text that reads otherwise in Python: as ``words``.

    >>> text = in_python(f"leave {param.engine} out", otherwise=f"use {param.engine('local')}") + ", or wait"
    >>> render(text, python), render(text, command_line)
    ('leave engine= out, or wait', 'use --engine local, or wait')
    """
    return str(Parameter(_IN_PYTHON, (words, otherwise)))


USE_LOCAL_ENGINE = in_python(f"leave {param.engine} out", otherwise=f"use {param.engine('local')}")


def render(text: str, surface: Surface) -> str:
    """Write the parameters that a text names as a surface does.

    >>> text = f"method sra needs {param.limit}; for example {param.limit(10)}"
    >>> render(text, command_line), render(text, python)
    ('method sra needs --limit; for example --limit 10', 'method sra needs limit=; for example limit=10')
    """
    rendered, *parts = text.split(_BEGIN)
    for part in parts:
        encoded, _, rest = part.partition(_END)
        parameter = _decode(encoded)
        rendered += _BEGIN + part if parameter is None else _write(parameter, surface) + rest
    return rendered


def _write(parameter: Parameter, surface: Surface) -> str:
    if parameter.name != _IN_PYTHON:
        return surface(parameter)
    words, otherwise = parameter.value
    return render(words if surface is python else otherwise, surface)


def _decode(encoded: str) -> Parameter | None:
    """Return the parameter that stands there, or None for what somebody's data holds by chance."""
    try:
        name, value = json.loads(encoded)
    except (TypeError, ValueError, RecursionError):
        return None
    is_pair = isinstance(value, list) and len(value) == 2 and all(isinstance(words, str) for words in value)
    return Parameter(name, value) if isinstance(name, str) and (name != _IN_PYTHON or is_pair) else None


def command_line(parameter: Parameter) -> str:
    """Write a parameter as a flag.

    >>> parameters = param.max_group, param.k(20), param.shares({"items": "0.5"}), param.header(False)
    >>> print(*map(command_line, parameters))
    --max-group -k 20 --shares items=0.5 --no-header
    """
    name, value = parameter
    flag = ("-" if len(name) == 1 else "--no-" if value is False else "--") + name.replace("_", "-")
    return flag if value is None or isinstance(value, bool) else f"{flag} {plain_value_of(value)}"


def python(parameter: Parameter) -> str:
    """Write a parameter as a keyword; that of a method's own option by its own name.

    >>> print(*map(python, (param.limit, param.k(20), param.noise("gaussian"), param.value("COL"))))
    limit= k=20 noise="gaussian" value=COL
    >>> print(*map(python, (param.shares({"items": "0.5"}), param.header(False), param.option({"d": 2}))))
    shares={"items": 0.5} header=False d=2
    """
    name, value = parameter
    if value is None:
        return _IN_PYTHON_ALONE.get(name, f"{name}=")
    if name == "option" and isinstance(value, Mapping):
        return ", ".join(python(Parameter(option, setting)) for option, setting in value.items())
    return f"{name}={_python_value(value)}"


_IN_PYTHON_ALONE = {"help": "help", "out": "folder", "to": "place", "report": "file"}
"""Flags that a caller in Python knows by another word."""


def plain_value_of(value: object) -> str:
    """Write a value as on the command line: the parts of a mapping with commas."""
    return ",".join(f"{name}={part}" for name, part in value.items()) if isinstance(value, Mapping) else str(value)


def _python_value(value: object) -> str:
    """Write a value: numbers, and what stands for something, as they are, all else in quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f'"{name}": {part}' for name, part in value.items()) + "}"
    text = str(value)
    as_it_is = isinstance(value, bool) or _is_number(text) or text.startswith('"')
    return text if as_it_is or (text.isalpha() and text.isupper()) else f'"{text}"'


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class HeadcountError(Exception):
    """Base of all errors: one sentence, with its parts as fields.

    ``parameter`` is the one that is wrong, ``given`` its value, ``allowed`` are the values that it may have and
    ``remedy`` is what to do.

    >>> error = UsageError(f"{param.limit} must be at least 1", given="0", remedy=f"try {param.limit(10)}")
    >>> str(error), error.parameter
    ("--limit must be at least 1, not '0'; try --limit 10", 'limit')
    """

    exit_code: ClassVar[int] = 3
    file: str | None = None
    """The listed file that an error is about: for the curator alone, since its name may say who is in it."""

    def __init__(
        self,
        problem: str,
        *,
        given: object = None,
        remedy: str | None = None,
        parameter: str | None = None,
        allowed: Sequence[str] = (),
    ) -> None:
        self.given, self.allowed = given, tuple(allowed)
        self.parameter = parameter or next(iter(_names(problem)), None)
        self._shown = "" if given is None else f", not {given!r}"
        self.texts = problem, remedy
        """Problem and remedy, before a surface writes the parameters that they name."""
        self.render(command_line)

    def render(self, surface: Surface) -> None:
        """Write problem and remedy for a surface.

        >>> error = UsageError(f"{param.limit} is missing", remedy=f"try {param.limit(10)}")
        >>> error.render(python)
        >>> str(error), error.problem
        ('limit= is missing; try limit=10', 'limit= is missing')
        """
        problem, remedy = self.texts
        self.problem = render(problem, surface)
        self.remedy = None if remedy is None else render(remedy, surface)
        self.args = (self.problem + self._shown + (f"; {self.remedy}" if self.remedy else ""),)

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the parameters that problem and remedy name."""
        return (*_names(self.texts[0]), *_names(self.texts[1] or ""))

    def redact(self, words: str, instead: str) -> None:
        """Write ``instead`` in the place of words that readers must not see."""
        problem, remedy = self.texts
        self.texts = problem.replace(words, instead), None if remedy is None else remedy.replace(words, instead)
        self.render(command_line)

    def to_json(self) -> dict[str, object]:
        """Return the error as plain data, for ``--json``."""
        given = None if self.given is None else str(self.given)
        return {
            "error": type(self).__name__,
            "problem": self.problem,
            "given": given,
            "remedy": self.remedy,
            "message": str(self),
        }


class CallerError(HeadcountError):
    """Something the caller can mend."""

    exit_code = 2


class UsageError(CallerError):
    """A parameter, flag or combination of them that is not allowed."""

    @classmethod
    def taken(cls, target: object, place: Parameter) -> UsageError:
        """Build the error for a file or folder that is there and may be replaced on request alone.

        >>> str(UsageError.taken("weekdays", param.out))
        'weekdays exists already; choose another --out, or add --force'
        """
        remedy = f"choose another {place}, or add {param.force(True)}"
        return cls(f"{target} exists already", remedy=remedy, parameter=place.name)


class NotSelectedError(UsageError):
    """The items of a log, or its contexts, are still to be selected, so nothing can be counted by them."""


class DataError(CallerError):
    """A file, column or catalogue does not hold what it must."""


class AbsentError(DataError):
    """A data set, known by name, that is not at hand; the remedy says where to get it."""


class UnknownNameError(CallerError):
    """A name that does not exist; the nearest existing one is suggested.

    >>> str(UnknownNameError.among("column", "usr", ["user", "venue"], where="visits.csv"))
    "column 'usr' is not in visits.csv; did you mean 'user'? (there are: 'user', 'venue')"
    """

    @classmethod
    def among(
        cls, kind: str, name: object, existing: Iterable[object], *, where: str | None = None
    ) -> UnknownNameError:
        """Build the error for ``name``, suggesting the nearest of ``existing``."""
        names = [str(existing_name) for existing_name in existing]
        shown = ", ".join(repr(existing_name) for existing_name in names[:12]) + (", …" if len(names) > 12 else "")
        spelt = {
            existing_name.strip().casefold(): existing_name for existing_name in reversed(names)
        }  # 'male' is nearer to 'Male'
        nearest = difflib.get_close_matches(str(name).strip().casefold(), spelt, n=1, cutoff=0.5)
        hint = f"did you mean {spelt[nearest[0]]!r}? " if nearest else "check the name "
        place = f"is not in {where}" if where else "is not known"
        error = cls(f"{kind} {str(name)!r} {place}", remedy=f"{hint}(there are: {shown or 'none'})", allowed=names)
        error.given = name
        return error


class RefusedError(HeadcountError):
    """The request is well formed and still refused, or a check failed."""

    exit_code = 1


class GrantError(RefusedError):
    """An amount of privacy budget was to be spent twice, or was left unspent."""


class SurroundingsError(HeadcountError):
    """The disk, a file system or a service failed."""

    exit_code = 3

    @classmethod
    def writing(cls, place: object, error: OSError, instead: object) -> SurroundingsError:
        """Say what happened on the way to a place that is as it was before; ``instead`` is what to choose anew."""
        full = error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error)
        problem = "the disk is full" if full else f"cannot write there ({error.strerror or error})"
        denied = isinstance(error, PermissionError)
        mend = "free space" if full else "allow writing there" if denied else "mend that"
        return cls(f"{place}: {problem}", remedy=f"nothing was left behind; {mend} or choose another {instead}")


def _names(text: str) -> list[str]:
    """Return the names of the parameters that a text names."""
    parameters = (_decode(part.partition(_END)[0]) for part in text.split(_BEGIN)[1:])
    return [parameter.name for parameter in parameters if parameter is not None]


def was_interrupted(error: BaseException) -> bool:
    """Say whether Ctrl-C is what ended it: where that comes while a class is made, Python wraps it.

    >>> wrapped = RuntimeError("Error calling __set_name__")
    >>> wrapped.__cause__ = KeyboardInterrupt()
    >>> was_interrupted(wrapped), was_interrupted(RuntimeError("a bug"))
    (True, False)
    """
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__
    return cause is not None
