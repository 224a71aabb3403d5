"""Find or install a Chromium for tests and screenshots: ``python tools/packaging/browser.py`` prints its path.

Looked for in turn: the environment variable HEADCOUNT_CHROMIUM, the usual commands, the usual places of macOS
and Windows, and Playwright's own download. If there is none, Playwright's download is tried, and then, as
root on a Debian-like system, the package ``chromium``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VARIABLE = "HEADCOUNT_CHROMIUM"
REMEDY = f"install Chromium or Google Chrome, or set {VARIABLE} to the path of one"
COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
MAC = ("Google Chrome", "Chromium", "Microsoft Edge")
WINDOWS = ("Google/Chrome/Application/chrome.exe", "Microsoft/Edge/Application/msedge.exe")
PATIENCE = 600  # seconds an installation may take


def find() -> Path | None:
    """Return a Chromium that runs, or None; a path that the user gave must run."""
    given = os.environ.get(VARIABLE)
    if given:
        if not _runs(Path(given)):
            raise SystemExit(f"{VARIABLE} is {given!r}, which does not run; {REMEDY}")
        return Path(given)
    return next((path for path in _candidates() if _runs(path)), None)


def flags() -> list[str]:
    """Return the flags for a browser that is watched by a program and talks to nobody."""
    quiet = ["--headless", "--disable-gpu", "--disable-quic", "--no-first-run"]
    quiet += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    return [*quiet, "--no-sandbox"] if _root() else quiet  # the sandbox of Chromium refuses root


def install() -> Path | None:
    """Try to install a Chromium, and return it if that worked."""
    for commands in _installations():
        if all(_succeeds(command) for command in commands):
            path = find()
            if path is not None:
                return path
    return None


def main() -> int:
    path = find() or install()
    if path is None:
        print(f"no Chromium was found and none could be installed; {REMEDY}", file=sys.stderr)
        return 1
    print(path)
    return 0


def _candidates() -> Iterator[Path]:
    yield from (Path(executable) for executable in map(shutil.which, COMMANDS) if executable)
    if sys.platform == "darwin":
        folders = (Path("/Applications"), Path.home() / "Applications")
        yield from (folder / f"{name}.app/Contents/MacOS/{name}" for folder in folders for name in MAC)
    if sys.platform == "win32":
        roots = (os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA"))
        yield from (Path(root, relative) for root in roots if root for relative in WINDOWS)
    own = _of_playwright()
    if own is not None:
        yield own


def _of_playwright() -> Path | None:
    """Return where Playwright keeps its own browser, downloaded or not; asked in a process of its own."""
    ask = "import playwright.sync_api as p\nwith p.sync_playwright() as it: print(it.chromium.executable_path)"
    answer = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=False)
    return Path(answer.stdout.strip()) if answer.returncode == 0 and answer.stdout.strip() else None


def _runs(path: Path) -> bool:
    """Tell whether a browser answers; on Windows, where it would open a window, whether it is there."""
    if not path.is_file() or not os.access(path, os.X_OK):
        return False
    return sys.platform == "win32" or _succeeds([str(path), "--version"], patience=60, quiet=True)


def _installations() -> Iterator[list[list[str]]]:
    yield [[sys.executable, "-m", "playwright", "install", "chromium"]]
    if _root() and shutil.which("apt-get"):
        yield [
            ["apt-get", "update"],
            ["apt-get", "install", "-y", "--no-install-recommends", "chromium"],
        ]


def _succeeds(command: list[str], *, patience: int = PATIENCE, quiet: bool = False) -> bool:
    """Run a command; what it says goes to our standard error, so that ours stays one path."""
    out = subprocess.DEVNULL if quiet else sys.stderr
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            env=environment,
            timeout=patience,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


if __name__ == "__main__":
    sys.exit(main())
