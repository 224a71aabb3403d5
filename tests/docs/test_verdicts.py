"""The verdicts in the documentation are those of the claims there are, and the tool that writes them."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.claims.claims import read_claims
from headcount.lab.replicate.claims.verdicts import WORDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
KEPT = json.loads((ROOT / "docs" / "verdicts.json").read_text(encoding="utf-8"))
TOOL = runpy.run_path(str(ROOT / "tools" / "docs" / "verdict_tables.py"))


@pytest.mark.parametrize("name", PAPERS)
def test_every_claim_has_its_verdict_in_the_documentation(name: str) -> None:
    """In the words of the file and in its order, under the name of the paper and of its methods."""
    claims = read_claims(name)
    section = PAGE.partition(f"\n## {claims.paper.heading}\n")[2].partition("\n## ")[0]
    table = section.partition(f"<!-- verdicts: {name} -->\n")[2].partition("<!-- end of verdicts -->")[0]
    rows = re.findall(r"^\| (.*) \| (.*) \| (.*) \|$", table, re.MULTILINE)[1:]
    verdicts = [KEPT[name]["claims"][claim.id]["verdict"] for claim in claims.claim]
    expected = zip(
        (claim.figure for claim in claims.claim), (claim.says for claim in claims.claim), verdicts, strict=True
    )
    assert rows == list(expected)
    assert set(verdicts) <= set(WORDS)


def test_counts_and_tables_are_up_to_date() -> None:
    assert TOOL["main"](["--check"], ROOT) == 0, "run `make docs`"


def result(name: str, **changed: Any) -> dict[str, Any]:
    claims = [{"id": claim.id, "verdict": "undecided", "measured": "1 ± 2"} for claim in read_claims(name).claim]
    return {
        "paper": name,
        "quick": False,
        "runs": PAPERS[name].runs,
        "seed": 7,
        "seconds": 61.4,
        "claims": claims,
    } | changed


def copied(folder: Path) -> Path:
    (folder / "docs").mkdir()
    for name in ("reproduce.md", "verdicts.json"):
        (folder / "docs" / name).write_bytes((ROOT / "docs" / name).read_bytes())
    return folder


def test_a_result_is_written_and_the_others_stay(tmp_path: Path) -> None:
    root, results_file = copied(tmp_path), tmp_path / "all.json"
    documents = {"dpsense": result("dpsense"), "cim": result("cim", quick=True, runs=9)}
    results_file.write_text(json.dumps({"paper": "all", "papers": documents}), encoding="utf-8")
    assert TOOL["main"]([str(results_file), "--commit", "0123abc"], root) == 0
    page = (root / "docs" / "reproduce.md").read_text(encoding="utf-8")
    words, many = " ".join(page.split()), len(PAPERS["dpsense"].claims.claim)
    assert (
        "Obtained with `headcount reproduce all --data DIR --json` at commit `0123abc`: 30 runs of each setting, "
        f"seed 7, in 61 s. Of {many} claims, {many} are undecided." in words
    )
    assert "`headcount reproduce all --data DIR --quick --runs 9 --json`" in words
    kept = json.loads((root / "docs" / "verdicts.json").read_text(encoding="utf-8"))
    assert list(kept) == list(PAPERS)
    assert kept["fan-jin"] == KEPT["fan-jin"]
    assert kept["dpsense"]["claims"]["1-symmetry"] == {"verdict": "undecided", "measured": "1 ± 2"}
    assert {name: kept["dpsense"][name] for name in ("commit", "runs", "seed", "seconds")} == {
        "commit": "0123abc", "runs": 30, "seed": 7, "seconds": 61,
    }  # fmt: skip
    outside = re.compile(r"^<!-- verdicts: .*?^<!-- end of verdicts -->$", re.MULTILINE | re.DOTALL)
    assert outside.sub("", page) == outside.sub("", PAGE)
    assert TOOL["main"](["--check"], root) == 0


@pytest.mark.parametrize("changed", ["a sentence", "a verdict"])
def test_a_page_that_is_out_of_date_is_noticed(tmp_path: Path, changed: str) -> None:
    root = copied(tmp_path)
    old, new = {"a sentence": ("HPA always finds", "HPA finds"), "a verdict": ("| undecided |", "| reproduced |")}[
        changed
    ]
    (root / "docs" / "reproduce.md").write_text(PAGE.replace(old, new, 1), encoding="utf-8")
    assert TOOL["main"](["--check"], root) == 1


@pytest.mark.parametrize("extra", [-1, 1])
def test_claims_and_verdicts_that_do_not_match_want_a_new_run(extra: int) -> None:
    kept = {**KEPT["dpsense"], "claims": dict(KEPT["dpsense"]["claims"])}
    if extra > 0:
        kept["claims"]["new"] = {"verdict": "undecided", "measured": ""}
    else:
        del kept["claims"]["1-symmetry"]
    with pytest.raises(SystemExit, match="run it again"):
        list(TOOL["lines_of"](read_claims("dpsense"), kept))


def test_a_paper_without_a_place_on_the_page_is_noticed() -> None:
    with pytest.raises(SystemExit, match="no place for the verdicts of cim"):
        TOOL["written"](PAGE.replace("<!-- verdicts: cim -->", ""), KEPT)
