"""The posted form as a FastAPI dependency: ``sent: Sent`` in a route's signature."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Depends, Request

from headcount.studio.forms.posted_form import collect_texts, text

__all__ = ["Sent", "text"]


async def _sent(request: Request) -> dict[str, list[str]]:
    return collect_texts((await request.form()).multi_items())


Sent: TypeAlias = Annotated[dict[str, list[str]], Depends(_sent)]
"""Texts by the names of fields."""
