"""One case of the replay contract: its request, its log, its neighbours and how it runs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest import mock

from headcount.engines.engine import Engine
from headcount.engines.local.engine import LocalEngine
from headcount.events.log import EventLog
from headcount.lab.audit.replay import Tape, check_replay
from headcount.lab.audit.sensitivity_replay import SensitivityUse
from headcount.methods.rankings import top_k
from headcount.methods.request import ChargedRequest
from headcount.releases.release import Release
from headcount.run import query_session
from tests.contracts.replay.user_crowds import Crowd, RowsByUser
from tests.support.curator_runs import ran

Reads = Callable[[RowsByUser], EventLog]


@dataclass(frozen=True)
class Case:
    """A request, a crowd to run it over, and how the crowd becomes a log."""

    family: str
    label: str
    request: ChargedRequest | Mapping[str, Any]
    crowd: Crowd
    reading: Reads
    engine: Callable[[], Engine] = lambda: LocalEngine(threads=1)
    many_cells: int = top_k.MANY_CELLS
    """From how many cells on rankings hold no zeros: small, so that small logs get where large ones do."""

    @property
    def seed(self) -> int:
        return zlib.crc32(f"{self.label} {self.request}".encode())

    def run(self, log: EventLog, tape: Tape) -> Release:
        """Release with the noise of a tape, as a curator would."""
        with mock.patch.object(top_k, "MANY_CELLS", self.many_cells):
            if isinstance(self.request, ChargedRequest):
                return ran(self.request, log, engine=self.engine(), noise=tape)
            return ask_row_by_row(log, tape, self.request)

    def check(self, neighbours: int, *, more: int = 0) -> tuple[Release, list[SensitivityUse]]:
        """Keep the contract on so many neighbours."""
        seed = self.seed + more
        others = [self.reading(neighbour) for neighbour in self.crowd.neighbours(neighbours, seed)]
        return check_replay(self.run, self.reading(self.crowd.people), others, seed)


def ask_row_by_row(log: EventLog, tape: Tape, words: Mapping[str, Any]) -> Release:
    """Hold a session: each question is made of the answer before."""
    with (
        mock.patch.object(query_session, "OperatingSystemNoise", return_value=tape),
        query_session.QuerySession(log, **words) as session,
    ):
        answer = 0.0
        for _ in range(12):
            place = int(abs(answer)) % 8
            reply = session.ask(
                f"SELECT COUNT(*) FROM people WHERE age >= {12 * place} AND hours < {40 + place % 4 * 10}"
            )
            answer = 7 * reply.answer + 3 + reply.left
        session.ask_all("SELECT COUNT(*) FROM people GROUP BY job")
        return session.release()
