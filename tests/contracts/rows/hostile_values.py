"""Hostile field values and lines, for checking that one row never changes how another is read.

A field says what stands in a file of each shape: ``csv`` (text is quoted as need be, bytes stand as they are),
``json`` (text becomes a JSON string, bytes are a literal), ``arrow`` (text, missing, or bytes that need be no
UTF-8), ``python`` (any object, for columns of objects) and ``typed`` (a value of the column's declared type).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

Shape = Literal["csv", "json", "arrow", "python", "typed"]
SHAPES: tuple[Shape, ...] = ("csv", "json", "arrow", "python")
LONG = "tea " * 2_560  # 10 kB


@dataclass(frozen=True)
class Field:
    """What somebody wrote, by the shape of the file; there is nothing for shapes that cannot say it."""

    name: str
    spellings: Mapping[Shape, object]


def text(name: str, value: str | None) -> Field:
    """Return a field that every file without types can hold."""
    return Field(name, dict.fromkeys(SHAPES, value))


def _named(texts: Mapping[str, str | None]) -> tuple[Field, ...]:
    return tuple(text(name, value) for name, value in texts.items())


def _field(shape: Shape, values: Mapping[str, object]) -> tuple[Field, ...]:
    return tuple(Field(name, {shape: value}) for name, value in values.items())


TEXTS = _named({
    "missing": None, "empty": "", "null": "null", "None": "None", "true": "true", "NA": "NA", "10 kB": LONG,
    "emoji": "🍵👩‍👩‍👧", "combining": "te\u0301a", "NUL": "te\0a", "BOM": "\ufefftea", "blanks": " tea ",
    "tab": "te\ta", "quote first": '"tea', "quote inside": 'te"a', "quote last": 'tea"',
    "quoted twice": '""tea""', "delimiters": "tea,rye;oat", "newline": "tea\nrye", "carriage return": "tea\rrye",
    "both": "tea\r\nrye", "line separator": "tea\u2028rye", "backslash": "tea\\", "comment": "#tea",
    "last letter": "\U0010ffff",
})  # fmt: skip

NUMBERS = _named({
    "0.5": "0.5", "1e3": "1e3", "1e400": "1e400", "1e-400": "1e-400", "007": "007", "+7": "+7", " 7 ": " 7 ",
    "7": "7", "7.0": "7.0", "5.": "5.", "-0": "-0", "-1": "-1", "2^31": str(2**31), "2^63": str(2**63),
    "2^64": str(2**64), "-2^63-1": str(-(2**63) - 1), "40 digits": "9" * 40, "NaN": "NaN", "Infinity": "Infinity",
    "-inf": "-inf", "1,5": "1,5", "0x10": "0x10", "1_000": "1_000", "arabic 3": "٣", "five": "five",
})  # fmt: skip

NOTATION = _named({
    "grouped": "1.234,50", "groups of three": "1.234.567", "no group": "1.2.3", "short group": "12.34,5",
    "long group": "1.2345", "zero group": "0.125", "two commas": "1,5,0", "point after comma": "1,234.5",
    "comma first": ",5", "comma last": "5,", "comma alone": ",", "signed group": "-1.234", "exponent": "1,5e3",
    "no-break space": "1\u00a0234", "wide digits": "１,５", "group then letter": "1.234a",
})  # fmt: skip
"""Numbers with a decimal comma and a thousands point, or nearly so."""

TIMES = _named({
    "offset Z": "2026-03-06T10:00:00Z", "offset +05:30": "2026-03-06T10:00:00+05:30",
    "offset and fraction": "2026-03-06T10:00:00.5-08:00", "2040": "2040-07-01T12:30:00",
    "skipped in Zurich": "2026-03-29T02:30:00", "doubled in Zurich": "2026-10-25T02:30:00",
    "skipped in New York": "2026-03-08T02:30:00", "doubled in New York": "2026-11-01T01:30:00",
    "date": "2026-03-06", "blank for T": "2026-03-06 10:00", "nanoseconds": "2026-03-06T10:00:00.123456789",
    "24:00": "2026-03-06T24:00:00", "second 60": "2026-12-31T23:59:60Z", "year 1": "0001-01-01T00:00:00",
    "year 9999": "9999-12-31T23:59:59Z", "year 10000": "10000-01-01T00:00:00", "no such day": "2026-02-30T10:00",
    "basic": "20260306T100000Z", "week": "2026-W10-5", "small letters": "2026-03-06t10:00:00z",
    "offset +24:00": "2026-03-06T10:00:00+24:00", "no day": "10:00", "comma": "2026-03-06T10:00:00,5Z",
    "pattern": "06.03.2026 10:00", "no such pattern": "31.02.2026 10:00", "epoch": "1772791200",
})  # fmt: skip

CSV_CELLS = _field("csv", {
    "unclosed at the start": b'"tea', "unclosed inside": b'te"a', "unclosed at the end": b'tea"',
    "quote alone": b'"', "quotes alone": b'""', "three quotes": b'"""', "more after a quote": b'"tea"rye',
    "backslash before a quote": b'"tea\\"', "latin-1 bytes": b"caf\xe9", "no UTF-8": b"\xff\xfe",
    "surrogate bytes": b"\xed\xa0\x80", "beyond Unicode": b"\xf4\x90\x80\x80", "cut letter": b"tea\xe2\x82",
})  # fmt: skip

JSON_LITERALS = _field("json", {
    "whole": b"7", "whole with point": b"7.0", "fraction": b"0.5", "exponent": b"1e3", "too large": b"1e400",
    "big": b"18446744073709551616", "bigger": b"9" * 40, "small": b"-9223372036854775809", "minus zero": b"-0",
    "true literal": b"true", "false literal": b"false", "null literal": b"null", "object": b'{"a": 1}',
    "list": b"[1, [2]]", "nothing in it": b"{}", "lone surrogate": b'"\\ud800"', "low surrogate": b'"te\\udc00a"',
    "surrogates": b'"\\ud83c\\udf75"', "escaped NUL": b'"te\\u0000a"', "escaped letters": b'"\\u0074ea"',
    "NaN literal": b"NaN", "Infinity literal": b"-Infinity", "leading zero": b"007", "plus": b"+7",
    "no UTF-8 in text": b'"\xff\xfe"', "latin-1 in text": b'"caf\xe9"', "bad escape": b'"\\x41"',
    "raw NUL": b'"te\0a"', "raw tab": b'"te\ta"', "unclosed": b'"tea', "nothing": b"",
})  # fmt: skip

ARROW_BYTES = _field("arrow", {
    "no UTF-8": b"\xff\xfe", "latin-1 bytes": b"caf\xe9", "surrogate bytes": b"\xed\xa0\x80",
})  # fmt: skip

OBJECTS = _field("python", {
    "an int": 7, "a float": 0.5, "a whole float": 7.0, "a bool": True, "a big int": 2**70,
    "not a number": float("nan"), "some bytes": b"tea", "a decimal": Decimal("4.5"),
    "a time": dt.datetime(2026, 3, 6, 10, tzinfo=dt.UTC),
    "a date": dt.date(2026, 3, 6), "a list": [1, 2], "a dict": {"a": 1}, "a lone surrogate": "\ud800",
})  # fmt: skip

TYPED: Mapping[str, tuple[Field, ...]] = {
    "user": _field("typed", {"missing": None, "0": 0, "-1": -1, "largest": 2**63 - 1, "smallest": -(2**63)}),
    "home": _field("typed", {"missing": None, "largest": 2**63 - 1, "smallest": -(2**63)}),
    "age": _field("typed", {"missing": None, "-1": -1, "largest": 2**63 - 1, "smallest": -(2**63)}),
    "many": _field("typed", {"missing": None, "0": 0, "-1": -1, "2^31": 2**31, "smallest": -(2**63)}),
    "stars": _field("typed", {
        "missing": None, "NaN": float("nan"), "infinite": float("inf"), "-infinite": float("-inf"),
        "largest": 1.7e308, "smallest": 5e-324, "-0": -0.0,
    }),
    "when": _field("typed", {
        "missing": None, "first": -(2**63), "last": 2**63 - 1, "year 1": -62_135_596_800_000_000,
        "2040": 2_224_931_400_000_000, "year 9999": 253_402_300_799_999_999, "1969": -1,
    }),
}  # fmt: skip
"""Values of declared types, by column; times are microseconds."""

Line = Callable[[bytes, str], bytes]
"""Makes a hostile line of a sound one (without its end) and of the column that the role looks at."""


def _delimiter(line: bytes) -> bytes:
    return b";" if b";" in line else b","


def _unclosed(line: bytes, _: str) -> bytes:
    """Leave the quotes of the last cell open."""
    if line.endswith(b'"'):
        return line[:-1]
    delimiter = _delimiter(line)
    return line.rpartition(delimiter)[0] + delimiter + b'"tea'


CSV_LINES: Mapping[str, Line] = {
    "too few cells": lambda line, _: line.rpartition(_delimiter(line))[0],
    "one cell": lambda *_: b"tea",
    "too many cells": lambda line, _: line + 2 * _delimiter(line) + b"x",
    "blank line": lambda *_: b"",
    "blanks alone": lambda *_: b"   ",
    "a quote alone": lambda *_: b'"',
    "unclosed in the last cell": _unclosed,
    "delimiters alone": lambda line, _: _delimiter(line) * 7,
    "no UTF-8 at all": lambda *_: b"\xff\xfe\xff",
    "NUL alone": lambda *_: b"\0",
    "10 kB without cells": lambda *_: LONG.encode(),
    "a header again": lambda *_: b"user,item,place,when,stars,many,age,home",
    "carriage return alone": lambda *_: b"\r",
}


def _without(line: bytes, column: str) -> bytes:
    """Name the key of a column otherwise."""
    return line.replace(b'"%s":' % column.encode(), b'"other":')


def _twice(line: bytes, column: str) -> bytes:
    return line[:-1] + b', "%s": "tea"}' % column.encode()


JSON_LINES: Mapping[str, Line] = {
    "missing key": _without,
    "key twice": _twice,
    "no JSON": lambda *_: b"this is no JSON",
    "a list on a line": lambda *_: b"[1, 2]",
    "a number on a line": lambda *_: b"7",
    "a text on a line": lambda *_: b'"tea"',
    "null on a line": lambda *_: b"null",
    "no keys": lambda *_: b"{}",
    "cut short": lambda line, _: line[: len(line) // 2],
    "not closed": lambda line, _: line[:-1],
    "closed twice": lambda line, _: line + b"}",
    "two on a line": lambda line, _: line + line,
    "comma at the end": lambda line, _: line[:-1] + b",}",
    "blank line": lambda *_: b"",
    "blanks alone": lambda *_: b"   ",
    "blanks around": lambda line, _: b"  " + line + b"\t ",
    "BOM before": lambda line, _: b"\xef\xbb\xbf" + line,
    "NUL alone": lambda *_: b"\0",
    "another key": lambda line, _: line[:-1] + b', "new": {"a": [1, "x"]}}',
    "another key, no UTF-8": lambda line, _: line[:-1] + b', "new": "\xff"}',
    "a key that is no UTF-8": lambda line, _: line[:-1] + b', "\xff": 1}',
    "deep": lambda line, _: line[:-1] + b', "new": ' + b"[" * 3_000 + b"]" * 3_000 + b"}",
    "unclosed brackets": lambda *_: b"[" * 3_000,
    "escaped key": lambda line, column: line.replace(b'"%s":' % column.encode(), b'"\\u0075\\u0073":'),
    "10 kB of no JSON": lambda *_: LONG.encode(),
}
