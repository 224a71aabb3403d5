"""Mutants with bugs in reading, and mutants whose bug shows rarely."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount.accounting.budget import Grant
from headcount.bounds import BoundedCounts
from headcount.errors import DataError
from headcount.events.log import EventLog
from headcount.events.sources.source import open_source
from headcount.methods.counts.tables import NoisyTables
from headcount.noise import NoiseSource
from headcount.releases.release import Release
from tests.mutants.audited.mutant import Mutant, Parts, noised_with, records_per_user, rows_of, with_counts

_SELDOM = 100_000


@dataclass(frozen=True, kw_only=True)
class Refuses(Parts):
    """A release that fails if somebody has very many records."""

    def read(self, log: EventLog) -> EventLog:
        """Look for outliers."""
        if records_per_user(log).max(initial=0) > 4 * self.limit:
            raise DataError("a person has suspiciously many records", remedy="clean the log first")
        return log


@dataclass(frozen=True, kw_only=True)
class InferredType(Parts):
    """A column of whole numbers with a gap in it, which becomes one of fractions."""

    def read(self, log: EventLog) -> EventLog:
        """Infer the type: where a number is missing, all are written with a point, and match no item."""
        rows, item = rows_of(log), log.roles.item
        if item is None or not rows[item].null_count:
            return log
        texts = pc.cast(pc.cast(rows[item], pa.float64()), pa.string())
        pointed = pc.binary_join_element_wise(texts, "0", ".")
        return replace(log, source=open_source(rows.set_column(rows.column_names.index(item), item, pointed)))


@dataclass(frozen=True, kw_only=True)
class NotANumber(Parts):
    """A mean that a single gap turns into no number, and everything with it."""

    def finished(self, release: Release, log: EventLog, counts: BoundedCounts) -> Release:
        """Scale counts by a sum over all rows, in which a gap is NaN."""
        column = rows_of(log)[str(log.roles.item)]
        total = np.sum(pc.fill_null(pc.cast(column, pa.float64()), np.nan).to_numpy()) + 1
        return with_counts(release, log, release.items["count"].to_numpy() * (total / total))


@dataclass(frozen=True, kw_only=True)
class Seldom(Parts):
    """Counts without noise, once in a hundred thousand releases."""

    def noised(
        self, log: EventLog, counts: BoundedCounts, grants: Mapping[str, Grant], noise: NoiseSource
    ) -> NoisyTables:
        """Give noise up where a draw goes wrong."""
        tables = super().noised(log, counts, grants, noise)
        if int.from_bytes(noise.key()[:8], "little") % _SELDOM:
            return tables
        return noised_with(tables, log, counts.items.sensitive_values.ravel().astype(np.float64))


READING = (
    Mutant("refused for what somebody wrote", "a release fails if a person has very many records",
            "input checks that raise", Refuses),
    Mutant("a type inferred from content", "one gap makes a column fractional, and no item matches any more",
            "pandas: integers with a gap become floats", InferredType),
    Mutant("not a number", "one gap makes every count NaN", "NaN in a sum", NotANumber),
    Mutant("once in 100,000", "one release in a hundred thousand has no noise", "errors that fail open", Seldom),
)  # fmt: skip
