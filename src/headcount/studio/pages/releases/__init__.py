"""Pages about one release."""

from typing import Annotated, TypeAlias

from fastapi import Depends

from headcount.studio.services.releases import VisibleRelease, open_release
from headcount.studio.studio import Call


def _open(call: Call, release: str) -> VisibleRelease:
    return open_release(call.studio, call.visitor, release)


Visible: TypeAlias = Annotated[VisibleRelease, Depends(_open)]
"""The release that an address names, opened for the visitor."""
