"""What a person sees: on a terminal with colours and a bar, in a pipe without either."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from headcount.cli import terminal
from tests.cli.conftest import RELEASE

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals here")

SOURCE = str(Path(__file__).parents[2] / "src")


class Screen(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


def at_once(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Return a terminal on which a bar appears at once; a fixture would set it before pytest sets its own."""
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    return screen


def on_a_terminal(code: str, **environment: str) -> str:
    """Run Python with a terminal for standard output and standard error, and return what it shows."""
    ours, theirs = pty.openpty()
    settings = {**os.environ, "PYTHONPATH": SOURCE, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    settings = {name: value for name, value in settings.items() if value or name != "NO_COLOR"}
    process = subprocess.Popen([sys.executable, "-c", code], stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    shown = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:
            break
        if not part:
            break
        shown += part
    os.close(ours)
    assert process.wait(timeout=60) == 0, shown
    return shown.decode()


WORK = """
import time
from headcount.cli import terminal
with terminal.Bar(quiet={quiet}) as bar:
    for n in range({steps}):
        bar("reading events", n, {steps})
        time.sleep(0.1)
print("done")
"""


def test_long_work_shows_a_bar_that_goes_away() -> None:
    shown = on_a_terminal(WORK.format(quiet=False, steps=16), NO_COLOR="")
    assert "reading events" in shown
    assert "━" in shown
    assert re.search(r"\x1b\[[0-9;]*3[0-9]", shown), "no colour"
    assert shown.rstrip().endswith("done")


def test_no_color_shows_a_bar_without_colour() -> None:
    shown = on_a_terminal(WORK.format(quiet=False, steps=16), NO_COLOR="1")
    assert "reading events" in shown
    assert not re.search(r"\x1b\[[0-9;]*[34][0-9](;|m)", shown)


def test_short_or_quiet_work_shows_none() -> None:
    assert "reading" not in on_a_terminal(WORK.format(quiet=False, steps=2))
    assert "reading" not in on_a_terminal(WORK.format(quiet=True, steps=14))


def test_work_that_reports_nothing_shows_a_bar_too() -> None:
    code = "import time\nfrom headcount.cli import terminal\nwith terminal.Bar(quiet=False):\n    time.sleep(1.4)"
    assert "starting" in on_a_terminal(code)


def test_a_progress_bar_may_be_updated_from_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_once(monkeypatch)
    with terminal.Bar(quiet=False) as bar:
        time.sleep(0.05)

        def tell(part: int) -> None:
            for number in range(part, 4000, 4):
                bar("choosing records", number, 4000)

        threads = [threading.Thread(target=tell, args=(part,)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        bar("choosing records", 1, 4000)  # the stage begins again
    bar("late", 1, 1)  # after the end: no error
    assert "choosing records" in screen.getvalue()


def test_a_stage_that_goes_on_from_another_keeps_its_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)
    with terminal.Bar(quiet=False) as bar:
        time.sleep(0.05)
        [task] = bar._progress.tasks if bar._progress else []
        bar("reading", 0, None)
        for step in range(1, 4):
            bar("first paper", step, 10)
        assert task.time_remaining is not None
        bar("second paper", 4, 10)
        assert (task.description, task.completed) == ("second paper", 4)
        assert task.time_remaining is not None, "one piece of work, whatever it is called"
        bar("drawing", 0, 5)
        assert task.time_remaining is None, "another piece of work"


def test_a_discreet_bar_tells_neither_what_nor_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = at_once(monkeypatch)
    with terminal.Bar(quiet=False) as bar:
        time.sleep(0.05)
        bar.be_discreet()
        screen.truncate(screen.seek(0))
        for number in range(200):
            bar("choosing records", number, 200)
        time.sleep(0.2)
    shown = screen.getvalue()
    assert "working" in shown
    assert not any(fragment in shown for fragment in ("choosing", "━", "0:00", "%"))


def test_in_a_pipe_there_is_neither_bar_nor_colour(capsys: pytest.CaptureFixture[str]) -> None:
    with terminal.Bar(quiet=False) as bar:
        bar("reading", 1, 2)
        time.sleep(0.01)
    terminal.print_table(["a"], "l", [["b"]])
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out == "a\nb\n"


def test_a_table_on_a_terminal_has_a_bold_heading() -> None:
    code = 'from headcount.cli import terminal\nterminal.print_table(["item"], "l", [["[red]tea[/]"]])'
    shown = on_a_terminal(code, NO_COLOR="")
    assert "\x1b[1mitem" in shown
    assert "[red]tea[/]" in shown


def test_the_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    terminal.say("word " * 40, indent="  ")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 50
    assert all(line.startswith("  word") for line in lines)
    monkeypatch.setenv("COLUMNS", "3")
    assert terminal.width() == 40


def test_a_release_on_a_terminal_reads_well(work: Path) -> None:
    arguments = [*RELEASE, "--out", "out"]
    code = f"import os\nfrom headcount.cli.main import run\nos.chdir({str(work)!r})\nrun({arguments!r})"
    shown = on_a_terminal(code)
    assert "3 item counts, of at most 2 records per person: out" in shown
    assert shown.index("not charged to any ledger") < shown.index("headcount explain out")
