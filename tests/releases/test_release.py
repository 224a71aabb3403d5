"""Release folders: written whole or not at all, never over something else, and read back or refused clearly."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import stat
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.accounting.budget import Grant
from headcount.accounting.guarantee import Guarantee
from headcount.errors import DataError, SurroundingsError, UnknownNameError, UsageError
from headcount.methods.counts import EDGES, ITEMS
from headcount.methods.counts.simple_random import SimpleRandom
from headcount.noise import SeededNoise
from headcount.releases.release import Release, load
from tests.contracts.support.method_checks import town


@pytest.fixture(scope="module")
def release() -> Release:
    return SimpleRandom(limit=2).release(town(), Grant("1"), SeededNoise(1))


@pytest.fixture(scope="module")
def other() -> Release:
    return SimpleRandom(limit=3).release(town(), Grant("2"), SeededNoise(2))


def everything(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


WHOLE = ["out", "out/edges.parquet", "out/items.parquet", "out/release.json"]


def test_save_and_load(release: Release, tmp_path: Path) -> None:
    target = release.save(tmp_path / "deep" / "er" / "out")
    assert target == tmp_path / "deep" / "er" / "out"
    assert everything(tmp_path / "deep" / "er") == WHOLE
    again = load(str(target))
    assert again.to_json() == release.to_json()
    assert all(again.tables[name].equals(release.tables[name]) for name in release.tables)
    assert again.top(3) == release.top(3)
    assert again.explain() == release.explain()


def test_a_saved_folder_can_be_read_by_others(release: Release, tmp_path: Path) -> None:
    mode = release.save(tmp_path / "out").stat().st_mode
    assert stat.S_IMODE(mode) == 0o755


def test_the_file_is_utf_8_and_says_its_format(release: Release, tmp_path: Path) -> None:
    written = json.loads((release.save(tmp_path / "out") / "release.json").read_text("utf-8"))
    assert (written["format"], written["version"]) == ("headcount-release", 1)
    assert written["tables"] == ["items", "edges"]
    assert written["ledger"] is None
    assert written["noise"]["items"] == {"law": "discrete-laplace", "scale": "4"}


# Refusals


def test_an_existing_folder_is_refused_and_left_alone(release: Release, other: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    with pytest.raises(UsageError, match="exists already"):
        other.save(tmp_path / "out")
    assert load(tmp_path / "out").to_json() == release.to_json()
    assert everything(tmp_path) == WHOLE


def test_force_replaces_a_release(release: Release, other: Release, tmp_path: Path) -> None:
    release.save(tmp_path / "out")
    (tmp_path / "out" / "report.html").write_text("old")
    other.save(tmp_path / "out", force=True)
    assert load(tmp_path / "out").to_json() == other.to_json()
    assert everything(tmp_path) == WHOLE


def test_an_empty_folder_is_filled(release: Release, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    release.save(tmp_path / "out")
    assert everything(tmp_path) == WHOLE


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_force_replaces_nothing_but_releases(release: Release, tmp_path: Path, kind: str) -> None:
    precious = tmp_path / "out" if kind == "file" else tmp_path / "out" / "thesis.txt"
    precious.parent.mkdir(exist_ok=True)
    precious.write_text("precious")
    for force, why in ((False, "exists already"), (True, "is not a release")):
        with pytest.raises(UsageError, match=why):
            release.save(tmp_path / "out", force=force)
    assert precious.read_text() == "precious"


# Failures: nothing is left behind, and what was there stays


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def denied(*_: Any, **__: Any) -> None:
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def interrupted(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def on_call(number: int, real: Callable[..., Any], failure: Callable[..., Any]) -> Callable[..., Any]:
    calls = 0

    def act(*args: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        return (failure if calls == number else real)(*args, **more)

    return act


STEPS: dict[str, Callable[[Any], tuple[Any, str, Any]]] = {
    "first table": lambda failure: (pq, "write_table", on_call(1, pq.write_table, failure)),
    "second table": lambda failure: (pq, "write_table", on_call(2, pq.write_table, failure)),
    "description": lambda failure: (Path, "write_text", on_call(1, Path.write_text, failure)),
    "permissions": lambda failure: (Path, "chmod", on_call(1, Path.chmod, failure)),
    "first rename": lambda failure: (Path, "rename", on_call(1, Path.rename, failure)),
    "second rename": lambda failure: (Path, "rename", on_call(2, Path.rename, failure)),
}


@pytest.mark.parametrize("failure", [full_disk, denied, interrupted], ids=lambda function: str(function.__name__))
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("force", [False, True], ids=["new", "over an old release"])
def test_a_failure_leaves_everything_as_it_was(
    release: Release,
    other: Release,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    failure: Callable[..., None],
    step: str,
    force: bool,
) -> None:
    if step == "second rename" and not force:
        return  # a new folder is moved into place at once
    if force:
        other.save(tmp_path / "out")
    before = everything(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(*STEPS[step](failure))
        if failure is interrupted:
            with pytest.raises(KeyboardInterrupt):
                release.save(tmp_path / "out", force=force)
        else:
            problem = "the disk is full" if failure is full_disk else "cannot write there"
            with pytest.raises(SurroundingsError, match=problem):
                release.save(tmp_path / "out", force=force)
    assert everything(tmp_path) == before
    if force:
        assert load(tmp_path / "out").to_json() == other.to_json()
    release.save(tmp_path / "out", force=force)  # and it works once there is room
    assert everything(tmp_path) == WHOLE


def test_a_previous_release_that_cannot_be_put_back_is_kept_aside(
    release: Release, other: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.save(tmp_path / "out")
    real = Path.rename
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", on_call(2, on_call(2, real, denied), full_disk))
        with pytest.raises(SurroundingsError):
            release.save(tmp_path / "out", force=True)
    (kept,) = tmp_path.rglob("previous")
    assert load(kept).to_json() == other.to_json()


def test_what_cannot_be_written_as_json_leaves_nothing_behind(release: Release, tmp_path: Path) -> None:
    odd = dataclasses.replace(release, request={"odd": object()})
    with pytest.raises(TypeError):
        odd.save(tmp_path / "out")
    assert everything(tmp_path) == []


def test_a_file_in_the_way_is_an_error_of_the_surroundings(release: Release, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SurroundingsError, match="cannot write there"):
        release.save(tmp_path / "file" / "out")


# Loading


def change(**fields: Any) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        path = folder / "release.json"
        data = {**json.loads(path.read_text("utf-8")), **fields}
        path.write_text(json.dumps({name: value for name, value in data.items() if value is not ...}))

    return act


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return act


def truncate(name: str, share: float) -> Callable[[Path], None]:
    def act(folder: Path) -> None:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: int(len(content) * share)])

    return act


def scramble(folder: Path) -> None:
    """Damage the footer of a table, keeping its size and its magic bytes."""
    path = folder / "items.parquet"
    content = bytearray(path.read_bytes())
    for at in range(len(content) - 60, len(content) - 8):
        content[at] ^= 0xA5
    path.write_bytes(bytes(content))


GUARANTEE = Guarantee(epsilon=Decimal(1)).to_json()
DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "no description": (lambda folder: (folder / "release.json").unlink(), "release.json is missing"),
    "no table": (lambda folder: (folder / "items.parquet").unlink(), "items.parquet is missing"),
    "empty description": (write("release.json", b""), "damaged"),
    "not json": (write("release.json", b"{"), "damaged"),
    "not utf-8": (write("release.json", b"\xff\xfe{}"), "damaged"),
    "a list": (write("release.json", b"[]"), "holds no description"),
    "null": (write("release.json", b"null"), "holds no description"),
    "another format": (change(format="something-else"), "something-else"),
    "newer": (change(version=2), "version 2"),
    "a version that is no number": (change(version="2"), "damaged"),
    "a field missing": (change(guarantee=...), "damaged"),
    "no epsilon": (change(guarantee={**GUARANTEE, "epsilon": "plenty"}), "damaged"),
    "an unknown standing": (change(guarantee={**GUARANTEE, "standing": "trusted"}), "damaged"),
    "no scale": (change(noise={"items": {"law": "discrete-laplace", "scale": "1/0"}}), "damaged"),
    "an odd interval": (change(interval={"width": 3}), "damaged"),
    "truncated table": (truncate("items.parquet", 0.5), "damaged"),
    "empty table": (write("items.parquet", b""), "damaged"),
    "not a table": (write("edges.parquet", b"PAR1 not really PAR1"), "damaged"),
    "scrambled table": (scramble, "damaged"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_folder_is_refused_by_name(release: Release, tmp_path: Path, kind: str) -> None:
    folder = release.save(tmp_path / "out")
    damage, pattern = DAMAGE[kind]
    damage(folder)
    with pytest.raises(DataError, match=pattern) as caught:
        load(folder)
    assert str(folder) in str(caught.value)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="is a file"):
        load(tmp_path / "file")
    with pytest.raises(DataError, match=r"release\.json is missing"):
        load(tmp_path / "nowhere")


def test_a_folder_that_may_not_be_read(release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = release.save(tmp_path / "out")
    monkeypatch.setattr(Path, "read_text", denied)
    with pytest.raises(SurroundingsError, match="cannot be read"):
        load(folder)


# What a release says


def test_tables_that_are_not_there(release: Release) -> None:
    items = SimpleRandom(limit=2, what="items").release(town(), Grant("1"), SeededNoise(1))
    with pytest.raises(UsageError, match="holds no edges"):
        _ = items.edges
    edges = SimpleRandom(limit=2, what="edges").release(town(), Grant("1"), SeededNoise(1))
    with pytest.raises(UsageError, match="holds no items"):
        edges.top(3)
    assert [row["label"] for row in edges.top(3, context="AM")] == [None] * 3


def test_top_in_a_context_gives_labels_and_a_fixed_order(release: Release) -> None:
    (best,) = release.top(1, context="am")
    assert list(best) == ["rank", "item", "label", "count", "low", "high", "context"]
    assert best["context"] == "AM"
    labels = dict(zip(release.items["item"].to_pylist(), release.items["label"].to_pylist(), strict=True))
    assert all(row["label"] == labels[row["item"]] for row in release.top(6, context="PM"))
    with pytest.raises(UnknownNameError, match="did you mean"):
        release.top(1, context="A")


def test_explain_numbers_every_sentence_and_warns_where_no_user_counts(release: Release) -> None:
    lines = release.explain().splitlines()
    assert [line.split(". ")[0] for line in lines] == [str(n) for n in range(1, len(lines) + 1)]
    assert "at most 2 records per person" in release.explain()
    assert "95 %" in release.explain()
    assert "Not charged to any ledger" in lines[-1]


def test_the_schema_of_the_tables(release: Release) -> None:
    assert tuple(release.items.column_names) == ITEMS.columns
    assert tuple(release.edges.column_names) == EDGES.columns
    assert release.items.schema.field("count").type == pa.float64()
