"""What errors say to a caller in Python, and still say on the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import headcount as hc
from headcount._internal.spelling import SWITCHES, translate_flags
from headcount.cli.main import main
from headcount.events.log_parameters import FLAGS
from headcount.methods.registry import FAMILIES
from headcount.methods.request import flags_of

SOURCE = Path(hc.__file__).parent
LOG = hc.EventLog.of([("ann", "tea", "AM"), ("bob", "rye", "PM")], items=["rye", "tea"], contexts=["AM", "PM"])


def test_switches_are_those_that_are_declared() -> None:
    declared = {name for name, flag in FLAGS.items() if flag.switch and not flag.flag}
    for family in FAMILIES.values():
        kind = family.request_kind()
        declared |= {name for name in flags_of(kind) if kind.model_fields[name].annotation is bool}
    assert declared | {"again", "force", "no_header", "research"} == SWITCHES


@pytest.mark.parametrize(
    ("flags", "meant"),
    [
        ("leave --noise and --delta out, or use adaptive", "leave noise= and delta= out, or use adaptive"),
        ("use --method sra --limit 1", 'use method="sra" limit=1'),
        ("leave --method out", "leave method= out"),
        ("release --what totals", 'release what="totals"'),
        ("--context-of user is given without --context", 'context_of="user" is given without context='),
        ("for example --value rating --value-range 1,5", 'for example value="rating" value_range="1,5"'),
        ("with --no-header columns are called 1, 2, 3, …", "with header=False columns are called 1, 2, 3, …"),
        ("name the column with --value COL", "name the column with value=COL"),
        ("list them with --contexts A,B,C", 'list them with contexts="A,B,C"'),
        ("choose another --out, or add --force", "choose another folder, or add force=True"),
        ("try --option sampling=sra", 'try sampling="sra"'),
        ("such as --dataset visits, or visits@2026", 'such as dataset="visits", or visits@2026'),
        ("add -k 20, or leave -k out", "add k=20, or leave k= out"),
        ("Spark is not installed; use --engine local", "Spark is not installed; leave engine= out"),
        ("add --since and --until (with --time when)", 'add since= and until= (with time="when")'),
        ("see `headcount methods --json`", "see `headcount methods --json`"),
        (
            "a long-lived file -- such as this -- stays, and x-k",
            "a long-lived file -- such as this -- stays, and x-k",
        ),
    ],
)
def test_flags_become_keywords(flags: str, meant: str) -> None:
    assert translate_flags(flags) == meant


def _texts() -> list[str]:
    """Return every text below the command line and the lab that is told with an error, or could be."""
    texts = []
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] not in ("cli", "lab", "reports", "_internal/spelling.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Call)]
            texts += [
                text.value
                for node in raised
                for text in ast.walk(node)
                if isinstance(text, ast.Constant) and isinstance(text.value, str) and "--" in text.value
            ]
    return texts


def test_no_error_keeps_a_flag() -> None:
    texts = _texts()
    assert len(texts) > 100
    kept = [
        text
        for text in texts
        if re.search(r"(?<![\w`-])--(?!help)[a-z]", re.sub("`[^`]*`", "", translate_flags(text)))
    ]
    assert not kept


def _save_twice(folder: Path) -> None:
    release = hc.release(LOG, epsilon=1)
    release.save(folder / "out")
    release.save(folder / "out")


CALLS: dict[str, tuple[Any, str]] = {
    "release": (
        lambda _: hc.release(LOG, epsilon=1, method="sra"),
        "method sra needs limit=; for example limit=10",
    ),
    "read_events": (lambda _: hc.read_events("x.csv", item="i"), "user= is missing"),
    "rank": (lambda _: hc.rank(LOG, k=0, epsilon=1), "k must be a whole number"),
    "Release.top": (lambda _: hc.rank(LOG, k=1, epsilon=1).top(context="AM"), "leave context= out"),
    "Release.edges": (
        lambda _: hc.release(LOG, epsilon=1, what="items", method="sra", limit=1).edges,
        'release again with what="both"',
    ),
    "Release.save": (_save_twice, "choose another folder, or add force=True"),
    "Ledger.create": (
        lambda folder: hc.Ledger(f"sqlite:///{folder}/l.db").create("visits", epsilon=1, lifetime=2),
        'leave it out, or add window="30d"',
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_python_callers_read_keywords_instead_of_flags(name: str, tmp_path: Path) -> None:
    call, words = CALLS[name]
    with pytest.raises(hc.HeadcountError, match=words) as caught:
        call(tmp_path)
    assert "--" not in f"{caught.value} {caught.value.problem} {caught.value.remedy} {caught.value.to_json()}"


def test_a_check_speaks_of_keywords() -> None:
    table = pa.table({"who": ["ann", "bob"], "what": ["tea", "tea"], "many": [1, -1], "when": ["1.2.2026", None]})
    log = hc.read_events(table, user="who", item="what", items=["tea"], times="many", context="weekday:when")
    report = hc.check(log)
    message = f"{report} {report.problems}"
    assert "(times=)" in message
    assert 'add time_format="%d.%m.%Y"' in message
    assert "--" not in message
    assert 'count="users" is more accurate' in hc.check(LOG).hints[0]


def test_the_command_line_speaks_of_flags(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Even of what a method says that Python's callers use as well."""
    hc.rank(LOG, k=1, epsilon=1).save(tmp_path / "ranking")
    assert main(["top", str(tmp_path / "ranking"), "--context", "AM"]) == 2
    assert "leave --context out" in capsys.readouterr().err
