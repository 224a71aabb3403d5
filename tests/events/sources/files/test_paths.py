"""Files that lie elsewhere: on a web server, and in a store that lists its files."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import headcount as hc
from headcount.errors import DataError, HeadcountError, SurroundingsError, UsageError
from headcount.events.sources import source as readers
from headcount.events.sources.files import paths
from headcount.events.sources.files.file_source import FileSource

CSV = b"who,what\nann,tea\nbob,rye\n"
WORDS: dict[str, Any] = {"user": "who", "item": "what", "items": "tea,rye"}


class Web(BaseHTTPRequestHandler):
    """Hands over what it is told to, and notes what it was asked."""

    files: ClassVar[dict[str, bytes]] = {}
    requests: ClassVar[list[tuple[str, str | None]]] = []

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        type(self).requests.append((self.path, self.headers.get("Authorization")))
        if path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", path.removeprefix("/moved"))
            self.end_headers()
            return
        body = self.files.get(path.removeprefix("/cut"))
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write((body or b"")[: 5 if path.startswith("/cut") else None])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return


@pytest.fixture
def web() -> Iterator[str]:
    """A web server on this machine."""
    parquet = io.BytesIO()
    pq.write_table(pa.table({"who": ["ann"], "what": ["tea"]}), parquet)
    Web.files = {"/a.csv": CSV, "/day=1/b.csv": CSV, "/c.parquet": parquet.getvalue()}
    Web.requests = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_files_are_fetched_once(web: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    log = hc.read_events([f"{web}/a.csv", f"{web}/day=1/b.csv"], **WORDS)
    assert (hc.check(log).records, hc.check(log).people) == (4, 2)
    assert log.source.name == f"{web}/a.csv (and 1 more)"
    assert len(Web.requests) == 2
    log = hc.read_events(f"{web}/day=1/b.csv", **WORDS, context="day", contexts="1,2")
    assert hc.check(log).all_counts
    assert hc.check(hc.read_events(f"{web}/c.parquet", **WORDS)).records == 1
    del log
    assert not list(tmp_path.iterdir())


def test_credentials_are_sent_and_not_shown(web: str) -> None:
    there = web.replace("http://", "http://ann:planted@")
    log = hc.read_events(f"{there}/a.csv?token=planted", **WORDS)
    assert "planted" not in f"{log!r} {log.source.name}"
    header = "Basic " + base64.b64encode(b"ann:planted").decode()
    assert Web.requests == [("/a.csv?token=planted", header)]
    for path in ("none.csv", "cut/a.csv", "*.csv"):
        with pytest.raises(HeadcountError) as raised:
            hc.read_events(f"{there}/{path}?token=planted", **WORDS)
        assert "planted" not in str(raised.value)


def test_a_password_does_not_follow_to_another_place(web: str) -> None:
    there = web.replace("http://", "http://ann:planted@")
    assert hc.check(hc.read_events(f"{there}/moved/a.csv", **WORDS)).records == 2
    assert [header is None for _, header in Web.requests] == [False, True]


def test_what_goes_wrong_on_the_web(web: str) -> None:
    for path, kind, message in (
        ("none.csv", DataError, "does not exist"),
        ("cut/a.csv", SurroundingsError, "cannot be fetched"),
        ("*.csv", UsageError, "is a pattern"),
        ("a.txt2", UsageError, "says no format"),
    ):
        with pytest.raises(kind, match=message):
            hc.read_events(f"{web}/{path}", **WORDS)
    with pytest.raises(UsageError, match="given twice"):
        hc.read_events([f"{web}/a.csv", f"{web}/a.csv"], **WORDS)
    with pytest.raises(UsageError, match="several stores"):
        hc.read_events([f"{web}/a.csv", "a.csv"], **WORDS)
    with pytest.raises(SurroundingsError, match="cannot be fetched"):
        hc.read_events("http://127.0.0.1:1/a.csv", **WORDS)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("b/*.csv", ["b/1.csv", "b/2.csv"]),
        ("b/[12].csv", ["b/1.csv", "b/2.csv"]),
        ("b/[!1].csv", ["b/2.csv"]),
        ("b/**/*.csv", ["b/1.csv", "b/2.csv", "b/day=1/3.csv", "b/day=1/x/4.csv"]),
        ("b/day=*", ["b/day=1/3.csv", "b/day=1/x/4.csv"]),
        ("b/star*.csv2", None),
    ],
)
def test_patterns_in_a_store_that_is_not_this_machine(
    pattern: str, expected: list[str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("b/1.csv", "b/2.csv", "b/day=1/3.csv", "b/day=1/x/4.csv", "b/day=1/_hidden.csv2", "c/5.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(CSV)
    store = pafs.SubTreeFileSystem(str(tmp_path), pafs.LocalFileSystem())
    monkeypatch.setattr(paths, "_from_uri", lambda uri: (store, uri.removeprefix("store://")))
    if expected is None:
        with pytest.raises(DataError, match="matches no file"):
            readers.open_source(f"store://{pattern}")
        return
    source = readers.open_source(f"store://{pattern}")
    assert isinstance(source, FileSource)
    assert list(source.files) == expected
    assert sum(batch.num_rows for batch in source.batches(["who"])) == 2 * len(expected)
