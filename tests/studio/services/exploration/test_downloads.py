"""What can be taken home."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import DataError
from headcount.releases.folder_integrity import folder_digest
from headcount.releases.release import load
from headcount.studio.services.exploration.downloads import csv_of, parquet_of, zip_of
from tests.reports.conftest import make


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_text_of_a_csv_file_is_a_formula(begin: str) -> None:
    evil = begin + 'HYPERLINK("http://x")'
    table = pa.table({"item": [evil, "tea"], begin + "odd": ["a", evil], "count": [-1.5, 2.0]})
    rows = list(csv.reader(io.StringIO(csv_of(table).decode(), newline="")))
    assert rows[1] == ["'" + evil, "a", "-1.5"]
    assert rows[2][:2] == ["tea", "'" + evil]
    assert rows[0] == ["item", f"'{begin}odd", "count"]


def test_parquet_is_what_was_released() -> None:
    table = make().items
    assert pq.read_table(io.BytesIO(parquet_of(table))).equals(table)


def test_a_zip_holds_the_release_and_nothing_else(tmp_path: Path) -> None:
    release = make(contexts=("Monday",))
    folder = release.save(tmp_path / "one")
    (folder / "secret.txt").write_text("no", encoding="utf-8")
    packed = zip_of(folder, list(release.tables), folder_digest(folder))
    with zipfile.ZipFile(io.BytesIO(packed)) as held:
        assert sorted(held.namelist()) == ["edges.parquet", "items.parquet", "release.json"]
        assert {info.date_time for info in held.infolist()} == {(1980, 1, 1, 0, 0, 0)}  # not when it was made
        held.extractall(tmp_path / "two")
    assert folder_digest(tmp_path / "two") == folder_digest(folder)
    assert load(tmp_path / "two").top(1) == release.top(1)


@pytest.mark.parametrize("swap", [Path.symlink_to, Path.hardlink_to])
def test_a_zip_holds_no_file_that_was_put_in_place_of_a_table(tmp_path: Path, swap: Any) -> None:
    release = make(contexts=("Monday",))
    folder = release.save(tmp_path / "one")
    digest, secret = folder_digest(folder), tmp_path / "studio.db"
    secret.write_bytes(b"not released")
    (folder / "items.parquet").unlink()
    swap(folder / "items.parquet", secret)
    with pytest.raises(DataError, match="not what was released"):
        zip_of(folder, list(release.tables), digest)
