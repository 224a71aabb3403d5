"""The papers that can be replicated, by name."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.lab.replicate.cim import CIM
from headcount.lab.replicate.dpsense import DPSENSE
from headcount.lab.replicate.fan_jin import FAN_JIN
from headcount.lab.replicate.kellaris import KELLARIS
from headcount.lab.replicate.paper import Paper
from headcount.lab.replicate.pncf import PNCF
from headcount.lab.replicate.pritop import PRITOP

PAPERS: Mapping[str, Paper] = {paper.name: paper for paper in (FAN_JIN, KELLARIS, DPSENSE, PNCF, PRITOP, CIM)}
