"""The library of kernels: that it is used, that it gives what Numba gives, and that an old one is left alone."""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from headcount._internal import compiled_library
from headcount._internal.compiled import Kernel, compiled
from headcount.bounds.kernels.draws import keys_of_texts

ROOT = Path(__file__).parents[2]
LIBRARY, CONTENTS = compiled_library._opened()
needs_library = pytest.mark.skipif(
    shutil.which("cc") is None and "CC" not in os.environ, reason="without a C compiler there is no library"
)
RELEASE = """
import json, sys
import headcount as hc
from headcount.noise import SeededNoise
from headcount.accounting.budget import Grant
from headcount.methods.registry import build
import numpy as np, pyarrow as pa

rng = np.random.default_rng(3)
users, items, days = rng.integers(0, 400, 6000), rng.integers(0, 3000, 6000), rng.integers(0, 7, 6000)
texts = pa.table({"user": [f"u{each}" for each in users], "item": [f"i{each}" for each in items], "day": days})
numbers = pa.table({"user": users, "item": items, "day": days})
found = {}
for log, catalogue in ((texts, [f"i{each}" for each in range(3000)]), (numbers, list(range(3000)))):
    for method, told in (("adaptive", {}), ("sra", {"limit": 4}), ("adaptive", {"noise": "gaussian"})):
        week = {"context": "day", "contexts": list(range(7))}
        events = hc.read_events(log, user="user", item="item", items=catalogue, **week)
        grant = Grant("1", "1e-6" if told.get("noise") else None)
        release = build(method, told).release(events, grant, SeededNoise(1))
        found[f"{method} {told} {len(found)}"] = release.edges["count"].to_pylist()
print(json.dumps({"found": found, "numba": "numba" in sys.modules or "llvmlite" in sys.modules}))
"""


class Pair(NamedTuple):
    """Some arguments."""

    values: Any
    many: int


def run_in_process(**environment: str) -> dict[str, Any]:
    everything = {**os.environ, **environment, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, "-c", RELEASE], env=everything, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    output: dict[str, Any] = json.loads(done.stdout)
    return output


@needs_library
def test_there_is_a_library_of_this_very_source() -> None:
    assert CONTENTS, "run tools/packaging/prebuild.py, as `make test` does"


@needs_library
def test_releases_need_no_compiler_and_come_out_the_same() -> None:
    with_library, without = run_in_process(), run_in_process(**{compiled_library.WITHOUT: "1"})
    assert not with_library["numba"]
    assert without["numba"]
    assert with_library["found"] == without["found"]


@needs_library
def test_a_kernel_of_the_library_is_called_without_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = Kernel(keys_of_texts.py_func, small=False)  # type: ignore[attr-defined]
    monkeypatch.setattr(Kernel, "jitted", None)
    data, out = np.frombuffer(b"abc", dtype=np.uint8), np.zeros(2, dtype=np.uint64)
    kernel(np.uint64(1), np.uint64(2), data, np.array([1, 3]), out)
    assert out.all()
    with pytest.raises(TypeError):  # of other types there is none
        kernel(np.uint64(1), np.uint64(2), data, np.array([1, 3], dtype=np.int32), out)


@needs_library
def test_a_library_of_another_source_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_library, "digests", lambda sources: dict.fromkeys(sources, "of something else"))
    assert compiled_library._opened.__wrapped__() == (None, {})


@needs_library
@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (compiled_library.LIBRARY, lambda data: data[: len(data) // 2]),
        (compiled_library.LIBRARY, lambda data: data[:-1] + bytes([data[-1] ^ 1])),
        (compiled_library.LIBRARY, None),
        (compiled_library.CONTENTS, lambda data: data[:-2]),
        (compiled_library.CONTENTS, lambda data: data.replace(b"int32[:]", b"int64[:]")),
        (compiled_library.DIGEST, lambda data: data[:-1]),
    ],
)
def test_a_damaged_library_is_left_alone_with_a_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    name: str,
    damage: Callable[[bytes], bytes] | None,
) -> None:
    shutil.copytree(compiled_library._FOLDER, tmp_path, dirs_exist_ok=True)
    monkeypatch.setattr(compiled_library, "_FOLDER", tmp_path)
    assert compiled_library._opened.__wrapped__()[1] == CONTENTS
    file = tmp_path / name
    if damage is None:
        file.unlink()
    else:
        data = file.read_bytes()
        file.write_bytes(damage(data))
        assert file.read_bytes() != data
    assert compiled_library._opened.__wrapped__() == (None, {})
    (record,) = caplog.records
    assert "are damaged" in record.getMessage()


@needs_library
@pytest.mark.parametrize(
    "name", [compiled_library.LIBRARY, pytest.param(compiled_library.CONTENTS, marks=pytest.mark.slow)]
)
def test_a_release_with_half_a_library_succeeds_and_warns_once(tmp_path: Path, name: str) -> None:
    """Half a library used to end the process, and half a description used to blame the catalogue."""
    package = tmp_path / "headcount"
    shutil.copytree(ROOT / "src" / "headcount", package, ignore=shutil.ignore_patterns("__pycache__"))
    file = package / "prebuilt_kernels" / name
    os.truncate(file, file.stat().st_size // 2)
    (tmp_path / "log.csv").write_text("user,item\nann,tea\n", encoding="utf-8")
    command = "release log.csv --user user --item item --items tea --epsilon 1 --method sra --limit 2 --out out"
    done = subprocess.run(
        [sys.executable, "-m", "headcount", *command.split(), "--quiet"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("warning: the compiled kernels in ")


@needs_library
def test_a_library_without_its_digest_is_half_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(compiled_library._FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / compiled_library.DIGEST).unlink()
    monkeypatch.setattr(compiled_library, "_FOLDER", tmp_path)
    assert compiled_library.described() is None


@needs_library
def test_a_library_for_another_processor_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Elsewhere:
        @staticmethod
        def runs_here() -> int:
            return 0

    monkeypatch.setattr(ctypes, "CDLL", lambda _: Elsewhere)
    assert compiled_library._opened.__wrapped__() == (None, {})


@needs_library
def test_a_failed_allocation_is_reported() -> None:
    room = LIBRARY.NRT_MemInfo_alloc_aligned
    room.restype, room.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_uint]
    assert room(2**64 - 8, 32) is None
    for size in (1, 100, 4096):
        address = room(size, 32)
        references, _, _, data, allocated = (ctypes.c_size_t * 5).from_address(address)
        assert (references, data % 32, allocated) == (1, 0, size)
        assert address < data <= address + 48 + 32
        LIBRARY.NRT_MemInfo_call_dtor(ctypes.c_void_p(address))


def test_a_kernel_that_fails_is_out_of_memory() -> None:
    failing = ctypes.CFUNCTYPE(ctypes.c_int32)(lambda *_: 1)
    with pytest.raises(MemoryError, match="not enough memory"):
        compiled_library.Entry(failing, "int64[:],int64", ["int64"])([0, 0, 7])


@pytest.mark.parametrize(
    ("returns", "words", "expected"),
    [
        (None, [], None),
        (["int64"], [-1], -1),
        (["uint64"], [-1], 2**64 - 1),
        (["bool", "int64"], [1, 0], (True, 0)),
    ],
)
def test_what_a_kernel_returns(returns: list[str] | None, words: list[int], expected: object) -> None:
    def kernel(_: Any, __: Any, out: Any) -> int:
        out[:] = words
        return 0

    assert compiled_library.Entry(kernel, "", returns)([]) == expected


@pytest.mark.parametrize(
    ("value", "types", "passed"),
    [
        (np.zeros(3, np.int8), "int8[:]", 2),
        (np.zeros((3, 2)), "float64[:,:]", 3),
        (np.zeros((2, 2, 2)), "other", 0),
        (np.zeros(6)[::2], "other", 0),
        (np.zeros(3, ">i4"), "other", 0),
        (np.zeros(3, "U2"), "other", 0),
        (np.float64(0.5), "float64", 1),
        (np.bool_(True), "bool", 1),
        (2**63 - 1, "int64", 1),
        (np.int64(-(2**63)), "int64", 1),
        (2**63, "other", 1),
        (np.int32(4), "other", 0),
        ("text", "other", 0),
        (Pair(np.zeros(1, np.uint16), 2), f"{__name__}.Pair(uint16[:],int64)", 3),
    ],
)
def test_types_and_what_is_passed_for_them(value: Any, types: str, passed: int) -> None:
    types_of_value, values = compiled_library.flatten_arguments((value,))
    assert types_of_value == types
    assert len(values) == passed
    if types != "other":
        assert len(compiled_library.Entry(ctypes.CFUNCTYPE(None)(), types, None)._entry.argtypes) == passed + 3


def test_an_array_that_may_only_be_read_is_passed_like_any_other() -> None:
    array = np.arange(3)
    array.setflags(write=False)
    assert compiled_library.flatten_arguments((array,))[0] == "int64[:]"


def test_a_kernel_goes_to_another_process_by_its_name() -> None:
    import pickle

    assert pickle.loads(pickle.dumps(keys_of_texts)) is keys_of_texts


def test_without_a_library_numba_compiles() -> None:
    @compiled
    def twice(value: Any) -> Any:
        return 2 * value

    assert twice(4) == 8


@pytest.mark.slow
@needs_library
def test_the_list_has_the_frequently_called_kernels() -> None:
    subprocess.run(
        [sys.executable, ROOT / "tools" / "packaging" / "kernel_list.py", "--check"],
        check=True,
        capture_output=True,
    )


@pytest.mark.slow
@needs_library
def test_a_wheel_has_the_library(tmp_path: Path) -> None:
    source = tmp_path / "source"
    kept = "src", "tools", "README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "hatch_build.py"
    for name in kept:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, (source / name) if (ROOT / name).is_dir() else source)
    shutil.rmtree(source / "src" / "headcount" / "prebuilt_kernels", ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(tmp_path),
        str(source),
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert "-py3-none-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert {
        f"headcount/prebuilt_kernels/{name}"
        for name in (compiled_library.LIBRARY, compiled_library.CONTENTS, compiled_library.DIGEST)
    } <= set(names)
