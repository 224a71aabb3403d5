"""A release as a value: tables, guarantee, noise, intervals; read from and written to a folder.

Names, digest and replacement of the folder's files are in ``folder_files``.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from headcount._internal.files import fsync_paths
from headcount._internal.notebook_display import Picture, report_function
from headcount._internal.python_surface import class_errors_in_python
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.accounting.noise_distributions import NoiseDistribution, noise_distribution_from_json
from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError, param
from headcount.releases import top_k as answers
from headcount.releases.folder_integrity import (
    TABLE,
    PublishedFolder,
    files_of,
    folder_digest,
    move_into_place,
    refuse_existing,
)
from headcount.releases.formatting import per_cent

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

FORMAT = "headcount-release"
VERSION = 1

UNCOVERED = "Noise may hide "
"""How the step of a release begins that says which users its intervals do not cover."""

_CAP = re.compile(r"at most ([\d,]+) ")
_NUMBERS = {"count": "count", "value": "total", "answer": "answer"}
"""What the numbers of a released column are called that have an interval beside them."""


def moment() -> str:
    """Return the time, as a release is dated."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True)
class Interval:
    """What ``low`` and ``high`` mean: how sure, and of which count."""

    level: float = 0.95
    covers: str = "bounded"
    """``bounded``: the count of what each person was allowed to add; ``smoothed``: that count as the method
    smoothed it, so that what smoothing takes away is not in the interval; ``true``: the count of everything."""
    average: bool = False
    """Whether that many intervals hold on average over the table, and not each one by itself."""

    def to_json(self) -> dict[str, Any]:
        """Return the interval as plain data."""
        data: dict[str, Any] = {"level": self.level, "covers": self.covers}
        return data | {"average": True} if self.average else data


@class_errors_in_python
@dataclass(frozen=True, kw_only=True)
class Release:
    """Private tables with their guarantee, noise and story.

    ``bounded`` says in words what a person could add at most (``"at most 10 records per person"``);
    ``chosen`` holds, per table, the parameters that a charged mechanism chose; ``steps`` says in plain sentences
    what was done. With a ledger, ``on_save`` notes there where the release is first written, and ``earlier`` is
    the folder of a release that was published already and cost nothing now.
    """

    method: str
    guarantee: Guarantee
    noise: Mapping[str, NoiseDistribution]
    tables: Mapping[str, pa.Table]
    contexts: tuple[str, ...] | None = None
    context_name: str | None = None
    interval: Interval = field(default_factory=Interval)
    counts: str = "records"
    bounded: str = ""
    chosen: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    catalogue: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    ledger: Mapping[str, Any] | None = None
    simulated: bool = False
    created: str = field(default_factory=moment)
    on_save: Callable[[Path, str], object] | None = field(default=None, repr=False, compare=False)
    earlier: PublishedFolder | None = field(default=None, repr=False, compare=False)

    @property
    def items(self) -> pa.Table:
        """The item counts: item, label, count, low, high."""
        return self._table("items")

    @property
    def edges(self) -> pa.Table:
        """The item-by-context counts: item, context, count, low, high."""
        return self._table("edges")

    @property
    def ranking(self) -> pa.Table:
        """The best items, directly ranked: rank, item, label, and context and counts if these were asked for."""
        return self._table("ranking")

    @property
    def totals(self) -> pa.Table:
        """Totals over all people: total, value, low, high."""
        return self._table("totals")

    @property
    def answers(self) -> pa.Table:
        """The answers to queries: query, cell of a GROUP BY, answer, low, high."""
        return self._table("answers")

    @property
    def activity(self) -> pa.Table:
        """How many people have how many records, where a method released it: from, to, users, low, high."""
        return self._table("activity")

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a pandas frame: the first one, or that of a name such as ``edges``."""
        _library("pandas")
        frame: pd.DataFrame = self.bounded_table(table or next(iter(self.tables), "items")).to_pandas()
        return frame

    def to_polars(self, table: str | None = None) -> pl.DataFrame:
        """Return a table as a Polars frame: the first one, or that of a name such as ``edges``."""
        name = table or next(iter(self.tables), "items")
        frame: pl.DataFrame = _library("polars").from_arrow(self.bounded_table(name))
        return frame

    def bounded_table(self, name: str) -> pa.Table:
        """Return a table as frames and spreadsheets show it: totals say with how many records a user counts."""
        table, cap = self._table(name), _CAP.match(self.bounded)
        if "value" not in table.column_names or cap is None:
            return table
        most = pa.array([int(cap[1].replace(",", ""))] * table.num_rows, pa.int64())
        return table.append_column("max_records", most)

    def plot(self, what: Literal["items", "contexts", "activity"] | None = None) -> Picture:
        """Draw the largest counts, those by context, or how active people are; by default the first it has."""
        drawn: Picture = report_function("notebook", "picture")(self, what)
        return drawn

    def report(self, to: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the release as one self-contained web page, and return its path."""
        written: Path = report_function("write", "report")(self, to, force=force)
        return written

    def _repr_html_(self) -> str:
        return str(report_function("notebook", "card")(self))

    def __repr__(self) -> str:
        held = ", ".join(f"{name} ({table.num_rows:,})" for name, table in self.tables.items())
        return f"<Release by {self.method}: {self.guarantee.short()}; {held}>"

    def top(self, k: int = 10, context: str | None = None) -> list[dict[str, Any]]:
        """Return the ``k`` largest counts, overall or in one context, as plain rows; or the best of a ranking."""
        if "ranking" in self.tables:
            return answers.top_of_ranking(self.ranking, self.contexts, k, context)
        if context is None:
            return answers.top(self.items, k)
        rows = answers.top(answers.in_context(self.edges, self.contexts or (), context), k)
        labels = self._labels()
        order = ("rank", "item", "label", "count", "low", "high", "context")
        return [{name: {**row, "label": labels.get(row["item"])}[name] for name in order} for row in rows]

    def explain(self) -> str:
        """Say in numbered plain sentences what was done and what is promised."""
        return "\n".join(f"{number}. {sentence}" for number, sentence in enumerate(self.sentences(), 1))

    def sentences(self) -> tuple[str, ...]:
        """Return the sentences that :meth:`explain` numbers."""
        level = per_cent(self.interval.level)
        sure = f"in {level} of all rows, on average" if self.interval.average else f"with probability {level}"
        number = self.number
        counted = [f"Each {number} comes with an interval, low to high, that encloses {self.covered} {sure}."]
        closing = [*(counted if self.noise and number else ()), self.guarantee.sentence()]
        if self.guarantee.assumes:
            closing.append("This takes for granted: " + "; ".join(self.guarantee.assumes) + ".")
        if self.simulated:
            closing.append("The noise came from a seeded source, for tests: this output is not private.")
        charged = (
            f"Charged to ledger entry {self.ledger['entry']}."
            if self.ledger
            else (
                "Not charged to any ledger: privacy loss adds up over releases, and nobody is counting this one."
            )
        )
        return (*self.steps, *closing, charged)

    @property
    def number(self) -> str | None:
        """What is released with an interval beside it, a count or something else; a ranking, or a model, has none.

        The tables of a model are what is inside it.
        """
        held = (table.column_names for name, table in self.tables.items() if "/" not in name)
        return next((word for names in held for column, word in _NUMBERS.items() if column in names), None)

    @property
    def covered(self) -> str:
        """What the intervals enclose, in words."""
        words = {
            "true": "the true count",
            "bounded": f"the exact {'count' if self.number in (None, 'count') else 'one'} of {self.bounded}",
            "smoothed": f"the smoothed count, not the exact one, of {self.bounded}",
        }
        return words[self.interval.covers]

    @property
    def uncovered(self) -> str | None:
        """Which users the intervals do not cover, in words; None where they cover everybody."""
        return next((step for step in self.steps if step.startswith(UNCOVERED)), None)

    @property
    def is_private(self) -> bool:
        """Whether the promise is proven and the noise was real."""
        return self.guarantee.standing is Standing.PROVEN and not self.simulated

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write the release folder whole, or not at all; with a ledger, note there that it is published."""
        target = Path(folder)
        refuse_existing(target, force=force)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            aside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
            try:
                if self.earlier is None:
                    self._write(aside)
                else:
                    self.earlier.copy_to(aside)
                digest = folder_digest(aside) if self.on_save is not None else ""
                aside.chmod(0o755)
                if self.on_save is not None:  # what a ledger calls published must survive a power failure
                    fsync_paths(*(aside / name for name in files_of(aside)), aside)
                move_into_place(aside, target)
                if self.on_save is not None:
                    fsync_paths(target.parent)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        except OSError as error:
            raise SurroundingsError.writing(target, error, param.out) from error
        if self.on_save is not None:
            try:
                self.on_save(target.resolve(), digest)
            except HeadcountError as error:
                raise SurroundingsError(
                    f"{target} is written and charged, but the ledger could not note it ({error.problem})",
                    remedy="keep the folder: asking for it again would be charged as new",
                ) from error
        return target

    def _write(self, folder: Path) -> None:
        for name, table in self.tables.items():
            (folder / name).parent.mkdir(exist_ok=True)
            pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
        text = json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"
        (folder / "release.json").write_text(text, encoding="utf-8")

    def to_json(self) -> dict[str, Any]:
        """Return everything but the tables as plain data: the content of ``release.json``."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "created": self.created,
            "method": self.method,
            "request": dict(self.request),
            "guarantee": self.guarantee.to_json(),
            "noise": {name: distribution.to_json() for name, distribution in self.noise.items()},
            "interval": self.interval.to_json(),
            "counts": self.counts,
            "bounded": self.bounded,
            "chosen": {table: dict(values) for table, values in self.chosen.items()},
            "contexts": None if self.contexts is None else list(self.contexts),
            "context_name": self.context_name,
            "steps": list(self.steps),
            "catalogue": self.catalogue,
            "tables": list(self.tables),
            "ledger": None if self.ledger is None else dict(self.ledger),
            "simulated": self.simulated,
        }

    def _labels(self) -> dict[Any, str | None]:
        if "items" not in self.tables:
            return {}
        return dict(zip(self.items["item"].to_pylist(), self.items["label"].to_pylist(), strict=True))

    def _table(self, name: str) -> pa.Table:
        if name not in self.tables:
            held, remedy = next(iter(self.tables), ""), f"it holds {', '.join(self.tables)}"
            counts = {"items", "edges"}
            if "/" in held:
                remedy = f"it is a model: see headcount neighbours {param.help}, or headcount tags {param.help}"
            elif name in counts and counts & set(self.tables):
                remedy += f"; release again with {param.what('both')}, which costs ε again"
            elif held and "item" not in self.tables[held].column_names:
                remedy += ", which are not per item; headcount report and headcount export show them"
            raise UsageError(f"this release holds no {name}", remedy=remedy)
        return self.tables[name]


def _library(name: str) -> Any:
    """Import a library that a frame is made with, which Headcount itself does without."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise UsageError(
            f"{name} is not installed", remedy=f"pip install {name}; or use the Arrow tables"
        ) from error


def _table_in(file: Path) -> pa.Table:
    """Read one file, and import nothing that reads datasets of many."""
    with file.open("rb") as content, pq.ParquetFile(content) as parquet:
        return parquet.read()


def load(folder: str | os.PathLike[str]) -> Release:
    """Read a release folder back."""
    path = Path(folder)
    try:
        data = json.loads((path / "release.json").read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise DataError(f"{path}/release.json holds no description", remedy="release again, or restore it")
        if data.get("format") != FORMAT or data.get("version", 0) > VERSION:
            raise DataError(
                f"{path}/release.json has format {data.get('format')!r}, version {data.get('version')!r}",
                remedy=f"this program reads {FORMAT}, version {VERSION} or older",
            )
        if strange := [name for name in data["tables"] if not TABLE.fullmatch(name)]:
            raise ValueError(f"no table is named {strange[0]!r}")
        tables = {name: _table_in(path / f"{name}.parquet") for name in data["tables"]}
        return Release(
            method=data["method"],
            guarantee=Guarantee.from_json(data["guarantee"]),
            noise={
                name: noise_distribution_from_json(distribution) for name, distribution in data["noise"].items()
            },
            tables=tables,
            contexts=None if data["contexts"] is None else tuple(data["contexts"]),
            context_name=data["context_name"],
            interval=Interval(**data["interval"]),
            counts=data["counts"],
            bounded=data["bounded"],
            chosen=data.get("chosen", {}),
            steps=tuple(data["steps"]),
            catalogue=data["catalogue"],
            request=data["request"],
            ledger=data["ledger"],
            simulated=data["simulated"],
            created=data["created"],
        )
    except FileNotFoundError as error:
        raise DataError(
            f"{path} is not a release folder: {Path(error.filename or str(error)).name} is missing",
            remedy="give the folder that `headcount release --out` wrote",
        ) from error
    except NotADirectoryError as error:
        raise DataError(
            f"{path} is a file", remedy="give the folder that `headcount release --out` wrote"
        ) from error
    except (KeyError, TypeError, ValueError, ArithmeticError, pa.ArrowException) as error:
        raise DataError(f"{path} is damaged ({error})", remedy="release again, or restore it") from error
    except OSError as error:
        if error.errno is None:  # Arrow's word for what it cannot decode
            raise DataError(f"{path} is damaged ({error})", remedy="release again, or restore it") from error
        raise SurroundingsError(f"{path} cannot be read ({error.strerror or error})") from error


def load_earlier(folder: str, digest: str) -> Release | None:
    """Read a release that was published before, None if it is gone or is not what was published."""
    path = Path(folder)
    try:
        if folder_digest(path) != digest:
            return None
        return replace(load(path), earlier=PublishedFolder(path, digest))
    except (OSError, DataError, SurroundingsError):
        return None
