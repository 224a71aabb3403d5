"""Compile the kernels of ``src/headcount/kernels.txt`` ahead of time: ``tools/build/prebuild.py``.

A build of a wheel runs it (``hatch_build.py``). It needs NumPy and Numba, and a C compiler to link with. Each
kernel gets an entry that takes addresses, sizes and numbers, and so can be called without Numba. Of its runtime
entries call what makes arrays and lets go of them, which ``tools/packaging/kernel_room.c`` does.

Two processes compile half of the list each.
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
PACKAGE = SOURCE / "headcount"
LIST = PACKAGE / "kernels.txt"
ROOM = ROOT / "tools" / "packaging" / "kernel_room.c"
FOLDER = PACKAGE / "prebuilt_kernels"
PROCESSES = 2
PROCESSOR = "x86-64-v3" if platform.machine() in ("x86_64", "AMD64") else ""
"""Those of 2013 and later, for it makes kernels a tenth quicker; on others Numba compiles (``runs_here``)."""


class CannotBuildError(Exception):
    """Why there is no library."""


@dataclass(frozen=True)
class Wanted:
    """A kernel of the list, by its full name, and the types of its arguments as they are spelled there."""

    kernel: str
    types: str
    symbol: str

    @property
    def function(self) -> Any:
        module, name = self.kernel.rsplit(".", 1)
        return getattr(importlib.import_module(module), name)


def wanted() -> list[Wanted]:
    """Read the list: a line for each kernel and its types, ``package.module.kernel(type,type,…)``."""
    lines = [line for line in LIST.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]
    parts = [line.removesuffix(")").split("(", 1) for line in lines]
    return [Wanted(kernel, types, f"kernel_{at}") for at, (kernel, types) in enumerate(parts)]


@dataclass
class Entry:
    """An entry as source: parameters that stand for arguments, and the arguments made of them."""

    types: Any
    parameters: list[Any] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)

    def argument(self, spelled: ast.expr) -> str:
        """Return an expression for an argument of a type."""
        match spelled:
            case ast.Constant(value=None):
                return "None"
            case ast.Name(id="bool"):
                return f"{self._parameter(self.types.int64)} != 0"
            case ast.Name(id=name):
                return self._parameter(getattr(self.types, name))
            case ast.Subscript(value=ast.Name(id=name), slice=axes):
                pointer = self._parameter(self.types.CPointer(getattr(self.types, name)))
                many = len(axes.elts) if isinstance(axes, ast.Tuple) else 1
                sizes = [self._parameter(self.types.int64) for _ in range(many)]
                return f"carray({pointer}, ({', '.join(sizes)},))"
            case ast.Call(func=function, args=inside):
                arguments = ", ".join(self.argument(inner) for inner in inside)
                return f"{self._kind(ast.unparse(function))}({arguments})"
        raise CannotBuildError(f"{LIST.name} has a type that is not known: {ast.unparse(spelled)}")

    def _parameter(self, kind: Any) -> str:
        self.parameters.append(kind)
        return f"p{len(self.parameters)}"

    def _kind(self, full: str) -> str:
        module, name = full.rsplit(".", 1)
        alias = full.replace(".", "_")
        self.names[alias] = getattr(importlib.import_module(module), name)
        return alias

    def function(self, wanted: Wanted, put: Callable[..., None]) -> Callable[..., int]:
        """Return a function of an address for what the kernel returns, and of the parameters."""
        from numba import carray

        call = ast.parse(f"kernel({wanted.types})", mode="eval").body
        assert isinstance(call, ast.Call)
        arguments = ", ".join(self.argument(node) for node in call.args)
        given = ", ".join(["out", *(f"p{at + 1}" for at in range(len(self.parameters)))])
        names = {**self.names, "carray": carray, "kernel": wanted.function.jitted, "put": put}
        exec(f"def entry({given}):\n    put(out, kernel({arguments}))\n    return 0\n", names)
        entry: Callable[..., int] = names["entry"]
        return entry


def putting(returned: list[Any]) -> Callable[..., None]:
    """Return what writes down what a kernel returns; to compile it tells the type of that."""
    from numba import types
    from numba.extending import overload

    def put(out: Any, result: Any) -> None:
        """Write down what a kernel returns, number by number."""

    def put_as(out: Any, result: Any) -> Callable[..., None]:  # noqa: ARG001  Numba goes by the names
        returned.append(result)
        if result == types.none:
            return lambda out, result: None  # noqa: ARG005
        if not isinstance(result, types.BaseTuple):
            return _put_number
        lines = "".join(f"    out[{at}] = result[{at}]\n" for at in range(len(result)))
        names: dict[str, Any] = {}
        exec(f"def put_all(out, result):\n{lines}", names)
        several: Callable[..., None] = names["put_all"]
        return several

    overload(put, strict=False)(put_as)  # it would have annotations be the same
    return put


def _put_number(out: Any, result: Any) -> None:
    out[0] = result


def enter_packages() -> None:
    """Let kernels be imported without what their packages import, which a build does not have."""
    sys.path.insert(0, str(SOURCE))
    for folder in (
        PACKAGE,
        *(subfolder for subfolder in PACKAGE.iterdir() if (subfolder / "__init__.py").exists()),
    ):
        name = ".".join(folder.relative_to(SOURCE).parts)
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package


@dataclass(frozen=True)
class CompiledPart:
    """An object file with entries of some kernels, what each of them returns, and the files they were made of."""

    code: bytes
    returns: dict[str, list[str] | None]
    sources: list[str]


def compiled(some: list[Wanted]) -> CompiledPart:
    """Compile entries of some kernels."""
    enter_packages()
    from llvmlite.binding import Linkage
    from numba import types
    from numba.core.compiler import Flags, compile_extra
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target
    from numba.core.runtime import nrtdynmod

    typing, target = (
        cpu_target.typing_context,
        cpu_target.target_context.with_aot_codegen("kernels", cpu_name=PROCESSOR),
    )
    typing.refresh()
    target.refresh()
    flags = Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.nrt = True
    returns: dict[str, list[str] | None] = {}
    with global_compiler_lock:
        library = target.codegen().create_library("kernels")
        library.add_ir_module(nrtdynmod.create_nrt_module(target)[0])
        for kernel_entry in some:
            returned: list[Any] = []
            entry = Entry(types)
            function = entry.function(kernel_entry, putting(returned))
            kinds = (types.CPointer(types.int64), *entry.parameters)
            compiled_entry = compile_extra(typing, target, function, kinds, types.int64, flags, {}, library)
            compiled_entry.library.get_function(compiled_entry.fndesc.llvm_func_name).name = kernel_entry.symbol
            returns[kernel_entry.symbol] = describe_return(kernel_entry, types.unliteral(returned[-1]), types)
        library.finalize()
        for defined in library.get_defined_functions():
            if defined.name not in returns:
                defined.linkage = Linkage.internal
        code = library.emit_native_object()
    files = (
        getattr(module, "__file__", None) for name, module in sys.modules.items() if name.startswith("headcount.")
    )
    return CompiledPart(code, returns, [Path(file).relative_to(PACKAGE).as_posix() for file in files if file])


def describe_return(kernel_entry: Wanted, returned: Any, types: Any) -> list[str] | None:
    """Return the types of what a kernel returns, None if that is nothing."""
    if returned == types.none:
        return None
    kinds = list(returned) if isinstance(returned, types.BaseTuple) else [returned]
    for kind in kinds:
        if kind not in (types.int64, types.uint64, types.boolean):
            raise CannotBuildError(f"{kernel_entry.kernel} returns {returned}: it cannot be in {LIST.name}")
    return [str(kind) for kind in kinds]


def linked(objects: list[bytes], library: Path) -> None:
    """Make a library of object files and what they need to make arrays."""
    if os.name == "nt":
        raise CannotBuildError("on Windows nobody has tried")
    linker = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if linker is None:
        raise CannotBuildError("there is no C compiler to link with; CC may name one")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{at}.o" for at in range(len(objects))]
        for file, code in zip(files, objects, strict=True):
            file.write_bytes(code)
        command = [linker, "-shared", "-fPIC", "-O2", "-s", "-o", str(library), str(ROOM), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotBuildError(f"{linker} failed: {done.stderr[-1000:]}")


def build() -> None:
    """Write the library, its description and their digest; the digest last, so that half a library is none."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    everything = wanted()
    with ProcessPoolExecutor(PROCESSES, mp_context=get_context("spawn")) as pool:
        parts = list(pool.map(compiled, (everything[at::PROCESSES] for at in range(PROCESSES))))
    FOLDER.mkdir()
    linked([part.code for part in parts], FOLDER / "kernels.so")
    kernels: dict[str, dict[str, Any]] = {}
    for kernel_entry in everything:
        returns = next(part.returns[kernel_entry.symbol] for part in parts if kernel_entry.symbol in part.returns)
        kernels.setdefault(kernel_entry.kernel, {})[kernel_entry.types] = {
            "symbol": kernel_entry.symbol,
            "returns": returns,
        }
    enter_packages()
    prebuilt = importlib.import_module("headcount._internal.compiled_library")
    sources = prebuilt.digests(sorted({*parts[0].sources, *parts[1].sources}))
    contents = json.dumps({"sources": sources, "kernels": kernels}, indent=1).encode()
    (FOLDER / prebuilt.CONTENTS).write_bytes(contents)
    library = (FOLDER / prebuilt.LIBRARY).read_bytes()
    (FOLDER / prebuilt.DIGEST).write_bytes(prebuilt.digest_of(contents, library))


def has_changed() -> bool:
    """Whether there is no library yet, or none of this source and list."""
    enter_packages()
    prebuilt = importlib.import_module("headcount._internal.compiled_library")
    description = prebuilt.described()
    try:
        if description is None or description["sources"] != prebuilt.digests(description["sources"]):
            return True
    except OSError:
        return True
    kernels = {(kernel, types) for kernel, entries in description["kernels"].items() for types in entries}
    return bool(kernels != {(kernel_entry.kernel, kernel_entry.types) for kernel_entry in wanted()})


if __name__ == "__main__":
    try:
        if "--if-changed" not in sys.argv or has_changed():
            build()
    except CannotBuildError as reason:
        sys.exit(f"no library of kernels, which Numba will compile as they are called: {reason}")
