"""Write a release as a web page, as CSV files or as one Excel workbook, with the guarantee beside its tables."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from headcount.engines.engine import Progress, silent
from headcount.errors import SurroundingsError, UsageError, in_python, param
from headcount.releases.release import Release

EXCEL_ROWS = 1_048_575  # beside the header
_EXCEL_LETTERS = 32_767  # in one cell
_EXCEL_DIGITS = 10**15  # whole numbers from here on are rounded by spreadsheets
_CHUNK = 10_000
_NUMBERS = ("count", "low", "high", "users", "value")


def report(release: Release, to: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a release as one self-contained web page, and return its path.

    Parameters:
        release: What to write.
        to: The page to write, such as "friday.html".
        force: Replace a file that is there already.
    """
    if Path(to).is_file() and not force:
        raise UsageError.taken(to, param.to)
    from headcount.reports.release import write_release_page

    return write_release_page(release, to)


def export(
    release: Release,
    to: str | os.PathLike[str],
    *,
    format: Literal["csv", "xlsx"] | None = None,  # noqa: A002  (the name of the flag)
    force: bool = False,
) -> list[Path]:
    """Write the tables of a release, with what they promise, as CSV or Excel files, and return their paths.

    Parameters:
        release: What to write.
        to: The folder to write to, or a workbook such as "friday.xlsx".
        format: Which files: "csv", one for each table, or "xlsx", one workbook. By default the ending decides.
        force: Replace files that are there already.
    """
    if format not in (None, "csv", "xlsx"):
        raise UsageError(f"{param.format} must be csv or xlsx", given=format)
    return write_sheets(release, Path(to), format, force=force)


def write_sheets(
    release: Release,
    folder: Path,
    shape: str | None = None,
    *,
    force: bool = False,
    progress: Progress = silent,
) -> list[Path]:
    """Write the tables and an ``about`` to a folder, all files or none, or to a workbook named ``.xlsx``."""
    ending = "" if folder.is_dir() else folder.suffix.lower()
    if ending == ".xlsx" and shape != "csv":
        folder, names = folder.parent, [folder.name]
    elif ending in (".csv", ".xlsx") and not folder.exists():
        raise UsageError(
            f"{folder} names a file, and CSV tables need a folder", remedy=f"try {param.to('sheets')}"
        )
    else:
        csv = [*(f"{name}.csv" for name in release.tables), "about.txt"]
        names = ["release.xlsx"] if shape == "xlsx" else csv
    _refuse(release, folder, names, force=force)
    is_new = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".export.", dir=folder))
        try:
            for name in names:
                (aside / name).parent.mkdir(exist_ok=True)
                _write(release, name, aside / name, progress)
            for name in names:
                (folder / name).parent.mkdir(exist_ok=True)
                os.replace(aside / name, folder / name)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            if is_new and not any(folder.iterdir()):
                folder.rmdir()
    except OSError as error:
        raise SurroundingsError.writing(folder, error, param.to) from error
    return [folder / name for name in names]


def _refuse(release: Release, folder: Path, names: Sequence[str], *, force: bool) -> None:
    """Refuse before any work what could not be written, or would overwrite something."""
    above = next((ancestor for ancestor in (folder, *folder.absolute().parents) if ancestor.exists()), None)
    if above is not None and not above.is_dir():
        raise UsageError(
            f"{above} is a file", remedy=in_python("give a folder", otherwise=f"give a folder to {param.to}")
        )
    for name in names:
        if (folder / name).exists() and not force:
            raise UsageError.taken(folder / name, param.to)
    if not names[0].lower().endswith(".xlsx"):
        return
    for name, table in release.tables.items():
        if table.num_rows > EXCEL_ROWS:
            raise UsageError(
                f"{name} has {table.num_rows:,} rows, more than the {EXCEL_ROWS:,} a sheet can hold",
                remedy=f"use {param.format('csv')}",
            )
        for field in table.schema:
            if pa.types.is_string(field.type) and _longest(table[field.name]) > _EXCEL_LETTERS:
                raise UsageError(
                    f"{name} has a {field.name} of more than {_EXCEL_LETTERS:,} letters, too many for a cell",
                    remedy=f"use {param.format('csv')}",
                )


def _write(release: Release, name: str, path: Path, progress: Progress) -> None:
    if path.suffix == ".csv":
        progress(f"writing {path.name}", 0, None)
        pacsv.write_csv(flat(release.bounded_table(name.removesuffix(".csv"))), path)
    elif path.suffix == ".txt":
        path.write_text("\n".join(_about(release)) + "\n", encoding="utf-8")
    else:
        _write_workbook(release, path, progress)


def flat(table: pa.Table) -> pa.Table:
    """Return a table whose cells a text file can hold: lists become JSON.

    >>> flat(pa.table({"item": ["tea"], "factors": [[0.5, -1.0]]})).to_pylist()
    [{'item': 'tea', 'factors': '[0.5, -1.0]'}]
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            texts = [None if value is None else json.dumps(value) for value in table[field.name].to_pylist()]
            table = table.set_column(place, field.name, pa.array(texts, pa.string()))
    return table


def _about(release: Release) -> list[str]:
    warning = [] if release.is_private else ["NOT PRIVATE: for research alone."]
    return [*warning, *release.explain().split("\n")]


def _write_workbook(release: Release, path: Path, progress: Progress) -> None:
    import xlsxwriter
    from xlsxwriter.exceptions import FileCreateError

    # rows are written as they come; temporary files lie beside the workbook and go with it
    book = xlsxwriter.Workbook(str(path), {"constant_memory": True, "tmpdir": str(path.parent)})
    try:
        if not release.is_private:
            _write_about(book, release)
        for name in release.tables:
            _write_table(book, name, release.bounded_table(name), progress)
        if release.is_private:
            _write_about(book, release)
        progress("writing the workbook", 0, None)
        book.close()
    except BaseException as error:
        for sheet in book.worksheets():
            with contextlib.suppress(OSError):
                sheet.row_data_fh.close()
        if isinstance(error, FileCreateError) and error.args and isinstance(error.args[0], OSError):
            raise error.args[0] from error  # what the system said
        raise


def _write_about(book: Any, release: Release) -> None:
    sheet = book.add_worksheet("about")
    sheet.set_column(0, 0, 110)
    wrapped = book.add_format({"text_wrap": True, "valign": "top"})
    warning = book.add_format({"text_wrap": True, "bold": True, "font_color": "#b00020"})
    for row, sentence in enumerate(_about(release)):
        sheet.write_string(row, 0, sentence, warning if row == 0 and not release.is_private else wrapped)


def _write_table(book: Any, name: str, table: pa.Table, progress: Progress) -> None:
    sheet = book.add_worksheet(name.replace("/", " "))  # which a sheet's name cannot hold
    heading = book.add_format({"bold": True, "bottom": 1})
    number = book.add_format({"num_format": "#,##0.0"})
    sheet.freeze_panes(1, 0)
    writers = []
    for column, field in enumerate(table.column_names):
        sheet.set_column(column, column, 12 if field in _NUMBERS else 24)
        sheet.write_string(0, column, field, heading)
        writers.append(_writer(sheet, table[field], number if field in _NUMBERS else None))
    for start in range(0, table.num_rows, _CHUNK):
        progress(f"writing {name}", start, table.num_rows)
        columns = [column.to_pylist() for column in table.slice(start, _CHUNK).columns]
        for row, values in enumerate(zip(*columns, strict=True), start + 1):
            for column, value in enumerate(values):
                if value is not None:
                    writers[column](row, column, value)


def _writer(sheet: Any, values: pa.ChunkedArray, style: Any) -> Callable[[int, int, Any], object]:
    """Return how a column's cells are written: text always as text, so that nothing becomes a formula."""
    if pa.types.is_integer(values.type):
        extremes = pc.min_max(values).as_py()
        exact = values.null_count == len(values) or max(-extremes["min"], extremes["max"]) < _EXCEL_DIGITS
        if exact:
            return lambda row, column, value: sheet.write_number(row, column, value, style)
    elif pa.types.is_floating(values.type):
        return lambda row, column, value: sheet.write_number(row, column, value, style)
    return lambda row, column, value: sheet.write_string(row, column, str(value), style)


def _longest(values: pa.ChunkedArray) -> int:
    return int(pc.max(pc.utf8_length(values)).as_py() or 0)
