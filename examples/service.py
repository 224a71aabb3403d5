"""HTTP service for private rankings under one shared budget: ``python examples/service.py``.

Two processes answer HTTP requests, each request in a thread of its own, and all of them charge one ledger. Thirty
different questions are asked at the same time where the budget pays for ten: ten are answered, the others refused.
The city is made up, and everything is written to a temporary folder.
"""

import json
import multiprocessing
import tempfile
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from uuid import uuid4

import headcount as hc
from headcount.lab.synthetic.logs import checkins

BUDGET, PRICE, QUESTIONS = "1", "0.1", 30
STATUS = {1: 403, 2: 400, 3: 503}  # refused; the caller can mend it; our surroundings failed


class Service:
    """What all threads of a process share: the description of a log, which holds no rows, and the ledger."""

    def __init__(self, folder: Path) -> None:
        self.log = hc.read_events(
            folder / "visits.parquet", user="user", item="venue", items=folder / "venues.csv"
        )
        self.ledger = ledger_of(folder)
        self.releases = folder / "releases"

    def answer(self, request: dict[str, Any], analyst: str) -> tuple[int, dict[str, Any]]:
        """Return a status and what to say, as plain data."""
        account: dict[str, Any] = {"ledger": self.ledger, "dataset": "visits@2026-w46", "analyst": analyst}
        try:
            release = hc.rank(self.log, k=request.get("k", 10), epsilon=request.get("epsilon", PRICE), **account)
            if release.earlier is None:
                release.save(self.releases / uuid4().hex)  # published: from now on the same question is free
        except hc.HeadcountError as error:
            return STATUS[error.exit_code], error.to_json()
        return 200, {"ranking": release.ranking.to_pylist(), "promise": release.guarantee.to_json()}


def ledger_of(folder: Path) -> hc.Ledger:
    """Open the ledger; each process does so for itself, and its threads share what it opened."""
    return hc.Ledger(f"sqlite:///{folder}/headcount.db", key=folder / "key", anchor=folder / "anchor")


class Server(ThreadingHTTPServer):
    """A thread for each request, and a queue for all who ask at once."""

    request_queue_size = QUESTIONS


def serve(folder: Path, ports: "Queue[int]") -> None:
    """Answer requests in this process until it is ended."""
    service = Service(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            # who asks is what the proxy in front of us found out, never what the request says of itself
            status, body = service.answer(request, analyst=self.headers["Remote-User"])
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: Any) -> None:
            """Say nothing: when was answered how quickly is nobody's business."""

    with Server(("127.0.0.1", 0), Handler) as server:
        ports.put(server.server_port)
        server.serve_forever()


def ask(port: int, analyst: str, question: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Send one request, and return its status and answer."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}", json.dumps(question).encode(), {"Remote-User": analyst}
    )
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer)
    except HTTPError as error:
        with error:
            return error.code, json.load(error)


def main() -> None:
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkins(folder, users=2_000, venues=100, events=20_000)
        with ledger_of(folder) as ledger:
            ledger.create("visits", BUDGET)

        ports: Queue[int] = spawn.Queue()
        servers = [spawn.Process(target=serve, args=(folder, ports)) for _ in range(2)]
        for server in servers:
            server.start()
        places = [ports.get() for _ in servers]
        try:
            with ThreadPoolExecutor(QUESTIONS) as crowd:
                answers = list(
                    crowd.map(lambda n: ask(places[n % 2], f"analyst-{n % 3}", {"k": n + 1}), range(QUESTIONS))
                )
            answered = next(n for n, (status, _) in enumerate(answers) if status == 200)
            again = ask(places[0], "somebody", {"k": answered + 1})  # published already, perhaps by the other one
            wrong = ask(places[1], "somebody", {"k": 0})
        finally:
            for server in servers:
                server.terminate()
                server.join()

        statuses = Counter(status for status, _ in answers)
        refused = next(body for status, body in answers if status == 403)
        with ledger_of(folder) as ledger:
            account, sound = ledger.show("visits"), ledger.verify().ok
        print(f"{statuses[200]} answered, {statuses[403]} refused: {refused['message']}")
        print(
            f"spent: ε = {account.epsilon} of {BUDGET}; open reservations: {account.open}; journal sound: {sound}"
        )
        print(f"asked again: {again[0]}, the same ranking, free: {again[1] == answers[answered][1]}")
        print(f"a wrong question: {wrong[0]}, {wrong[1]['message']}")


if __name__ == "__main__":
    main()
