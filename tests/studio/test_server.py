"""A studio that is really served: half-open connections end, and keep nobody out."""

from __future__ import annotations

import http.client
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import uvicorn

from benchmarks.performance.studio_load import Server, free_port
from headcount.studio import server as serving
from headcount.studio.app import app_for_studio
from headcount.studio.server import DeadlineProtocol, config_of
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.conftest import people
from tests.studio.support.dataset import who

HEADER = b"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1\r\n"
BODY = HEADER + b"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 90000\r\n\r\nname=ann"
SMALL = 30


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Studio]:
    """A served studio with short deadlines and few connections."""
    monkeypatch.setattr(serving, "HEADER_SECONDS", 1.0)
    monkeypatch.setattr(serving, "BODY_SECONDS", 1.0)
    monkeypatch.setattr(serving, "CONNECTIONS", 2 * SMALL)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        studio = Studio(Settings(tmp_path / "desk", port=port))
        people(studio)
        server = uvicorn.Server(config_of(app_for_studio(studio), studio.settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield studio
        server.should_exit = True
        thread.join(60)
    assert DeadlineProtocol._incomplete == {}


@pytest.fixture
def port(served: Studio) -> int:
    """The port of the served studio."""
    return served.settings.port


@contextmanager
def open_lines(port: int, number: int, begin: bytes) -> Iterator[list[socket.socket]]:
    """Begin so many requests, and leave them there."""
    with ExitStack() as held:
        lines = []
        for _ in range(number):
            line = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
            line.sendall(begin)
            lines.append(line)
        yield lines


def is_ended(line: socket.socket) -> bool:
    """Read until the server ends a connection."""
    try:
        while line.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def answers(port: int, path: str = "/sign-in") -> int:
    """Return the status of a request that is complete."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request("GET", path)
        return line.getresponse().status
    finally:
        line.close()


@pytest.mark.parametrize("begin", [b"", b"GET /sign", HEADER, BODY], ids=["nothing", "line", "header", "body"])
def test_a_request_that_does_not_arrive_is_ended(port: int, begin: bytes) -> None:
    with open_lines(port, 3, begin) as lines:
        began = time.monotonic()
        assert all(is_ended(line) for line in lines)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(("begin", "more"), [(HEADER, b"X: y\r\n"), (BODY, b"x")], ids=["header", "body"])
def test_a_request_that_trickles_in_is_ended(port: int, begin: bytes, more: bytes) -> None:
    with open_lines(port, 1, begin) as (line,):
        ends = time.monotonic() + 20
        with pytest.raises(ConnectionError):  # noqa: PT012 - each of these may find it ended
            while time.monotonic() < ends:
                line.sendall(more)
                time.sleep(0.1)


def test_a_body_that_arrives_is_not_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes three deadlines, and moves fast enough in each, on a busy machine as well."""
    monkeypatch.setattr(serving, "BODY_SECONDS", 3.0)
    rate, sends = serving.BODY_BYTES // 5, 90
    with open_lines(port, 1, BODY.replace(b"90000", str(rate * sends + 8).encode())) as (line,):
        for _ in range(sends):
            line.sendall(b"x" * rate)
            time.sleep(0.1)
        assert line.recv(100).startswith(b"HTTP/1.1 4")


def test_a_client_that_does_not_read_its_answer_is_ended(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests in a row whose answers fill every buffer."""
    lost: list[bool] = []
    kept = DeadlineProtocol.connection_lost

    def lose(self: DeadlineProtocol, exc: Exception | None) -> None:
        lost.append(self.flow.write_paused)
        kept(self, exc)

    monkeypatch.setattr(DeadlineProtocol, "connection_lost", lose)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", port))
        request = b"GET /static/vendor/vega.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        line.settimeout(0.2)
        ends = time.monotonic() + 20
        while not lost and time.monotonic() < ends:
            try:
                line.sendall(request * 100)
            except OSError:
                time.sleep(0.1)
    assert lost == [True]


@pytest.mark.parametrize("begin", [HEADER, BODY], ids=["header", "body"])
def test_half_open_connections_block_no_user(port: int, monkeypatch: pytest.MonkeyPatch, begin: bytes) -> None:
    """Long before their deadlines: the connection that has been silent longest makes room."""
    monkeypatch.setattr(serving, "HEADER_SECONDS", 60.0)
    monkeypatch.setattr(serving, "BODY_SECONDS", 60.0)
    with open_lines(port, 4 * SMALL, begin) as lines:
        ends = time.monotonic() + 10  # the server first has to read what was sent
        while answers(port) != 200 and time.monotonic() < ends:
            time.sleep(0.1)
        assert [answers(port) for _ in range(5)] == [200] * 5
        assert is_ended(lines[0])


def begin_of_upload(studio: Studio, name: str, size: int) -> bytes:
    """Return the header of a request with a token and a body of this size."""
    _, secret = studio.accounts.make_token(who(studio, name), "uploads")
    return (
        f"POST /api/v1/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {secret}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    ).encode()


@contextmanager
def trickling(port: int, number: int, begin: bytes) -> Iterator[None]:
    """Hold so many requests open whose bodies trickle in, and begin anew what the server ends."""
    stop = threading.Event()

    def trickle() -> None:
        lines = list[socket.socket]()
        while not stop.is_set():
            while len(lines) < number:
                lines.append(socket.create_connection(("127.0.0.1", port), timeout=30))
                lines[-1].sendall(begin)
            for line in list(lines):
                try:
                    line.sendall(b"x" * 20)
                except OSError:
                    line.close()
                    lines.remove(line)
            stop.wait(0.1)
        for line in lines:
            line.close()

    thread = threading.Thread(target=trickle)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)


def test_bodies_of_strangers_that_trickle_in_end_no_upload(
    served: Studio, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strangers make room before users who are signed in, also with a token that is false."""
    monkeypatch.setattr(serving, "BODY_SECONDS", 60.0)
    begin = BODY.replace(b"Content-Type", b"Authorization: Bearer no-token\r\nContent-Type")
    upload = begin_of_upload(served, "cora", 800)
    with trickling(port, SMALL + 5, begin), ExitStack() as held:
        time.sleep(0.5)
        line = held.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        line.sendall(upload)
        for _ in range(8):
            time.sleep(0.3)
            line.sendall(b"x" * 100)
        assert line.recv(100).startswith(b"HTTP/1.1 4")


def test_slow_request_bodies_block_no_other_user(
    served: Studio, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user who is signed in holds half of the room at most once others come."""
    monkeypatch.setattr(serving, "BODY_SECONDS", 60.0)
    with trickling(port, SMALL + 5, begin_of_upload(served, "ann", 90000) + b"["):
        time.sleep(0.5)
        assert [answers(port) for _ in range(5)] == [200] * 5


def test_as_many_files_may_be_open_as_the_system_allows(port: int) -> None:
    assert port
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft == hard or soft >= 4 * SMALL


@pytest.mark.slow
def test_1200_half_open_connections_do_not_stop_the_studio(tmp_path: Path) -> None:
    """With 1,024 descriptors, as most systems give a process at first."""
    settings = Settings(tmp_path / "desk", port=free_port())
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = min(4096, before[1])
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, before[1]))
    try:
        server = Server(settings)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, before[1]))
    try:
        server.wait()
        for begin in (b"", HEADER, BODY):
            with open_lines(settings.port, 1200, begin):
                ends = time.monotonic() + 10
                while answers(settings.port) == 503:  # 1,200 requests at once are begun, and take their time
                    assert time.monotonic() < ends
                    time.sleep(0.1)
                assert max(_timed(lambda: answers(settings.port)) for _ in range(10)) < 5
    finally:
        server.stop()
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _timed(ask: Callable[[], int]) -> float:
    began = time.monotonic()
    assert ask() == 200
    return time.monotonic() - began
