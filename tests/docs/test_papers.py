"""docs/papers.md: every element of the five documents has a row, and every row leads somewhere."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from headcount.cli.main import main
from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.claims.claims import read_claims
from tools.docs import papers_page

ROOT = Path(__file__).parents[2]
COMMANDS, LONGER, DOCUMENTS = papers_page.declared()
BY_PAPER = {document.paper: document for document in DOCUMENTS}


def numbered(kind: str, *numbers: int | str) -> Iterator[str]:
    """Names such as figure 1, figure 2."""
    return (f"{kind} {number}" for number in numbers)


IN_THE_DOCUMENTS = {
    "fan-jin": [
        *numbered("figure", *range(1, 12)),
        *numbered("table", *range(1, 6)),
        *numbered("algorithm", 1, 2),
        *numbered("theorem", *range(1, 5)),
        *numbered("lemma", *range(1, 7)),
        *numbered("definition", *range(1, 6)),
    ],
    "kellaris": [
        *numbered("figure", *range(1, 11)),
        *numbered("table", 1, 2),
        *numbered("theorem", *range(1, 7)),
        *numbered("lemma", 1, 2),
        *numbered("definition", *range(1, 6)),
        "corollary 1",
    ],
    "dpsense": [
        "figure 1",
        "table 2",
        "algorithm 1",
        "algorithm 2",
        *numbered("theorem", 1, 2),
        *numbered("lemma", 1, 2),
    ],
    "pncf": [
        "figure 1.1",
        *numbered("table", *(f"2.{n}" for n in range(1, 7))),
        *numbered("definition", *range(1, 10)),
        "algorithm 1",
        "algorithm 2",
        *numbered("lemma", 1, 2),
        *numbered("theorem", "3.4.1", "3.4.2"),
        *numbered("table", "3.1", "3.2", "3.3"),
        *numbered("figure", *(f"3.{n}" for n in range(1, 7))),
    ],
    "pritop": [
        *numbered("algorithm", 3, 4, 5),
        "definition 10",
        *numbered("theorem", "4.4.1", "4.4.2"),
        *numbered("table", "4.1", "4.2", "4.3"),
        *numbered("figure", *(f"4.{n}" for n in range(1, 6))),
    ],
    "cim": [
        *numbered("algorithm", 6, 7),
        *numbered("definition", *range(11, 18)),
        *numbered("lemma", 3, 4, 5, 6),
        *numbered("corollary", 1, 2),
        "theorem 5.5.1",
        *numbered("table", "5.1", "5.2"),
        *numbered("figure", *(f"5.{n}" for n in range(1, 6))),
    ],
}
"""What the documents number, chapters 1 and 2 of the thesis with chapter 3."""


def test_every_document_that_can_be_reproduced_has_a_table() -> None:
    assert [document.paper for document in DOCUMENTS] == list(PAPERS) == list(IN_THE_DOCUMENTS)


@pytest.mark.parametrize("paper", IN_THE_DOCUMENTS)
def test_every_numbered_element_has_one_row(paper: str) -> None:
    rows = Counter(element.name for element in BY_PAPER[paper].elements)
    assert {name: rows[name] for name in IN_THE_DOCUMENTS[paper]} == dict.fromkeys(IN_THE_DOCUMENTS[paper], 1)


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_belongs_to_a_row(paper: str) -> None:
    claims = read_claims(paper)
    shown = {claim.id for element in BY_PAPER[paper].elements for claim in papers_page.claims_of(element, claims)}
    assert [claim.id for claim in claims.claim if claim.id not in shown] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.paper)
def test_every_row_leads_somewhere(document: papers_page.Document) -> None:
    """The command is one that test_blocks runs with the page, or that is run below; the file exists."""
    claims = read_claims(document.paper)
    claim_ids = {claim.id for claim in claims.claim}
    for element in document.elements:
        assert element.do in {*COMMANDS, *LONGER} or element.do.removeprefix("reproduce ") in PAPERS, element
        assert (papers_page.SOURCE / element.source).is_file(), element
        assert set(element.claims) <= claim_ids, element
        assert element.found or papers_page.claims_of(element, claims), f"{element} has no verdict"


def test_every_command_belongs_to_a_row() -> None:
    commands = {element.do for document in DOCUMENTS for element in document.elements}
    assert [name for name in (*COMMANDS, *LONGER) if name not in commands and name != "pack"] == []


def test_the_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "tools" / "docs" / "papers_page.py"), "--check"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_places_are_understood() -> None:
    assert papers_page.mentioned("figures 7(a), 8(a)") == {"figure 7", "figure 8"}
    assert papers_page.mentioned("section 4.1, theorem 2; section 6.2 says so") == {"theorem 2"}
    assert papers_page.mentioned("section 5.5.1, lemma 4") == {"lemma 4"}
    assert papers_page.mentioned("table 3.1") == {"table 3.1"}
    assert papers_page.mentioned("section 4.3") == set()


@pytest.mark.slow
@pytest.mark.parametrize("name", LONGER)
def test_longer_commands_run(name: str, workplace: Path) -> None:
    assert main(shlex.split(COMMANDS["pack"])[1:]) == 0
    assert main(shlex.split(LONGER[name])[1:]) == 0


@pytest.mark.slow
@pytest.mark.skipif("HEADCOUNT_DATA" not in os.environ, reason="needs the data of the papers")
@pytest.mark.parametrize("paper", PAPERS)
def test_papers_run_on_their_data(paper: str, workplace: Path) -> None:
    assert main(["reproduce", paper, "--quick", "--runs", "2", "--report", "page.html", "--quiet"]) == 0
    assert Path("page.html").stat().st_size > 0
