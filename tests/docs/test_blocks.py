"""What the pages show runs: Python blocks, headcount commands, and the output that is promised for them.

The convention is written down in CONTRIBUTING.md.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest

from headcount.cli.main import main, program

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
REWRITE = bool(os.environ.get("HEADCOUNT_REWRITE"))  # put what is printed into the pages instead of comparing
STORIES = ROOT / "docs" / "stories"
KINDS = {"python", "sh", "text", "csv", "json", "toml", "diff"}

_BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>output|(?:file|change): \S+) -->\n)?^```(?P<kind>\S*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it starts on, and the mark before it."""

    kind: str
    text: str
    line: int
    mark: str


def blocks(text: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("kind")) + 1
        yield Block(match["kind"], match["text"], line, match["mark"] or "")


def commands(block: Block) -> Iterator[tuple[list[str], int]]:
    """The headcount commands of a block, without the word headcount, and the exit code each should have."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["headcount"]:
            promised = re.search(r"# exit (\d+)$", line)
            yield words[1:], int(promised[1]) if promised else 0


def follow(page: Path, capsys: pytest.CaptureFixture[str]) -> int:
    """Do what a page says, in the current folder; return how many blocks there were to check."""
    names: dict[str, Any] = {"__name__": "__docs__"}
    printed = ""
    done = 0
    for block in blocks(page.read_text(encoding="utf-8")):
        where = f"{page.name}, line {block.line}"
        if block.mark.startswith("file: "):
            target = Path(block.mark.removeprefix("file: "))
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.text, encoding="utf-8")
        elif block.mark == "output":
            if REWRITE and block.text != printed:
                page.write_text(page.read_text(encoding="utf-8").replace(block.text, printed, 1), encoding="utf-8")
            else:
                assert block.text == printed, f"{where}: the program printed\n{printed}"
        elif block.kind == "python":
            exec(compile(block.text, where, "exec", dont_inherit=True), names)
        elif block.kind == "sh":
            for words, code in commands(block):
                printed = run(words, code, where, capsys)
        else:
            continue
        done += 1
    return done


def bring_data(page: Path, workplace: Path) -> None:
    """Copy the public datasets that a story is told about, which are not part of the project, or skip it.

    They are copied, never linked: whatever a page writes must not reach the folder that they come from.
    """
    source = Path(os.environ.get("HEADCOUNT_DATA") or workplace / "nowhere")
    (workplace / "data").mkdir()
    for name in sorted(set(re.findall(r"\bdata/([\w-]+\.parquet)", page.read_text(encoding="utf-8")))):
        if not (source / name).exists():
            pytest.skip(f"HEADCOUNT_DATA has no {name}")
        shutil.copyfile(source / name, workplace / "data" / name)


def run(words: list[str], code: int, where: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command and return what it printed on standard output, without blanks at the ends of lines."""
    if words[:1] in (["demo"], ["serve"]):  # these take long, and have their own tests: here they are spelt right
        top = program.make_context("headcount", words[:1])
        command = program.get_command(top, words[0])
        assert command is not None
        command.make_context(words[0], words[1:], parent=top)
        return ""
    capsys.readouterr()
    returned = main(words)
    captured = capsys.readouterr()
    assert returned == code, f"{where}: headcount {shlex.join(words)} gave {returned}\n{captured.err}"
    return "".join(f"{line.rstrip()}\n" for line in captured.out.splitlines())


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.parent != STORIES], ids=lambda page: str(page.relative_to(ROOT))
)
def test_a_page_runs_as_written(page: Path, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    follow(page, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(STORIES.glob("*.md")), ids=lambda page: page.stem)
def test_a_story_runs_as_written(page: Path, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bring_data(page, workplace)
    follow(page, capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_say_their_language(page: Path) -> None:
    assert page.read_text(encoding="utf-8").count("```") % 2 == 0
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.kind in KINDS, f"{page.name}, line {block.line}: ```{block.kind}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):", makefile, re.MULTILINE))
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([a-z-]+)`", text))
    for block in blocks(text):
        named |= set(re.findall(r"^make ([a-z-]+)", block.text, re.MULTILINE)) if block.kind == "sh" else set()
    assert named <= targets


BROKEN = {
    "a command that fails": "```sh\nheadcount top nowhere\n```\n",
    "a command that succeeds where it should fail": "```sh\nheadcount methods   # exit 2\n```\n",
    "a flag that does not exist": "```sh\nheadcount demo --fast\n```\n",
    "code that fails": "```python\nassert 1 == 2\n```\n",
    "other output": "```sh\nheadcount --version\n```\n\n<!-- output -->\n```text\nheadcount, version 9\n```\n",
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.skipif(REWRITE, reason="pages are being rewritten, not compared")
def test_a_broken_page_is_noticed(text: str, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = workplace / "broken.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises((AssertionError, click.UsageError)):
        follow(page, capsys)


def test_the_readme_shows_both_ways(workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert follow(ROOT / "README.md", capsys) >= 5
