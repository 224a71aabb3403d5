"""What columns hold, guessed: the same for the command line and the studio."""

from pathlib import Path

import pyarrow as pa
import pytest

from headcount.errors import command_line, render
from headcount.events.inspect.suggest import Guess, guess, preview, time_remedy, with_best_delimiter
from headcount.events.sources.source import open_source


def _guessed(tmp_path: Path, text: str) -> Guess:
    file = tmp_path / "rows.csv"
    file.write_text(text)
    previewed = preview(with_best_delimiter(open_source([str(file)]))[0])
    return guess(previewed.columns, previewed.days, previewed.texts)


def test_names_values_and_delimiters_tell_who_what_and_when(tmp_path: Path) -> None:
    text = "when;customer;stock\n13/02/2026;ann;tea\n01/02/2026;bob;rye\n"
    assert _guessed(tmp_path, text) == Guess("events", "customer", "stock", "when", "%d/%m/%Y")


def test_tables_of_users_are_recognized_as_not_being_events(tmp_path: Path) -> None:
    guess = _guessed(tmp_path, "id,age,town,income\n1,20,Rome,3\n")
    assert (guess.reads, guess.user, guess.item) == ("people", "id", None)


def test_a_file_of_one_column_has_no_item(tmp_path: Path) -> None:
    assert _guessed(tmp_path, "name\nann\n") == Guess("events", "name", None)


def test_a_preview_stops_after_enough_rows() -> None:
    batch = pa.record_batch({"user": ["ann"] * 8, "item": ["tea"] * 8})
    previewed = preview(open_source(pa.Table.from_batches([batch] * 5)), most=10)
    assert (previewed.rows, previewed.whole, previewed.columns[0]["first"]) == (16, False, ["ann"] * 3)


NUMBERS = {
    "15,30|7": {"decimal": [","]},
    "1.234,50|15,30|n/a": {"decimal": [","], "thousands": ["."]},
    "1,234.50|15.30": {"thousands": [","]},
    "1 234 567|12 000": {"thousands": ["\\u0020"]},
    "1\u00a0234,5|7": {"decimal": [","], "thousands": ["\\u00a0"]},
    "1'234.50|7": {"thousands": ["'"]},
    "1.234.567|1.000": {"decimal": [","], "thousands": ["."]},
    "15.30|7": {},
    "0.125|1.234": {},
    "tea|1,5|rye": {},
    "03.04.2026|04.05.2026": {},
}


@pytest.mark.parametrize("texts", NUMBERS)
def test_the_notation_is_guessed_from_most_values(texts: str, tmp_path: Path) -> None:
    lines = [f"u{n};{text}" for n, text in enumerate(texts.split("|"))]
    guess = _guessed(tmp_path, "\n".join(["user;paid", *lines]))
    assert (guess.numbers, guess.doubt) == (NUMBERS[texts], None)


def test_a_point_before_three_digits_is_a_doubt(tmp_path: Path) -> None:
    guess = _guessed(tmp_path, "user;paid\nann;1.234\n")
    assert not guess.numbers
    assert str(guess.doubt).startswith("In 'paid', its decimal point may be a thousands separator: choose no flag")


def test_columns_of_several_notations_get_flags_of_their_own(tmp_path: Path) -> None:
    guess = _guessed(tmp_path, "user;paid;rate\nann;15,30;0.5\n")
    assert guess.numbers == {"decimal": ["paid=,"]}


TIMES = {
    "03.04.2026": 'add --time-format "%d.%m.%Y"',
    "3.4.2026 10:15|13.12.2026 09:00": 'add --time-format "%d.%m.%Y %H:%M"',
    "13/04/2026|03/04/2026|soon": 'add --time-format "%d/%m/%Y"',
    "04/13/2026": 'add --time-format "%m/%d/%Y"',
    "03/04/2026": 'nothing tells whether the day or the month comes first: choose --time-format "%d/%m/%Y" or '
    '"%m/%d/%Y"',
    "soon|later|13.04.2026": None,
}


@pytest.mark.parametrize("texts", TIMES)
def test_the_remedy_for_times_names_their_format(texts: str) -> None:
    remedy = time_remedy("at", texts.split("|"))
    assert (remedy and render(remedy, command_line)) == TIMES[texts]
