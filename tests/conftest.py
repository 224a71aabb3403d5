"""Hypothesis profiles for all tests: the same examples in every run, no deadline."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.register_assert_rewrite("tests.contracts.support.engine_checks", "tests.contracts.support.method_checks")

_CHECKS_OFF = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile(
    "headcount", derandomize=True, deadline=None, max_examples=60, suppress_health_check=_CHECKS_OFF
)
# A broken twin must be caught, not shrunk.
settings.register_profile(
    "twins", settings.get_profile("headcount"), phases=(Phase.explicit, Phase.generate), report_multiple_bugs=False
)
settings.load_profile("headcount")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start the files that take longest first, so that no worker is left with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT end this process and its children, also where the tests run in the background and ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
