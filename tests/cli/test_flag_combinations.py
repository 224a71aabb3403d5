"""No combination of public flags ends in an internal error: a command succeeds, or refuses the flags with exit 2.

Each command runs with ``--dry-run`` first. Where that succeeds, it runs again on a small log, without a ledger.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from headcount.cli.main import main
from headcount.ledger import Ledger
from headcount.methods.family import Family, example_of, needed_by
from headcount.methods.registry import FAMILIES
from headcount.methods.request import flags_of
from tests.contracts.support.charged_commands import charged_paths

Flags = tuple[str, ...]

EVERY = 11
"""The quick test runs one combination in so many: a prime, so that every flag meets every other."""

_NONE: Flags = ()
_DELTA = (_NONE, ("--delta", "1e-6"))
_NOISE = (_NONE, ("--noise", "gaussian"))
_COUNT = (_NONE, ("--count", "users"))
_ITEMS = (("--items", "a,b,c"), ("--select-items",), _NONE)
_PLACE = ("--context", "place", "--contexts", "F,M")
_CONTEXTS = (
    _NONE, _PLACE, ("--context", "place", "--select-contexts"), ("--context", "weekday:day"),
    (*_PLACE, "--context-of", "user"),
)  # fmt: skip
_VALUE = (_NONE, ("--value", "stars"), ("--value", "stars", "--value-range", "0,5"))


def _together(base: Flags, *choices: Sequence[Flags]) -> Iterator[Flags]:
    """Yield every combination of one choice from each group of flags."""
    for flags in itertools.product(*choices):
        yield (*base, *itertools.chain.from_iterable(flags))


def _methods(family: Family, base: Flags) -> list[Flags]:
    """Return a start of the command for each method, with the parameters that the method needs."""
    own, starts = flags_of(family.request_kind()), []
    for name, kind in family.kinds().items():
        needed = {key: value for key, value in example_of(kind).items() if key in needed_by(kind)}
        given = [
            (own[key].named(key), str(value)) if key in own else ("--option", f"{key}={value}")
            for key, value in needed.items()
        ]
        starts.append((*base, "--method", name, "--research", *itertools.chain.from_iterable(given)))
    return starts


def _combinations(folder: Path) -> Iterator[Flags]:
    """Yield every charged command with its combinations of flags."""
    events = folder / "events.csv"
    read = (str(events), "--user", "user", "--item", "item", "--epsilon", "1")
    tables: Sequence[Flags] = (_NONE, *(("--what", table) for table in ("items", "edges", "both")))
    capped = (_NONE, ("--at-most", "2"))
    for start in _methods(FAMILIES["counts"], ("release", *read)):
        yield from _together(start, tables, _ITEMS[:2], _CONTEXTS, _NOISE, _DELTA, _COUNT, capped)
    by: Sequence[Flags] = (_NONE, ("--by", "contexts"), ("--by", "items"))
    more = ((_NONE, ("--quantiles", "0.5,0.9")), (_NONE, ("--distinct",)))
    totals = ("release", *read, "--what", "totals", "--limit", "3")
    yield from _together(totals, _ITEMS, _CONTEXTS, _NOISE, _DELTA, _COUNT, by, _VALUE, *more)
    ranks: Sequence[Flags] = (("-k", "2"), ("-k", "9"))
    switches = ((_NONE, ("--per-context",)), (_NONE, ("--with-counts",)))
    yield from _together(("rank", *read), _ITEMS, _CONTEXTS, _DELTA, _COUNT, ranks, *switches)
    rated = (_VALUE[0], _VALUE[2])
    for start in _methods(FAMILIES["neighbours"], ("neighbours", "fit", *read)):
        yield from _together(start, _ITEMS[:2], _CONTEXTS[:4], _DELTA, rated, (_NONE, ("--limit", "3")))
    tagged = (str(events), "--user", "user", "--resource", "item", "--tag", "tag", "--epsilon", "1")
    lists = ((("--resources", "a,b,c"), _NONE), (("--vocabulary", "x,y"), ("--select-tags",)))
    for start in _methods(FAMILIES["tags"], ("tags", "release", *tagged)):
        yield from _together(start, *lists, _DELTA)
    flags = ("--bins", str(folder / "bins.toml"), "--queries", str(folder / "queries.sql"), "--epsilon", "1")
    users = ((_NONE, ("--user", "user")), (_NONE, ("--max-records", "3")), (_NONE, ("--synthetic", "5")))
    groups = (_NONE, ("--groups", "place", "--max-group", "3"))
    for start in _methods(FAMILIES["queries"], ("query", str(events), *flags)):
        yield from _together(start, _DELTA, groups, *users)


@pytest.fixture(scope="module")
def combinations(tmp_path_factory: pytest.TempPathFactory) -> list[Flags]:
    folder = tmp_path_factory.mktemp("log")
    rows = [f"u{n % 7},{'abc'[n % 3]},{'FM'[n % 2]},{n % 5},2026-03-0{n % 9 + 1},{'xy'[n % 2]}" for n in range(40)]
    (folder / "events.csv").write_text("\n".join(["user,item,place,stars,day,tag", *rows, ""]))
    (folder / "bins.toml").write_text('[stars]\nedges = [0, 2, 5]\n[place]\nvalues = ["F", "M"]\nother = true\n')
    (folder / "queries.sql").write_text(
        "SELECT COUNT(*) FROM people WHERE stars >= 2; SELECT place, COUNT(*) FROM people GROUP BY place;"
    )
    return list(_combinations(folder))


def _run(arguments: Sequence[str]) -> tuple[int, str]:
    captured = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(captured):
        return main(arguments), captured.getvalue()


def _check(flags: Flags, out: Path) -> bool:
    """Check one combination, and say whether it succeeded."""
    code, output = _run([*flags, "--dry-run", "--json"])
    assert code in (0, 2), f"{' '.join(flags)}: {output}"
    assert "internal error" not in output
    if code == 0:
        code, output = _run([*flags, "--json", "--quiet", "--out", str(out)])
        shutil.rmtree(out, ignore_errors=True)
        assert code == 0, f"the plan succeeds, the release does not: {' '.join(flags)}: {output}"
    return code == 0


def test_no_combination_of_flags_ends_in_an_internal_error(combinations: list[Flags], tmp_path: Path) -> None:
    succeeded = [flags for flags in combinations[::EVERY] if _check(flags, tmp_path / "out")]
    assert {flags[0] for flags in succeeded} == {path[0] for path in charged_paths()}


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1, EVERY))
def test_no_other_combination_of_flags_does(combinations: list[Flags], start: int, tmp_path: Path) -> None:
    for flags in combinations[start::EVERY]:
        _check(flags, tmp_path / "out")


def test_totals_refuse_gaussian_noise_before_anything_is_charged(
    combinations: list[Flags], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    url = f"sqlite:///{tmp_path}/ledger.db"
    ledger = ("--ledger", url, "--dataset", "visits")
    assert _run(["ledger", "create", *ledger, "--epsilon", "2", "--delta", "1e-3"])[0] == 0
    read = combinations[0][1:8]  # the file, its columns and ε
    code, output = _run([
        "release", *read, "--what", "totals", "--limit", "3",
        "--noise", "gaussian", "--delta", "1e-6", "--out", str(tmp_path / "out"), *ledger,
    ])  # fmt: skip
    assert code == 2
    assert "totals have no gaussian noise" in output
    with Ledger(url) as opened:
        assert [entry.kind for entry in opened.history()] == ["create"]
