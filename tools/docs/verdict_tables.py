"""Write the verdicts of papers into docs/: ``python tools/docs/verdict_tables.py [RESULT.json …] [--check]``.

A result is what ``headcount reproduce all --json``, or that of one paper, printed. Its verdicts are kept in
docs/verdicts.json, with the command, the commit, the runs and the seconds; papers that it does not have stay as
they were. The counts and tables in docs/reproduce.md, between ``<!-- verdicts: PAPER -->`` and
``<!-- end of verdicts -->``, are made from that file and from the files of claims: a claim without a verdict, or a
verdict without a claim, is an error, and wants a new run.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headcount.lab.replicate.all_papers import PAPERS
from headcount.lab.replicate.claims.claims import Claims
from headcount.lab.replicate.claims.verdicts import WORDS

ROOT = Path(__file__).parents[2]
WIDTH = 120
_BLOCK = re.compile(r"(?<=^<!-- verdicts: )(\S+) -->\n.*?^(?=<!-- end of verdicts -->$)", re.MULTILINE | re.DOTALL)

Kept = Mapping[str, Any]
"""What docs/verdicts.json holds of one paper. Commit, seconds and numbers that nobody wrote down are null."""


def kept_of(result: Mapping[str, Any], commit: str) -> dict[str, Kept]:
    """Return what is kept of a result, paper by paper."""
    paper = result["paper"]
    documents = result.get("papers", {paper: result})
    return {
        name: {
            "commit": commit,
            "command": command_of(paper, document),
            "runs": document["runs"],
            "seed": document["seed"],
            "seconds": round(document["seconds"]),
            "claims": {
                claim["id"]: {"verdict": claim["verdict"], "measured": claim["measured"]}
                for claim in document["claims"]
            },
        }
        for name, document in documents.items()
    }


def command_of(request: str, document: Mapping[str, Any]) -> str:
    """Return the command that a result came from."""
    paper = PAPERS[document["paper"]]
    usual = paper.quick_runs if document["quick"] else paper.runs
    flags = [" --quick"] * document["quick"] + [f" --runs {document['runs']}"] * (document["runs"] != usual)
    return f"headcount reproduce {request} --data DIR{''.join(flags)} --json"


def lines_of(claims: Claims, kept: Kept) -> Iterator[str]:
    """Yield what docs/reproduce.md says of a paper: how it was run, how many claims hold, and which."""
    verdicts = kept["claims"]
    odd = {claim.id for claim in claims.claim} ^ set(verdicts)
    if odd:
        raise SystemExit(
            f"{claims.paper.name}: {', '.join(sorted(odd))}: not both a claim and a verdict; run it again, and "
            "this tool with the result"
        )
    commit = "" if kept["commit"] is None else f" at commit `{kept['commit']}`"
    seconds = "" if kept["seconds"] is None else f", in {kept['seconds']:,} s"
    sentence = (
        f"Obtained with `{kept['command']}`{commit}: {kept['runs']} runs of each setting, seed {kept['seed']}"
        f"{seconds}. {counted(verdict['verdict'] for verdict in verdicts.values())}"
    )
    yield from textwrap.wrap(sentence, WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from ("", "| Where | The paper says | Verdict |", "|---|---|---|")
    for claim in claims.claim:
        yield f"| {claim.figure} | {claim.says} | {verdicts[claim.id]['verdict']} |"


def counted(verdicts: Iterator[str]) -> str:
    """Say how many claims came out how.

    >>> counted(iter(["reproduced", "undecided", "undecided"]))
    'Of 3 claims, 1 is reproduced and 2 are undecided.'
    """
    counts = Counter(verdicts)
    parts = [f"{counts[word]} {'is' if counts[word] == 1 else 'are'} {word}" for word in WORDS if counts[word]]
    return (
        f"Of {counts.total()} claims, {' and '.join([', '.join(parts[:-1]), parts[-1]] if parts[1:] else parts)}."
    )


def written(page: str, kept: Mapping[str, Kept]) -> str:
    """Return a page with its verdicts as they should be."""

    def block(match: re.Match[str]) -> str:
        name = match[1]
        return f"{name} -->\n" + "".join(f"{line}\n" for line in lines_of(PAPERS[name].claims, kept[name]))

    missing = set(PAPERS) - {match[1] for match in _BLOCK.finditer(page)}
    if missing:
        raise SystemExit(f"the page has no place for the verdicts of {', '.join(sorted(missing))}")
    return _BLOCK.sub(block, page)


def commit_here(root: Path) -> str:
    """Return the commit of a tree, marked if something in it was changed."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout.strip()


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, nargs="*", help="what headcount reproduce --json printed")
    parser.add_argument("--commit", help="the commit that was run, by default the one that is checked out")
    parser.add_argument("--check", action="store_true", help="only say whether docs/reproduce.md is up to date")
    given = parser.parse_args(arguments)
    page, file = root / "docs" / "reproduce.md", root / "docs" / "verdicts.json"
    kept = json.loads(file.read_text(encoding="utf-8"))
    for path in given.results:
        kept |= kept_of(json.loads(path.read_text(encoding="utf-8")), given.commit or commit_here(root))
    kept = {name: kept[name] for name in PAPERS if name in kept}
    text = page.read_text(encoding="utf-8")
    new = written(text, kept)
    if given.check:
        if new != text:
            print(f"{page.relative_to(root)} is out of date: run `make docs`")
        return int(new != text)
    page.write_text(new, encoding="utf-8", newline="\n")
    file.write_text(json.dumps(kept, ensure_ascii=False, indent=1) + "\n", encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
