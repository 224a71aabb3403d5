"""Rules on hand-made tables: what holds, what fails, and what stays open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from headcount.lab.replicate.claims.rules import Rule
from headcount.lab.replicate.results import Estimate, MissingResultError, Results, Row, table_of

Numbers = Mapping[Any, Sequence[float]]


def rule(**given: Any) -> Any:
    usual = {"experiment": "trial", "metric": "MSE", "methods": ["a"]}
    return TypeAdapter(Rule).validate_python({**usual, **given})


def results(
    numbers: Numbers, *, table: str = "items", metric: str = "MSE", epsilon: float | None = 1.0
) -> Results:
    return Results(table_of(rows(numbers, table=table, metric=metric, epsilon=epsilon)))


def rows(numbers: Numbers, *, table: str = "items", metric: str = "MSE", epsilon: float | None = 1.0) -> list[Row]:
    return [
        Row("trial", "films", method, table, epsilon, x, metric, None, run, value)
        for (method, x), values in numbers.items()
        for run, value in enumerate(values)
    ]


def outcome(given: Any, results: Results, table: str = "items") -> bool | None:
    held: bool | None = given.judge(results, "films", table).holds
    return held


LOW, MIDDLE, HIGH, WIDE = [1.0, 1.1, 0.9], [2.0, 2.1, 1.9], [3.0, 3.1, 2.9], [0.5, 2.0, 3.5]


def test_intervals_are_students() -> None:
    values = [1.0, 4.0, 2.0, 8.0]
    low, high = stats.t.interval(0.95, 3, loc=3.75, scale=stats.sem(values))
    estimate = Estimate.from_runs(values)
    assert estimate.mean == 3.75
    assert estimate.high - estimate.low == pytest.approx(high - low, rel=2e-3)
    assert estimate.high - estimate.mean == pytest.approx(estimate.mean - estimate.low)


def test_runs_that_agree_but_for_rounding_are_a_point() -> None:
    estimate = Estimate.from_runs([0.1 + 0.2, 0.3, 0.3])
    assert estimate.low == estimate.high


@pytest.mark.parametrize(
    ("a", "b", "below", "above"),
    [
        (LOW, HIGH, True, False),
        (HIGH, LOW, False, True),
        (WIDE, MIDDLE, None, None),
        ([2.0, 2.0], [2.0, 2.0], False, False),
    ],
)
def test_order(a: list[float], b: list[float], below: bool | None, above: bool | None) -> None:
    measured = results({("a", None): a, ("b", None): b})
    assert outcome(rule(rule="below", than=["b"]), measured) is below
    assert outcome(rule(rule="above", than=["b"]), measured) is above


def test_order_asks_it_of_every_pair_and_every_point() -> None:
    numbers = {("a", 1.0): LOW, ("a", 2.0): LOW, ("b", 1.0): HIGH, ("b", 2.0): WIDE}
    assert outcome(rule(rule="below", than=["b"]), results(numbers)) is None
    assert outcome(rule(rule="below", than=["b"], x=[1.0]), results(numbers)) is True
    numbers[("b", 2.0)] = [0.1, 0.2, 0.15]
    assert outcome(rule(rule="below", than=["b"]), results(numbers)) is False


def test_order_asks_it_at_every_epsilon_or_at_those_named() -> None:
    first = rows({("a", None): LOW, ("b", None): HIGH}, epsilon=0.1)
    other = rows({("a", None): HIGH, ("b", None): LOW}, epsilon=1.0)
    measured = Results(table_of([*first, *other]))
    assert outcome(rule(rule="below", than=["b"]), measured) is False
    assert outcome(rule(rule="below", than=["b"], epsilon=[0.1]), measured) is True


def test_order_with_a_factor_and_of_the_best() -> None:
    measured = results({("a", None): MIDDLE, ("b", None): LOW, ("c", None): HIGH})
    assert outcome(rule(rule="below", than=["b"], factor=3.0), measured) is True
    assert outcome(rule(rule="below", than=["b"], factor=1.05), measured) is False
    assert outcome(rule(rule="below", methods=["a", "b"], than=["c"], best=True), measured) is True
    assert outcome(rule(rule="below", methods=["a", "c"], than=["b", "c"], best=True), measured) is False
    assert outcome(rule(rule="above", methods=["a", "c"], than=["a", "b"], best=True), measured) is True


@pytest.mark.parametrize(
    ("value", "at_least", "at_most"), [(0.5, True, False), (5.0, False, True), (1.0, None, None)]
)
def test_bounds(value: float, at_least: bool | None, at_most: bool | None) -> None:
    measured = results({("a", None): LOW})
    assert outcome(rule(rule="at least", value=value), measured) is at_least
    assert outcome(rule(rule="at most", value=value), measured) is at_most


def test_a_bound_holds_with_equality() -> None:
    measured = results({("a", 1.0): [1.0, 1.0], ("b", 1.0): [0.0, 0.0]})
    assert outcome(rule(rule="at least", value=1.0), measured) is True
    assert outcome(rule(rule="at most", value=1.0), measured) is True
    assert outcome(rule(rule="at least", methods=["a", "b"], value=1.0), measured) is False
    assert outcome(rule(rule="at least", methods=["a", "b"], value=1.0, best=True), measured) is True


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([HIGH, LOW, MIDDLE], True),
        ([LOW, MIDDLE, HIGH], False),
        ([HIGH, MIDDLE, LOW], False),
        ([WIDE, LOW, HIGH], None),
    ],
)
def test_valleys(curve: list[list[float]], expected: bool | None) -> None:
    measured = results({("a", float(place)): values for place, values in enumerate(curve)})
    assert outcome(rule(rule="valley"), measured) is expected


@pytest.mark.parametrize(("at", "expected"), [(5.0, True), (1.0, False)])
def test_lowest_at(at: float, expected: bool) -> None:
    measured = results({("a", 1.0): MIDDLE, ("a", 5.0): LOW, ("a", 30.0): HIGH})
    assert outcome(rule(rule="lowest at", at=at), measured) is expected


def test_lowest_at_stays_open_where_another_may_be_lower() -> None:
    measured = results({("a", 1.0): LOW, ("a", 5.0): [1.0, 1.2, 0.9], ("a", 30.0): HIGH})
    assert outcome(rule(rule="lowest at", at=5.0), measured) is None


def test_lowest_earlier_by_table() -> None:
    early = {("a", 1.0): LOW, ("a", 5.0): MIDDLE, ("a", 30.0): HIGH}
    late = {("a", 1.0): HIGH, ("a", 5.0): LOW, ("a", 30.0): MIDDLE}
    measured = Results(table_of([*rows(early, table="edges"), *rows(late, table="items")]))
    given = {"rule": "lowest earlier", "by": "table"}
    assert outcome(rule(**given, earlier="edges", later="items"), measured, "both") is True
    assert outcome(rule(**given, earlier="items", later="edges"), measured, "both") is False
    flat = {("a", 1.0): LOW, ("a", 5.0): LOW, ("a", 30.0): MIDDLE}
    measured = Results(table_of([*rows(flat, table="edges"), *rows(late, table="items")]))
    assert outcome(rule(**given, earlier="edges", later="items"), measured, "both") is None


def test_lowest_earlier_by_epsilon() -> None:
    small = rows({("a", 1.0): LOW, ("a", 5.0): HIGH}, epsilon=0.2)
    large = rows({("a", 1.0): HIGH, ("a", 5.0): LOW}, epsilon=5.0)
    given = rule(rule="lowest earlier", by="epsilon", earlier="0.2", later="5.0")
    assert outcome(given, Results(table_of([*small, *large]))) is True


def test_a_valley_may_have_to_be_at_a_place() -> None:
    measured = results({("a", 1.0): HIGH, ("a", 5.0): LOW, ("a", 9.0): [1.0, 1.2, 0.9], ("a", 30.0): MIDDLE})
    assert outcome(rule(rule="valley", between=[4, 10]), measured) is True
    assert outcome(rule(rule="valley", between=[5, 6]), measured) is None, "it may be at 9"
    assert outcome(rule(rule="valley", between=[10, 20]), measured) is False
    no_valley = results({("a", 1.0): LOW, ("a", 5.0): MIDDLE, ("a", 9.0): HIGH})
    assert outcome(rule(rule="valley", between=[1, 9]), no_valley) is False
    with pytest.raises(ValidationError):
        rule(rule="valley", between=[10, 4])


@pytest.mark.parametrize(
    ("curve", "falls", "rises"),
    [
        ([HIGH, MIDDLE, LOW], True, False),
        ([LOW, MIDDLE, HIGH], False, True),
        ([MIDDLE, HIGH, LOW], False, False),  # lower at its end, but it does not fall
        ([HIGH, LOW, MIDDLE], False, False),
        ([HIGH, MIDDLE, MIDDLE], True, False),
        ([HIGH, [2.0, 2.1, 1.9], [2.0, 2.2, 1.9], LOW], True, False),  # a step back that may be chance
        ([WIDE, MIDDLE, [3.0, 0.6, 2.4]], None, None),
        ([[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]], False, False),  # and no more runs would make it fall
        ([[0.3, 0.1], [0.1 + 0.2, 0.1], [0.3, 0.1]], False, False),
    ],
)
def test_trends_are_those_of_the_whole_curve(
    curve: list[list[float]], falls: bool | None, rises: bool | None
) -> None:
    measured = results({("a", 10.0**place): values for place, values in enumerate(curve)})
    assert outcome(rule(rule="falls"), measured) is falls
    assert outcome(rule(rule="rises"), measured) is rises


def test_two_runs_that_agree_on_the_order_alone_decide_nothing() -> None:
    """Noise falls in both of two runs with a chance of one in four: it counts how far, not only that it does."""
    assert outcome(rule(rule="falls"), results({("a", 1.0): [1.0, 1.4], ("a", 2.0): [0.9, 0.8]})) is None


@pytest.mark.parametrize("runs", [2, 20, 200])
def test_a_flat_curve_hardly_ever_has_a_trend(runs: int) -> None:
    """Of 200 curves of noise at most 8 % fall: 2.5 % are expected, more with a chance below 1 in 10,000."""
    draws = np.random.Generator(np.random.PCG64(runs))
    fell = 0
    for _ in range(200):
        flat = results({("a", float(x)): draws.normal(size=runs).tolist() for x in range(5)})
        fell += outcome(rule(rule="falls"), flat) is True
    assert fell <= 16


def test_the_point_that_changes_a_trend_is_reported() -> None:
    measured = results({("a", 1.0): MIDDLE, ("a", 10.0): HIGH, ("a", 1000.0): LOW})
    sentence = rule(rule="falls").judge(measured, "films", "items").measured
    back = "3 ± 0.248 at 10 after 2 ± 0.248 at 1"
    assert sentence == f"a from 2 ± 0.248 to 1 ± 0.248, the line through all points falls by 1, but {back}"


def test_a_line_that_goes_nowhere_is_level() -> None:
    measured = results({("a", 1.0): [2.0, 3.0], ("a", 10.0): [2.0, 3.0]})
    assert (
        rule(rule="falls")
        .judge(measured, "films", "items")
        .measured.endswith("the line through all points is level")
    )


@pytest.mark.parametrize("name", ["falls", "rises"])
def test_a_trend_goes_along_one_axis(name: str) -> None:
    several = [*rows({("a", 1.0): LOW, ("a", 2.0): LOW}), *rows({("a", 1.0): LOW, ("a", 2.0): LOW}, epsilon=2.0)]
    with pytest.raises(MissingResultError, match="along ε or x"):
        outcome(rule(rule=name), Results(table_of(several)))
    with pytest.raises(MissingResultError, match="two points"):
        outcome(rule(rule=name), results({("a", 1.0): LOW}))


def test_falls_slower_goes_run_by_run() -> None:
    measured = results(
        {
            ("a", 1.0): [0.2, 0.9], ("a", 2.0): [0.1, 0.8],
            ("b", 1.0): [0.9, 0.5], ("b", 2.0): [0.4, 0.0],
        }
    )  # fmt: skip
    assert outcome(rule(rule="falls slower", than=["b"]), measured) is True
    assert outcome(rule(rule="falls slower", methods=["b"], than=["a"]), measured) is False


def test_falls_slower_is_judged_between_the_ends() -> None:
    """Both end where they began to within as much, but one of them fell far at once."""
    ends = {("a", 0.0): [1.0, 1.0], ("a", 4.0): [0.4, 0.4], ("b", 0.0): [1.0, 1.0], ("b", 4.0): [0.5, 0.5]}
    between = {("a", 1.0): [1.0, 1.0], ("a", 3.0): [0.8, 0.8], ("b", 1.0): [0.9, 0.9], ("b", 3.0): [0.2, 0.2]}
    measured = results({**ends, **between})
    assert outcome(rule(rule="falls slower", than=["b"]), measured) is True
    assert outcome(rule(rule="falls slower", methods=["b"], than=["a"]), measured) is False


def test_what_rises_does_not_fall_slower() -> None:
    measured = results({("a", 1.0): LOW, ("a", 2.0): MIDDLE, ("b", 1.0): HIGH, ("b", 2.0): LOW})
    assert outcome(rule(rule="falls slower", than=["b"]), measured) is False


@pytest.mark.parametrize(
    ("a", "b", "factor", "expected"),
    [
        (LOW, [1.2, 1.1, 1.15], 2.0, True),
        (LOW, HIGH, 2.0, False),
        (HIGH, LOW, 2.0, False),
        (LOW, MIDDLE, 2.0, None),
        ([0.0, 0.0], [0.0, 0.0], 1.5, True),
    ],
)
def test_within_a_factor_has_two_sides(
    a: list[float], b: list[float], factor: float, expected: bool | None
) -> None:
    measured = results({("a", None): a, ("b", None): b})
    assert outcome(rule(rule="within factor", than=["b"], factor=factor), measured) is expected
    with pytest.raises(ValidationError):
        rule(rule="within factor", than=["b"], factor=0.8)


@pytest.mark.parametrize(
    ("low", "high", "expected"), [(0.5, 1.5, True), (1.5, 2.0, False), (0.1, 0.5, False), (1.0, 2.0, None)]
)
def test_between_two_values(low: float, high: float, expected: bool | None) -> None:
    assert outcome(rule(rule="between", low=low, high=high), results({("a", None): LOW})) is expected
    with pytest.raises(ValidationError):
        rule(rule="between", low=high, high=low)


def test_one_outcome_of_the_paper_is_held_against_the_range_of_runs() -> None:
    measured = results({("a", None): [2.0, 5.0, 7.0]})
    assert outcome(rule(rule="drawn", value=7), measured) is True
    assert outcome(rule(rule="drawn", value=8), measured) is False


def test_exact_numbers() -> None:
    measured = results({("a", None): [20.0]}, metric="users", epsilon=None)
    given = {"rule": "equals", "experiment": "trial", "methods": ["a"]}
    for value, expected in ((20, True), (21, False)):
        exact_rule = TypeAdapter(Rule).validate_python({**given, "metrics": {"users": value}})
        assert outcome(exact_rule, measured) is expected


def test_one_metric_below_another() -> None:
    edges = rows({("a", 10.0): LOW}, table="edges", metric="per context")
    items = rows({("a", 10.0): HIGH}, metric="over all")
    measured = Results(table_of([*edges, *items]))
    given = {"rule": "metric below", "metric": "per context", "than_metric": "over all", "x": [10.0]}
    assert outcome(rule(**given), measured, "both") is True


def test_numbers_that_are_not_there_are_no_verdict() -> None:
    measured = results({("a", 1.0): LOW})
    with pytest.raises(MissingResultError, match="no MSE of b on films"):
        outcome(rule(rule="below", than=["b"]), measured)
    with pytest.raises(MissingResultError, match=r"at 7\.0"):
        outcome(rule(rule="at most", value=1.0, x=[1.0, 7.0]), measured)


def test_the_measured_values_are_reported() -> None:
    measured = results({("a", 10.0): LOW, ("b", 10.0): [12345.0, 12345.0]})
    sentence = rule(rule="below", than=["b"]).judge(measured, "films", "items").measured
    assert sentence == "a 1 ± 0.248 against b 12,300"


def test_reported_numbers_name_their_place_and_epsilon() -> None:
    def sentence_for(epsilons: list[float], places: list[float]) -> str:
        rows_of_curve = [
            row for at in epsilons for row in rows({("a", x): [at + x] * 2 for x in places}, epsilon=at)
        ]
        measured: str = (
            rule(rule="at most", value=9).judge(Results(table_of(rows_of_curve)), "films", "items").measured
        )
        return measured

    assert sentence_for([0.5], [2, 3]) == "a 2.5 at 2, 3.5 at 3 (at most 9)"
    assert sentence_for([0.5, 1.0], [2]) == "a 2.5 at ε = 0.5, 3 at ε = 1 (at most 9)"
    many = sentence_for([0.5, 1.0], [1, 2, 3, 4, 5])
    assert many == "a from 1.5 at ε = 0.5 and 1 to 6 at ε = 1 and 5 (10 points) (at most 9)"
