"""The page of an audit: verdicts first, a chart that is drawn, evidence told right, nothing from outside."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headcount.reports.lab.audit import audit_page, write_audit_page
from headcount.reports.lab.audit_sentences import verdicts
from tests.reports.conftest import Visit

EVIL = "<img src='http://example.com/x' onerror='window.broken = 1'></script><script>window.broken = 1</script>"


def evidence(bound: float, *, present: bool = True) -> dict[str, Any]:
    likelier = "with the person" if present else "without the person"
    event = "count 0 of items is at least 2"
    return {"event": event, "likelier": likelier, "hits": [600, 200], "runs": [1000, 1001], "lower_bound": bound}


def pair(name: str = "at the limit", bound: float = 0.9, **changes: Any) -> dict[str, Any]:
    given = {
        "name": name, "story": "a person with all they may have", "items": 2, "crowd": [[1]], "person": [0, 0],
        "people": 1, "records": 2, "runs": 2000, "lower_bound": bound,
        "evidence": evidence(bound) if bound else None,
    }  # fmt: skip
    return {**given, **changes}


def finding(method: str = "sra", *bounds: float, **changes: Any) -> dict[str, Any]:
    """What ``headcount audit --json`` prints, of pairs with these bounds."""
    pairs = [pair(f"pair {number}", bound) for number, bound in enumerate(bounds or (0.9, 0.0))]
    best = max(pair_row["lower_bound"] for pair_row in pairs)
    given: dict[str, Any] = {
        "method": method, "parameters": {"limit": 2}, "epsilon": "1", "delta": "0", "lower_bound": best,
        "violation": best > float(changes.get("epsilon", 1)), "confidence": 0.999, "pairs": pairs,
        "standing": "claimed" if method.endswith("-published") else "proven", "reason": None, "edges": False,
        "visible": {"share": "1", "reason": ""}, "runs": 2000, "seed": 7, "sentence": f"This is about {method}.",
    }  # fmt: skip
    return {**given, **changes}


def audit(*findings: dict[str, Any], own_log: bool = False) -> dict[str, Any]:
    return {
        "findings": list(findings) or [finding()],
        "seed": 7,
        "own_log": own_log,
        "created": "2031-02-03T04:05:06+00:00",
    }


def text_of(page: str) -> str:
    """The words of a page, without its scripts and styles."""
    body = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


# What is said


def test_a_page_of_one_method_says_what_matters() -> None:
    text = text_of(audit_page(audit()))
    for sentence in (
        "Audit of sra",
        "3 February 2031",
        "This is about sra.",
        "no violation found",
        "99.9 % confidence",
        "at most 0.001",
        "Finding nothing proves nothing",
        "a person with all they may have (1 other)",
        "600 of 1,000 200 of 1,001",
        "nothing told the logs apart",
        "7: the same seed",
        "up to 2,000",
        "made up for each method",
    ):
        assert sentence in text, sentence
    assert "Violation" not in text
    assert "Not private" not in text


def test_counts_stand_under_the_log_they_are_of() -> None:
    reverse = finding(pairs=[pair(evidence=evidence(0.9, present=False))])
    assert "200 of 1,001 600 of 1,000" in text_of(audit_page(audit(reverse)))


def test_a_violation_of_a_proven_guarantee_is_an_alarm() -> None:
    page = audit_page(audit(finding("sra", 1.4, 0.2), finding("lpa")))
    banner = page[page.index('role="alert"') : page.index("</section>")]
    assert "Violation" in banner
    assert "This is about sra." in banner
    assert "VIOLATION of what is said to be proven: sra." in text_of(page)
    assert 'class="badge bad">violated' in page
    assert page.count("<details open>") == 1


def test_a_refuted_claim_is_no_alarm() -> None:
    page = audit_page(audit(finding(), finding("lpa-published", 4.3), finding("hpa-published", 0.2)))
    assert 'role="alert"' not in page
    text = text_of(page)
    assert "Refuted, as expected of a mere claim: lpa-published." in text
    assert "Claimed, and not refuted here: hpa-published." in text
    assert "Audit of 3 methods" in text


def test_an_audit_of_a_real_log_is_marked_as_not_private() -> None:
    private = pair()
    for name in ("crowd", "person"):
        private.pop(name)
    page = audit_page(audit(finding(pairs=[private]), own_log=True))
    assert "Not private" in page[page.index('role="alert"') : page.index("</section>")]
    assert "people of a log of the curator&#39;s own" in page


def test_verdicts_name_epsilon_where_there_are_several() -> None:
    sentences = verdicts([finding(), finding(epsilon="3"), finding("fpa-published", 9.0, epsilon="3")])
    assert sentences == [
        "All 2 proven promises held against the attacks.",
        "Refuted, as expected of a mere claim: fpa-published at ε = 3.",
    ]
    mixed = verdicts([finding(), finding("gs", 2.0)])
    assert mixed == [
        "VIOLATION of what is said to be proven: gs.",
        "These other proven promises (sra) held against the attacks.",
    ]


def test_the_power_and_the_settings_of_the_audit_are_stated() -> None:
    hidden = {"share": "0.5", "reason": "the other half is not published"}
    text = text_of(audit_page(audit(finding("gs", delta="0.000001", edges=True, visible=hidden, epsilon="3"))))
    assert "About 1.5 of ε can show: the other half is not published." in text
    assert "limit 2, δ = 1e-6, with edges" in text


def test_the_data_can_be_downloaded() -> None:
    given = audit(finding(), finding("lpa"))
    page = audit_page(given)
    match = re.search(r'download="audit.json" href="data:application/json;base64,([^"]+)"', page)
    assert match is not None
    assert json.loads(base64.b64decode(match[1])) == given


def test_every_epsilon_has_one_chart() -> None:
    page = audit_page(audit(finding(), finding("lpa"), finding(epsilon="3"), finding("lpa", epsilon="3")))
    specs = [
        json.loads(specification)
        for specification in re.findall(r'id="chart-[^"]+">(.*?)</script>', page, re.DOTALL)
    ]
    rows = [[row for values in spec["datasets"].values() for row in values] for spec in specs]
    assert [[row["claimed"] for row in specification if "claimed" in row] for specification in rows] == [
        [1.0],
        [3.0],
    ]
    assert [{row["name"] for row in specification if "name" in row} for specification in rows] == [
        {"sra", "lpa"}
    ] * 2


# In a browser


@pytest.mark.parametrize(
    ("scheme", "width", "ground"),
    [
        ("light", 1200, "rgb(255, 255, 255)"),
        ("dark", 1200, "rgb(26, 32, 41)"),
        ("light", 360, "rgb(255, 255, 255)"),
    ],
)
def test_the_chart_is_drawn(
    opened: Callable[..., Visit], tmp_path: Path, scheme: str, width: int, ground: str
) -> None:
    path = write_audit_page(audit(finding("sra", 1.4, 0.5, 0.0), finding("lpa", 0.7)), tmp_path / "audit.html")
    visit = opened(path, color_scheme=scheme, viewport={"width": width, "height": 800})
    chart = visit.page.locator("[data-chart] svg")
    assert chart.count() == 1
    box = chart.bounding_box()
    assert box is not None
    assert box["width"] > 250
    assert visit.page.locator("[data-chart] svg .mark-symbol path").count() == 4
    assert visit.page.locator("[data-chart] svg .mark-rule.role-mark line").count() == 1
    dots = visit.page.locator("[data-chart] svg .mark-symbol path").all()
    alarm = {"light": "#b3201f", "dark": "#f2857c"}[scheme]
    assert [dot.get_attribute("fill") for dot in dots].count(alarm) == 1
    places = sorted(round(dot.bounding_box()["x"]) for dot in dots)  # type: ignore[index]
    rule = visit.page.locator("[data-chart] svg .mark-rule.role-mark line").bounding_box()
    assert rule is not None
    assert [place > rule["x"] for place in places] == [False, False, False, True]  # one bound is beyond the claim
    assert (
        visit.page.evaluate("getComputedStyle(document.querySelector('[data-chart] svg')).backgroundColor")
        == ground
    )
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert (visit.requests, visit.complaints) == ([], [])


def test_the_button_gives_the_data(opened: Callable[..., Visit], tmp_path: Path) -> None:
    given = audit()
    visit = opened(write_audit_page(given, tmp_path / "audit.html"))
    with visit.page.expect_download() as waiting:
        visit.page.get_by_text("Download the data").click()
    assert waiting.value.suggested_filename == "audit.json"
    assert json.loads(Path(waiting.value.path()).read_text(encoding="utf-8")) == given
    assert visit.complaints == []


def test_names_run_nothing(opened: Callable[..., Visit], tmp_path: Path) -> None:
    bad = pair(EVIL, story=EVIL, evidence={**evidence(0.9), "event": EVIL})
    given = audit(finding(EVIL, pairs=[bad], sentence=EVIL, parameters={EVIL: EVIL}), own_log=True)
    visit = opened(write_audit_page(given, tmp_path / "audit.html"))
    visit.page.locator("[data-chart] svg .mark-symbol path").first.hover()
    visit.page.wait_for_selector(".vg-tooltip.visible")
    assert visit.page.evaluate("window.broken") is None
    assert visit.page.locator("img").count() == 0
    assert (visit.requests, visit.complaints) == ([], [])
