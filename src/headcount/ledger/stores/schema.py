"""SQL schema of a ledger for SQLite and PostgreSQL, and its migrations.

``journal`` is the truth. ``datasets``, ``accounts`` and ``outcomes`` are what follows from it, kept so that a
request is judged without reading the journal; ``headcount ledger verify`` works them out again and compares.
Amounts are exact decimals, as text. In ``accounts`` the analyst '' stands for the dataset as a whole. ``windows``
is ``accounts`` once more for each window, of budgets that have some. ``allowances`` says what analysts may spend
who have an amount of their own.

A migration, once released, is never changed; a new one is added at the end of :data:`MIGRATIONS`.
"""

from __future__ import annotations

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # one row: the random name of this journal, and which key signs it
        "CREATE TABLE headcount_ledger (id INTEGER PRIMARY KEY, chain TEXT NOT NULL, key_id TEXT NOT NULL)",
        "CREATE TABLE headcount_schema (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)",
        "CREATE TABLE journal (number BIGINT PRIMARY KEY, dataset TEXT NOT NULL, body TEXT NOT NULL, "
        "mac TEXT NOT NULL)",
        "CREATE TABLE datasets (name TEXT PRIMARY KEY, budget TEXT NOT NULL)",
        "CREATE TABLE accounts (dataset TEXT NOT NULL, analyst TEXT NOT NULL, loss TEXT NOT NULL, "
        "delta TEXT NOT NULL, open BIGINT NOT NULL, published BIGINT NOT NULL, refunded BIGINT NOT NULL, "
        "PRIMARY KEY (dataset, analyst))",
        "CREATE TABLE outcomes (reservation BIGINT PRIMARY KEY, entry BIGINT NOT NULL, identity TEXT, "
        "folder TEXT, digest TEXT)",
        "CREATE INDEX outcomes_by_identity ON outcomes (identity, entry)",
    ),
    ("CREATE INDEX journal_by_dataset ON journal (dataset, number)",),
    (
        # "window" is a word of SQL
        "CREATE TABLE windows (dataset TEXT NOT NULL, analyst TEXT NOT NULL, number BIGINT NOT NULL, "
        "loss TEXT NOT NULL, delta TEXT NOT NULL, open BIGINT NOT NULL, published BIGINT NOT NULL, "
        "refunded BIGINT NOT NULL, PRIMARY KEY (dataset, number, analyst))",
    ),
    (
        "CREATE TABLE allowances (dataset TEXT NOT NULL, analyst TEXT NOT NULL, epsilon TEXT NOT NULL, "
        "PRIMARY KEY (dataset, analyst))",
    ),
)

VERSION = len(MIGRATIONS)
