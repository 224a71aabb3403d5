"""Checks of terminal output: with a ledger, no step, progress or duration is shown.

Every state that the progress bar could show is shown: it appears at once, and is drawn again whenever it changes.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest import mock

from headcount.cli import terminal
from headcount.cli.main import main
from headcount.studio.access import Role, Visitor
from headcount.studio.store.jobs import Job
from tests.contracts.rows.raw_files import FORMATS
from tests.contracts.rows.roles import ROLES, crowd
from tests.contracts.support.charged_commands import (
    COMMANDS,
    DATASET,
    QUICKEST,
    Command,
    charged_paths,
    options_of,
    run,
)

ALLOWED = {"", "starting", f"starting {'━' * 40}", "working"}
"""What a bar may say before a ledger is opened, and from then on."""

PUBLIC = re.compile(
    r"ε = \S+( and δ = \S+)? (was|were) spent, charged to .*, entry \d+\."
    r"|Column '\w+' is text\..*|.* name other notations\."
)
"""The cost of a release, and how a column of text is read as numbers: its type and the flags decide that."""

ROLE = {
    "counts": "item", "select": "item, selected", "totals": "value", "ratings": "rating",
    "people": "bins of numbers", "tags": "tag",
}  # fmt: skip


class EagerBar(terminal.Bar):
    """A bar that shows each of its states, from its start on."""

    def __enter__(self) -> EagerBar:
        super().__enter__()
        self._timer.cancel()
        self._begin()
        return self

    def be_discreet(self) -> None:
        super().be_discreet()
        self._show()

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        super().__call__(stage, done, total)
        self._show()

    def _begin(self) -> None:
        self._appear()

    def _show(self) -> None:
        if self._progress is None:
            self._appear()
        elif self._wanted:
            self._progress.refresh()


class LateBar(EagerBar):
    """A bar that appears once it knows whether to be discreet, as it does where opening a ledger takes a while."""

    def _begin(self) -> None:
        pass


class Screen(io.StringIO):
    """A terminal that keeps what is written on it."""

    def isatty(self) -> bool:
        return True


def commands() -> Iterator[Command]:
    """Yield a command for each charged path of the program: the quickest of its kind, or the first."""
    for path in sorted(charged_paths()):
        own = [command for command in COMMANDS.values() if command.path == path and command.proven]
        yield next((command for command in own if command.name in QUICKEST.values()), own[0])


def bars_of(command: Command, folder: Path, ledger: str | None, bar: type[EagerBar] = EagerBar) -> set[str]:
    """Run a command on a terminal, and return every text that it showed, without spinners and colours.

    The ledger is the one that the environment names.
    """
    screen, role = Screen(), ROLES[ROLE[command.kind]]
    rows, options = crowd(role), options_of(command, role)
    with mock.patch.object(terminal, "Bar", bar):
        outcome = run(command, FORMATS["csv"], rows, options, folder, ledger, screen, how="environment")
    assert outcome.code == 0, screen.getvalue()
    return {_plain(line) for line in re.split(r"[\r\n]", screen.getvalue())}


def _plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|[\u2800-\u28ff]", "", text).strip()


STEP = re.compile(r"reading|counting|choosing|writing|selecting|━|%|\d:\d\d")


def check_discreet(command: Command, folder: Path, ledger: str) -> None:
    """Under a ledger a terminal shows that there is work and what it cost; without one, also which step it is."""
    shown = set[str]()
    for bar in (EagerBar, LateBar):
        shown |= bars_of(command, folder / bar.__name__, ledger, bar)
    leaks = {text for text in shown if text not in ALLOWED and not PUBLIC.fullmatch(text)}
    assert not leaks, f"{' '.join(command.path)} shows an analyst {sorted(leaks)}"
    assert "working" in shown, "the bar does not appear"


def check_all_discreet(folder: Path) -> None:
    """Run all charged commands under a ledger of their own."""
    with opened_ledger(folder) as ledger:
        for place, command in enumerate(commands()):
            check_discreet(command, folder / str(place), ledger)


@contextlib.contextmanager
def opened_ledger(folder: Path) -> Iterator[str]:
    """Create a ledger in a folder, with a budget that no test uses up."""
    url, printed = f"sqlite:///{folder}/ledger.db", io.StringIO()
    own = {"XDG_CONFIG_HOME": str(folder / "config")}
    with (
        mock.patch.dict("os.environ", own),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed),
    ):
        budget = ("--epsilon", "1000000", "--delta", "0.5")
        assert main(["ledger", "create", "--dataset", DATASET, "--ledger", url, *budget, "--json"]) == 0
        yield url


def check_studio() -> None:
    """Two running jobs that differ in what reading shows alone look the same to an analyst."""
    analyst = Visitor("ann", "Ann", Role.ANALYST)
    job = Job(
        id="j1", kind="release", dataset="d1", asker="ann", family="counts", asked={}, title="", state="running",
        created=1.0, started=2.0, ended=None, shown=None, progress=None, outcome=None, entry=None,
        cancelling=False, dataset_name="visits", asker_name="Ann", by_curator=False,
    )  # fmt: skip
    far = replace(job, progress={"doing": "reading events", "done": 90, "of": 100}, entry=7, started=3.0)
    ended = [
        replace(job_status, state="done", ended=5.0, shown=16.0, outcome={"folder": "x"})
        for job_status in (job, far)
    ]
    for before, other, now in ((job, far, 10.0), (ended[0], ended[1], 10.0), (ended[0], ended[1], 20.0)):
        assert before.visible_to(analyst, now) == other.visible_to(analyst, now), (
            "an analyst sees how far a job has read"
        )
    curator = replace(analyst, role=Role.CURATOR)
    assert far.visible_to(curator, 10.0) == far
