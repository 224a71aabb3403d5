"""Mutants: thirty methods with a privacy bug, and which of them an audit must detect.

Each is a small class: a registered method with one part of it replaced, of kinds known from elsewhere. The
auditor is told nothing but which method it looks like. ``python tools/planted.py`` audits all of them.
"""

from headcount.lab.audit.mutants.bounds import BOUNDS
from headcount.lab.audit.mutants.mutant import Mutant
from headcount.lab.audit.mutants.noise import NOISES
from headcount.lab.audit.mutants.reading import READING
from headcount.lab.audit.mutants.selection import CHOOSING
from headcount.lab.audit.mutants.spending import SPENDING

MUTANTS = (*BOUNDS, *NOISES, *SPENDING, *CHOOSING, *READING)

__all__ = ["MUTANTS", "Mutant"]
