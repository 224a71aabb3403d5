"""The HTTP server's deadlines for slow requests and bounds on connections.

uvicorn waits forever for the rest of a request, and each connection holds a descriptor. Here a connection ends
when its header is late, or when its body or its answer moves more slowly than any sound network. When too many
requests are incomplete, a connection without a session or a token makes room, the oldest first. Users who are
signed in hold at most half of the room; beyond that, the one that has been silent longest makes room.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import h11
from fastapi import FastAPI
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol

from headcount.studio.settings import Settings

HEADER_SECONDS = 10.0
"""Seconds that a connection has for a header, from its beginning or from the end of the request before."""
BODY_SECONDS = 20.0
"""Seconds in which ``BODY_BYTES`` of a body must arrive, and a full buffer of an answer must be read."""
BODY_BYTES = 20 * 1024
CONNECTIONS = 1000
"""So many connections at once; further requests are answered with 503."""


def config_of(app: FastAPI, settings: Settings) -> Config:
    """Return how an application is served."""
    most = min(CONNECTIONS, _descriptors() // 2)  # the other half is for databases, files and processes
    DeadlineProtocol.incomplete_most = max(1, most // 2)
    return Config(
        app,
        http=DeadlineProtocol,
        log_level="warning",
        ws="none",
        server_header=False,
        proxy_headers=settings.public_url is not None,  # a proxy on this machine says who asks
        limit_concurrency=most,
        timeout_graceful_shutdown=3,
    )


def _descriptors() -> int:
    """Return how many files this process may open, raised to the most that the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit on sockets
        return 2 * CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY:
        soft = max(soft, 4 * CONNECTIONS if hard == resource.RLIM_INFINITY else hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return 2 * CONNECTIONS if soft == resource.RLIM_INFINITY else soft


class DeadlineProtocol(H11Protocol):
    """HTTP/1.1 whose patience with a slow client is bounded."""

    incomplete_most: ClassVar[int] = CONNECTIONS // 2
    _incomplete: ClassVar[dict[DeadlineProtocol, None]] = {}
    """Connections whose request is not complete, in the order in which they may have to make room."""
    _deadline: asyncio.TimerHandle | None = None
    _reader_deadline: asyncio.TimerHandle | None = None
    _state: object = None
    _received = 0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a header."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Read what arrived, and wait for the rest."""
        self._received += len(data)
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        self._rest()
        self.resume_writing()

    def pause_writing(self) -> None:
        """Give the client some time to read what fills the buffer."""
        super().pause_writing()
        self._reader_deadline = self.loop.call_later(BODY_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with the answer."""
        super().resume_writing()
        if self._reader_deadline is not None:
            self._reader_deadline.cancel()
            self._reader_deadline = None

    def _watch(self) -> None:
        """Wait for as much of a request as is missing."""
        state = self.conn.their_state
        if state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            self._rest()
            return
        if state is not self._state or self._is_signed_in:  # what trickles in without a session gains nothing
            self._incomplete.pop(self, None)
            self._incomplete[self] = None
        if state is not self._state:
            self._rest_timer()
            self._state, self._received = state, 0
            seconds = HEADER_SECONDS if state is h11.IDLE else BODY_SECONDS
            self._deadline = self.loop.call_later(seconds, self._judge)
        if len(self._incomplete) > self.incomplete_most:
            strangers = [line for line in self._incomplete if not line._is_signed_in]
            signed_in = [line for line in self._incomplete if line._is_signed_in]
            first = (signed_in if len(signed_in) > self.incomplete_most // 2 else strangers)[0]
            first._rest()
            first.transport.abort()

    @property
    def _is_signed_in(self) -> bool:
        """Whether the shell has verified the session or the token of the request whose body arrives."""
        visitor = self.scope["state"].get("visitor") if self._state is h11.SEND_BODY else None
        return visitor is not None and visitor.role is not None

    def _judge(self) -> None:
        """End a connection that is late; one whose body arrives, or waits for the studio, has more time."""
        if self._state is h11.SEND_BODY and (self.flow.read_paused or self._received >= BODY_BYTES):
            self._received = 0
            self._deadline = self.loop.call_later(BODY_SECONDS, self._judge)
        else:
            self.transport.abort()

    def _rest(self) -> None:
        self._incomplete.pop(self, None)
        self._rest_timer()
        self._state = None

    def _rest_timer(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
