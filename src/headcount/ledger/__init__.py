"""The ledger: what was spent on each dataset, by whom and for what; nothing is released that was not charged."""

from headcount.ledger.accounts import Account, Issued
from headcount.ledger.charges import Charge
from headcount.ledger.composition import Budget
from headcount.ledger.journal.verify import Verification
from headcount.ledger.ledger import Ledger
from headcount.ledger.reservations import Reservation

__all__ = ["Account", "Budget", "Charge", "Issued", "Ledger", "Reservation", "Verification"]
