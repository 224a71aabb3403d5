"""Describe a journal entry in one sentence."""

from __future__ import annotations

from headcount.accounting.charges import Charge
from headcount.ledger.journal.entries import Entry


def describe_entry(entry: Entry, *, folders: bool = True) -> str:
    """Say what an entry is about: amounts, or which reservation; where releases lie, unless that is left out."""
    budget = entry.budget or {}
    if entry.kind == "create":
        per_analyst, window, lifetime = (budget.get(name) for name in ("per_analyst", "window", "lifetime"))
        text = f"budget ε = {budget['epsilon']}" + ("" if per_analyst is None else f", {per_analyst} per analyst")
        text += "" if window is None else f", in each window of {window['length']}"
        return text + ("" if lifetime is None else f", {lifetime['epsilon']} in all")
    if entry.kind == "allow":
        return f"may spend ε = {budget['epsilon']}"
    if entry.kind == "reserve":
        read = "" if entry.span is None else f", from {entry.span['since']} to {entry.span['until']}"
        return Charge.from_json(entry.charge or {}).amounts + read
    if entry.kind == "publish":
        return f"of {entry.reservation}" + (f": {entry.folder}" if folders else "")
    return f"of {entry.reservation}: {entry.reason}"
