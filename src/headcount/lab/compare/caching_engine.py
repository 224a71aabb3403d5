"""An engine that caches counts shared by the trials of one run.

Within a run, all methods and all ε that ask for the same bound get the same counts: one sample is drawn for each
bound and each run. A next run draws afresh, so error bars over runs hold the chance of sampling as well as that of
the noise. A trial that asks for the same bound twice gets two independent samples, as it would from real keys.
What follows from a trial's own noise, such as the records that HPA picks or what people have of items that a
ranking has found, is drawn with the trial's key and not kept. A log that is described otherwise, with the items
that a trial selected or with users counted, is asked for by itself.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from headcount.bounds import (
    ActivityHistogram,
    Bound,
    Bounded,
    BoundedCounts,
    CountBound,
    KeepTopScored,
    Measured_co,
    WeightToThreshold,
)
from headcount.bounds.counts.record_cap import CappedRecords, RecordCap
from headcount.bounds.counts.users_per_column import SparseCounts, UsersPerColumn
from headcount.bounds.keys.key_support import BoundedKeySupport, KeySupport
from headcount.engines.engine import Engine
from headcount.events.log import EventLog

Answer = TypeVar("Answer")
Request = tuple[Any, ...]
Described = tuple[Any, ...]

KEPT_BYTES = 256 << 20
_RECORDED_NAMES = {"SampleRecords(": "Sample(", "WeightToThreshold(": "Scale("}
"""Bounds, and their names in recorded figures: the key of a sample follows from the recorded name."""


@dataclass
class CachingEngine:
    """Answers from memory what ``engine`` was asked already in this run; at most ``kept_bytes`` are kept.

    ``run`` names what draws hang on besides the bound: the seed, the log and the number of the run. Call
    :meth:`begin` before each trial.
    """

    engine: Engine
    run: str
    kept_bytes: int = KEPT_BYTES
    counted: int = 0
    _kept: OrderedDict[Request, tuple[Any, int]] = field(default_factory=OrderedDict, repr=False)
    _request_counts: Counter[tuple[Request, Described]] = field(default_factory=Counter, repr=False)

    def begin(self) -> None:
        """Begin a trial: it gets its first sample of each bound anew."""
        self._request_counts.clear()

    def can(self, kind: type[Bound[Any]]) -> bool:
        """Say what the engine below can do."""
        return self.engine.can(kind)

    def measure(self, log: EventLog, bound: Bound[Measured_co], secret: bytes) -> Measured_co:
        """Measure under a bound; what hangs on a trial's own noise is measured with the trial's own key."""
        request = _request(bound)
        if request is None:
            return self.engine.measure(log, bound, secret)
        return self._answer(request, _described(log), lambda own: self.engine.measure(log, bound, own))

    def _answer(self, request: Request, described: Described, make: Callable[[bytes], Answer]) -> Answer:
        """Return what is kept, or count with the key that this request has in this run, however a log is read."""
        number = self._request_counts[request, described]
        self._request_counts[request, described] += 1
        place = (*request, number, described)
        if place in self._kept:
            self._kept.move_to_end(place)
            answer: Answer = self._kept[place][0]
            return answer
        answer = make(hashlib.sha256(f"{self.run}|{_recorded((*request, number))}".encode()).digest()[:16])
        self.counted += 1
        self._kept[place] = (answer, _size(answer))
        while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > self.kept_bytes:
            self._kept.popitem(last=False)
        return answer


def _recorded(request: Request) -> str:
    """Name a request as recorded figures do.

    >>> from headcount.bounds import SampleRecords
    >>> _recorded(("count", SampleRecords(3), 0))
    "('count', Sample(limit=3), 0)"
    >>> _recorded(("count", WeightToThreshold(3), 0))
    "('count', Scale(limit=3, norm='l1', apart=False, among=None), 0)"
    """
    text = repr(request)
    for name, recorded in _RECORDED_NAMES.items():
        text = text.replace(name, recorded)
    return text


def _described(log: EventLog) -> Described:
    """Say how a log is read, all but its rows: those are what a run is about."""
    return tuple(getattr(log, log_field.name) for log_field in fields(log) if log_field.name != "source")


def _request(bound: Bound[Any]) -> Request | None:
    """Name what is asked for, as figures were made with; None where it must not be kept, or need not."""
    if isinstance(bound, ActivityHistogram | WeightToThreshold) and bound.among is not None:
        return None
    if isinstance(bound, ActivityHistogram):
        return "activity", bound.table, bound.most, *(() if bound.norm == "l1" else (bound.norm,))
    if isinstance(bound, RecordCap):
        return "rows", bound.table, bound.most
    if isinstance(bound, UsersPerColumn):
        return "sparse", bound.table
    if isinstance(bound, KeySupport):
        return "support", bound.limit
    if isinstance(bound, CountBound) and not isinstance(bound, KeepTopScored):
        return "count", bound
    return None


def _size(answer: object) -> int:
    """Return about how many bytes an answer takes; what it holds is made read-only, since several will see it."""
    arrays: list[Any] = []
    if isinstance(answer, BoundedCounts):
        arrays = [answer.items.sensitive_values, answer.edges.sensitive_values]
    elif isinstance(answer, Bounded):
        arrays = [answer.sensitive_values]
    elif isinstance(answer, CappedRecords):
        arrays = [answer.columns, answer.sums, answer.starts]
    elif isinstance(answer, SparseCounts):
        arrays = [answer.sensitive_columns, answer.sensitive_users]
    elif isinstance(answer, BoundedKeySupport):
        return int(answer.sensitive_users.nbytes + answer.sensitive_ids.nbytes)  # read-only already
    for array in arrays:
        array.flags.writeable = False
    return sum(array.nbytes for array in arrays)
