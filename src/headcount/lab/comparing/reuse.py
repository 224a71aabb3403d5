"""An engine that counts once what several trials of one run ask for.

Within a run, all methods and all ε that ask for the same bound get the same counts: one sample is drawn for each
bound and each run. A next run draws afresh, so error bars over runs hold the chance of sampling as well as that of
the noise. A trial that asks for the same bound twice gets two independent samples, as it would from real keys.
What follows from a trial's own noise, the records that HPA picks, is drawn with the trial's key and not kept.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from headcount.bounding import (
    Bound,
    Bounded,
    BoundedCounts,
    BoundedTotals,
    FixedRange,
    GroupSample,
    Pick,
    Rows,
    SparseCounts,
    Support,
)
from headcount.engines.engine import Engine, Table
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.events.tagged import TagLog
from headcount.events.tagging import Tagging

Answer = TypeVar("Answer")
Request = tuple[Any, ...]

KEPT_BYTES = 256 << 20


@dataclass
class ReusingEngine:
    """Answers from memory what ``engine`` was asked already in this run; at most ``kept_bytes`` are kept.

    ``run`` names what draws hang on besides the bound: the seed, the log and the number of the run. Call
    :meth:`begin` before each trial.
    """

    engine: Engine
    run: str
    kept_bytes: int = KEPT_BYTES
    counted: int = 0
    _kept: OrderedDict[Request, tuple[Any, int]] = field(default_factory=OrderedDict, repr=False)
    _asked: Counter[Request] = field(default_factory=Counter, repr=False)

    def begin(self) -> None:
        """Begin a trial: it gets its first sample of each bound anew."""
        self._asked.clear()

    def count(self, log: EventLog, bound: Bound, secret: bytes) -> BoundedCounts:
        """Count under a bound."""
        if isinstance(bound, Pick) or bound.leaning is not None:
            return self.engine.count(log, bound, secret)
        return self._answer(("count", bound), lambda own: self.engine.count(log, bound, own))

    def activity(self, log: EventLog, table: Table, most: int, secret: bytes) -> Bounded:  # noqa: ARG002
        """Count the users by the number of their records."""
        return self._answer(("activity", table, most), lambda own: self.engine.activity(log, table, most, own))

    def rows(self, log: EventLog, table: Table, most: int, secret: bytes) -> Rows:  # noqa: ARG002
        """Collect the columns of all users' records."""
        return self._answer(("rows", table, most), lambda own: self.engine.rows(log, table, most, own))

    def sparse(self, log: EventLog, table: Table, secret: bytes) -> SparseCounts:  # noqa: ARG002
        """Count the people behind each column."""
        return self._answer(("sparse", table), lambda own: self.engine.sparse(log, table, own))

    def support(self, log: EventLog, limit: int, secret: bytes) -> Support:
        """Count the people behind each item of a log without a catalogue."""
        return self.engine.support(log, limit, secret)

    def totals(self, log: EventLog, limit: int, within: FixedRange | None) -> BoundedTotals:
        """Count people and their records."""
        return self.engine.totals(log, limit, within)

    def cells(self, log: EventLog, grid: Grid, groups: str | None, bound: GroupSample, secret: bytes) -> Bounded:
        """Count people in the cells of a grid."""
        return self.engine.cells(log, grid, groups, bound, secret)

    def tagging(self, log: TagLog) -> Tagging:
        """Collect who gave which tag to which resource."""
        return self.engine.tagging(log)

    def _answer(self, request: Request, make: Callable[[bytes], Answer]) -> Answer:
        """Return what is kept, or count with the key that this request has in this run."""
        request = (*request, self._asked[request])
        self._asked[request[:-1]] += 1
        if request in self._kept:
            self._kept.move_to_end(request)
            answer: Answer = self._kept[request][0]
            return answer
        answer = make(hashlib.sha256(f"{self.run}|{request!r}".encode()).digest()[:16])
        self.counted += 1
        self._kept[request] = (answer, _size(answer))
        while len(self._kept) > 1 and sum(size for _, size in self._kept.values()) > self.kept_bytes:
            self._kept.popitem(last=False)
        return answer


def _size(answer: object) -> int:
    """Return about how many bytes an answer takes; what it holds is made read-only, since several will see it."""
    arrays: list[Any] = []
    if isinstance(answer, BoundedCounts):
        arrays = [answer.items.sensitive_values, answer.edges.sensitive_values]
    elif isinstance(answer, Bounded):
        arrays = [answer.sensitive_values]
    elif isinstance(answer, Rows):
        arrays = [answer.columns, answer.sums, answer.starts]
    elif isinstance(answer, SparseCounts):
        arrays = [answer.sensitive_columns, answer.sensitive_people]
    for array in arrays:
        array.flags.writeable = False
    return sum(array.nbytes for array in arrays)
