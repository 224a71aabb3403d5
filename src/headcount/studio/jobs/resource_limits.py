"""Memory and CPU limits of a worker process, set by itself before it opens data."""

from __future__ import annotations

import os


def set_resource_limits(memory: int, seconds: float) -> None:
    """Let this process have so much memory and time, where the operating system can see to it.

    Time is that of all processors together, so it is a bound for a process that spins; the server ends one that
    takes longer by the clock.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    for limit, most in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, int(seconds * (os.cpu_count() or 1)) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(limit)
        allowed = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (allowed, hard))
