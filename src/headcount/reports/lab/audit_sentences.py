"""Sentences about audit findings, for terminal and page; findings are plain data, as in ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from headcount.accounting.guarantee import format_delta
from headcount.releases.formatting import some

Finding = Mapping[str, Any]

COULD_NOT = "could not be audited"

_VERDICTS = {
    ("proven", False): "no violation found",
    ("proven", True): "violated",
    ("claimed", True): "refuted, as expected",
    ("claimed", False): "not refuted here",
}


def verdict(finding: Finding) -> str:
    """Say in a few words what became of one promise or claim."""
    return COULD_NOT if "error" in finding else _VERDICTS[finding["standing"], finding["violation"]]


def verdicts(findings: Sequence[Finding]) -> list[str]:
    """Sum up what was found: about proven promises, and about published claims, whose refutation is expected.

    Last come those that could not be audited, each with its reason.

    >>> some = {"method": "sra", "epsilon": "1", "standing": "proven", "violation": False}
    >>> verdicts([some, {**some, "method": "lpa-published", "standing": "claimed", "violation": True}])
    ['The one proven promise held against the attacks.', 'Refuted, as expected of a mere claim: lpa-published.']
    """
    by_verdict: dict[str, list[str]] = {}
    several = len({finding["epsilon"] for finding in findings}) > 1
    for finding in findings:
        name = f"{finding['method']} at ε = {finding['epsilon']}" if several else finding["method"]
        name = f"{name} ({finding['message']})" if "error" in finding else name
        by_verdict.setdefault(verdict(finding), []).append(name)
    held = by_verdict.get("no violation found", [])
    proven = "The one proven promise" if len(held) == 1 else f"All {len(held)} proven promises"
    if "violated" in by_verdict:
        proven = f"These other proven promises ({', '.join(held)})"
    sentences = {
        "violated": "VIOLATION of what is said to be proven: {}.",
        "no violation found": f"{proven} held against the attacks.",
        "refuted, as expected": "Refuted, as expected of a mere claim: {}.",
        "not refuted here": "Claimed, and not refuted here: {}.",
        COULD_NOT: "Nothing is known about what could not be audited: {}.",
    }
    return [
        sentence.format(("; " if word == COULD_NOT else ", ").join(by_verdict[word]))
        if "{}" in sentence
        else sentence
        for word, sentence in sentences.items()
        if word in by_verdict
    ]


def settings_in_words(finding: Finding) -> str:
    """Say with which parameters a target was run, beside ε.

    >>> settings_in_words({"parameters": {"limit": 2}, "delta": "0.000001", "edges": True})
    'limit 2, δ = 1e-6, with edges'
    """
    delta = Decimal(finding["delta"])
    settings = [f"{name} {value}" for name, value in finding["parameters"].items()]
    settings += [f"δ = {format_delta(delta)}"] if delta else []
    settings += ["with edges"] if finding["edges"] else []
    return ", ".join(settings)


def visible_in_words(finding: Finding) -> str:
    """Say how much of ε an attacker could see at all, if that is not everything."""
    share, reason = Decimal(finding["visible"]["share"]), finding["visible"]["reason"]
    if not reason:
        return ""
    return f"About {(share * Decimal(finding['epsilon'])).normalize():f} of ε can show: {reason}."


def describe_pair(pair: Mapping[str, Any]) -> str:
    """Say what is special about a pair, and how many others there are.

    >>> describe_pair({"story": "a person with a single record", "people": 1})
    'a person with a single record (1 other)'
    """
    others = some(pair["people"], "other") if pair["people"] else "nobody else"
    return f"{pair['story']} ({others})"
