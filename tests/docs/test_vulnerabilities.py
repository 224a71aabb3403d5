"""Versions that are known to be vulnerable are excluded, and what is installed has hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "known-vulnerabilities.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
DEVELOPERS = [
    *PROJECT["dependency-groups"]["dev"],
    *(dependency for extra in EXTRAS.values() for dependency in extra),
]
INSTALLED = [
    *PROJECT["project"]["dependencies"],
    *(dependency for name, extra in EXTRAS.items() if name != "spark" for dependency in extra),
    *PROJECT["build-system"]["requires"],
]
EVERYTHING = [Requirement(specification) for specification in (*INSTALLED, *DEVELOPERS)]
LOCKS = {"requirements.lock": INSTALLED, "requirements-dev.lock": [*INSTALLED, *DEVELOPERS]}
REQUIRED = re.findall(r"^\| `([\w-]+)` \|.*\| ([\d.]+) \|$", PAGE, re.MULTILINE)


def pinned(lock: str) -> dict[str, tuple[str, str]]:
    """Return the version of each package of a lock file, and its block of hashes."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)(.*\n(?:    .*\n)*)", text, re.MULTILINE)
    assert len(blocks) == len(re.findall(r"^\S", text, re.MULTILINE))
    return {canonicalize_name(name): (version, block) for name, version, block in blocks}


@pytest.mark.parametrize(("name", "version"), REQUIRED)
def test_the_versions_that_the_page_requires_are_required(name: str, version: str) -> None:
    bounds = {str(requirement.specifier) for requirement in EVERYTHING if requirement.name == name}
    assert bounds == {f">={version}"}


def test_the_page_requires_some() -> None:
    assert {"opendp", "python-multipart", "starlette"} <= {name for name, _ in REQUIRED}


def test_biased_samplers_are_excluded() -> None:
    (bound,) = {requirement.specifier for requirement in EVERYTHING if requirement.name == "opendp"}
    assert [version for version in ("0.14.0", "0.14.1", "0.14.2", "0.16.0") if version in bound] == [
        "0.14.2",
        "0.16.0",
    ]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_hashes_of_all_that_is_required_and_names_no_index(lock: str) -> None:
    packages = pinned(lock)
    for name, (_, block) in packages.items():
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), name
    assert "://" not in (ROOT / lock).read_text(encoding="utf-8")
    for requirement in map(Requirement, LOCKS[lock]):
        assert packages[canonicalize_name(requirement.name)][0] in requirement.specifier, requirement.name


def test_both_locks_agree() -> None:
    small, large = pinned("requirements.lock"), pinned("requirements-dev.lock")
    assert {name: large[name][0] for name in small} == {name: version for name, (version, _) in small.items()}


@pytest.mark.parametrize("name", ["llvmlite", "numpy", "opendp", "pyarrow"])
def test_compiled_packages_have_hashes_for_every_platform(name: str) -> None:
    """A lock holds no file names, but Linux on two processors, macOS and Windows need four wheels at least."""
    assert pinned("requirements.lock")[name][1].count("--hash=") >= 4
