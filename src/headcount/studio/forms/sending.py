"""A posted form, for routes: ``sent: Sent`` in a signature."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from headcount.studio.forms.posting import posted


async def _sent(request: Request) -> dict[str, list[str]]:
    return posted((await request.form()).multi_items())


Sent: TypeAlias = Annotated[dict[str, list[str]], Depends(_sent)]
"""Texts by the names of fields."""


def text(sent: dict[str, list[str]], name: str) -> str:
    """Return what was sent under a name, "" if nothing was.

    >>> text({"name": [" visits "]}, "name"), text({}, "name")
    ('visits', '')
    """
    return next(iter(sent.get(name, ())), "").strip()
