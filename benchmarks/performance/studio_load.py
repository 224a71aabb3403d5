"""Load test of a studio: ``python -m benchmarks.performance.studio_load [--analysts N] [--seconds S]``.

A real server on loopback, as ``headcount serve`` starts it. Each analyst reads a page or the API, thinks for a
second on average, and reads on; one time in thirty they ask for a release of their own instead, and work runs
beside without a pause, since steps of time are short here. Every page was opened once before. At the end the
ledger must verify, and nobody may have spent more than they were allowed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from headcount.studio.access import Role
from headcount.studio.settings import Limits, Settings
from headcount.studio.store import sessions_and_tokens
from headcount.studio.store.accounts import Account
from headcount.studio.studio import Studio

BUDGET, OWN, EPSILON_PER_RELEASE = Decimal(4), Decimal("0.2"), Decimal("0.05")
"""The ε of the dataset, of each analyst, and of each request: together analysts may want more than there is."""
_SERVE = "from headcount.cli.main import run; run()"
_ASKS = 1 / 30


@dataclass(frozen=True)
class Desk:
    """A studio that is ready to be served: who is signed in how, and what there is to read."""

    settings: Settings
    dataset: str
    release: str
    signed_in: dict[str, dict[str, str]]


class Server:
    """``headcount serve`` in a process of its own."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        where = ["--data", str(settings.data), "--port", str(settings.port), "--quiet"]
        where += ["--step", str(settings.limits.step_seconds)]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE, "serve", *where], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def wait(self, seconds: float = 120.0) -> None:
        """Wait until it answers."""
        ends = time.monotonic() + seconds
        while True:
            line = http.client.HTTPConnection("127.0.0.1", self.settings.port, timeout=seconds)
            try:
                line.request("GET", "/sign-in")
                line.getresponse().read()
                return
            except OSError:
                if time.monotonic() > ends or self.process.poll() is not None:
                    raise
                time.sleep(0.05)
            finally:
                line.close()

    @property
    def cpu_seconds(self) -> float:
        """How much processor time the server itself has used, without its workers; where /proc tells."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it as an administrator does."""
        self.process.terminate()
        self.process.wait(60)

    def kill(self) -> None:
        """End it as a power failure does."""
        self.process.kill()
        self.process.wait(60)


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def lay_out(folder: Path, analysts: int, items: int, people: int) -> Desk:
    """Make a studio with one published release, and analysts who may each spend a little."""
    settings = Settings(folder / "desk", port=free_port(), limits=Limits(step_seconds=0.1))
    studio = Studio(settings)
    try:
        cora = studio.accounts.create("cora", Role.CURATOR, "four words are good")
        draws = np.random.default_rng(1)
        chosen = np.minimum(draws.zipf(1.4, 10 * people) - 1, items - 1)
        rows = "".join(f"u{row // 10},i{item}\n" for row, item in enumerate(chosen))
        settings.files.joinpath("visits.csv").write_text("user,venue\n" + rows)
        settings.files.joinpath("venues.csv").write_text(
            "venue\n" + "".join(f"i{item}\n" for item in range(items))
        )
        flags = {"user": "user", "item": "venue", "items": "venues.csv"}
        curator = cora.visitor()
        registered = studio.datasets.register(
            curator, name="visits", source={"files": ["visits.csv"]}, flags=flags
        )
        studio.datasets.open(curator, registered.id, epsilon=str(BUDGET + 1))
        options = {"epsilon": "1", "method": "sra", "limit": 5}
        studio.jobs.ask(curator, dataset=registered.id, family="counts", asked=options, title="Visits")
        studio.work.run_next()
        (release,) = studio.releases.listed(curator)
        studio.releases.publish(curator, release.id)
        signed = {"cora": _session(studio, cora)}
        for number in range(analysts):
            person, _ = studio.accounts.invite(curator, f"analyst-{number}", Role.ANALYST)
            studio.datasets.allow(curator, registered.id, person.id, str(OWN))
            signed[person.name] = _session(studio, person)
        return Desk(settings, registered.id, release.id, signed)
    finally:
        studio.stop()


def _session(studio: Studio, person: Account) -> dict[str, str]:
    """Sign somebody in, without the time that a password takes."""
    with studio.store.writing() as run:
        begun = sessions_and_tokens.begin_session(run, person.id, time.time())
    cookie = f"{studio.cookies.name}={studio.cookies.signed(begun.secret)}"
    return {"Cookie": cookie, "X-CSRF-Token": begun.csrf, "Origin": studio.settings.base_url}


@dataclass
class Analyst:
    """Somebody who reads, thinks, and asks now and then."""

    desk: Desk
    name: str
    reads: list[float] = field(default_factory=list)
    asks: list[float] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def work(self, until: float, pause: float = 1.0) -> None:
        """Use the studio until it is time, or the server is gone."""
        draws = random.Random(self.name)
        line = http.client.HTTPConnection("127.0.0.1", self.desk.settings.port, timeout=60)
        try:
            time.sleep(draws.uniform(0, pause))
            while time.monotonic() < until:
                if draws.random() < _ASKS:
                    self.ask(line, draws.randrange(10**9))
                else:
                    self._timed(line, "GET", draws.choice(self.pages), self.reads)
                time.sleep(draws.uniform(0.5, 1.5) * pause)
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))
        finally:
            line.close()

    @property
    def pages(self) -> list[str]:
        """What there is to read."""
        release = self.desk.release
        return [
            "/",
            "/releases",
            f"/releases/{release}",
            f"/releases/{release}/tables/items?q=i1",
            "/api/v1/jobs",
            f"/api/v1/releases/{release}",
            f"/api/v1/releases/{release}/tables/items?size=50",
        ]

    def open_all(self) -> None:
        """Open every page once, so that what is read for the first time is not measured."""
        line = http.client.HTTPConnection("127.0.0.1", self.desk.settings.port, timeout=60)
        for page in self.pages:
            self._timed(line, "GET", page, [])
        line.close()

    def ask(self, line: http.client.HTTPConnection, number: int) -> None:
        """Ask for a release that nobody has asked for."""
        options = {"epsilon": str(EPSILON_PER_RELEASE), "method": "sra", "limit": 1 + number % 50}
        body = {"dataset": self.desk.dataset, "family": "counts", "asked": options, "title": f"no. {number}"}
        answer = self._timed(line, "POST", "/api/v1/jobs", self.asks, json.dumps(body))
        if answer is not None:
            self.acknowledged.append(str(json.loads(answer)["id"]))

    def _timed(
        self, line: http.client.HTTPConnection, method: str, path: str, times: list[float], body: str | None = None
    ) -> bytes | None:
        headers = {**self.desk.signed_in[self.name], "Content-Type": "application/json"}
        begin = time.perf_counter()
        line.request(method, path, body, headers)
        answer = line.getresponse()
        content = answer.read()
        times.append(time.perf_counter() - begin)
        if answer.status not in (200, 202):
            if answer.status != 429:  # so many may wait
                self.failures.append(f"{method} {path}: {answer.status}")
            return None
        return content


def crowd(desk: Desk, seconds: float, pause: float = 1.0) -> list[Analyst]:
    """Let all analysts use the studio at once."""
    everybody = [Analyst(desk, name) for name in desk.signed_in if name != "cora"]
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=analyst.work, args=(until, pause)) for analyst in everybody]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return everybody


def spent(desk: Desk) -> dict[str, Any]:
    """Return what the ledger says: whether it verifies, and whether anybody spent more than they may."""
    studio = Studio(desk.settings)
    try:
        account = studio.ledger.show("visits")
        over = [share.analyst for share in account.analysts if share.analyst != "cora" and share.epsilon > OWN]
        return {
            "verified": studio.ledger.verify().ok,
            "spent": str(account.epsilon),
            "budget": str(account.most),
            "overspent": bool(over) or account.epsilon > account.most,
        }
    finally:
        studio.stop()


def percentile(times: Sequence[float], share: float) -> float:
    """Return a percentile, in milliseconds."""
    return round(1000 * float(np.quantile(times, share)), 1) if times else float("nan")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analysts", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        os.environ["HEADCOUNT_LEDGER_KEY"] = str(folder / "ledger.key")
        os.environ["HEADCOUNT_LEDGER_ANCHOR"] = str(folder / "ledger.anchor")
        desk = lay_out(folder, given.analysts, given.items, people=2000)
        server = Server(desk.settings)
        try:
            server.wait()
            Analyst(desk, "analyst-0").open_all()
            before = server.cpu_seconds
            everybody = crowd(desk, given.seconds)
            busy = server.cpu_seconds - before
        finally:
            server.stop()
        reads = [measured for analyst in everybody for measured in analyst.reads]
        asks = [measured for analyst in everybody for measured in analyst.asks]
        failures = [measured for analyst in everybody for measured in analyst.failures]
        results = {
            "analysts": given.analysts,
            "seconds": given.seconds,
            "reads": len(reads),
            "reads_ms": {"p50": percentile(reads, 0.5), "p99": percentile(reads, 0.99)},
            "asks": len(asks),
            "asks_ms": {"p50": percentile(asks, 0.5), "p99": percentile(asks, 0.99)},
            "server_cpu_ms_per_request": round(1000 * busy / max(1, len(reads) + len(asks)), 2),
            "failures": len(failures),
            "first_failures": failures[:3],
            **spent(desk),
        }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
