"""Verdicts on the claims of a paper, from the measured results.

*reproduced* if the claim holds in every case that could be tried; *not reproduced* if it fails in one; *undecided*
where intervals overlap; *not testable* where no case could be tried. No claim goes without one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headcount.lab.replicate.claims.claims import ALL, Claim, ClaimCase, Claims
from headcount.lab.replicate.claims.judge import Holds, Judgement
from headcount.lab.replicate.claims.rules import NotInTheText
from headcount.lab.replicate.results import Results

Word = Literal["reproduced", "not reproduced", "undecided", "not testable"]
WORDS: tuple[Word, ...] = ("reproduced", "not reproduced", "undecided", "not testable")
_OUTCOMES: Mapping[Holds, Word] = {True: "reproduced", False: "not reproduced", None: "undecided"}


@dataclass(frozen=True)
class CaseVerdict:
    """What was found in one case, or why it could not be tried."""

    case: str
    verdict: Word
    measured: str


@dataclass(frozen=True)
class Verdict:
    """A claim, what became of it, and what was measured in each case."""

    claim: Claim
    verdict: Word
    cases: tuple[CaseVerdict, ...]

    @property
    def measured(self) -> str:
        """All cases in one text."""
        return "; ".join(
            f"{outcome.case}: {outcome.measured}" if outcome.case else outcome.measured for outcome in self.cases
        )

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "id": self.claim.id,
            "figure": self.claim.figure,
            "place": self.claim.place,
            "claim": self.claim.says,
            "verdict": self.verdict,
            "measured": self.measured,
            "cases": [vars(case_verdict) for case_verdict in self.cases],
        }


def judge_all(
    claims: Claims, results: Results, absent: Mapping[str, str], stand_ins: Sequence[str]
) -> list[Verdict]:
    """Judge every claim.

    ``absent`` says why a data set of the paper could not be had; ``stand_ins`` are those of which only the shape
    is known. A rule that finds no numbers for a case that could be tried is an error.
    """
    verdicts = [_judged(claim, claims, results, absent, stand_ins) for claim in claims.claim]
    check_complete(claims, verdicts)
    return verdicts


def check_complete(claims: Claims, verdicts: Sequence[Verdict]) -> None:
    """Refuse a report that passes over a claim, or judges one that was not written down."""
    expected, got = [entry.id for entry in claims.claim], [entry.claim.id for entry in verdicts]
    if expected != got:
        missing = sorted(set(expected) - set(got)) or sorted(set(got) - set(expected)) or got
        raise IncompleteError(
            f"{len(expected)} claims were written down for {claims.paper.name} and {len(got)} judged: {missing[0]}"
        )


class IncompleteError(Exception):
    """A report with other verdicts than there are claims: a mistake of ours."""


def _judged(
    claim: Claim, claims: Claims, results: Results, absent: Mapping[str, str], stand_ins: Sequence[str]
) -> Verdict:
    rule = claim.judge
    if isinstance(rule, NotInTheText):
        return Verdict(claim, "not testable", (CaseVerdict("", "not testable", rule.reason),))
    case_verdicts = []
    for case in claim.cases:
        reason = _untestable(claim, case, claims, absent, stand_ins)
        if reason:
            case_verdicts.append(CaseVerdict(str(case), "not testable", reason))
            continue
        finding: Judgement = rule.judge(results, case.dataset, case.table)
        data = claims.data(case.dataset)
        other = "" if data.same or data.name == ALL else f" (here {data.name})"
        case_verdicts.append(CaseVerdict(f"{case}{other}", _OUTCOMES[finding.holds], finding.measured))
    return Verdict(claim, _summed([case_verdict.verdict for case_verdict in case_verdicts]), tuple(case_verdicts))


def _untestable(
    claim: Claim, case: ClaimCase, claims: Claims, absent: Mapping[str, str], stand_ins: Sequence[str]
) -> str | None:
    """Say why a case cannot be tried, if it cannot."""
    if case.dataset in absent:
        return absent[case.dataset]
    data = claims.data(case.dataset)
    if case.table in data.lacks or (case.table == "both" and data.lacks):
        return f"{data.name} has no {data.lacks[0]}"
    if case.dataset in stand_ins and not claim.shape_alone:
        return f"of {case.dataset} only a stand-in is at hand, which has its sizes and nothing else"
    if claim.exact_data and not data.same:
        better = "".join(f"; {candidate.name} would decide it" for candidate in data.first if candidate.same)
        return f"the number is one of the paper's own data, and {data.name} is another log{better}"
    return None


def _summed(words: Sequence[Word]) -> Word:
    """Sum up the cases that could be tried.

    >>> _summed(["reproduced", "not testable"]), _summed(["reproduced", "undecided"]), _summed(["not testable"])
    ('reproduced', 'undecided', 'not testable')
    """
    for word in ("not reproduced", "undecided", "reproduced"):
        if word in words:
            return word
    return "not testable"
