"""A release's tables as CSV files or one Excel workbook, each with the guarantee beside the numbers."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow.csv as pacsv

from headcount.errors import SurroundingsError, UsageError
from headcount.releases import Release

_EXCEL_ROWS = 1_048_575  # beside the header


def write_sheets(release: Release, folder: Path, shape: str, *, force: bool = False) -> list[Path]:
    """Write the tables and an ``about`` to a folder; files are written aside and put in place whole."""
    names = [f"{name}.csv" for name in release.tables] + ["about.txt"] if shape == "csv" else ["release.xlsx"]
    for name in names:
        if (folder / name).exists() and not force:
            raise UsageError(f"{folder / name} exists already", remedy="choose another --to, or add --force")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            aside = folder / f".{name}.part"
            try:
                _write(release, name, aside)
                os.replace(aside, folder / name)
            finally:
                aside.unlink(missing_ok=True)
    except OSError as error:
        raise SurroundingsError(f"cannot write to {folder} ({error.strerror or error})") from error
    return [folder / name for name in names]


def _write(release: Release, name: str, path: Path) -> None:
    if name.endswith(".csv"):
        pacsv.write_csv(release.tables[name.removesuffix(".csv")], path)
    elif name.endswith(".txt"):
        path.write_text(release.explain() + "\n", encoding="utf-8")
    else:
        _write_workbook(release, path)


def _write_workbook(release: Release, path: Path) -> None:
    import xlsxwriter  # noqa: PLC0415

    for name, table in release.tables.items():
        if table.num_rows > _EXCEL_ROWS:
            raise UsageError(
                f"{name} has {table.num_rows:,} rows, more than a sheet can hold", remedy="use --format csv"
            )
    # ids and labels are written as text: nothing in a release may become a formula
    with xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        heading = book.add_format({"bold": True, "bottom": 1})
        number = book.add_format({"num_format": "#,##0.0"})
        wrapped = book.add_format({"text_wrap": True, "valign": "top"})
        for name, table in release.tables.items():
            sheet = book.add_worksheet(name)
            sheet.freeze_panes(1, 0)
            for column, field in enumerate(table.column_names):
                values = table[field].to_pylist()
                sheet.write_string(0, column, field, heading)
                sheet.write_column(1, column, values, number if field in ("count", "low", "high") else None)
                sheet.set_column(column, column, 24 if field in ("item", "label", "context") else 12)
        about = book.add_worksheet("about")
        about.set_column(0, 0, 110)
        for row, sentence in enumerate(release.sentences()):
            about.write_string(row, 0, sentence, wrapped)
