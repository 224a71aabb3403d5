"""Methods for queries as targets: what an attacker sees of their answers, over one round or 200 of the same query.

The items of a pair are the cells of a grid. Methods that look at queries one by one are asked the same one 200
times, about the first half of all cells: whether any round led to an update, and which one first, is seen. A
method that charges only for updates gives itself away by not making one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from headcount.audits.events import Observations
from headcount.audits.neighbours import Pair
from headcount.audits.observing import Target, log_of
from headcount.bounding import LinearQueries
from headcount.engines.local import LocalEngine
from headcount.events.grid import Grid
from headcount.events.log import EventLog
from headcount.noise import NoiseSource
from headcount.queries.asked import Asked
from headcount.registry import build
from headcount.releases import Release

ROUNDS = 200
ONE_BY_ONE = frozenset({"pmw", "cim-published"})
"""Methods that look at queries one by one."""

QUERYING = ("histogram", "mwem", "pmw", "cim-published")


@dataclass(frozen=True)
class QueryTarget(Target):
    """A method for queries, over the items of a pair as cells; ``limit`` is the most records of a person."""

    limit: int = 1

    @classmethod
    def named(cls, name: str, limit: int, epsilon: Decimal) -> QueryTarget:
        """Return a registered method; the published one has no limit."""
        parameters: Mapping[str, Any] = {"updates": 1} if name == "pmw" else {}
        return cls(name, parameters, epsilon, limit=limit)

    def _once(self, pair: Pair, source: NoiseSource, *, present: bool) -> Observations:
        release = self.release(log_of(pair, present=present), source)
        answers = release.answers["answer"].to_numpy()
        numbers, kind = answers, _published(release)
        if self.name in ONE_BY_ONE:
            kind += f"; {_first_change(release)}"
            numbers = np.array([answers.min(), answers[-1], answers.max()])
        names = tuple(f"answer {place}" for place in range(numbers.size))
        return Observations(np.array([kind]), numbers[None, :].astype(np.float64), names)

    def release(self, log: EventLog, source: NoiseSource) -> Release:
        """Ask for every cell once, or for the first half of them again and again."""
        cells = list(log.catalogue.ids)
        rows = np.eye(len(cells), dtype=bool)
        if self.name in ONE_BY_ONE:
            rows = np.tile(np.arange(len(cells)) < max(1, len(cells) // 2), (ROUNDS, 1))
        asked = Asked(
            grid=Grid.of({log.roles.item: {"values": cells}}),
            rows=LinearQueries.of(rows),
            max_records=self.limit,
        )
        method = build(self.name, {"asked": asked, **self.parameters}, "queries")
        return method.release(log, self.grant(), source, LocalEngine(threads=1))


def refuting() -> Pair:
    """Return the pair that CIM is refuted with: a crowd that its first table is off by nearly the threshold for.

    Of 1,024 cells, the first half holds 22 of 103 records, where the table says a half: that is 0.286 apart, 3.6
    noise scales below the threshold of 0.3. One more record inside makes it 5.6 scales. So 200 rounds without an
    update happen in about 6 % of all runs without the person, and in 69 % with them, at ε = 1.
    """
    crowd = ((0,),) * 22 + ((1000,),) * 81
    story = "a person who lets a table stay as it is, for 200 rounds of one query, where it nearly could not"
    return Pair("200 rounds", story, 1024, crowd, (0,))


def _published(release: Release) -> str:
    """Return what is published beside the answers, but for numbers that are different in every run."""
    chosen = {name: value for name, value in release.chosen.get("answers", {}).items() if name != "total"}
    return json.dumps(chosen, default=str)


def _first_change(release: Release) -> str:
    """Say whether, and about when, an answer was first another one than the first."""
    if "how" in release.answers.column_names:
        changed = np.array(release.answers["how"].to_pylist()) == "measured"
    else:
        answers = release.answers["answer"].to_numpy()
        changed = answers != answers[0]
    if not changed.any():
        return f"no update in {ROUNDS} rounds"
    return f"the first update within {2 ** int(np.argmax(changed)).bit_length()} rounds"
