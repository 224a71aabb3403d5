"""The base of methods exactly as published, whose guarantee is claimed and not established."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headcount.accounting.budget import CostOrGrant
from headcount.accounting.guarantee import Guarantee, Standing
from headcount.methods.method import Bounds, Staged


@dataclass(frozen=True, kw_only=True)
class Claimed(Staged):
    """A method with the guarantee that its paper claims; ``reason`` says why it does not hold."""

    name: ClassVar[str]
    standing: ClassVar[Standing] = Standing.CLAIMED
    reason: ClassVar[str | None]
    bounds: ClassVar[Bounds] = ()

    def guarantee(self, priced: CostOrGrant) -> Guarantee:
        """The claim of the paper."""
        return Guarantee(epsilon=priced.epsilon, standing=Standing.CLAIMED, reason=self.reason)
