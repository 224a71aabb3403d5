"""Tag assignments as integer codes: distinct (user, resource, tag) triples in sorted order."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headcount._internal.arrays import Codes


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
        a, b, c = (np.asarray(codes, dtype=np.int32) for codes in (user, resource, tag))
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
