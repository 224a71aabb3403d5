"""Titles and summaries of comparisons: of counts, of rankings and of item selection.

The page is in ``comparison``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headcount.releases.formatting import listed, per_cent, some
from headcount.reports.charts.styles import is_claimed
from headcount.reports.charts.trial_means import Mean, at_one_limit, places

TITLES: Mapping[str, tuple[str, str, str]] = {
    "MSE": ("MSE", "Mean squared error", "mean squared error, counts²"),
    "MAE": ("MAE", "Mean absolute error", "mean absolute error, counts"),
    "MRE": ("MRE", "Mean relative error", "mean relative error, 1 = 100 %"),
    "KL": ("KL", "KL divergence", "KL divergence, nats"),
    "precision": ("Top-{k} precision", "Precision of the top {k}", "share of the true top {k} that is found"),
    "selected": ("Items", "Number", "items selected"),
    "covered": ("Records covered", "Coverage", "share of all records, 1 = 100 %"),
}
"""Of each metric: the heading of a column, the title of a plot, and what its axis says."""


@dataclass(frozen=True)
class Words:
    """How one kind of comparison is told.

    ``nouns`` are what its tables hold, ``by`` the metric that one limit is chosen by (of several K the longest),
    ``question`` what stands above a table, ``note`` how its numbers were chosen and ``measured`` how they are
    defined; ``{bound}`` in it is the sanity bound.
    """

    nouns: Mapping[str, str]
    by: str
    question: str
    note: str
    measured: str
    summary: Callable[[Words, Sequence[Mean]], list[str]]

    def tables(self, means: Sequence[Mean]) -> list[str]:
        """Return the tables that were measured, in the order they are told."""
        return [table for table in self.nouns if any(mean.table == table for mean in means)]

    def at_one_limit(self, means: Sequence[Mean]) -> list[Mean]:
        """Keep one limit of each method at each ε."""
        longest = max((mean.k or 0 for mean in means if mean.metric == self.by), default=0)
        by = next((mean.measure for mean in means if (mean.metric, mean.k or 0) == (self.by, longest)), self.by)
        return at_one_limit(means, by)


def measures(means: Sequence[Mean]) -> dict[str, Mean]:
    """Return what was measured, in the order it is told: each with one mean of it.

    >>> common = ("a", "sra", "sra", 3, 1.0, None, "items")
    >>> two = [Mean(*common, "precision", k, None, 0.5, None, None, 1) for k in (20, 10)]
    >>> list(measures(two))
    ['precision of the top 10', 'precision of the top 20']
    """
    order = list(TITLES)
    displayed = [mean for mean in means if mean.metric in TITLES]
    displayed.sort(key=lambda mean: (order.index(mean.metric), mean.k or 0))
    return {mean.measure: mean for mean in displayed}


def titles(mean: Mean) -> tuple[str, str, str]:
    """Return the heading, the title and the axis of what was measured."""
    k = "" if mean.k is None else f"{mean.k:,}"
    heading, title, axis = (text.format(k=k) for text in TITLES[mean.metric])
    return heading, title, axis


def middle(epsilons: set[float]) -> float:
    """Return the ε that tables and plots over the limit are shown for: 1 if it was run, else the middle one.

    >>> middle({0.1, 1.0, 2.0}), middle({0.1, 0.5, 3.0})
    (1.0, 0.5)
    """
    ordered = sorted(epsilons)
    return 1.0 if 1.0 in epsilons else ordered[(len(ordered) - 1) // 2]


def short(number: float) -> str:
    """Write a number with three digits that matter.

    >>> [short(number) for number in (0.01234, 12.345, 1234.5, 7_654_321.0, 0.0)]
    ['0.0123', '12.3', '1,234', '7.65 million', '0']
    """
    for unit, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if abs(number) >= unit:
            return f"{number / unit:.3g} {word}"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def means_of_table(means: Sequence[Mean], table: str) -> list[Mean]:
    """Return what was measured of a table."""
    return [mean for mean in means if mean.table == table]


def standings(means: Sequence[Mean], words: Words) -> dict[str, float]:
    """Return the average place of each method of a table among the private ones, over all measures and ε.

    The best comes first. What is only claimed gets the place it would have among the private ones.
    """
    means = words.at_one_limit(means)
    private = _private(means)
    taken = places(private)
    for label in dict.fromkeys(mean.label for mean in means):
        if label not in taken:
            taken[label] = places([*private, *(mean for mean in means if mean.label == label)])[label]
    return dict(sorted(taken.items(), key=lambda entry: entry[1]))


def _best(means: Sequence[Mean], epsilon: float, metric: str) -> list[Mean]:
    """Return the private methods that are best at one ε: several, if they came out alike."""
    entrants = [mean for mean in _private(means) if (mean.epsilon, mean.metric) == (epsilon, metric)]
    return [mean for mean in entrants if not any(other.better_than(mean) for other in entrants)]


def _private(means: Sequence[Mean]) -> list[Mean]:
    return [mean for mean in means if not is_claimed(mean.label)]


def _at(mean: Mean) -> str:
    return mean.label if mean.limit is None else f"{mean.label} at limit {mean.limit:,}"


def _all_of(best: Sequence[Mean]) -> str:
    """Name the best, however many came out alike.

    >>> common = (3, 1.0, None, "items", "MAE", None, None, 2.0, None, None, 1)
    >>> _all_of([Mean("a", name, name, *common) for name in ("lpa", "sra", "hpa", "gs")])
    'lpa at limit 3, sra at limit 3 and 2 others alike'
    """
    names = [_at(mean) for mean in best]
    return listed(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} others alike"


def _summarize_counts(words: Words, means: Sequence[Mean]) -> list[str]:
    """Say which private methods came out best, overall and at one ε."""
    sentences = []
    for table in words.tables(means):
        private = _private(words.at_one_limit(means_of_table(means, table)))
        if not private:
            continue
        places_by_label = standings(means_of_table(means, table), words).items()
        order = [(label, place) for label, place in places_by_label if not is_claimed(label)]
        sentence = f"For {words.nouns[table]}, over all ε and errors together, {order[0][0]} came out best"
        if len(order) > 1:
            ahead = " and ".join(f"{name} ({place:.1f})" for name, place in order[1:3])
            sentence += f" of {len(order)} private methods (average place {order[0][1]:.1f}), ahead of {ahead}"
        epsilon = middle({mean.epsilon for mean in private})
        error, top = (_best(private, epsilon, metric) for metric in ("MAE", "precision"))
        if error:
            sentence += (
                f". At ε = {epsilon:g} the smallest mean absolute error is that of {_all_of(error)}: its counts "
                f"are off by {short(error[0].mean)} on average"
            )
        if top:
            kind = "items" if table == "items" else "items of each context"
            many = f"{10 * top[0].mean:.1f} of them"
            sentence += f". Most of the 10 most counted {kind} are found by {_all_of(top)}: {many}"
        sentences.append(f"{sentence}.")
    return sentences


def _summarize_rankings(words: Words, means: Sequence[Mean]) -> list[str]:
    """Say of each K what rank and the best counts find at one ε."""
    sentences = []
    for table in words.tables(means):
        mine = words.at_one_limit(means_of_table(means, table))
        epsilon = middle({mean.epsilon for mean in mine})
        for measure, sample in measures(mine).items():
            entrants = [mean for mean in _private(mine) if (mean.measure, mean.epsilon) == (measure, epsilon)]
            if not entrants:
                continue
            entrants.sort(key=lambda mean: -mean.mean)
            k = sample.k or 0
            of_what = some(k, "item") + ("" if table == "items" else " of each context")
            ahead = ", ".join(f"{_at(mean)} {k * mean.mean:.1f}" for mean in entrants[:4])
            sentences.append(f"Of the {of_what} that most people have, at ε = {epsilon:g}: {ahead}.")
    return sentences


def _summarize_selection(words: Words, means: Sequence[Mean]) -> list[str]:
    """Say of each share how many items are selected at one ε."""
    sentences = []
    for table in words.tables(means):
        best = words.at_one_limit(means_of_table(means, table))
        epsilon = middle({mean.epsilon for mean in best})
        for label in dict.fromkeys(mean.label for mean in best):
            mine = {mean.metric: mean for mean in best if (mean.label, mean.epsilon) == (label, epsilon)}
            if "selected" not in mine:
                continue
            limit = mine["selected"].limit
            how = "" if limit is None else f" to {some(limit, 'item')} a person (the best in hindsight)"
            covered = f", with {per_cent(mine['covered'].mean, 1)} of all records" if "covered" in mine else ""
            selected = f"{mine['selected'].mean:,.1f} items are selected"
            sentences.append(f"At ε = {epsilon:g}, {label}{how}: {selected}{covered}.")
    return sentences


WORDS: Mapping[str, Words] = {
    "counts": Words(
        nouns={"items": "item counts", "edges": "item-by-context counts"},
        by="MAE",
        question="which method suits this log",
        note="each method at the limit with its smallest MAE, in hindsight. Sorted by the average place among the "
        "private methods, over all errors and all ε. Bold: the best private method.",
        measured="MSE and MAE are means over all cells, zeros included. MRE divides by the true count, but by no "
        "less than {bound}, which is 0.1 % of the people and at least 1. KL replaces counts of zero or less by "
        "0.01. Precision is that of the top 10, for item-by-context counts of each context on average; equal "
        "counts are ranked at random.",
        summary=_summarize_counts,
    ),
    "rankings": Words(
        nouns={"items": "all items", "edges": "the items of each context"},
        by="precision",
        question="what finds the top",
        note="each method at the limit that finds most of the longest top, in hindsight. Sorted by the average "
        "place among the private methods, over all ε. Bold: the best private method.",
        measured="Best are the items that most people have, and every method counts people. Precision is the "
        "share of the true top K that is found, for contexts on average over those in which anything happened; "
        "equal counts are ranked at random. “rank” is headcount rank with that K, “peeling” chooses one item "
        "after the other whatever K is, and the others are headcount release and then top: of item counts alone, "
        "and for contexts of both tables.",
        summary=_summarize_rankings,
    ),
    "selection": Words(
        nouns={"selection": "selected items"},
        by="selected",
        question="what a share of ε finds",
        note="each share as --select-items uses it by itself, and with the limit that selects most, in hindsight. "
        "Bold: the most.",
        measured="Items are selected as a release with --select-items does first, with the share of ε that a name "
        "says and all of δ. Records covered are those of selected items, of all that there are. Items that nobody "
        "has are never selected.",
        summary=_summarize_selection,
    ),
}
"""By what is compared."""
