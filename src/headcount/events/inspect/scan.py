"""One pass over a whole log that counts valid, invalid and dropped rows; curator only, not private.

It reads as :class:`headcount.events.encode.passes.EncodedLog` does, value by value, and counts what that leaves
out. Memory follows the number of users and items, and the distinct pairs of both up to a fixed number. The
counters and the resulting values are in ``report``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headcount._internal.arrays import Codes, Flags, Integers
from headcount.errors import Surface, UnknownNameError, command_line, param
from headcount.events.catalogue import NoCatalogue
from headcount.events.contexts import SEPARATOR, Context
from headcount.events.encode.id_table import Listed, ids_for
from headcount.events.encode.passes import read_ahead
from headcount.events.encode.text_columns import flat_batch, is_text, is_textual, plain
from headcount.events.inspect.report import ActivitySummary, Checked, FrequentTexts, Problem, RecordCounts, percent
from headcount.events.inspect.unreadable import (
    Unread,
    condition_column,
    context_columns,
    fate_of,
    required_columns,
)
from headcount.events.log import EventLog
from headcount.events.sources.files.packed_store import PackedSource
from headcount.events.sources.files.scalar import finite_numbers, repetitions
from headcount.events.tag_log import TagLog
from headcount.releases.formatting import some

Progress = Callable[[str, int, int | None], None]

_DOMINATED = 0.25  # of all records: from this share of the most active users on, check suggests a cap
_FEW_OF = 5  # times as many users there must be
_OUTSIDE = "an item outside the catalogue"
_JOINT = pa.scalar(SEPARATOR, pa.large_string())


def scan(log: EventLog, progress: Progress = lambda *_: None, surface: Surface = command_line) -> Checked:
    """Look through a log, and name parameters as a surface does.

    >>> log = EventLog.of([("ann", "tea"), ("bob", "tee"), (None, "rye")], items=["rye", "tea"])
    >>> print(scan(log))
    the table: 3 rows; 1 record of 1 person counts
    1 row (33.3 %): no user in column 'user'
    1 record (50.0 %): an item outside the catalogue: 'tee' (1)
    each person has an item once: --count users is more accurate
    """
    return _scan(log, progress).render(surface)


def _scan(log: EventLog, progress: Progress) -> Checked:
    if isinstance(log.source, PackedSource):
        return _scan_store(log, log.source, progress)
    if not log.selects_contexts:
        return _Scan(log).read(progress)
    # any value may be a context: they are still to be selected
    events = log.as_events() if isinstance(log, TagLog) else log
    report = _scan(replace(events, context=None, context_of="record"), progress)
    column = "" if log.context is None else log.context.name
    return replace(report, hints=(*report.hints, f"column {column!r} was not looked at: its values are selected"))


class _Scan:
    """Looks through raw events."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        roles, kind = log.roles, log.type_of
        self._of_items = roles.item != roles.user  # a user table names none
        self._users = ids_for(kind(roles.user), None, None, roles.user)
        if is_textual(kind(roles.user)):
            self._users.codes(pa.array([""]))  # the first code stands for the empty text
        self._items: Callable[[pa.Array], Codes] = ids_for(kind(roles.item), None, None, roles.item).codes
        if log.has_catalogue:
            self._items = Listed(log.catalogue.as_type(kind(roles.item), roles.item)).codes
        self._counted = RecordCounts(log.width, of_items=self._of_items)
        self._required = required_columns(log)
        self._conditions = [(condition, condition_column(condition)) for condition in log.conditions]
        self._contexts = context_columns(log)
        self._rows = self._left_out = self._kept = self._blank = self._inside = 0
        self._complete_records = self._outside = self._elsewhere = self._below = self._above = 0
        self._items_outside, self._contexts_outside = FrequentTexts(), FrequentTexts()

    def read(self, progress: Progress) -> Checked:
        """Read the log once."""
        log = self._log
        for raw in read_ahead(map(flat_batch, log.source.batches(log.columns))):
            self._rows += raw.num_rows
            if raw.num_rows:
                self._count(*self._complete(*self._fulfilling(raw, log.sound(raw))))
            progress("reading events", self._rows, log.source.rows)
        return _report(
            log, self._counted, self._problems(), self._hints(), rows=self._rows, left_out=self._left_out,
            cut=None if log.value_range is None else (self._below, self._above),
        )  # fmt: skip

    def _fulfilling(self, raw: pa.RecordBatch, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Keep rows that fulfil all conditions; of the rest, tell refused rows from those that are undecided."""
        holds = [condition.holds(batch) for condition, _ in self._conditions]
        kept = np.logical_and.reduce(holds) if holds else np.ones(raw.num_rows, dtype=bool)
        if not kept.all():
            decided = [condition.is_decidable(batch) for condition, _ in self._conditions]
            refused = np.logical_or.reduce([flags & ~held for flags, held in zip(decided, holds, strict=True)])
            self._left_out += int(np.count_nonzero(refused))
            for (condition, unread), flags in zip(self._conditions, decided, strict=True):
                unread.look(raw.column(condition.column), ~flags & ~refused)
        self._kept += int(np.count_nonzero(kept))
        return _rows_where(raw, kept), _rows_where(batch, kept)

    def _complete(
        self, raw: pa.RecordBatch, batch: pa.RecordBatch
    ) -> tuple[pa.RecordBatch, pa.RecordBatch, Integers]:
        """Keep the rows with user, item, value and weight; with how many records each stands for."""
        roles = self._log.roles
        records = np.ones(batch.num_rows, dtype=np.int64)
        complete, blank = np.ones(batch.num_rows, dtype=bool), np.full(batch.num_rows, self._of_items)
        for unread in self._required:
            column = batch.column(unread.column)
            if unread.role == "times":
                records, there = repetitions(roles.numbers.plain(batch, unread.column))
            elif unread.role == "value":
                there = _valid(finite_numbers(roles.numbers.plain(batch, unread.column)))
            else:
                there = _valid(column)
                if unread.role == "item" and self._log.selects and is_text(column.type):
                    there = there & (np.asarray(pc.fill_null(pc.binary_length(plain(column)), 0)) > 0)
                blank &= ~there
            unread.look(raw.column(unread.column), ~there)
            complete &= there
        self._blank += int(np.count_nonzero(blank))
        if roles.times is not None:
            complete &= records > 0
        return _rows_where(raw, complete), _rows_where(batch, complete), records[complete]

    def _count(self, raw: pa.RecordBatch, batch: pa.RecordBatch, records: Integers) -> None:
        """Count the records of the catalogue, and take note of the rest."""
        log = self._log
        self._complete_records += int(records.sum())
        items: Codes = np.zeros(batch.num_rows, dtype=np.int32)
        if self._of_items:
            column = batch.column(log.roles.item)
            items = self._items(column)
            outside = items < 0
            if outside.any():
                self._outside += int(records[outside].sum())
                self._items_outside.add(_texts(column, outside), records[outside])
                raw, batch = _rows_where(raw, ~outside), _rows_where(batch, ~outside)
                items, records = items[~outside], records[~outside]
        self._inside += batch.num_rows
        users, contexts = self._users.codes(batch.column(log.roles.user)), None
        if log.context is not None:
            contexts = self._context(log.context, raw, batch, records)
            if isinstance(log, TagLog):
                tagged = contexts < log.context.size
                users, items, contexts, records = users[tagged], items[tagged], contexts[tagged], records[tagged]
        if log.value_range is not None:
            low, high = map(float, log.value_range)
            column = log.roles.numbers.plain(batch, str(log.roles.value))
            values = finite_numbers(column).to_numpy(zero_copy_only=False)
            self._below += int(records[values < low].sum())
            self._above += int(records[values > high].sum())
        self._counted.add(users, items, contexts, records)

    def _context(self, context: Context, raw: pa.RecordBatch, batch: pa.RecordBatch, records: Integers) -> Codes:
        """Return each row's context, the one after the last if it is unknown, and take note of why."""
        codes = context.codes(batch)
        unknown = codes < 0
        if unknown.any():
            elsewhere = unknown & (context.part is None)
            for unread in self._contexts:
                missing = unknown
                if context.part is None:
                    missing = unknown & ~_valid(batch.column(unread.column))
                    elsewhere &= ~missing
                unread.look(raw.column(unread.column), missing)
            if elsewhere.any():
                self._elsewhere += int(records[elsewhere].sum())
                parts = [_texts(batch.column(name), elsewhere) for name in context.columns]
                self._contexts_outside.add(pc.binary_join_element_wise(*parts, _JOINT), records[elsewhere])
        return np.where(unknown, np.int32(context.size), codes)

    def _problems(self) -> list[Problem]:
        log, inside = self._log, self._complete_records - self._outside
        conditions = _problems_of((unread for _, unread in self._conditions), self._rows, log)
        required = _problems_of(self._required, self._kept, log)
        contexts = _problems_of(self._contexts, self._inside, log)
        outside = Problem(
            role="item", column=log.roles.item, what=_OUTSIDE, number=self._outside, total=self._complete_records,
            noun="record", examples=self._items_outside.most,
        )  # fmt: skip
        problems = [*conditions, *required, *([outside] if self._outside else []), *contexts]
        if log.context is not None and self._elsewhere:
            what = f"a value of {log.context.name!r} outside {param.contexts}"
            elsewhere = Problem(
                role="context", column=log.context.specification, number=self._elsewhere, total=inside,
                what="a tag outside the vocabulary" if isinstance(log, TagLog) else what,
                noun="record", fate=fate_of(log), examples=self._contexts_outside.most,
            )  # fmt: skip
            problems.append(elsewhere)
        return problems

    def _hints(self) -> list[str]:
        log, hints, inside = self._log, [], self._complete_records - self._outside
        if self._blank:
            rows = some(self._blank, "row")
            hints.append(f"{rows} without user and item: a line that is damaged or malformed looks like that")
        textual = is_textual(log.type_of(log.roles.user))
        if textual and (nameless := int(self._counted.records_by_user[:1].sum())):
            records, column = some(nameless, "record"), repr(log.roles.user)
            hints.append(
                f"one person, with {records}, is an empty text in column {column}: many may stand behind it"
            )
        if log.value_range is not None and self._below + self._above:
            low, high = log.value_range
            below, above = percent(self._below / inside), percent(self._above / inside)
            hints.append(f"{below} of the values lie below {low} and {above} above {high}: they are cut to these")
        columns = (*(unread for _, unread in self._conditions), *self._required, *self._contexts)
        return hints + [
            f"most values of column {unread.column!r} cannot be read: {advice}"
            for unread in columns
            if 2 * unread.unreadable > self._rows and (advice := unread.advice)
        ]


def _problems_of(columns: Iterable[Unread], rows: int, log: EventLog) -> list[Problem]:
    """Return the problems of some columns among so many rows."""

    def absent(column: str) -> str | None:
        names = log.source.names
        if column in names:
            return None
        return f"no row has such a column: {UnknownNameError.among('column', column, names).remedy}"

    return [problem for unread in columns for problem in unread.problems(rows, absent)]


def _scan_store(log: EventLog, source: PackedSource, progress: Progress) -> Checked:
    """Look through a store: its records, and the rows that were left out when it was packed."""
    counted, rows = RecordCounts(log.width, of_items=True), 0
    for users, cells, times in source.entries():
        items, contexts = np.divmod(cells, np.int32(log.width))
        records = np.ones(users.size, dtype=np.int64) if times is None else times
        kept = contexts < log.width - isinstance(log, TagLog)
        counted.add(users[kept], items[kept], contexts[kept], records[kept])
        rows += users.size
        progress("reading the store", rows, source.rows)
    tally, total, context = source.tally, source.tally.rows, log.context
    problems = [
        Problem(role=unread.role, column=unread.column, what=what, number=number, total=total)
        for unread in required_columns(log)
        if (number := tally.nulls.get(unread.column, 0))
        for what in (unread.kind.missing.format(f"column {unread.column!r}{unread.more}"),)
    ]
    if outside := tally.outside_catalogue:
        problems.append(Problem(role="item", column=log.roles.item, what=_OUTSIDE, number=outside, total=total))
    if tally.unknown_context and context is not None:
        what = f"no value of {context.name!r} that is declared and can be read"
        unknown = Problem(
            role="context", column=context.specification, number=tally.unknown_context, total=total, what=what,
            fate=fate_of(log),
        )  # fmt: skip
        problems.append(unknown)
    counting = source.records + tally.outside_catalogue + sum(tally.nulls.values())
    left_out = None if log.roles.times else total - counting
    return _report(log, counted, problems, [], rows=total, left_out=left_out)


def _report(
    log: EventLog,
    counted: RecordCounts,
    problems: list[Problem],
    hints: list[str],
    *,
    rows: int,
    left_out: int | None,
    cut: tuple[int, int] | None = None,
) -> Checked:
    if not counted.records and not problems:
        problems = [Problem(role="log", what="there is no record to count", number=rows, total=rows)]
    repeats, activity, names_items = counted.repeats, counted.activity, log.roles.item != log.roles.user
    may_count_users = log.counting == "records" and log.roles.value is None and not isinstance(log, TagLog)
    has_none = type(log.catalogue) is NoCatalogue
    if repeats is not None and not repeats.records and may_count_users and not has_none:
        hints = [*hints, f"each person has an item once: {param.count('users')} is more accurate"]
    if may_count_users and names_items and activity is not None:
        hints = [*hints, *_cap_hints(activity)]
    if has_none and names_items:
        lists, totals = f"{param.items} or {param.select_items(True)}", param.what("totals")
        hints = [*hints, f"without {lists}, everything counts as for {totals}"]
    never: tuple[str, ...] = ()
    if log.context is not None and counted.records:
        empty = np.flatnonzero(counted.of_contexts[: log.context.size] == 0)
        never = tuple(log.context.labels[place] for place in empty.tolist())
    return Checked(
        source=log.source.name, rows=rows, left_out=left_out, records=counted.records, problems=tuple(problems),
        hints=tuple(hints), activity=activity, repeats=repeats, contexts_without_records=never, values_cut=cut,
    )  # fmt: skip


def _cap_hints(activity: ActivitySummary) -> list[str]:
    """Suggest a cap where a few users dominate: the noise of a release may conceal them."""
    users, records = activity.most[-1]
    share = records / activity.records
    if share < _DOMINATED or activity.people < _FEW_OF * users:
        return []
    return [
        f"{users:,} users have {percent(share)} of the records, and intervals of adaptive do not cover users whom "
        f"noise conceals: add {param.at_most('N')}, with N from public knowledge, not from this log"
    ]


def _rows_where(batch: pa.RecordBatch, rows: Flags) -> pa.RecordBatch:
    return batch if rows.all() else batch.filter(pa.array(rows))


def _valid(column: pa.Array) -> Flags:
    return np.asarray(pc.is_valid(column), dtype=bool)


def _texts(column: pa.Array, rows: Flags) -> pa.Array:
    """Return some values of a column as texts."""
    chosen = plain(column.filter(pa.array(rows)))
    try:
        return chosen.cast(pa.large_string())
    except pa.ArrowException:  # a time that no calendar has
        return pa.array(["?"] * len(chosen), pa.large_string())
