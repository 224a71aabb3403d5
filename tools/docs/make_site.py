"""Make the documentation site: ``python tools/docs/make_site.py [--out FOLDER]``; a warning is an error.

The pages are docs/ as it is, with CONTRIBUTING.md and CHANGELOG.md beside them. Copies are changed in three ways
before Sphinx sees them, so that the originals read well on GitHub:

- links are those between the copies, and what is no page, such as a module, is copied where it is linked;
- the lists of the home page become the navigation: a heading is a group, the links below it are its pages;
- the end of the API reference, from its mark on, becomes every public name of the package, from its docstring.

Why Sphinx, with MyST and Furo: it is kept up, searches from disk without a server, brings all it shows along, and
reads docstrings by itself. MkDocs 1 is no longer kept up, and its theme Material no longer developed.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from pathlib import Path

from sphinx.cmd.build import build_main

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
HOME = "index.md"
NAMES = "<!-- every public name, on the site -->"
DIRECTIVES = {"Functions": "autofunction", "Classes": "autoclass", "Values": "autodata"}
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)")
_NAMED = re.compile(r"\[([^]]+)\]\(([^)\s#]+)\.md\b")


def pages() -> dict[Path, str]:
    """Return every page, and what it is called below the folder of copies."""
    beside = {ROOT / name: name for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    return {page: page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md"))} | beside


def outside_blocks(change: Callable[[str], str], text: str) -> str:
    """Change a page, but not what its fenced blocks show.

    >>> outside_blocks(str.upper, "a\\n```text\\nb\\n```\\nc")
    'A\\n```text\\nb\\n```\\nC'
    """
    return "".join(part if part.startswith("```") else change(part) for part in _FENCED.split(text))


def relinked(text: str, page: Path, copies: Mapping[Path, Path]) -> str:
    """Let links of a page lead from its copy to copies of pages, or else to the very file.

    >>> copies = {Path("/r/docs/a.md"): Path("/s/a.md"), Path("/r/B.md"): Path("/s/B.md")}
    >>> relinked("[b](../B.md#c), [d](../src/d.py), [e](https://e)", Path("/r/docs/a.md"), copies)
    '[b](B.md#c), [d](../r/src/d.py), [e](https://e)'
    """

    def lead(match: re.Match[str]) -> str:
        if ":" in match[1]:
            return match[1]
        target = Path(os.path.normpath(page.parent / match[1]))
        return Path(os.path.relpath(copies.get(target, target), copies[page].parent)).as_posix()

    return outside_blocks(lambda part: _LINK.sub(lead, part), text)


def groups(home: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the headings of the home page, each with the pages that are first named below it, and their names.

    >>> home = "# Home\\n[C](c.md)\\n## Tasks\\n- [B](b.md#c)\\n- [A](a.md)\\n## More\\n- [B](b.md), [D](d.md)\\n"
    >>> list(groups(home))
    [('Tasks', {'b': 'B', 'a': 'A'}), ('More', {'d': 'D'})]
    """
    listed: set[str] = set()
    for section in re.split(r"^## ", home, flags=re.MULTILINE)[1:]:
        title, _, rest = section.partition("\n")
        named: dict[str, str] = {}
        for name, page in _NAMED.findall(rest):
            if page not in listed:
                named.setdefault(page, name)
        listed.update(named)
        yield title, named


def navigation(home: str) -> str:
    """Return the groups of the home page as tables of contents, which are seen beside every page alone."""
    return "\n\n".join(
        "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *_entries(named), "```"])
        for title, named in groups(home)
    )


def _entries(named: Mapping[str, str]) -> Iterator[str]:
    return (f"{name} <{page}>" for page, name in named.items())


def reference() -> str:
    """Return what shows every public name of the package from its docstring: functions first, then classes."""
    package = importlib.import_module("headcount")
    parts: dict[str, list[str]] = {"Functions": [], "Classes": [], "Values": []}
    for name in package.__all__:
        value = getattr(package, name)
        kind = "Functions" if inspect.isfunction(value) else "Classes" if inspect.isclass(value) else "Values"
        parts[kind] += [f".. {DIRECTIVES[kind]}:: headcount.{name}", *_options(value)]
    return "\n\n".join(
        "\n".join([f"## {title}", "", "```{eval-rst}", *lines, "```"]) for title, lines in parts.items()
    )


def _options(value: object) -> Iterator[str]:
    """Yield which members of a class are shown: its own and inherited ones, but not those that Python brings."""
    if inspect.isclass(value):
        foreign = (base.__name__ for base in value.__mro__ if not base.__module__.startswith("headcount"))
        yield "   :members:"
        yield f"   :inherited-members: {', '.join(foreign)}"
        if issubclass(value, Enum):
            yield "   :undoc-members:"
    yield ""


def stage(folder: Path) -> None:
    """Write copies of all pages into a folder, as Sphinx is to see them."""
    copies = {page: folder / name for page, name in pages().items()}
    for page, copy in copies.items():
        text = relinked(page.read_text(encoding="utf-8"), page, copies)
        if page == DOCS / HOME:
            text += "\n" + navigation(text) + "\n"
        copy.parent.mkdir(parents=True, exist_ok=True)
        if NAMES in text:
            text = text.partition(NAMES)[0] + reference() + "\n"
        copy.write_text(text, encoding="utf-8")


def build(out: Path) -> int:
    """Make the site in a folder, anew; return 0 if nothing was to be said against it."""
    if out.exists() and not (out / "searchindex.js").exists():
        raise SystemExit(f"{out} exists and is no site of documentation; choose another --out")
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        source, doctrees = Path(work, "source"), Path(work, "doctrees")
        stage(source)
        flags = ["-q", "-W", "--keep-going", "-b", "html", "-c", str(DOCS), "-d", str(doctrees)]
        return build_main([*flags, str(source), str(out)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where it goes, made anew")
    out = parser.parse_args().out.resolve()
    code = build(out)
    print(f"{out / 'index.html'}: {'made' if code == 0 else 'made, with warnings'}")
    return code


if __name__ == "__main__":
    sys.exit(main())
