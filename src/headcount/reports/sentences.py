"""Sentences that all pages of a release share: the counted unit, interval coverage, the meaning of ε."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

from headcount.accounting.guarantee import format_delta
from headcount.events.contexts import SEPARATOR
from headcount.events.times import LABELS
from headcount.releases.formatting import per_cent
from headcount.releases.release import Release


def counted_words(release: Release) -> str:
    """Say what a count counts, and of how much of each person if not of everything.

    Every display of counts carries these words.
    """
    counts_users = release.counts == "users"
    if release.interval.covers == "true":
        return "Count of people" if counts_users else "Count of records"
    count = "Smoothed count" if release.interval.covers == "smoothed" else "Count"
    return f"{count} of people, of {bound(release)}" if counts_users else f"{count} of {bound(release)}"


def interval_words(release: Release) -> str:
    """Say how sure the intervals of the counts are, and which users they do not cover."""
    level, but = per_cent(release.interval.level), ""
    if release.uncovered is not None:
        but = f"; but {release.uncovered[:1].lower()}{release.uncovered[1:].rstrip('.')}"
    if release.interval.average:
        return f"low and high enclose it in {level} of cases, on average over all rows{but}"
    return f"low and high enclose it with {level} probability, each count on its own{but}"


def noise_alone(release: Release) -> bool:
    """Say whether intervals are as wide as the noise, all of them, and not estimated for each row."""
    return not release.interval.average


def has_counts(release: Release) -> bool:
    """Say whether there are counts at all: a direct ranking may have none."""
    numbers = {"count", "value", "answer"}
    return any(numbers & set(table.column_names) for table in release.tables.values()) or not release.tables


def is_bare_ranking(release: Release) -> bool:
    """Say whether there is nothing but a ranking without counts."""
    return "ranking" in release.tables and not has_counts(release)


def bound(release: Release) -> str:
    """Say how much of each person counted."""
    return release.bounded or "a limited number of records per person"


def across(release: Release) -> str:
    """Say what contexts are: a weekday, an hour or a month without the column that it was read from."""
    name = release.context_name or "context"
    part, separator, _ = name.partition(" of ")
    return part if separator and part in LABELS else name.replace(SEPARATOR, " and ")


def meaning(release: Release) -> str:
    """Say in one sentence for laypeople what ε means, or that it means nothing here."""
    epsilon = release.guarantee.epsilon
    if not release.is_private:
        return f"ε = {epsilon} is printed on this output, but do not rely on it: handle it like the raw log."
    apart = (
        f", apart from rare outcomes that δ = {format_delta(release.guarantee.delta)} allows for"
        if release.guarantee.delta
        else ""
    )
    return (
        f"ε = {epsilon} limits what this page can tell about any one person: somebody who thought the odds "
        f"even that a given person is in the log can be at most {_surest(epsilon)} sure of it after "
        f"reading {'this ranking' if is_bare_ranking(release) else 'these numbers'}{apart}."
    )


def _surest(epsilon: Decimal) -> str:
    """Return e^ε / (1 + e^ε) in percent, rounded up: how sure even odds can become.

    >>> _surest(Decimal("1")), _surest(Decimal("0.01")), _surest(Decimal("20"))
    ('73.2 %', '50.3 %', 'all but 100 %')
    """
    share = 1 / (1 + (-epsilon).exp())
    percent = (share * 100).quantize(Decimal("0.1"), rounding="ROUND_CEILING")
    return "all but 100 %" if percent >= 100 else f"{percent} %"


def date_in_words(created: str) -> str:
    """Write a moment as a person would; what is none is left as it is."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return created
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return f"{moment.day} {moment:%B %Y, %H:%M} {moment.tzname() or ''}".strip()


def noise_words(release: Release) -> str:
    """Say what noise is there for, where it does that."""
    return "noise that hides what any one person did" if release.is_private else "noise"
