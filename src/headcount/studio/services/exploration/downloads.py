"""Downloads: a table as CSV or Parquet, and the release folder as a ZIP.

A spreadsheet takes a text that begins with one of ``= + - @`` for a formula, and would run it. In CSV such a text
begins with an apostrophe instead; Parquet and the ZIP hold everything as it was released.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from headcount.errors import DataError
from headcount.releases.folder_integrity import digest_of
from headcount.reports.write import flat

_FORMULA = r"^[=+\-@\t\r\n]"


def csv_of(table: pa.Table) -> bytes:
    r"""Return a table as CSV that is safe to open in a spreadsheet.

    >>> csv_of(pa.table({"item": ["tea", "=1+1", None], "count": [-3.0, 2.0, 1.0]})).decode().splitlines()[1:]
    ['"tea",-3', '"\'=1+1",2', ',1']
    """
    held = io.BytesIO()
    pacsv.write_csv(escape_formulas(flat(table)), held)
    return held.getvalue()


def escape_formulas(table: pa.Table) -> pa.Table:
    """Return a table in which no text, and no name of a column, is a formula."""
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            texts = table[field.name]
            safe = pc.if_else(
                pc.match_substring_regex(texts, _FORMULA), pc.binary_join_element_wise("'", texts, ""), texts
            )
            table = table.set_column(place, field.name, safe)
    names = [f"'{name}" if name[:1] in "=+-@\t\r\n" and name else name for name in table.column_names]
    return table.rename_columns(names)


def parquet_of(table: pa.Table) -> bytes:
    """Return a table as a Parquet file."""
    held = io.BytesIO()
    pq.write_table(table, held, compression="zstd")
    return held.getvalue()


def zip_of(folder: Path, tables: list[str], digest: str) -> bytes:
    """Return the files of a release as a ZIP: nothing else of its folder, and not when they were made.

    The bytes that are sent have the ``digest`` of the release: a file on the disk may be another one by now.
    """
    held = io.BytesIO()

    def packed_files() -> Iterator[tuple[str, bytes]]:
        for name in ("release.json", *sorted(f"{table}.parquet" for table in tables)):
            path = folder / name
            content = b"" if path.is_symlink() or not path.is_file() else path.read_bytes()
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, content)
            yield name, content

    with zipfile.ZipFile(held, "w", zipfile.ZIP_STORED) as packed:  # Parquet is compressed already
        same = digest_of(packed_files()) == digest
    if not same:
        raise DataError("the files of this release are gone, or are not what was released", remedy="restore them")
    return held.getvalue()
