"""The ledger: what was spent on each dataset, by whom and for what; nothing is released that was not charged."""

from headcount.ledger.accounting import Budget
from headcount.ledger.accounts import Account, Issued
from headcount.ledger.charges import Charge
from headcount.ledger.ledger import Ledger
from headcount.ledger.reservations import Reservation
from headcount.ledger.verifying import Verification

__all__ = ["Account", "Budget", "Charge", "Issued", "Ledger", "Reservation", "Verification"]
