"""The papers that can be reproduced, by name: the one list that the command line and the tests share."""

from __future__ import annotations

from collections.abc import Mapping

from headcount.evaluation.papers.cim import CIM
from headcount.evaluation.papers.dpsense import DPSENSE
from headcount.evaluation.papers.fan_jin import FAN_JIN
from headcount.evaluation.papers.kellaris import KELLARIS
from headcount.evaluation.papers.paper import Paper
from headcount.evaluation.papers.pncf import PNCF
from headcount.evaluation.papers.pritop import PRITOP

PAPERS: Mapping[str, Paper] = {paper.name: paper for paper in (FAN_JIN, KELLARIS, DPSENSE, PNCF, PRITOP, CIM)}
