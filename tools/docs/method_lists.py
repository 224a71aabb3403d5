"""Write the lists of methods in README.md and docs/: ``python tools/docs/method_lists.py [--check]``.

A list stands between ``<!-- methods: KIND -->`` and ``<!-- end of methods -->``.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

import headcount as hc
from headcount.accounting.budget import Cost, Grant
from headcount.lab.plan.predicted_errors import MODELS
from headcount.methods.family import example_of, fields_of
from headcount.methods.method import Method, section
from headcount.methods.registry import FAMILIES, summary
from headcount.noise import SeededNoise

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WIDTH = 115
_BLOCK = re.compile(r"(?<=^<!-- methods: )(\S+) -->\n.*?^(?=<!-- end of methods -->$)", re.MULTILINE | re.DOTALL)


class Entry(NamedTuple):
    """A method: its name, what it is, the heading of its family, and where it is explained, below docs/."""

    name: str
    kind: type[Method]
    heading: str
    place: str
    own: bool
    """Whether it is to be used, and not there as its paper has it."""

    @property
    def proven(self) -> bool:
        """Whether its promise is."""
        return self.kind.reason is None

    def link(self, folder: Path) -> str:
        """Return a link to its page, from a page in a folder, with the name that the page has."""
        page = DOCS / self.place.partition("#")[0]
        title = re.search(r"^# ([^:\n]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
        if title is None:
            raise SystemExit(f"{page} has no heading")
        prefix = "../" if folder == DOCS / "methods" else "docs/" if folder == ROOT else ""
        return f"[{title[1]}]({(prefix + self.place).replace('../methods/', '')})"


def entries() -> Iterator[Entry]:
    """Yield every method of every family; one as published has a heading on the page of ours."""
    for family in FAMILIES.values():
        for name, kind in family.kinds().items():
            own = family.page.format(name=name.removesuffix("-published"))
            place = getattr(kind, "page", own if name in family.methods else f"{own}#{name}")
            yield Entry(name, kind, family.heading, place, name in family.methods)


def by_family(text_of: Callable[[Entry], str], listed: Callable[[Entry], bool]) -> Iterator[str]:
    """Yield a line for each family, with what is said of some methods; what is said twice is said once."""
    for heading in dict.fromkeys(entry.heading for entry in entries()):
        texts = [text_of(entry) for entry in entries() if entry.heading == heading and listed(entry)]
        if texts:
            yield wrapped(f"- {heading}: {', '.join(dict.fromkeys(texts))}")


def wrapped(line: str) -> str:
    """Break a line of a list."""
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def named(folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield the names of all methods that are to be used."""
    return by_family(lambda entry: f"`{entry.name}`", lambda entry: entry.own)


def claimed(folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield the names of all methods whose promise is not proven."""
    return by_family(lambda entry: f"`{entry.name}`", lambda entry: not entry.proven)


def linked(folder: Path) -> Iterator[str]:
    """Yield links to the pages of methods."""
    return by_family(lambda entry: entry.link(folder), lambda entry: entry.own)


def table(folder: Path) -> Iterator[str]:
    """Yield a table of all methods, family by family."""
    yield "| Method | What it does | Guarantee | Page |"
    yield "|---|---|---|---|"
    for entry in entries():
        standing = "proven" if entry.proven else "claimed, does not hold"
        yield f"| `{entry.name}` | {summary(entry.name)} | {standing} | {entry.link(folder)} |"


def papers(folder: Path) -> Iterator[str]:
    """Yield where methods come from, unless it is their own page."""
    for entry in entries():
        reference = section(entry.kind, "Reference")
        if not reference.startswith("docs/"):
            yield wrapped(f"- {entry.link(folder)}, `{entry.name}`: {reference}")


def planned(folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield how the errors of methods of counts are predicted, or why they cannot be."""
    counts = [entry for entry in entries() if entry.name in FAMILIES["counts"].methods]
    models = {entry.name: getattr(entry.kind, "foreseen", "") for entry in counts}
    yield "| Method | How its errors are predicted |"
    yield "|---|---|"
    for model, words in MODELS.items():
        names = ", ".join(f"`{name}`" for name, own in models.items() if own == model)
        yield f"| {names} | {words} |"
    names = ", ".join(f"`{name}`" for name, own in models.items() if own not in MODELS)
    yield f"| {names} | cannot be predicted: `headcount plan` says why. Nothing is shown in place of a number |"


def behaved(folder: Path) -> Iterator[str]:  # noqa: ARG001
    """Yield what releases of counts are like, as methods make them from a small log of records."""
    yield "| Method | `low` and `high` enclose | edges sum to their item | tables | stages and their shares of ε |"
    yield "|---|---|---|---|---|"
    log = hc.EventLog.of(
        [(f"u{number}", f"i{number % 5}", "ab"[number % 2]) for number in range(400)],
        items=[f"i{number}" for number in range(5)],
        contexts=["a", "b"],
    )
    meanings = {"true": "the true count", "bounded": "the bounded count", "smoothed": "the smoothed count"}
    for name, kind in FAMILIES["counts"].kinds().items():
        if "what" not in fields_of(kind):
            continue
        method = kind(**example_of(kind))
        release = method.release(log, Grant("1"), SeededNoise(1))
        sums = release.edges.group_by("item", use_threads=False).aggregate([("count", "sum")])["count_sum"]
        agree = np.allclose(sums.to_numpy(), release.items["count"].to_numpy())
        tables = ", ".join(f"`{table}`" for table in release.tables)
        shares = ", ".join(f"{stage.name} {stage.share.normalize()}" for stage in method.stages(log, Cost.of("1")))
        covered = meanings[release.interval.covers]
        yield f"| `{name}` | {covered} | {'yes' if agree else 'no'} | {tables} | {shares} |"


LISTS: Mapping[str, Callable[[Path], Iterator[str]]] = {
    function.__name__: function for function in (named, claimed, linked, table, papers, planned, behaved)
}


def written(path: Path) -> str:
    """Return the text of a page with its lists as they should be."""

    def block(match: re.Match[str]) -> str:
        return f"{match[1]} -->\n" + "".join(f"{line}\n" for line in LISTS[match[1]](path.parent))

    return _BLOCK.sub(block, path.read_text(encoding="utf-8"))


def main() -> int:
    pages = (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))
    stale = [path for path in pages if written(path) != path.read_text(encoding="utf-8")]
    for path in stale:
        if "--check" in sys.argv[1:]:
            print(f"{path.relative_to(ROOT)} is out of date: run `make docs`")
        else:
            path.write_text(written(path), encoding="utf-8", newline="\n")
            print(f"{path.relative_to(ROOT)}: methods listed anew")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
