"""A form field: its kind, choices and help, and how its text is read to a value."""

from __future__ import annotations

import csv
import io
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args, get_origin

from headcount._internal.parameters import Flag, is_whole, plain_value, read_whole_number
from headcount.errors import Parameter, UnknownNameError, UsageError
from headcount.studio.forms.labels import file_words, label, on_page

Kind = Literal["text", "number", "flag", "choice", "suggested", "words", "listing"]
"""How a field is shown: a listing is a file of the folder, or lines."""

FILE_OF = "file"
COLUMNS_OF = "columns"
"""What a listing sends beside its lines: which file it is, and ``ID[,LABEL]`` there."""

OPTION = "options."
"""What the names of fields begin with that are options of a method."""


class FormError(UsageError):
    """What was wrong with a form, field by field; the sentence is that of the first."""

    def __init__(self, by_field: Mapping[str, str]) -> None:
        super().__init__(next(iter(by_field.values())))
        self.by_field = dict(by_field)


class Choice(NamedTuple):
    """What can be chosen, and how it reads."""

    value: str
    words: str


@dataclass(frozen=True)
class Field:
    """A field: which parameter it is of, in words, and how it is shown.

    ``only`` are the methods that have a use for it; nobody named: all. ``value`` and ``error`` are what a page
    shows of it when it was filled in before.
    """

    name: str
    label: str
    kind: Kind
    help: str = ""
    choices: tuple[Choice, ...] = ()
    default: str | None = None
    needed: bool = False
    many: bool = False
    advanced: bool = False
    only: tuple[str, ...] = ()
    example: str = ""
    read: Callable[[str], Any] = str
    """Makes a value of a text, as plain data that travels."""
    shapes: tuple[type, ...] = ()
    """What else than text a program may send."""
    implied: bool = False
    """Whether the default goes without saying: then it is not sent on."""
    value: Any = None
    error: str = ""


def field_of(
    name: str,
    flag: Flag,
    annotation: Any = None,
    *,
    columns: Sequence[str] = (),
    files: Sequence[str] = (),
    plain: bool = False,
) -> Field:
    """Return the field that a declaration asks for; ``plain`` ones are shown at once.

    >>> made = field_of("limit", Flag("The most records.", "L", read=read_whole_number))
    >>> made.label, made.kind, made.read("12")
    ('Limit', 'number', 12)
    """
    shape = _shape(name, flag, annotation, columns, files)
    return Field(
        name,
        label(flag.named(name).lstrip("-").replace("-", "_") if flag.switch else name),
        shape.kind,
        _help(flag, shape.kind),
        shape.choices,
        default=flag.default,
        needed=flag.needed,
        many=flag.many,
        advanced=not (flag.needed or plain),
        example=_example(flag),
        read=shape.read,
        shapes=shape.types,
        implied=flag.default is not None,
    )


class _Shape(NamedTuple):
    """How a field is shown and read, what else than text a program may send, and what can be chosen."""

    kind: Kind
    read: Callable[[str], Any] = str
    types: tuple[type, ...] = ()
    choices: tuple[Choice, ...] = ()


def _shape(name: str, flag: Flag, annotation: Any, columns: Sequence[str], files: Sequence[str]) -> _Shape:
    parameter, read = flag.parameter(name), flag.read
    if flag.switch:
        return _Shape("flag", lambda _: True if read is None else read(True, parameter), (bool,))
    if flag.choices:
        return _Shape("choice", _one_of(name, flag.choices), choices=choices_of(flag.choices))
    if flag.metavar == "FILE":
        return _Shape("words", *_file_reader(annotation))
    if (flag.metavar or "").startswith("FILE["):
        at_hand = tuple(Choice(file, file_words(file)) for file in files)
        return _Shape("listing", _read_ids, (list, dict), at_hand)
    if flag.many:
        return _Shape("words", lambda text: _read_lines(text, flag, parameter), (list, dict))
    if flag.metavar == "COL" and flag.raw:
        return _Shape("suggested", types=(list,), choices=choices_of(_context_choices(columns)))
    if flag.metavar == "COL" and columns:
        return _Shape("choice", _one_of("column", columns), choices=choices_of(columns))
    if flag.metavar == "COL":
        return _Shape("suggested")
    if read is read_whole_number:
        return _Shape("number", lambda text: read_whole_number(text, parameter), (int,))
    if read is not None:
        return _Shape("text", lambda text: read(text, parameter), (dict,))
    return _Shape("text", types=(int, float, list) if flag.raw else (int, float))


def choices_of(options: Iterable[str]) -> tuple[Choice, ...]:
    """Return options that are shown as they are."""
    return tuple(Choice(option, option) for option in options)


def option_field(name: str, hint: Any, default: Any, only: tuple[str, ...]) -> Field | None:
    """Return the field of a method's option, by its type; None of what no text can say.

    >>> option_field("repeats", int, 1, ("dpsense",)).kind
    'number'
    """
    kinds = [entry for entry in (get_args(hint) or (hint,)) if entry is not type(None)]
    literal = next((get_args(entry) for entry in (hint, *kinds) if get_origin(entry) is Literal), ())
    usual = "" if default is None else f" Usually {str(default).lower()}."
    rest: dict[str, Any] = {"help": f"Of {', '.join(only)}.{usual}", "only": only, "advanced": True}
    if literal or kinds == [bool]:
        choices = literal or ("true", "false")
        read = _one_of(name, literal) if literal else lambda text: plain_value(_one_of(name, choices)(text))
        shown = choices_of(choices)
        return Field(OPTION + name, label(name), "choice", choices=shown, read=read, shapes=(bool,), **rest)
    if kinds in ([int], [float]):
        return Field(OPTION + name, label(name), "number", read=_number(name), shapes=(int, float), **rest)
    return None


def _help(flag: Flag, kind: Kind) -> str:
    help_text = on_page(flag.help)
    return help_text if kind != "words" or not flag.many else f"{help_text} One a line."


def _example(flag: Flag) -> str:
    return "" if flag.metavar in (None, "COL", "FILE", "NAME", "L", "N", "K", "M", "E", "D") else str(flag.metavar)


def _context_choices(columns: Sequence[str]) -> list[str]:
    """Return what a context may be: a column, or what a column of times says."""
    return [*columns, *(f"{part}:{column}" for part in ("weekday", "hour", "month") for column in columns)]


def name_reader(kind: str, names: Collection[str]) -> Callable[[str], str]:
    """Return how a text is read that must be one of these names."""

    def read(text: str) -> str:
        if text not in names:
            raise UnknownNameError.among(kind, text, names)
        return text

    return read


def _one_of(name: str, choices: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in choices:
            problem = f"{name} must be one of {', '.join(choices)}"
            raise UsageError(problem, given=text, parameter=name, allowed=choices)
        return text

    return read


def _number(name: str) -> Callable[[str], int | float]:
    def read(text: str) -> int | float:
        number = int(text) if is_whole(text) else plain_value(text)
        if isinstance(number, bool | str):
            raise UsageError(f"{name} must be a number", given=text)
        return number

    return read


def _read_lines(text: str, flag: Flag, named: Parameter) -> Any:
    lines = tuple(line.strip() for line in text.splitlines() if line.strip())
    return list(lines) if flag.read is None else flag.read(lines, named)


def _read_ids(text: str) -> Any:
    r"""Read a list of ids, one a line or with commas; never the name of a file, which is sent beside it.

    >>> _read_ids("tea, rye"), _read_ids("tea\nrye bread, dark")
    (['tea', 'rye'], ['tea', 'rye bread, dark'])
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return [item.strip() for item in lines[0].split(",")] if len(lines) == 1 else lines


def _file_reader(annotation: Any) -> tuple[Callable[[str], Any], tuple[type, ...]]:
    """Return how that is written on a page which commands read from a file: tables as TOML, pairs as CSV."""
    element_type = next((argument for argument in get_args(annotation) if argument is not Ellipsis), None)
    if get_origin(annotation) is not tuple:
        return _table, (dict,)
    return (_rows, (list,)) if get_origin(element_type) is tuple else (lambda text: [text], (list,))


def _table(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(
            f"this is not TOML ({error})", remedy="such as [age], and below it edges = [0, 18, 65]"
        ) from (error)


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text)) if row]
