"""The page of an audit: verdicts, lower bounds of ε per pair of neighbouring logs, and the evidence.

It is made of plain data: what ``headcount audit --json`` prints as ``findings``, and beside it ``seed``,
``created`` and ``own_log``, which says whether people were taken out of a real log: then the page is not private.
There may be ``failed``, those that could not be audited, and ``interrupted``, which says how far it came.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from headcount.releases.formatting import per_cent, some
from headcount.reports import page
from headcount.reports.charts.release_charts import LONGEST_NAME, clip, layered
from headcount.reports.lab.audit_sentences import (
    Finding,
    describe_pair,
    settings_in_words,
    verdict,
    verdicts,
    visible_in_words,
)
from headcount.reports.page import Figure
from headcount.reports.sentences import date_in_words

_ROW = 30  # pixels of the chart
_ROOM = 1.25  # how far the axis goes beyond what there is to see


def write_audit_page(audit: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Write the report of an audit to one HTML file, whole or not at all."""
    return page.write(audit_page(audit), path)


def audit_page(audit: Mapping[str, Any]) -> str:
    """Return the report of an audit as one HTML page that needs no network."""
    findings, failed = audit["findings"], audit.get("failed", [])
    methods = list(dict.fromkeys(finding["method"] for finding in findings))
    only = len(findings) == 1 and not failed
    data = json.dumps(dict(audit), indent=2, ensure_ascii=False).encode()
    return page.render(
        "audit.html.jinja",
        title=f"Audit of {methods[0]}" if len(methods) == 1 else f"Audit of {len(methods)} methods",
        figures=_figures(findings),
        created=date_in_words(audit["created"]),
        broken=[finding["sentence"] for finding in findings if _violates_a_proof(finding)],
        own_log=audit["own_log"],
        summary=[findings[0]["sentence"]] if only else verdicts([*findings, *failed]),
        rows=[_row(finding) for finding in findings],
        failed=failed,
        only=only,
        sure=per_cent(findings[0]["confidence"], 1).replace(".0 %", " %"),
        risk=f"{1 - findings[0]['confidence']:.1g}",
        facts=_facts(audit),
        seeded=audit["seed"] is not None,
        data="data:application/json;base64," + base64.b64encode(data).decode(),
    )


def _violates_a_proof(finding: Finding) -> bool:
    return bool(finding["violation"]) and finding["standing"] == "proven"


def _row(finding: Finding) -> dict[str, Any]:
    """Return one target as it is shown: its settings and verdict, and its pairs with the evidence."""
    pairs = sorted(finding["pairs"], key=lambda pair: -pair["lower_bound"])
    return {
        **finding,
        "settings": settings_in_words(finding),
        "verdict": verdict(finding),
        "bad": _violates_a_proof(finding),
        "shows": visible_in_words(finding),
        "pairs": [
            {**pair, "story": describe_pair(pair), "seen": _event_frequencies(pair["evidence"])} for pair in pairs
        ],
    }


def _event_frequencies(evidence: Mapping[str, Any] | None) -> dict[str, str]:
    """Return how often an event happened with the person and without, in that order."""
    if evidence is None:
        return {"event": "nothing told the logs apart", "with": "", "without": ""}
    counts = [f"{hits:,} of {runs:,}" for hits, runs in zip(evidence["hits"], evidence["runs"], strict=True)]
    present, absent = counts if evidence["likelier"].startswith("with ") else reversed(counts)
    return {"event": evidence["event"], "with": present, "without": absent}


def _figures(findings: Sequence[Finding]) -> list[Figure]:
    """Draw one chart for each ε: a row for each method, or for each pair if there is one method alone."""
    figures = []
    for number, epsilon in enumerate(dict.fromkeys(finding["epsilon"] for finding in findings), 1):
        same_epsilon = [finding for finding in findings if finding["epsilon"] == epsilon]
        rows = [
            {
                "name": pair["name"] if len(same_epsilon) == 1 else finding["method"],
                "pair": pair["name"],
                "bound": pair["lower_bound"],
                "runs": pair["runs"],
                "event": _event_frequencies(pair["evidence"])["event"],
            }
            for finding in same_epsilon
            for pair in sorted(finding["pairs"], key=lambda pair: -pair["lower_bound"])
        ]
        what = "pair of neighbours" if len(same_epsilon) == 1 else "method, a dot for each pair of neighbours"
        title = f"What ε is at least, where {epsilon} is claimed, for each {what}"
        note = "A diamond to the right of the line is a violation. A dot at 0 says that nothing was found there."
        figures.append(
            Figure.from_chart(f"bounds-{number}", bounds(rows, claimed=float(epsilon), title=title), note)
        )
    return figures


def bounds(rows: Sequence[Mapping[str, Any]], *, claimed: float, title: str) -> alt.LayerChart:
    """Draw one dot for every pair, at what ε is at least, in the row of its name; a line stands at the claim.

    Rows have ``name``, ``pair``, ``bound``, ``runs`` and ``event``. Dots beyond the claim are violations.

    >>> rows = [{"name": "sra", "pair": "a tie", "bound": 0.9, "runs": 500, "event": "count 0 is at least 2"}]
    >>> bounds(rows, claimed=1.0, title="Found").to_dict()["description"]
    'Dots for 1 pair of neighbours in 1 row. Largest: sra, on a tie, with ε at least 0.90. Claimed: 1.'
    """
    shown = [
        {
            **row,
            "name": clip(row["name"], LONGEST_NAME),
            "bound": round(row["bound"], 3),
            "kind": "violation" if row["bound"] > claimed else "within the claim",
        }
        for row in rows
    ]
    names = list(dict.fromkeys(row["name"] for row in shown))
    most = _ROOM * max(claimed, *(row["bound"] for row in shown))
    base = alt.Chart(alt.InlineData(values=shown)).encode(
        x=alt.X("bound:Q", title="ε at least (dashed: claimed)")
        .scale(domain=[0, most], nice=False)
        .axis(domain=False, ticks=False, tickCount=alt.ExprRef("width / 90"), labelFlush=False),
        y=alt.Y("name:N", sort=names, title=None).axis(
            labelLimit=220, ticks=False, domain=False, labelPadding=8, grid=True
        ),
        tooltip=[
            alt.Tooltip("name:N", title="row"),
            alt.Tooltip("pair:N", title="neighbours"),
            alt.Tooltip("bound:Q", title="ε at least", format=".3f"),
            alt.Tooltip("runs:Q", format=","),
            alt.Tooltip("event:N"),
        ],
    )
    within = base.mark_point(style="interval", filled=True, size=90, opacity=0.85)
    beyond = base.mark_point(style="alarm", shape="diamond", filled=True, size=130, opacity=0.85)
    line = alt.Chart(alt.InlineData(values=[{"claimed": claimed}]))
    layers = [
        line.mark_rule(style="claim").encode(x=alt.X("claimed:Q")),
        within.transform_filter("datum.kind != 'violation'"),
        beyond.transform_filter("datum.kind == 'violation'"),
    ]
    best = max(rows, key=lambda row: float(row["bound"]))
    pairs = "1 pair" if len(rows) == 1 else f"{len(rows)} pairs"
    description = (
        f"Dots for {pairs} of neighbours in {len(names)} row{'s' * (len(names) > 1)}. Largest: {best['name']}, on "
        f"{best['pair']}, with ε at least {best['bound']:.2f}. Claimed: {claimed:g}."
    )
    return layered(layers, _ROW * len(names), title, description)


def _facts(audit: Mapping[str, Any]) -> list[tuple[str, str]]:
    findings = audit["findings"]
    runs = sorted({finding["runs"] for finding in findings}, reverse=True)
    epsilons = list(dict.fromkeys(entry["epsilon"] for entry in findings))
    return [
        ("Audited", f"{some(len(findings), 'configuration')} at ε = {', '.join(epsilons)}"),
        ("Neighbours", "people of a log of the curator's own" if audit["own_log"] else "made up for each method"),
        ("Runs", f"up to {' or '.join(f'{entry:,}' for entry in runs)} of each log of the most promising pairs"),
        ("Seed", _seed_in_words(audit["seed"])),
        ("Confidence", f"{per_cent(findings[0]['confidence'], 1)} for all bounds of one configuration together"),
        ("Created", date_in_words(audit["created"])),
        *([("Ended", audit["interrupted"])] if audit.get("interrupted") else []),
    ]


def _seed_in_words(seed: int | None) -> str:
    if seed is None:
        return "none: the noise came from the operating system, as in real releases, and is never the same again"
    return f"{seed}: the same seed, version and numbers of runs give the same findings"
