"""Write docs/papers.md from its TOML and docs/verdicts.json: ``python tools/docs/papers_page.py [--check]``.

One table for each document: every section, algorithm, theorem, figure and table, with the command that runs it,
the file that does it, the data, and the verdict. Claims belong to an element by the figure, table or theorem that
they name as their place (see :func:`about`).
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from headcount.lab.replicate.claims.claims import ALL, Claim, Claims, read_claims
from headcount.lab.replicate.claims.verdicts import WORDS

ROOT = Path(__file__).parents[2]
DECLARED = ROOT / "docs" / "papers.toml"
VERDICTS = ROOT / "docs" / "verdicts.json"
PAGE = ROOT / "docs" / "papers.md"
SOURCE = ROOT / "src" / "headcount"
_NAMED = re.compile(r"\b(figure|table|theorem|lemma|corollary|algorithm|equation|definition)s? ")
_NUMBERED = re.compile(r"\d+(?:\.\d+)*(?=\(\w\)|\b)")
_START = "<!-- papers: made by tools/docs/papers_page.py -->\n"
_END = "<!-- end of papers -->\n"


class Element(NamedTuple):
    """Something that a document has: its name there, what it is, and where it is here."""

    name: str
    section: str
    what: str
    do: str
    source: str
    found: str = ""
    claims: Sequence[str] = ()


class Document(NamedTuple):
    """A document, or some chapters of one: the paper of ``headcount reproduce`` that it is, and its elements."""

    paper: str
    heading: str
    note: str
    elements: Sequence[Element]


class Declared(NamedTuple):
    """The commands by name, those that take some seconds apart, and the documents."""

    commands: Mapping[str, str]
    longer: Mapping[str, str]
    documents: Sequence[Document]


def declared() -> Declared:
    """Read what is declared."""
    read = tomllib.loads(DECLARED.read_text(encoding="utf-8"))
    documents = [
        Document(**{**entry, "elements": [Element(**element) for element in entry["elements"]]})
        for entry in read["document"]
    ]
    return Declared(read["commands"], read["longer"], documents)


def about(claim: Claim) -> set[str]:
    """Return which figures, tables, theorems and so on a claim names as its place.

    >>> sorted(mentioned("figures 7(a), 8(a)")), sorted(mentioned("section 5.5.1, lemma 4"))
    (['figure 7', 'figure 8'], ['lemma 4'])
    """
    return mentioned(claim.figure) | mentioned(claim.place)


def mentioned(place: str) -> set[str]:
    """Return the numbered elements that a place names."""
    elements = set()
    for part in re.split(r"[;:]", place):
        for match in _NAMED.finditer(part):
            rest = re.match(r"(?:\d[\d.]*(?:\(\w\))?(?:, | and | to )?)+", part[match.end() :])
            elements |= {f"{match[1]} {number}" for number in _NUMBERED.findall(rest[0] if rest else "")}
    return elements


def claims_of(element: Element, claims: Claims) -> list[Claim]:
    """Return the claims that are about an element."""
    return [claim for claim in claims.claim if claim.id in element.claims or element.name in about(claim)]


def data_of(claims: Sequence[Claim]) -> str:
    """Return the data that claims are about, by the paper's names."""
    names = dict.fromkeys(case.dataset for claim in claims for case in claim.cases if case.dataset != ALL)
    return ", ".join(names)


def verdict(element: Element, claims: Sequence[Claim], judged: Mapping[str, Any]) -> str:
    """Say what became of an element: how many of its claims came out how, or what is known of it."""
    if not claims:
        return element.found
    counted = Counter(judged[claim.id]["verdict"] for claim in claims)
    counts_text = ", ".join(f"{counted[word]} {word}" for word in WORDS if counted[word])
    return f"{counts_text}. {element.found}" if element.found else counts_text


def lines() -> Iterator[str]:
    """Yield the generated part of the page."""
    commands, longer, documents = declared()
    judged = json.loads(VERDICTS.read_text(encoding="utf-8"))
    for document in documents:
        claims = read_claims(document.paper)
        run = judged[document.paper]
        yield f"## {document.heading}\n"
        verdicts = f"[{document.paper}]({anchor(document.paper)})"
        yield f"{claims.paper.reference} {document.note} Verdicts in full: {verdicts}.\n"
        yield "| Section | Element | What it is | Command | Source | Data | Verdict |"
        yield "|---|---|---|---|---|---|---|"
        for element in document.elements:
            own_claims = claims_of(element, claims)
            link = f"[`{element.source}`](../src/headcount/{element.source})"
            shown = element.do if element.do.startswith("reproduce ") else f"[{element.do}](#commands)"
            cells = [
                element.section,
                element.name,
                element.what,
                f"`{shown}`" if shown == element.do else shown,
                link,
                data_of(own_claims) or "any",
                verdict(element, own_claims, run["claims"]),
            ]
            yield f"| {' | '.join(cells)} |"
        yield ""
    yield "## Commands\n"
    yield "`reproduce NAME` stands for `headcount reproduce NAME --data DIR`. The others, as the tests run them:\n"
    yield from ("```sh", *named(commands), "```", "", "Some take a little longer:", "")
    yield from ("```text", *named(longer), "```")


def named(commands: Mapping[str, str]) -> Iterator[str]:
    """Yield commands under the names that the tables have for them."""
    for name, command in commands.items():
        yield from (f"# {name}", command)


def anchor(paper: str) -> str:
    """Return where the verdicts of a paper stand: under the last heading before them."""
    before = (
        (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8").partition(f"<!-- verdicts: {paper} -->")[0]
    )
    heading = re.findall(r"^## (.*)$", before, re.MULTILINE)[-1]
    return "reproduce.md#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def written() -> str:
    """Return the page as it should be."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_START)
    _, _, after = rest.partition(_END)
    return f"{before}{_START}\n" + "".join(f"{line}\n" for line in lines()) + f"\n{_END}{after}"


def main() -> int:
    wanted = written()
    if wanted == PAGE.read_text(encoding="utf-8"):
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{PAGE.relative_to(ROOT)} is out of date: run `make docs`")
        return 1
    PAGE.write_text(wanted, encoding="utf-8", newline="\n")
    print(f"{PAGE.relative_to(ROOT)}: written anew")
    return 0


if __name__ == "__main__":
    sys.exit(main())
