"""The pages are complete: methods, names, links and the generated reference."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headcount
from headcount.engines.local.engine import LocalEngine
from headcount.methods.counts import FAMILY
from headcount.methods.registry import family_of, method_names

METHODS = FAMILY.kinds()

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(text: str) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """The names that headings can be linked by."""
    headings = re.findall(r"^#+ (.*)$", prose(read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("tool", ["cli_reference.py", "method_lists.py"])
def test_what_is_generated_is_up_to_date(tool: str) -> None:
    """Asked in a process of its own: Click remembers the help options of commands that other tests ran."""
    command = [sys.executable, str(ROOT / "tools" / "docs" / tool), "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", method_names())
def test_every_method_is_documented(name: str) -> None:
    """The table of methods links to its page, which says how it is asked for."""
    row = re.search(rf"^\| `{name}` \|.*\]\(([^)#]+)", read(DOCS / "methods" / "index.md"), re.MULTILINE)
    assert row, "it is not in docs/methods/index.md: run `make docs`"
    text = read((DOCS / "methods" / row[1]).resolve())
    assert name not in METHODS or f"--method {name}" in text
    assert re.search(rf"(`|--method |^## ){name}\b", text, re.MULTILINE) or len(family_of(name).methods) == 1


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.reason])
def test_what_is_wrong_with_a_claimed_method_has_a_heading(name: str) -> None:
    assert name in anchors(DOCS / "methods" / f"{name.removesuffix('-published')}.md")


@pytest.mark.parametrize("name", headcount.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    assert re.search(rf"`hc\.{name}\b", read(DOCS / "python.md")), f"docs/python.md does not explain hc.{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(read(page))):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{target} does not exist"
        assert not anchor or anchor in anchors(linked), f"{target}: no such heading"


def test_every_page_can_be_reached_from_the_index() -> None:
    linked = {
        (DOCS / target.partition("#")[0]).resolve()
        for target in re.findall(r"\]\(([^)]+)\)", read(DOCS / "index.md"))
    }
    assert set(DOCS.rglob("*.md")) - {DOCS / "index.md"} <= linked


def test_the_readme_names_its_two_commands() -> None:
    text = read(ROOT / "README.md")
    assert "make test " in text
    assert "make demo " in text
    assert "pip install ." in text


def test_the_amount_of_memory_is_the_engines() -> None:
    amount = f"{LocalEngine().memory >> 20} MiB"
    assert amount in read(DOCS / "known-limits.md")
    assert amount in read(DOCS / "performance.md")


def test_a_release_by_default_is_the_folder_that_its_page_shows(tmp_path: Path) -> None:
    log = headcount.EventLog.of([("ann", "tea", "a")], items=["rye", "tea"], contexts=["a"])
    release = headcount.release(log, epsilon=1)
    release.save(tmp_path / "friday")
    listed = re.search(r"^friday/\n(.*?)^```", read(DOCS / "releases.md"), re.MULTILINE | re.DOTALL)
    assert listed
    shown = dict(re.findall(r"^  (\S+) +(.*)$", listed[1], re.MULTILINE))
    assert shown.keys() == {path.name for path in (tmp_path / "friday").iterdir()}
    for name, table in release.tables.items():
        assert shown[f"{name}.parquet"] == ", ".join(table.column_names)


def test_the_changelog_has_this_version() -> None:
    assert f"## [{headcount.__version__}]" in read(ROOT / "CHANGELOG.md")
    project = tomllib.loads(read(ROOT / "pyproject.toml"))["project"]
    assert project["license"] in read(ROOT / "README.md")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_names_a_place_on_one_machine(page: Path) -> None:
    assert not re.search(r"(?<![\w.])/(tmp|home|work|root|Users)/|[A-Z]:\\|file://", read(page))
