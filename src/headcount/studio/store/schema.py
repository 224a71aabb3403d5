"""The tables of the studio. Times are seconds since 1970, as floats; secrets are kept as digests alone."""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text

METADATA = MetaData()

accounts = Table(
    "studio_people",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("name", String(64), unique=True, nullable=False),  # also the analyst of the ledger
    Column("role", String(16), nullable=False),
    Column("password", Text),  # argon2, None until an invitation is taken up
    Column("created", Float, nullable=False),
    Column("disabled", Boolean, nullable=False, default=False),
)

invitations = Table(
    "studio_invitations",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("person", ForeignKey(accounts.c.id), nullable=False),
    Column("made_by", ForeignKey(accounts.c.id)),  # None: the first one, made at the first start
    Column("expires", Float, nullable=False),
    Column("used", Float),
)

sessions = Table(
    "studio_sessions",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("person", ForeignKey(accounts.c.id), nullable=False),
    Column("csrf", String(64), nullable=False),
    Column("created", Float, nullable=False),
    Column("expires", Float, nullable=False),
)

tokens = Table(
    "studio_tokens",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("person", ForeignKey(accounts.c.id), nullable=False),
    Column("label", String(80), nullable=False),
    Column("digest", String(64), unique=True, nullable=False),
    Column("created", Float, nullable=False),
    Column("last_used", Float),
    Column("revoked", Float),
)

sign_in_attempts = Table(
    "studio_tries",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("key", String(160), nullable=False, index=True),  # a name, or an address
    Column("at", Float, nullable=False),
)

datasets = Table(
    "studio_datasets",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("name", String(64), unique=True, nullable=False),  # also the dataset of the ledger
    Column("about", Text, nullable=False, default=""),  # for analysts, in the curator's words
    Column(
        "reads", String(16), nullable=False
    ),  # a key of events.log_parameters.READERS: events, ratings, people, tags
    Column("source", JSON, nullable=False),  # {"files": ["uploads/…"]} or {"address": "postgresql://…"}
    Column("flags", JSON, nullable=False),  # how it is read: names and values of events.log_parameters.FLAGS
    Column("version", String(64)),
    Column("state", String(16), nullable=False),  # draft, open, closed
    Column("made_by", ForeignKey(accounts.c.id), nullable=False),
    Column("created", Float, nullable=False),
)

members = Table(
    "studio_members",
    METADATA,
    Column("dataset", ForeignKey(datasets.c.id), primary_key=True),
    Column("person", ForeignKey(accounts.c.id), primary_key=True),
    Column("epsilon", String(32), nullable=False),  # what the ledger allows this analyst
    Column("added", Float, nullable=False),
)

jobs = Table(
    "studio_jobs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("kind", String(16), nullable=False),  # release, or of a curator also check, compare, audit, reproduce
    Column("dataset", ForeignKey(datasets.c.id)),
    Column("asker", ForeignKey(accounts.c.id), nullable=False),
    Column("family", String(32)),  # of a release: a key of headcount.methods.registry.FAMILIES
    Column("asked", JSON, nullable=False),  # fields of the request, or settings of the other kinds
    Column("title", String(120), nullable=False, default=""),
    Column("state", String(16), nullable=False),  # waiting, running, done, failed, cancelled, interrupted
    Column("created", Float, nullable=False),
    Column("started", Float),
    Column("ended", Float),
    Column("shown", Float),  # from when on its asker sees how it ended
    Column("progress", JSON),  # {"doing": text, "done": number, "of": number or null}
    Column("outcome", JSON),  # {"release": id}, or the one error shape
    Column("entry", Integer),  # of the ledger, once something was reserved
    Column("cancelling", Boolean, nullable=False, default=False),
    Index("studio_jobs_waiting", "state", "created"),
)

releases = Table(
    "studio_releases",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("dataset", ForeignKey(datasets.c.id), nullable=False),
    Column("job", ForeignKey(jobs.c.id), unique=True),
    Column("owner", ForeignKey(accounts.c.id), nullable=False),
    Column("family", String(32), nullable=False),
    Column("title", String(120), nullable=False),
    Column("note", Text, nullable=False, default=""),
    Column("folder", String(200), nullable=False),  # below the releases of the settings
    Column("digest", String(64), nullable=False),
    Column("state", String(16), nullable=False),  # review, published, withheld; own: an analyst's, not shared
    Column("created", Float, nullable=False),
    Column("published", Float),
)

audit_entries = Table(
    "studio_deeds",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("person", String(32)),  # None: nobody who is known
    Column("name", String(64), nullable=False, default=""),
    Column("deed", String(48), nullable=False),  # signed in, asked, published, …
    Column("about", JSON, nullable=False),
)
