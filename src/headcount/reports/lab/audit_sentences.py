"""What an audit found, in words, on a terminal and on a page alike; findings are plain data, as in ``--json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from headcount.accounting.guarantee import in_short
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
    found: dict[str, list[str]] = {word: [] for word in (*_VERDICTS.values(), COULD_NOT)}
    several = len({each["epsilon"] for each in findings}) > 1
    for each in findings:
        name = f"{each['method']} at ε = {each['epsilon']}" if several else each["method"]
        found[verdict(each)].append(f"{name} ({each['message']})" if "error" in each else name)
    held, broken = found["no violation found"], found["violated"]
    said = []
    if broken:
        said.append(f"VIOLATION of what is said to be proven: {', '.join(broken)}.")
    if held:
        all_of_them = "The one proven promise" if len(held) == 1 else f"All {len(held)} proven promises"
        which = f"These other proven promises ({', '.join(held)})" if broken else all_of_them
        said.append(f"{which} held against the attacks.")
    if found["refuted, as expected"]:
        said.append(f"Refuted, as expected of a mere claim: {', '.join(found['refuted, as expected'])}.")
    if found["not refuted here"]:
        said.append(f"Claimed, and not refuted here: {', '.join(found['not refuted here'])}.")
    if found[COULD_NOT]:
        said.append(f"Nothing is known about what could not be audited: {'; '.join(found[COULD_NOT])}.")
    return said


def settings_in_words(finding: Finding) -> str:
    """Say with which parameters a target was run, beside ε.

    >>> settings_in_words({"parameters": {"limit": 2}, "delta": "0.000001", "edges": True})
    'limit 2, δ = 1e-6, with edges'
    """
    said = [f"{name} {value}" for name, value in finding["parameters"].items()]
    said += [f"δ = {in_short(Decimal(finding['delta']))}"] if Decimal(finding["delta"]) else []
    said += ["with edges"] if finding["edges"] else []
    return ", ".join(said)


def visible_in_words(finding: Finding) -> str:
    """Say how much of ε an attacker could see at all, if that is not everything."""
    share, reason = Decimal(finding["visible"]["share"]), finding["visible"]["reason"]
    if not reason:
        return ""
    return f"About {(share * Decimal(finding['epsilon'])).normalize():f} of ε can show: {reason}."


def story_in_words(pair: Mapping[str, Any]) -> str:
    """Say what is special about a pair, and how many others there are.

    >>> story_in_words({"story": "a person with a single record", "people": 1})
    'a person with a single record (1 other)'
    """
    others = some(pair["people"], "other") if pair["people"] else "nobody else"
    return f"{pair['story']} ({others})"
