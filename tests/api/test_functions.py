"""The Python functions mirror the command line: same words, same errors, same folder."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
import pyarrow as pa
import pytest

import headcount as hc
from headcount.accounting.noise_distributions import DiscreteGaussian
from headcount.cli.main import program
from headcount.errors import CallerError, DataError, UnknownNameError, UsageError
from headcount.events.log_parameters import READERS
from headcount.methods.registry import FAMILIES
from headcount.methods.request import flags_of
from tools.packaging import option_types

TABLE = pa.table(
    {
        "user": ["ann", "ann", "bob", "bob"],
        "venue": ["tea", "rye", "tea", "elsewhere"],
        "time": pa.array([1_772_800_000, 1_772_886_400, 1_772_800_000, None], pa.timestamp("s")),
    }
)


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> hc.EventLog:
    monkeypatch.delenv("HEADCOUNT_LEDGER", raising=False)
    return hc.read_events(TABLE, user="user", item="venue", context=hc.weekday("time"), items=["tea", "rye"])


def test_from_a_table_to_a_folder_and_back(log: hc.EventLog, tmp_path: Path) -> None:
    release = hc.release(log, epsilon="1", method="hpa", limit=10, ledger=None)
    assert release.items.column_names == ["item", "label", "count", "low", "high"]
    assert release.edges.num_rows == 16
    release.save(tmp_path / "friday")
    loaded = hc.load(tmp_path / "friday")
    assert loaded.items.equals(release.items)
    assert loaded.edges.equals(release.edges)
    assert loaded.to_json() == release.to_json()
    assert loaded.top(1, context="Friday") == release.top(1, context="friday")
    assert loaded.explain() == release.explain()
    assert loaded.explain().startswith("1. Popularity was estimated")
    assert "ε = 1" in loaded.guarantee.short()


@pytest.mark.parametrize(
    ("epsilon", "echoed"), [("1", "1"), (2, "2"), (0.1, "0.1"), (Decimal("0.30"), "0.30"), (1e-05, "0.00001")]
)
def test_epsilon_in_any_exact_form(log: hc.EventLog, epsilon: Any, echoed: str) -> None:
    assert str(hc.release(log, epsilon=epsilon, method="sra", limit=1).guarantee.epsilon) == echoed


def test_options_of_a_method_are_keywords(log: hc.EventLog) -> None:
    release = hc.release(
        log, epsilon=1, method="hpa", limit=2, d=3, what="items", shares={"scores": 0.5, "items": 0.5}
    )
    assert release.request["release"]["options"] == {"d": 3}
    assert set(release.tables) == {"items"}


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        ({"epsilon": "nan"}, UsageError, "epsilon"),
        ({"method": "nope"}, UnknownNameError, "'nope'"),
        ({"limit": None}, UsageError, "needs limit="),
        ({"limt": 3}, UsageError, "did you mean limit"),
        ({"delta": 1e-6}, UsageError, 'delta= needs noise="gaussian" or select_items=True'),
        ({"noise": "gaussian"}, UsageError, "needs delta="),
        ({"noise": "gaussian", "delta": 2}, UsageError, "strictly between 0 and 1"),
        ({"noise": "uniform", "delta": 1e-6}, UsageError, "noise: input should be 'laplace' or 'gaussian'"),
        (
            {"noise": "gaussian", "delta": 1e-6, "method": "gs-r"},
            UsageError,
            "method gs-r has no gaussian noise; leave noise= and delta= out, or use adaptive, lpa, sra, hpa",
        ),
        ({"what": "all"}, UsageError, "what"),
        ({"shares": {"items": 0.5, "edges": 0.1}}, UsageError, "sum to 1"),
        ({"ledger": "sqlite:///x"}, UsageError, "a ledger needs dataset="),
        ({"method": "hpa-published"}, UsageError, "research"),
    ],
)
def test_errors_are_ours(log: hc.EventLog, change: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(hc.HeadcountError, match=words) as caught:
        hc.release(log, **{"epsilon": "1", "method": "sra", "limit": 2, **change})
    assert type(caught.value) is kind
    assert isinstance(caught.value, CallerError)


def test_gaussian_noise_and_its_delta(log: hc.EventLog, tmp_path: Path) -> None:
    for method in ("sra", "lpa", "hpa"):
        release = hc.release(log, epsilon=1, delta=1e-6, method=method, limit=2, noise="gaussian", what="items")
        assert release.guarantee.delta == Decimal("1e-6")
        assert isinstance(release.noise["items"], DiscreteGaussian)
        assert "discrete Gaussian noise of standard deviation" in release.explain()
        assert "δ = 1e-6 ((ε, δ)-differential privacy)" in release.explain()
        assert release.request["release"]["delta"] == "1e-6"
        assert hc.load(release.save(tmp_path / method)).noise == release.noise
    ranked = hc.rank(log, k=1, epsilon=1, delta=1e-6)
    assert "δ = 1e-6 ((ε, δ)-differential privacy)" in ranked.explain()


def test_a_log_is_needed() -> None:
    path: Any = "visits.csv"
    with pytest.raises(
        UsageError, match=r"log must be an EventLog, not str; make one with headcount\.read_events"
    ):
        hc.release(path, epsilon=1, method="sra", limit=1)


def test_folders_are_neither_overwritten_nor_guessed(log: hc.EventLog, tmp_path: Path) -> None:
    release = hc.release(log, epsilon=1, method="sra", limit=1)
    release.save(tmp_path / "out")
    with pytest.raises(UsageError, match="exists already"):
        release.save(tmp_path / "out")
    release.save(tmp_path / "out", force=True)
    with pytest.raises(DataError, match=r"release\.json is missing"):
        hc.load(tmp_path)
    with pytest.raises(UnknownNameError, match="did you mean 'Friday'"):
        release.top(context="Fridy")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "counts": hc.release,
    "totals": hc.release,
    "rankings": hc.rank,
    "queries": hc.query,
    "tags": hc.release_tags,
    "neighbours": hc.fit_neighbours,
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_function_takes_what_its_request_declares(name: str) -> None:
    fields = FAMILIES[name].request_kind().model_fields
    declared = flags_of(FAMILIES[name].request_kind())
    taken = inspect.signature(FUNCTIONS[name]).parameters
    assert set(taken) - {"log", "ledger", "dataset", "analyst", "again", "engine"} == set(declared)
    for parameter in declared:
        if taken[parameter].kind is inspect.Parameter.KEYWORD_ONLY and not fields[parameter].is_required():
            assert taken[parameter].default == fields[parameter].default


@pytest.mark.parametrize("function", [*FUNCTIONS.values(), hc.read_events, hc.read_people, hc.read_tags])
def test_help_tells_of_every_parameter(function: Callable[..., Any]) -> None:
    section = (function.__doc__ or "").partition("\nParameters:\n")[2]
    assert [
        line.split(":")[0].strip() for line in section.split("\n") if line.startswith("    ") and line[4] != " "
    ] == [*inspect.signature(function).parameters]
    assert "--" not in section
    assert "option" not in section or "the method's own: " in section


def test_the_types_of_options_are_those_of_the_methods() -> None:
    """``python tools/packaging/option_types.py`` writes them again."""
    assert option_types.TARGET.read_text(encoding="utf-8") == option_types.written()


def test_a_type_checker_finds_what_is_misspelt(log: hc.EventLog) -> None:
    """``make check`` is red where one of these is no error of types: it wants every ``ignore`` to be of use."""
    with pytest.raises(UsageError):
        hc.release(log, epsilon=1, methd="sra")  # type: ignore[call-arg]
    with pytest.raises(UsageError):
        hc.release(log, epsilon=1, method="gs", limit=1, sampling="rows")  # type: ignore[arg-type]
    with pytest.raises(UsageError):
        hc.query(log, "SELECT COUNT(*) FROM people", epsilon=1, bins={}, rouns=3)  # type: ignore[call-arg]
    with pytest.raises(UsageError):
        hc.fit_neighbours(log, epsilon=1, relation=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        hc.rank(log, k=1, epsilon=1, per_contxt=True)  # type: ignore[call-arg]
    assert hc.release(log, epsilon=1, method="gs", limit=1, sampling="row").method == "gs"


@pytest.mark.parametrize(
    ("kind", "reader"), [("events", hc.read_events), ("people", hc.read_people), ("tags", hc.read_tags)]
)
def test_a_reader_takes_what_is_declared(kind: str, reader: Callable[..., Any]) -> None:
    _, *taken = inspect.signature(reader).parameters.values()
    declared = READERS[kind].flags()
    assert {parameter.name for parameter in taken} == set(declared)
    assert READERS[kind].home.endswith(f":{reader.__name__}")
    for parameter in taken:
        flag = declared[parameter.name]
        assert flag.default is None or parameter.default == flag.default
        assert flag.choices == () or parameter.default in (*flag.choices, None)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_command_offers_what_is_declared_and_no_more(name: str) -> None:
    family = FAMILIES[name]
    command: Any = program
    for word in family.command:
        command = command.get_command(click.Context(command), word)
    offered = {parameter.name for parameter in command.params}
    charged = {"ledger", "dataset", "analyst", "again", "engine", "conf", "threads"}
    shared = {"events", "config", *charged, "out", "force", "dry_run", "as_json"}
    declared = {*READERS[family.reads].names, *flags_of(family.request_kind())}
    for_research = {"degrees"} if name == "queries" else set()  # another way to say --option degrees=FILE
    assert offered == {*declared, *shared, *for_research, "quiet"}


@pytest.mark.parametrize(
    ("misspelt", "meant"), [("methd", "method"), ("dellta", "delta"), ("select_limits", "select_limit")]
)
def test_misspelt_words_are_not_taken_for_options(log: hc.EventLog, misspelt: str, meant: str) -> None:
    given: dict[str, Any] = {misspelt: 1}
    with pytest.raises(UsageError, match=rf"there is no {misspelt}; did you mean {meant}\?"):
        hc.release(log, epsilon=1, **given)
