"""Exports: tables that open in a spreadsheet with the right types, nothing executed, the promise beside them."""

from __future__ import annotations

import csv
import errno
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow as pa
import pytest

from headcount.accounting.guarantee import Guarantee, Standing
from headcount.errors import SurroundingsError, UsageError
from headcount.releases.release import Release
from headcount.reports import write
from headcount.reports.write import write_sheets

Make = Callable[..., Release]

DAYS = ("Friday", "Saturday")
NASTY = [
    "=1+1",
    '=HYPERLINK("http://x")',
    "+1",
    "-1",
    "@SUM(A1)",
    "http://example.org",
    "{=1}",
    "007",
    "1e5",
    "TRUE",
]


def book_of(release: Release, folder: Path) -> Any:
    (path,) = write_sheets(release, folder, "xlsx")
    return openpyxl.load_workbook(path)


def test_a_workbook_holds_every_table_and_the_guarantee(release: Make, tmp_path: Path) -> None:
    saved = release(contexts=DAYS)
    book = book_of(saved, tmp_path)
    assert book.sheetnames == ["items", "edges", "about"]
    rows = list(book["items"].iter_rows(values_only=True))
    assert rows[0] == ("item", "label", "count", "low", "high")
    assert [row[0] for row in rows[1:]] == saved.items["item"].to_pylist()
    assert [row[2] for row in rows[1:]] == pytest.approx(saved.items["count"].to_pylist(), rel=1e-12)
    assert {cell.data_type for row in book["items"].iter_rows(min_row=2, min_col=3) for cell in row} == {"n"}
    edges = list(book["edges"].iter_rows(values_only=True))
    assert [row[1] for row in edges[1:4]] == ["Friday", "Saturday", None]
    about = [row[0] for row in book["about"].iter_rows(values_only=True)]
    assert about == saved.explain().split("\n")
    assert book["items"].freeze_panes == "A2"


def test_nothing_becomes_a_formula_a_link_or_a_number(release: Make, tmp_path: Path) -> None:
    book = book_of(release(items=NASTY, labels=NASTY), tmp_path)
    for row, text in zip(book["items"].iter_rows(min_row=2, max_col=2), NASTY, strict=True):
        for cell in row:
            assert (cell.value, cell.data_type, cell.hyperlink) == (text, "s", None)


def test_whole_number_ids_are_numbers_unless_they_would_be_rounded(release: Make, tmp_path: Path) -> None:
    small = book_of(release(items=[1, 2, 30]), tmp_path / "a")["items"]
    assert [cell.value for cell in small["A"]][1:] == [1, 2, 30]
    large = [2**63 - 1, -(2**63), 9_007_199_254_740_993]
    shown = book_of(release(items=large), tmp_path / "b")["items"]
    assert [cell.value for cell in shown["A"]][1:] == [str(number) for number in large]


def test_missing_labels_are_empty_cells(release: Make, tmp_path: Path) -> None:
    book = book_of(release(items=["a", "b"], labels=["A", None]), tmp_path)
    assert [cell.value for cell in book["items"]["B"]] == ["label", "A", None]


def test_text_that_a_workbook_must_escape(release: Make, tmp_path: Path) -> None:
    odd = ["<b>&\"'", "line\nbreak", "Ω 🎈", " spaces ", "tab\there"]
    book = book_of(release(items=odd, labels=odd), tmp_path)
    assert [cell.value for cell in book["items"]["A"]][1:] == odd


def test_csv_files_hold_every_digit(release: Make, tmp_path: Path) -> None:
    saved = release(items=["tea, iced", 'say "rye"'], labels=["=1+1", None], contexts=DAYS)
    files = write_sheets(saved, tmp_path, "csv")
    assert [path.name for path in files] == ["items.csv", "edges.csv", "about.txt"]
    with files[0].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["item"] for row in rows] == ["tea, iced", 'say "rye"']
    assert [row["label"] for row in rows] == ["=1+1", ""]
    assert [float(row["count"]) for row in rows] == saved.items["count"].to_pylist()
    assert files[2].read_text(encoding="utf-8") == saved.explain() + "\n"


def test_lists_are_json_in_a_text_file(release: Make, tmp_path: Path) -> None:
    """A model of ratings has a list of factors for each item."""
    saved = release()
    table = pa.table({"item": ["tea", "rye"], "factors": pa.array([[0.5, -1.0], None])})
    write_sheets(replace(saved, tables={"model/items": table}), tmp_path, "csv")
    with (tmp_path / "model/items.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [
            {"item": "tea", "factors": "[0.5, -1.0]"},
            {"item": "rye", "factors": ""},
        ]


@pytest.mark.parametrize(
    ("error", "mend"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "allow writing there"),
        (OSError(errno.ENOSPC, "No space left on device"), "free space"),
        (OSError(errno.EROFS, "Read-only file system"), "mend that"),
    ],
)
def test_what_cannot_be_written_says_what_would_help(error: OSError, mend: str) -> None:
    assert f"; {mend} or choose another --to" in str(SurroundingsError.writing("sheets", error, "--to"))


def test_what_is_not_private_says_so_first(release: Make, tmp_path: Path) -> None:
    claimed = Guarantee(epsilon=Decimal(1), standing=Standing.CLAIMED, reason="it leaks")
    changes: tuple[dict[str, Any], ...] = ({"guarantee": claimed}, {"simulated": True})
    for number, change in enumerate(changes):
        saved = release(**change)
        book = book_of(saved, tmp_path / str(number))
        assert book.sheetnames[0] == "about"
        assert book["about"]["A1"].value.startswith("NOT PRIVATE")
        files = write_sheets(saved, tmp_path / str(number), "csv")
        assert files[-1].read_text(encoding="utf-8").startswith("NOT PRIVATE")


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["csv", "xlsx"])
def test_a_large_table_is_written_whole(release: Make, tmp_path: Path, shape: str) -> None:
    items = [f"item{n}" for n in range(60_000)]
    saved = release(items=items, labels=[None] * len(items), sizes=[float(n) for n in range(len(items))])
    steps: list[tuple[str, int, int | None]] = []
    files = write_sheets(saved, tmp_path, shape, progress=lambda *step: steps.append(step))
    if shape == "csv":
        assert files[0].read_text(encoding="utf-8").count("\n") == 60_001
    else:
        with closing(openpyxl.load_workbook(files[0], read_only=True)) as book:
            last = list(book["items"].iter_rows(min_row=60_001, values_only=True))
        assert [row[0] for row in last] == ["item59999"]
    assert steps
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_more_rows_than_a_sheet_holds_are_refused_before_any_work(
    release: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "EXCEL_ROWS", 29)
    with pytest.raises(UsageError, match=r"items has 30 rows, more than the 29 .* use --format csv"):
        write_sheets(release(), tmp_path / "new", "xlsx")
    assert not (tmp_path / "new").exists()
    assert write_sheets(release(), tmp_path / "new", "csv")


def test_more_letters_than_a_cell_holds_are_refused(release: Make, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="items has a label of more than 32,767 letters"):
        write_sheets(release(items=["a"], labels=["x" * 40_000]), tmp_path, "xlsx")


@pytest.mark.parametrize("name", ["week.xlsx", "Week.XLSX"])
def test_a_workbook_gets_the_name_that_is_given(release: Make, tmp_path: Path, name: str) -> None:
    (path,) = write_sheets(release(), tmp_path / "new" / name)
    assert path == tmp_path / "new" / name
    with closing(openpyxl.load_workbook(path, read_only=True)) as book:
        assert "items" in book.sheetnames
    assert [*path.parent.iterdir()] == [path]
    with pytest.raises(UsageError, match="exists already"):
        write_sheets(release(), path)
    assert write_sheets(release(), path, "xlsx", force=True) == [path]


def test_tables_as_csv_need_a_folder(release: Make, tmp_path: Path) -> None:
    for name, shape in (("week.csv", None), ("week.csv", "csv"), ("week.xlsx", "csv")):
        with pytest.raises(
            UsageError, match=rf"{name} names a file, and CSV tables need a folder; try --to sheets"
        ):
            write_sheets(release(), tmp_path / name, shape)
    assert [*tmp_path.iterdir()] == []
    (tmp_path / "week.xlsx").mkdir()
    assert write_sheets(release(), tmp_path / "week.xlsx", "csv")


def test_files_are_replaced_only_by_force(release: Make, tmp_path: Path) -> None:
    write_sheets(release(), tmp_path, "csv")
    with pytest.raises(UsageError, match="exists already; choose another --to, or add --force"):
        write_sheets(release(), tmp_path, "csv")
    write_sheets(release(items=["only"]), tmp_path, "csv", force=True)
    assert (tmp_path / "items.csv").read_text(encoding="utf-8").count("\n") == 2


@pytest.mark.parametrize("trouble", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("shape", ["csv", "xlsx"])
def test_a_failure_half_way_leaves_what_was_there(
    release: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: BaseException, shape: str
) -> None:
    saved = release(contexts=DAYS)
    before = {path: path.read_bytes() for path in write_sheets(saved, tmp_path / "old", shape)}
    written: list[str] = []

    def fail_at_the_second(stage: str, done: int, total: int | None) -> None:
        written.append(stage)
        if len(written) > 1:
            raise trouble

    for folder in ("old", "new"):
        written.clear()
        kind = SurroundingsError if isinstance(trouble, OSError) else KeyboardInterrupt
        with pytest.raises(kind):
            write_sheets(saved, tmp_path / folder, shape, force=True, progress=fail_at_the_second)
    assert before == {path: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    assert not (tmp_path / "new").exists()


def test_a_file_in_the_way_is_the_callers_to_mend(release: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="is a file; give a folder to --to"):
            write_sheets(release(), target, "csv")


def test_whole_numbers_that_are_all_missing(release: Make, tmp_path: Path) -> None:
    activity = pa.table(
        {"from": [1], "to": pa.array([None], pa.int64()), "users": [3.0], "low": [1.0], "high": [5.0]}
    )
    saved = release()
    book = book_of(release(tables={**saved.tables, "activity": activity}), tmp_path)
    assert list(book["activity"].iter_rows(min_row=2, values_only=True)) == [(1, None, 3, 1, 5)]


@pytest.mark.parametrize("counts", [False, True])
def test_a_ranking_is_a_sheet_and_a_file(ranking: Make, tmp_path: Path, counts: bool) -> None:
    saved = ranking(3, DAYS, counts=counts)
    book = book_of(saved, tmp_path)
    assert book.sheetnames == ["ranking", "about"]
    rows = list(book["ranking"].iter_rows(values_only=True))
    assert list(rows[0]) == saved.ranking.column_names
    assert [row[:4] for row in rows[1:]] == [tuple(row.values())[:4] for row in saved.ranking.to_pylist()]
    assert {cell.data_type for cell in book["ranking"]["A"][1:]} == {"n"}
    files = write_sheets(saved, tmp_path, "csv")
    assert [path.name for path in files] == ["ranking.csv", "about.txt"]
    with files[0].open(encoding="utf-8", newline="") as file:
        assert [row["context"] for row in csv.DictReader(file)] == ["Friday"] * 3 + ["Saturday"] * 3


def test_the_activity_of_an_adaptive_release_is_exported(adaptive: Make, tmp_path: Path) -> None:
    saved = adaptive(scopes=("items", "pairs"), contexts=list(DAYS))
    written = write_sheets(saved, tmp_path, "csv")
    assert [path.name for path in written] == ["items.csv", "edges.csv", "activity.csv", "about.txt"]
    with closing((tmp_path / "activity.csv").open(encoding="utf-8", newline="")) as file:
        rows = list(csv.DictReader(file))
    assert [row["of"] for row in rows] == ["items"] * 5 + ["pairs"] * 5
    assert rows[4] == {"from": "9", "to": "", "users": "3", "low": "-57", "high": "63", "of": "items"}
    assert "on average" in (tmp_path / "about.txt").read_text(encoding="utf-8")
    book = book_of(saved, tmp_path / "book")
    assert book.sheetnames == ["items", "edges", "activity", "about"]
    assert list(book["activity"].iter_rows(min_row=6, max_row=6, values_only=True)) == [
        (9, None, 3, -57, 63, "items")
    ]
