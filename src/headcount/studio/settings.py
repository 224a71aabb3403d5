"""Settings of a studio: folders, databases, address, and resource limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - what is compared with
"""Hosts that stand for every address of this machine."""


@dataclass(frozen=True)
class Limits:
    """How much a request, an upload and a piece of work may take."""

    upload_bytes: int = 2 * 1024**3
    form_bytes: int = 1024**2
    work_bytes: int = 8 * 1024**3
    """Memory of a process that works."""
    work_seconds: float = 3600.0
    at_once: int = 1
    """So many pieces of work run side by side; what only looks (a preview, a plan) does not wait for them."""
    waiting: int = 20
    """So many may wait for each person."""
    step_seconds: float = 15.0
    """What an analyst paid for appears at whole steps of this, counted from when it was asked for; and what waited
    for another job begins at whole steps of the clock."""


@dataclass(frozen=True)
class Settings:
    """Where the studio keeps what it knows, and how it is reached.

    >>> Settings(Path("desk")).files, Settings(Path("desk")).ledger_url
    (PosixPath('desk/files'), 'sqlite:///desk/headcount.db')
    """

    data: Path
    """The folder of the studio: nothing outside of it is opened because of a request."""
    ledger: str | None = None
    store: str | None = None
    """Where people, datasets and jobs are kept: a URL of SQLite or PostgreSQL; beside the data if None."""
    host: str = "127.0.0.1"
    port: int = 8000
    public_url: str | None = None
    """How people reach it, behind a reverse proxy: https there makes cookies secure."""
    remote: bool = False
    """Whether a curator may name addresses of databases and object stores, not only files of the folder."""
    demo: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def files(self) -> Path:
        """Where files lie that datasets can be made of: put there by hand, or uploaded."""
        return self.data / "files"

    @property
    def releases(self) -> Path:
        """Where release folders lie, one for each job."""
        return self.data / "releases"

    @property
    def ledger_url(self) -> str:
        """The ledger that everything is charged to."""
        return self.ledger or f"sqlite:///{self.data}/headcount.db"

    @property
    def store_url(self) -> str:
        """Where the studio keeps what is its own."""
        return self.store or f"sqlite:///{self.data}/studio.db"

    @property
    def base_url(self) -> str:
        """The address that people open; one that listens everywhere is here, for want of a better name.

        >>> [Settings(Path("desk"), host=host).base_url for host in ("127.0.0.1", "::1", "0.0.0.0")]
        ['http://127.0.0.1:8000', 'http://[::1]:8000', 'http://localhost:8000']
        """
        name = "localhost" if self.host in EVERYWHERE else f"[{self.host}]" if ":" in self.host else self.host
        return (self.public_url or f"http://{name}:{self.port}").rstrip("/")
