"""Interactive queries: an analyst asks one at a time; the whole ε is reserved before the first.

The order is that of every charged request: everything is validated, the cost is reserved, then records are read.
What the session says afterwards costs nothing more, whatever is asked: see
:mod:`headcount.methods.queries.private_multiplicative_weights`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from headcount._internal.python_surface import class_errors_in_python
from headcount.accounting.budget import Amount
from headcount.accounting.exclusive import ExclusiveResource
from headcount.accounting.guarantee import Guarantee
from headcount.bounds import LinearQueries
from headcount.engines.engine import Engine, engine_for
from headcount.errors import UsageError
from headcount.events.log import EventLog, check_log
from headcount.ledger import Ledger, Reservation
from headcount.methods.method import check_engine
from headcount.methods.queries.private_multiplicative_weights import Mediator, PrivateWeights, Reply
from headcount.methods.queries.query_method import query_release
from headcount.methods.queries.request import SessionRequest
from headcount.methods.queries.sql import Cell, counts_of
from headcount.methods.queries.workload import QueryNames
from headcount.methods.request import request_of
from headcount.noise import OperatingSystemNoise
from headcount.releases.formatting import some
from headcount.releases.release import Release
from headcount.run.charge import begin_reading, record_charge
from headcount.run.curator import charging_of
from headcount.run.prepare import prepare_request
from headcount.run.withhold import withhold_errors


@class_errors_in_python
class QuerySession(ExclusiveResource):
    """Answers queries one by one; see :func:`headcount.query` for the parameters.

    ``updates`` is how many answers may be measured on the data, and ``expected`` how many queries there may be:
    both decide how far off an answer must be to be measured. The session is a context manager: at its end, the
    data is let go of. Threads may share it; a fork of the process, and a copy, are refused.

    >>> import pyarrow as pa
    >>> from headcount.events.user_table import read_people
    >>> log = read_people(pa.table({"id": range(900), "age": [n % 90 for n in range(900)]}), user="id")
    >>> with QuerySession(log, epsilon="50", bins={"age": {"edges": [0, 18, 65, 120]}}) as session:
    ...     reply = session.ask("SELECT COUNT(*) FROM people WHERE age < 18")
    >>> 170 < reply.answer < 190, reply.left <= session.updates
    (True, True)
    """

    noun, remedy = Mediator.noun, Mediator.remedy

    def __init__(
        self,
        log: EventLog,
        *,
        epsilon: Amount,
        bins: Any,
        groups: str | None = None,
        max_group: int | None = None,
        max_records: int = 1,
        updates: int | None = None,
        expected: int = 1000,
        shares: Mapping[str, Amount] | None = None,
        ledger: Ledger | str | None = None,
        dataset: str | None = None,
        analyst: str | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Reserve all of ε, read the table, and be ready."""
        given = locals()
        super().__init__()
        check_log(log)
        self._log, self._replies = log, list[Reply]()
        self._named: list[tuple[str, Cell]] = []
        fields = {name: given[name] for name in SessionRequest.model_fields if name in given}
        self._request = request_of(SessionRequest, **fields)
        self._request.build()
        charging = charging_of(ledger, dataset=dataset, analyst=analyst, again=False)
        # every session is another one: what was published of an earlier one is no answer
        self._charging = None if charging is None else replace(charging, again=True)
        self._reservation: Reservation | None = None
        with engine_for(log, engine) as chosen:
            self._mediator = self._begin(chosen)

    def _begin(self, engine: Engine) -> Mediator:
        ready, grant = prepare_request(self._request, self._log), self._request.grant()
        method, self._guarantee = ready.method, ready.guarantee
        assert isinstance(method, PrivateWeights)  # noqa: S101
        check_engine(method.name, method.bounds, engine, self._log)
        if self._charging is None:
            return method.begin(ready.log, grant, OperatingSystemNoise(), engine)
        reservation = self._charging.reserve(ready)
        assert isinstance(reservation, Reservation)  # noqa: S101
        begin_reading(reservation, ready.log)
        self._reservation, self._guarantee = reservation, self._guarantee.within(reservation.windows)
        return withhold_errors(lambda: method.begin(ready.log, grant, OperatingSystemNoise(), engine))

    def __repr__(self) -> str:
        progress = f"{some(len(self._replies), 'answer')} so far, {self.left} more may be measured"
        return f"<QuerySession: {self.guarantee.short()}; {progress}>"

    @property
    def guarantee(self) -> Guarantee:
        """What the whole session promises, however much is asked."""
        return self._guarantee

    @property
    def left(self) -> int:
        """How many more answers may be measured on the data."""
        return self._mediator.left

    @property
    def updates(self) -> int:
        """How many answers could be measured at the start."""
        return self._mediator.updates

    def ask(self, query: Any) -> Reply:
        """Answer one count: a SQL statement, or a row of zeros and ones over the cells."""
        replies = self.ask_all(query)
        if len(replies) != 1:
            raise UsageError("this asks for several counts", remedy="use ask_all; they are all in the session now")
        return replies[0]

    def ask_all(self, query: Any) -> list[Reply]:
        """Answer all counts that a statement with GROUP BY asks for, or several rows."""
        with self.exclusively():
            rows, named = self._read(query)
            mediator = self._mediator
            replies = (
                mediator.reply(rows) if self._charging is None else withhold_errors(lambda: mediator.reply(rows))
            )
            self._replies += replies
            self._named += named
            return replies

    def _read(self, query: Any) -> tuple[LinearQueries, list[tuple[str, Cell]]]:
        """Return the rows that are asked for, and what each is called."""
        grid = self._request.grid
        if isinstance(query, str):
            counted = list(counts_of(query, grid))
            rows = LinearQueries.from_masks((count_query.mask for count_query in counted), grid.cells)
            return rows, [(count_query.statement, count_query.cell) for count_query in counted]
        rows = LinearQueries.from_matrix(np.atleast_2d(np.asarray(query)), grid.cells)
        return rows, [(f"row {len(self._named) + place + 1}", ()) for place in range(rows.size)]

    def release(self) -> Release:
        """Return all answers so far as a release, with the promise of the whole session."""
        with self.exclusively():
            names = QueryNames(
                tuple(statement for statement, _ in self._named), tuple(cell for _, cell in self._named)
            )
            noisy = self._mediator.noisy_answers(self._replies)
            table_queries = self._request.table_queries
            release = query_release(PrivateWeights.name, table_queries, self._log, self._guarantee, noisy, names)
        request_data = self._request.model_dump(mode="json", exclude_defaults=True)
        release = replace(release, request={"events": self._log.requested(), self._request.command: request_data})
        if self._charging is None or self._reservation is None:
            return release
        return record_charge(release, self._reservation, self._charging)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Write all answers so far as a release folder; with a ledger, note there that they are published."""
        return self.release().save(folder, force=force)

    def close(self) -> None:
        """Let go of the data; what was reserved stays spent."""
        self._mediator.end()
        if self._charging is not None and self.is_home:
            self._charging.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
