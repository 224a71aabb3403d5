"""The papers that can be reproduced, by name: the one list that the command line and the tests share."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.lab.papers.cim import CIM
from headcount.lab.papers.dpsense import DPSENSE
from headcount.lab.papers.fan_jin import FAN_JIN
from headcount.lab.papers.kellaris import KELLARIS
from headcount.lab.papers.paper import Paper
from headcount.lab.papers.pncf import PNCF
from headcount.lab.papers.pritop import PRITOP

PAPERS: Mapping[str, Paper] = {paper.name: paper for paper in (FAN_JIN, KELLARIS, DPSENSE, PNCF, PRITOP, CIM)}
