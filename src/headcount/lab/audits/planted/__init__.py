"""Thirty bugs that break a promise, planted on purpose: what an audit must find, and what it does not.

Each is a small class: a registered method with one part of it replaced, of kinds known from elsewhere. The
auditor is told nothing but which method it looks like. ``python tools/planted.py`` audits all of them.
"""

from headcount.lab.audits.planted.bounds import BOUNDS
from headcount.lab.audits.planted.bug import Planted
from headcount.lab.audits.planted.choosing import CHOOSING
from headcount.lab.audits.planted.noises import NOISES
from headcount.lab.audits.planted.reading import READING
from headcount.lab.audits.planted.spending import SPENDING

PLANTED = (*BOUNDS, *NOISES, *SPENDING, *CHOOSING, *READING)

__all__ = ["PLANTED", "Planted"]
