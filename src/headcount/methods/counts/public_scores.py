"""Public scores of items, declared without looking at the log: which records HPA keeps.

Scores are read from a file or table with the columns ``item`` and ``score``, or given as a mapping. They are
public by declaration: whoever gives them says that no record of the log had a part in them. Nothing is paid for
them then, and a digest in the release says which they were.

Only their order matters, and numbers are compared as they are written: no rounding decides between two items.
"""

from __future__ import annotations

import decimal
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from headcount.bounds.counts.keep_top_scored import DeclaredScores
from headcount.errors import DataError, UnknownNameError, UsageError, param
from headcount.events.encode.text_columns import is_text
from headcount.events.sources.files.formats import reading
from headcount.events.sources.source import open_source

ITEM, SCORE = "item", "score"

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NUMBER = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?\s*", re.ASCII)


@dataclass(frozen=True)
class PublicScores:
    """A score for each of some items; those that score the same items alike are equal.

    A release holds the digest alone, which can be compared and not be used.

    >>> scores = PublicScores.read({"tea": 3, "rye": "0.5"})
    >>> scores.ranked(["rye", "oat", "tea"]).values
    array([1, 0, 2])
    >>> scores == PublicScores.read({"rye": 0.5, "tea": "3.0"})
    True
    """

    digest: str
    scores: Mapping[str, Decimal] | None = field(default=None, repr=False, compare=False)

    @classmethod
    def read(cls, given: Any) -> PublicScores:
        """Read scores from a file, a mapping, or a table with the columns ``item`` and ``score``."""
        if isinstance(given, PublicScores):
            return given
        if isinstance(given, str) and _DIGEST.fullmatch(given):
            return cls(given)
        if isinstance(given, Mapping):
            return cls._read(given.items(), "scores")
        if isinstance(given, str | os.PathLike):
            path = os.fspath(given)
            if not os.path.isfile(path):
                raise DataError(f"the scores {path} are not a file", remedy="check the path given as scores=FILE")
            return cls._read(_rows(path, path), path)
        if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__arrow_c_array__"):
            return cls._read(_rows(given, "the table of scores"), "the table of scores")
        raise UsageError(
            "scores must be a file, a table or a mapping of items to numbers",
            given=given,
            remedy="try scores=FILE",
        )

    @classmethod
    def _read(cls, pairs: Iterable[tuple[Any, Any]], where: str) -> PublicScores:
        scores: dict[str, Decimal] = {}
        for item, score in pairs:
            name = _item(item, where)
            if name in scores:
                raise DataError(f"{where}: column {ITEM!r} lists {name!r} twice", remedy="remove one of them")
            scores[name] = _score(score, name, where)
        if not scores:
            raise DataError(f"{where}: no item has a score", remedy="list at least one, or leave scores out")
        listed = json.dumps([[name, str(scores[name])] for name in sorted(scores)], separators=(",", ":"))
        return cls("sha256:" + hashlib.sha256(listed.encode()).hexdigest(), scores)

    def listed(self, ids: Iterable[str | int]) -> int:
        """Return how many of some items have a score."""
        return sum(str(item_id) in self.by_item for item_id in ids)

    def ranked(self, ids: Sequence[str | int]) -> DeclaredScores:
        """Return whole numbers in the order of the scores, the best one largest; 0 for items without one."""
        scores = self.by_item
        places = {score: place for place, score in enumerate(sorted(set(scores.values())), 1)}
        return DeclaredScores(np.array([places[scores[name]] if name in scores else 0 for name in map(str, ids)]))

    @property
    def by_item(self) -> Mapping[str, Decimal]:
        """The scores themselves; refused where there is only a digest."""
        if self.scores is None:
            raise UsageError(
                f"of the scores {self.digest} only the digest is known",
                remedy=f"give what they were read from, with {param.option({'scores': 'FILE'})}",
            )
        return self.scores

    def __str__(self) -> str:
        return self.digest


def _rows(source: Any, where: str) -> Iterable[tuple[Any, Any]]:
    opened = open_source(source)
    for name in (ITEM, SCORE):
        if name not in opened.names:
            raise UnknownNameError.among("column", name, opened.names, where=where)
    with reading(where):
        batches = list(opened.batches([ITEM, SCORE]))
    for batch in batches:
        yield from zip(_values(batch.column(ITEM)), _values(batch.column(SCORE)), strict=True)


def _values(column: pa.Array) -> list[Any]:
    values: list[Any] = (column.cast(pa.string()) if is_text(column.type) else column).to_pylist()
    return values


def _item(given: Any, where: str) -> str:
    """Return an item as text: 7 and "7" are one item, as in a catalogue."""
    plain = given.item() if hasattr(given, "item") else given
    if plain is None or plain == "":
        raise DataError(f"{where}: column {ITEM!r} has a row without an item", remedy="remove it or correct it")
    if isinstance(plain, bool) or not isinstance(plain, str | int):
        raise DataError(f"{where}: column {ITEM!r} must hold text or whole numbers", given=given, remedy="cast it")
    return str(plain)


def _score(given: Any, item: str, where: str) -> Decimal:
    """Return a score as it is written, in one form.

    >>> [str(_score(value, "tea", "scores")) for value in (3, "3.0", 0.1, "-0", "25e1")]
    ['3', '3', '0.1', '0', '2.5E+2']
    """
    plain = given.item() if hasattr(given, "item") else given
    text = repr(plain) if isinstance(plain, float) else str(plain)
    if plain is None or isinstance(plain, bool) or not _NUMBER.fullmatch(text):
        held = "none" if plain is None or text == "" else repr(plain)
        raise DataError(
            f"{where}: column {SCORE!r} must hold numbers, and {item!r} has {held}",
            remedy="write one, such as 12 or 0.5, or remove the row: items without a score are picked last",
        )
    exact = Decimal(text.strip())
    digits = decimal.Context(prec=len(exact.as_tuple().digits), Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
    return exact.normalize(digits) or Decimal(0)
