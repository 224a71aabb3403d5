"""Parameters, declared once: flag, metavar, help and parser; command line and Python derive from them.

Command-line options, keys of a configuration and the keywords of Python functions follow from these declarations.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from headcount.errors import Parameter, UsageError, command_line, in_python, param

_SEE_HELP = in_python("see help(headcount.release)", otherwise=f"see headcount release {param.help}")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Flag:
    """How a parameter is given on the command line.

    ``flag`` is what it is called there, if not by the name of the parameter. A ``switch`` takes no value, one that
    is given ``many`` times takes several. What is ``raw`` may be a list or a table in a configuration. ``read``
    makes a value of a text; ``needed`` says that nothing goes without.
    """

    help: str
    metavar: str | None = None
    flag: Parameter | None = None
    choices: tuple[str, ...] = ()
    default: Any = None
    switch: bool = False
    many: bool = False
    raw: bool = False
    needed: bool = False
    read: Callable[[Any, Parameter], Any] | None = None

    def named(self, name: str) -> str:
        """Return the flag of a parameter of this name.

        >>> Flag("How many.").named("max_group"), Flag("How many.").named("k")
        ('--max-group', '-k')
        """
        return command_line(self.parameter(name))

    def parameter(self, name: str) -> Parameter:
        """Return how errors call a parameter of this name."""
        return self.flag or Parameter(name)


def read_all(given: Mapping[str, Any], declared: Mapping[str, Flag]) -> dict[str, Any]:
    """Return what was given for these parameters, read as they are declared to be.

    >>> read_all({"limit": "12"}, {"limit": Flag("How many.", read=read_whole_number)})
    {'limit': 12}
    """
    return {
        name: given[name]
        if flag.read is None or given[name] is None
        else flag.read(given[name], flag.parameter(name))
        for name, flag in declared.items()
    }


def whole_number(value: Any, name: str, *, hint: str = "10", most: int | None = None) -> int:
    """Read a whole number of at least 1, of any integer type; ``hint`` is one to try.

    >>> whole_number(0, "limit", hint=str(param.limit(10)))
    Traceback (most recent call last):
    headcount.errors.UsageError: limit must be a whole number of at least 1, not 0; try --limit 10
    """
    whole = -1 if isinstance(value, bool) or not hasattr(value, "__index__") else operator.index(value)
    if not 1 <= whole <= (whole if most is None else most):
        raise UsageError(
            f"{name} must be a whole number of at least 1", given=value, remedy=f"try {hint}", parameter=name
        )
    return whole


def read_whole_number(text: str, parameter: Parameter) -> int:
    """Read what is given for a parameter as a whole number of at least 1.

    >>> read_whole_number("12", param.limit)
    12
    """
    given = int(text) if is_whole(text) and int(text) > 0 else text
    return whole_number(given, parameter.name.replace("_", "-"), hint=str(parameter(10)))


def is_whole(text: str) -> bool:
    """Say whether a text is a whole number."""
    return re.fullmatch(r"\s*[+-]?[0-9]{1,30}\s*", text) is not None


def read_decimal(text: object) -> Decimal:
    """Read a decimal number, of ASCII digits alone; raise InvalidOperation for all else that Python accepts.

    >>> read_decimal(" 1.50 "), read_decimal("1e-6")
    (Decimal('1.50'), Decimal('0.000001'))
    >>> read_decimal("1_0")
    Traceback (most recent call last):
    decimal.InvalidOperation: '1_0'
    """
    written = str(text).strip()
    if not _DECIMAL.fullmatch(written):
        raise InvalidOperation(repr(written))
    return Decimal(written)


def plain_value(text: str) -> int | float | bool | str:
    """Read the value of an option: a number or true or false where it looks like one, else the text itself.

    >>> [plain_value(text) for text in ("3", "0.5", "true", "row")]
    [3, 0.5, True, 'row']
    """
    if is_whole(text):
        return int(text)
    if re.fullmatch(r"\s*[+-]?[0-9]*\.[0-9]+\s*", text):
        return float(text)
    return {"true": True, "false": False}.get(text.strip().lower(), text)


def read_pairs(texts: tuple[str, ...] | str | None, parameter: Parameter) -> dict[str, str] | None:
    """Read ``a=1,b=2`` or several ``a=1``.

    >>> read_pairs("items=0.5,edges=0.5", param.shares)
    {'items': '0.5', 'edges': '0.5'}
    """
    if not texts:
        return None
    listed = texts.split(",") if isinstance(texts, str) else list(texts)
    read: dict[str, str] = {}
    for text in listed:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"{parameter} must read NAME=VALUE", given=text, remedy=_SEE_HELP)
        if name in read:
            raise UsageError(f"{parameter} names {name} twice", remedy="keep one of them")
        read[name] = value
    return read


def method_options(texts: tuple[str, ...], parameter: Parameter) -> dict[str, Any]:
    """Read options of a method.

    >>> method_options(("d=2", "sampling=row"), param.option)
    {'d': 2, 'sampling': 'row'}
    """
    return {name: plain_value(value) for name, value in (read_pairs(texts, parameter) or {}).items()}
