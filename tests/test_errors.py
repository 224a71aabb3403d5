"""Errors: their fields, and parameters as the command line, Python and the studio write them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headcount.errors import (
    USE_LOCAL_ENGINE,
    HeadcountError,
    Parameter,
    UnknownNameError,
    UsageError,
    command_line,
    in_python,
    param,
    python,
    render,
)
from headcount.studio.forms.labels import in_words

WRITTEN: list[tuple[Any, str, str, str]] = [
    (param.limit, "--limit", "limit=", "limit"),
    (param.max_group(6), "--max-group 6", "max_group=6", "max group 6"),
    (param.delta("1e-6"), "--delta 1e-6", "delta=1e-6", "delta 1e-6"),
    (param.noise("gaussian"), "--noise gaussian", 'noise="gaussian"', "noise gaussian"),
    (param.value_range("1,5"), "--value-range 1,5", 'value_range="1,5"', "value range 1,5"),
    (param.value("COL"), "--value COL", "value=COL", "value COL"),
    (param.contexts("A,B,C"), "--contexts A,B,C", 'contexts="A,B,C"', "contexts A,B,C"),
    (param.decimal('","'), '--decimal ","', 'decimal=","', 'decimal ","'),
    (param.shares({"items": "0.5"}), "--shares items=0.5", 'shares={"items": 0.5}', "shares items=0.5"),
    (param.select_items(True), "--select-items", "select_items=True", "select items"),
    (param.header(False), "--no-header", "header=False", "no header"),
    (param.option({"sampling": "sra"}), "--option sampling=sra", 'sampling="sra"', "option sampling=sra"),
    (param.k(20), "-k 20", "k=20", "k 20"),
    (f"another {param.out}", "another --out", "another folder", "another out"),
    (USE_LOCAL_ENGINE, "use --engine local", "leave engine= out", "use engine local"),
]


@pytest.mark.parametrize(("text", "as_flag", "as_keyword", "as_words"), WRITTEN)
def test_each_surface_writes_parameters_in_its_own_way(
    text: Any, as_flag: str, as_keyword: str, as_words: str
) -> None:
    rendered = tuple(render(f"with {text}, or not", surface) for surface in (command_line, python, in_words))
    assert rendered == tuple(f"with {written}, or not" for written in (as_flag, as_keyword, as_words))


@given(st.text())
def test_texts_without_parameters_stay_as_they_are(text: str) -> None:
    assert render(text, python) == text


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda part: st.lists(part, max_size=3))
)
def test_no_data_that_looks_like_a_parameter_makes_an_error_fail(value: object) -> None:
    text = f"\x02{json.dumps(value)}\x03 \x02{json.dumps(['in Python', value])}\x03 \x02[\x03 \x02"
    for surface in (command_line, python, in_words):
        render(text, surface)


def test_fields_say_which_parameter_is_wrong_and_what_is_allowed() -> None:
    error = UsageError(f"{param.noise} needs {param.delta}", given="x", remedy=f"or use {param.method('sra')}")
    assert (error.parameter, error.given, error.allowed) == ("noise", "x", ())
    assert error.parameters == ("noise", "delta", "method")
    assert UsageError("k must be positive", parameter="k").parameter == "k"
    assert UnknownNameError.among("item", "te", ["tea", "rye"]).allowed == ("tea", "rye")


def test_an_error_can_be_rendered_again_for_another_surface() -> None:
    error = HeadcountError(f"{param.limit} is missing", given=0, remedy=in_python("ask", otherwise="look"))
    texts = []
    for surface in (python, in_words, command_line):
        error.render(surface)
        texts.append(str(error))
    assert texts == [
        "limit= is missing, not 0; ask",
        "limit is missing, not 0; look",
        "--limit is missing, not 0; look",
    ]


def test_redacted_words_are_in_no_rendering() -> None:
    error = HeadcountError(f"/secret/place is full, see {Parameter('out')}", remedy="clean /secret/place")
    error.redact("/secret/place", "the folder")
    error.render(python)
    assert (error.problem, error.remedy) == ("the folder is full, see folder", "clean the folder")
