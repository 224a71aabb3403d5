"""``headcount serve``: run the studio, the web application of Headcount."""

from __future__ import annotations

import contextlib
import errno
import importlib
import ipaddress
import os
import socket
import tempfile
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headcount._internal.extras import require_package
from headcount.cli import options, terminal
from headcount.errors import SurroundingsError, UsageError

if TYPE_CHECKING:
    from headcount.studio.settings import Settings
    from headcount.studio.studio import Studio

_FOLDER = "headcount-studio"


@click.command(
    "serve",
    short_help="Open the studio: Headcount in the browser.",
    epilog=options.example("headcount serve --demo", "headcount serve --data studio/ --port 8080"),
)
@click.option(
    "--port", type=options.Whole(0, 65535), default=8000, show_default=True, help="0 takes any free one."
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="H", help="Address to listen at; this machine alone."
)
@click.option("--data", metavar="DIR", help=f"Folder of the studio: files, releases, who may do what. [{_FOLDER}]")
@click.option("--ledger", metavar="URL", help="Ledger that everything is charged to; in the folder if not given.")
@click.option(
    "--store", metavar="URL", help="PostgreSQL for people, datasets and jobs; in the folder if not given."
)
@click.option("--public-url", metavar="URL", help="How people reach it, behind a reverse proxy.")
@click.option("--remote", is_flag=True, help="Let curators name databases and object stores, not only files.")
@click.option(
    "--step",
    type=options.Number(0.1, 86400),
    default=15.0,
    show_default=True,
    metavar="SECONDS",
    help="What analysts pay for begins, and appears, at such steps of time.",
)
@click.option("--demo", is_flag=True, help="Open on a made-up city, with a curator and an analyst.")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@options.quiet_option
def command(**flags: Any) -> None:
    """Serve the studio until Ctrl-C: a curator publishes releases there, and analysts explore them."""
    host, demo = flags["host"], flags["demo"]
    _check(host, flags["public_url"], demo=demo)
    with require_package("the studio", "fastapi", "studio"):
        for package in ("argon2", "fastapi", "itsdangerous", "python_multipart", "uvicorn"):
            importlib.import_module(package)
    with _folder(flags["data"], demo=demo) as folder, _listening(host, flags["port"]) as sockets:
        from headcount.studio.settings import Limits, Settings

        same = {name: flags[name] for name in ("ledger", "store", "host", "public_url", "remote", "demo")}
        limits = Limits(step_seconds=flags["step"])
        settings = Settings(folder, port=sockets.getsockname()[1], limits=limits, **same)
        _serve(settings, sockets, opens=flags["opens"], quiet=flags["quiet"])


def _serve(settings: Settings, listening: socket.socket, *, opens: bool, quiet: bool) -> None:
    import uvicorn

    from headcount.studio.app import app_for_studio
    from headcount.studio.server import config_of
    from headcount.studio.studio import Studio

    studio = Studio(settings)
    app = app_for_studio(studio)
    if settings.demo:
        from headcount.studio.demo import fill_demo

        terminal.note("Making a city, and two releases of it.", quiet=quiet)
        fill_demo(studio)
    with contextlib.suppress(KeyboardInterrupt):
        first = _announce(studio)
        if opens:
            webbrowser.open(first)
        uvicorn.Server(config_of(app, settings)).run(sockets=[listening])
    kept = "the demo is gone" if settings.demo else f"everything is kept in {settings.data}"
    terminal.note(f"Stopped; {kept}.", quiet=quiet)


def _announce(studio: Studio) -> str:
    """Say where the studio is, and how the first curator comes in; return what to open."""
    address = studio.settings.base_url
    click.echo(f"Studio   {address}")
    link = studio.set_up_link()
    if link is not None:
        click.echo(f"Set up   {link}\n         (once, for the first curator; nobody else should see it)")
    click.echo("Ctrl-C stops it.")
    return link or address


def _check(host: str, public_url: str | None, *, demo: bool) -> None:
    if demo and not _is_loopback(host):
        raise UsageError(
            "the demo lets in everybody, so it listens on this machine alone",
            given=host,
            remedy="leave out --host",
        )
    if public_url is not None and not public_url.startswith(("http://", "https://")):
        raise UsageError(
            "--public-url must begin with https:// or http://",
            given=public_url,
            remedy="try --public-url https://studio.example",
        )


def _is_loopback(host: str) -> bool:
    """Tell whether an address is this machine's own.

    >>> [_is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "studio.example")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def _folder(data: str | None, *, demo: bool) -> Iterator[Path]:
    """Return the folder of the studio; that of a demo is gone afterwards unless it was named."""
    if demo and data is None:
        with tempfile.TemporaryDirectory(
            prefix="headcount-studio-", ignore_cleanup_errors=True
        ) as temporary_folder:
            yield Path(temporary_folder)
        return
    folder = Path(data or _FOLDER)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", remedy="choose another --data")
    if demo and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty", remedy="choose another --data for the demo, or none")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SurroundingsError.writing(folder, error, "--data") from None
    yield folder.resolve()


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen at once: whoever opens the address now waits until the studio is there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listening:
        if os.name == "posix":  # elsewhere this would let two listen at once
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, port))
        except OSError as error:
            raise _unable(error, host, port) from None
        listening.listen(128)
        yield listening


def _unable(error: OSError, host: str, port: int) -> UsageError:
    if error.errno == errno.EADDRINUSE:
        return UsageError(
            f"port {port} is taken", remedy="choose another --port, or --port 0 for any that is free"
        )
    if error.errno == errno.EACCES:
        return UsageError(f"port {port} is not for everybody", remedy="choose a --port above 1023")
    return UsageError(
        f"nothing can listen at {host} ({error.strerror or error})", remedy="choose a --host of this machine"
    )
