"""Thirty methods with a privacy bug, for measuring what an audit detects.

Each mutant is a small class: a registered method with one part replaced, as in bugs known from elsewhere. The
auditor knows only which method the mutant resembles. ``python -m benchmarks.auditing.mutant_detection`` audits all
of them.
"""

from tests.mutants.audited.bounds import BOUNDS
from tests.mutants.audited.mutant import Mutant
from tests.mutants.audited.noise import NOISES
from tests.mutants.audited.reading import READING
from tests.mutants.audited.selection import CHOOSING
from tests.mutants.audited.spending import SPENDING

MUTANTS = (*BOUNDS, *NOISES, *SPENDING, *CHOOSING, *READING)

__all__ = ["MUTANTS", "Mutant"]
