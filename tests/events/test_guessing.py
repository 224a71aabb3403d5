"""What columns hold, guessed: the same for the command line and the studio."""

from pathlib import Path

import pyarrow as pa

from headcount.events.guessing import Guess, guess, well_parted
from headcount.events.preview import preview
from headcount.events.readers import open_source


def _guessed(tmp_path: Path, text: str) -> Guess:
    file = tmp_path / "rows.csv"
    file.write_text(text)
    seen = preview(well_parted(open_source([str(file)]))[0])
    return guess(seen.columns, seen.days)


def test_names_values_and_delimiters_tell_who_what_and_when(tmp_path: Path) -> None:
    text = "when;customer;stock\n13/02/2026;ann;tea\n01/02/2026;bob;rye\n"
    assert _guessed(tmp_path, text) == Guess("events", "customer", "stock", "when", "%d/%m/%Y")


def test_rows_about_people_are_told_from_events(tmp_path: Path) -> None:
    found = _guessed(tmp_path, "id,age,town,income\n1,20,Rome,3\n")
    assert (found.reads, found.user, found.item) == ("people", "id", None)


def test_a_file_of_one_column_has_no_item(tmp_path: Path) -> None:
    assert _guessed(tmp_path, "name\nann\n") == Guess("events", "name", None)


def test_a_preview_stops_after_enough_rows() -> None:
    batch = pa.record_batch({"user": ["ann"] * 8, "item": ["tea"] * 8})
    seen = preview(open_source(pa.Table.from_batches([batch] * 5)), most=10)
    assert (seen.rows, seen.whole, seen.columns[0]["first"]) == (16, False, ["ann"] * 3)
