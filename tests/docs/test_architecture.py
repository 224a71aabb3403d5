"""docs/architecture.md says what is so: its names exist, an event takes its walk, its layers are the linter's."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
import re
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import headcount as hc
from headcount import bounds
from headcount.methods.counts.request import ReleaseRequest
from headcount.run.curator import Curator
from tools.docs import package_sizes

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
NAME = re.compile(r"`([a-z_]+(?:\.\w+)+)`")
FILES = (".csv", ".md", ".py", ".toml")
COMPILED = "kernels"  # machine code is seen by no profile


def section(title: str) -> str:
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def table(title: str) -> list[list[str]]:
    """The cells of a section's first table, without its head."""
    rows = re.findall(r"^\| (.*) \|$", section(title), re.MULTILINE)
    return [[cell.strip() for cell in row.split(" | ")] for row in rows[1:]]


def names(text: str) -> list[str]:
    return [name for name in NAME.findall(text) if not name.endswith(FILES)]


def resolve(name: str) -> Any:
    """Return what a dotted name under headcount stands for."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(["headcount", *parts[:size]]))
        except ModuleNotFoundError:
            continue
        return functools.reduce(getattr, parts[size:], module)
    raise AttributeError(name)


@pytest.mark.parametrize("name", sorted(set(names(PAGE))))
def test_every_name_exists(name: str) -> None:
    assert resolve(name) is not None


def test_a_name_that_does_not_exist_is_noticed() -> None:
    for name in ("bounds.counts.sample_records.Simple", "nowhere.at_all", "releases.release.Release.sell"):
        with pytest.raises(AttributeError):
            resolve(name)


def test_layers_are_the_linters() -> None:
    assert [re.findall(r"`(\w+)`", row[0]) for row in table("Layers")] == package_sizes.layers()


def _parameters(kind: type) -> Collection[str]:
    try:
        return inspect.signature(kind).parameters
    except (TypeError, ValueError):  # some built-in types have no signature
        return ()


def test_every_sealed_type_is_explained() -> None:
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(bounds.__path__, f"{bounds.__name__}.")
        if not module.ispkg
    ]
    sealed = {
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and "seal" in _parameters(kind)
    }
    assert {resolve(names(row[0])[0]) for row in table("What the types guarantee")} == sealed


@contextmanager
def watched(codes: Collection[CodeType]) -> Iterator[list[CodeType]]:
    """Note in which order some functions are called, on all threads."""
    calls: list[CodeType] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in codes:
            calls.append(frame.f_code)

    before = sys.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
        threading.setprofile(None)


def test_an_event_takes_the_walk(tmp_path: Path) -> None:
    walk = [names(row[1])[0] for row in table("The walk of one event")]
    steps = {inspect.unwrap(resolve(name)).__code__: name for name in walk if COMPILED not in name}
    file = tmp_path / "visits.csv"
    file.write_text("who,what,when\nbob,rye,2026-03-07T09:00:00\nann,tea,2026-03-06T10:00:00\n", encoding="utf-8")
    with watched(steps) as calls:
        log = hc.read_events(str(file), user="who", item="what", context="weekday:when", items="rye,tea")
        curator = Curator()
        ready = curator.prepare(ReleaseRequest(epsilon=Decimal(50), method="sra", limit=2), log)
        release = curator.run(ready)
        ranking = hc.load(release.save(tmp_path / "release")).top(1, context="Friday")
    assert [row["item"] for row in ranking] == ["tea"]
    left = iter(calls)
    for code, name in steps.items():
        assert code in left, f"{name} is not called where the page says"


def test_the_size_of_what_privacy_rests_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert package_sizes.main() == 0
    printed = capsys.readouterr().out
    figures = re.search(
        r"That is ([\d,]+) of ([\d,]+) lines\. .*: ([\d,]+) lines", section("What privacy rests on")
    )
    assert figures
    first = package_sizes.size_of(["bounds", "noise", "accounting", "run"])
    for number, size in zip(
        figures.groups(),
        (package_sizes.size_of(package_sizes.RESTS_ON), package_sizes.whole(), first),
        strict=True,
    ):
        assert int(number.replace(",", "")) == pytest.approx(size.lines, rel=0.05)
    assert f"{package_sizes.whole().lines:,}" in printed
    assert set(re.findall(r"`(\w+)`\s\(", section("What privacy rests on"))) == set(package_sizes.RESTS_ON)
    assert all(package_sizes.size_of([part]).lines > 0 for layer in package_sizes.layers() for part in layer)
