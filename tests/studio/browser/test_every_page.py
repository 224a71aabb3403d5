"""Every page that somebody can reach by links: opened, looked at by axe, wide and narrow, light and dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from fastapi import FastAPI

from headcount.studio.access import Role
from headcount.studio.app import app_of
from headcount.studio.demo import furnish
from headcount.studio.settings import Settings
from headcount.studio.studio import Studio
from tests.studio.browser.conftest import Visit, serving

LINKS = "Array.from(document.querySelectorAll('main a[href], nav a[href], .who a[href]'), (each) => each.getAttribute('href'))"


def crawl(seen: Visit, app: FastAPI, look: Callable[[str], None]) -> set[str]:
    """Follow links from home, one page of each route; return the routes that were met."""
    routes = [each for each in app.state.routes if "GET" in getattr(each, "methods", ())]
    met: set[str] = set()
    waiting = ["/"]
    while waiting:
        address = waiting.pop(0)
        path = urlsplit(address).path
        route = next((each for each in routes if each.path_regex.match(path)), None)
        assert route is not None, f"{address} leads nowhere"
        if route.path in met:
            continue
        met.add(route.path)
        answer = seen.page.request.get(seen.base + address)
        assert answer.ok, f"{address}: {answer.status}"
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        seen.go(address)
        look(address)
        waiting += [urljoin(address, each) for each in seen.page.evaluate(LINKS) if not each.startswith("#")]
    return met
