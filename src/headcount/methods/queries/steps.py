"""The sentences of a query release: one template for each step, filled with the facts that a method hands over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from headcount.accounting.noise_distributions import NoiseDistribution
from headcount.events.grid import NumberBins
from headcount.events.log import EventLog
from headcount.events.sources.source import RowAsUserSource
from headcount.methods.method import describe_filters
from headcount.methods.queries.workload import TableQueries
from headcount.releases.formatting import some

TEMPLATES: Mapping[str, str] = {
    "choice": "To choose how to answer, the number of records was released with {noise}, paid with {share} of the "
    "budget. The queries are such that {reason}; {consequence}.",
    "total": "The number of records got {noise}.",
    "start": "The number of records got {noise}. A table was fitted to it and to counts over {margins}.",
    "cells": "Every cell, empty ones included, got {noise}.",
    "cells of sums": "Every cell, empty ones included, got {noise}; a query is the sum of its cells.",
    "contrasts": "What up to {columns} columns tell together and fewer do not was measured in {blocks:,} blocks, "
    "each "
    "weighed as the queries call for; every number got {noise}.",
    "projection": "Cells were then moved to the nearest counts that are not negative and add up to the released "
    "total, which got {noise}.",
    "sums": "A query is the sum of its cells.",
    "least squares": "Answers follow from these by least squares, unbiased.",
    "mean with fit": "Unbiased answers follow from these by least squares, with intervals around them. What is "
    "given "
    "is the mean of these and of a fitted table that is nowhere negative, within the intervals.",
    "no fit": "Unbiased answers follow from these by least squares.",
    "fit": "A table that is nowhere negative was fitted to these, and answers come from it.",
    "fit refused": "Unbiased answers follow from these by least squares; a fitted table was further from them "
    "than "
    "their noise.",
    "error": "The error that {within} of these answers do not exceed was released too: {error:,.0f}, with "
    "{noise}. "
    "The intervals are made of it.",
    "rounds": "{when} query that the table answered worst was chosen, and its answer released with {noise}; the "
    "table "
    "was then fitted to it as well.",
    "answers of table": "All queries were answered from that table, which costs nothing.",
    "updates": "Queries were answered from that table, unless that was found to be off by about {threshold:,} or "
    "more: then the exact answer got {noise}, and the table was mended with it. That could happen {updates} at "
    "most; after the last, the table answered alone, and how good these answers are is not known.",
    "columns": "Every column was counted by itself, with {noise}.",
    "scores": "How far each pair of columns is from what these two alone would make of it was released with "
    "{noise}; "
    "{taken:,} of {pairs} were taken.",
    "pairs": "These were counted, every cell with {noise}.",
    "answers of model": "All queries were answered from a model fitted to these counts, which costs nothing.",
    "synthetic rows": "{rows} were drawn from the same model, column by column; within a bin of numbers all are "
    "alike. That costs nothing.",
}


class Step(NamedTuple):
    """A step of a release: the name of its template, and its facts."""

    name: str
    facts: Mapping[str, Any]

    @property
    def sentence(self) -> str:
        """The step as a sentence; a noise distribution is put into words."""
        facts = {
            name: fact.in_words() if isinstance(fact, NoiseDistribution) else fact
            for name, fact in self.facts.items()
        }
        return TEMPLATES[self.name].format(**facts)


def step(name: str, **facts: Any) -> Step:
    """Return a step with its facts.

    >>> step("rounds", when="The", noise="noise").sentence[:20]
    'The query that the t'
    """
    return Step(name, facts)


def describe_table(table_queries: TableQueries, log: EventLog) -> list[str]:
    """Return sentences on the records that were counted, and the grid."""
    grid = table_queries.grid
    columns = ", ".join(f"{bins.column} ({some(bins.size, 'bin')})" for bins in grid.bins)
    placed = "told apart by" if grid.is_wide else "counted in"
    records = table_queries.max_records
    at_random = "one random record" if records == 1 else f"at most {records:,} random records"
    per_user = f"Of each person {at_random} counted."
    sentences = [
        *describe_filters(log),
        f"Records were {placed} {some(grid.cells, 'cell')} of a public grid: {columns}.",
        "Each row counted as one person." if isinstance(log.source, RowAsUserSource) else per_user,
    ]
    if any(isinstance(bins, NumberBins) for bins in grid.bins):
        sentences[-1] += " Numbers beyond the outer edges counted in the outer bins."
    if table_queries.groups is not None:
        sentences.append(
            f"Of all people with the same {table_queries.groups!r}, at most {table_queries.max_group:,} counted, "
            "drawn at random: a larger group was cut down."
        )
    return sentences
