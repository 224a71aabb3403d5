"""The ledger: privacy budget spent per dataset and analyst; every release is charged before data is read."""

from headcount.accounting.charges import Charge
from headcount.ledger.accounts import Account, Issued
from headcount.ledger.composition import Budget
from headcount.ledger.journal.verify import Verification
from headcount.ledger.ledger import Ledger
from headcount.ledger.reservations import Reservation

__all__ = ["Account", "Budget", "Charge", "Issued", "Ledger", "Reservation", "Verification"]
