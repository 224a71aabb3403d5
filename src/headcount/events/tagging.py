"""Tag assignments as codes: who, which resource and which tag, each assignment once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headcount.arrays import Codes
from headcount.events.encoding import CodedBatch, EncodedLog
from headcount.events.store import PackedSource
from headcount.events.tagged import TagLog


@dataclass(frozen=True)
class Tagging:
    """Distinct assignments, sorted by user, resource and tag; users are numbered, the rest are places in lists.

    >>> many = Tagging.of([1, 0, 1], [0, 0, 0], [2, 1, 2], people=2, resources=1, tags=3)
    >>> many.user.tolist(), many.tag.tolist()
    ([0, 1], [1, 2])
    """

    user: Codes
    resource: Codes
    tag: Codes
    people: int
    resources: int
    tags: int

    @classmethod
    def of(cls, user: object, resource: object, tag: object, *, people: int, resources: int, tags: int) -> Tagging:
        """Sort assignments, and keep each once."""
        a, b, c = (np.asarray(each, dtype=np.int32) for each in (user, resource, tag))
        order = np.lexsort((c, b, a))
        a, b, c = a[order], b[order], c[order]
        new = np.ones(order.size, dtype=np.bool_)
        new[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (c[1:] != c[:-1])
        return cls(a[new], b[new], c[new], people, resources, tags)

    @property
    def size(self) -> int:
        """How many assignments there are."""
        return int(self.user.size)

    def where(self, kept: NDArray[np.bool_]) -> Tagging:
        """Keep some of the assignments."""
        return replace(self, user=self.user[kept], resource=self.resource[kept], tag=self.tag[kept])


class TaggedLog(EncodedLog):
    """Reads a tag log in passes of coded batches, in which ``cells`` are resources and ``contexts`` tags."""

    log: TagLog

    def _packed(self, source: PackedSource) -> Iterator[CodedBatch]:
        for batch in super()._packed(source):
            resources, tags = np.divmod(batch.cells, np.int32(self.log.width))
            tags[tags == self.log.width - 1] = -1
            yield CodedBatch(batch.users, np.where(tags < 0, np.int32(-1), resources), batch.times, tags)

    def _coded(self, batch: pa.RecordBatch, contexts: Codes | None) -> CodedBatch:
        roles, tags = self.log.roles, contexts
        if tags is None:
            raise ValueError("a tag log has tags")
        users = self.users.codes(batch.column(roles.user))
        resources = self._items(batch.column(roles.item))
        counts = (resources >= 0) & (tags >= 0)
        self.tally.outside_catalogue += int(np.count_nonzero(~counts))
        resources, _ = self._repeated(batch, np.where(counts, resources, np.int32(-1)))
        return CodedBatch(users, resources, None, tags)
