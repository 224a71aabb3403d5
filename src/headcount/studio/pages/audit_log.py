"""The audit log, for curators: who asked for what, the newest first."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from fastapi.responses import Response

from headcount.studio.access import AccessLevel, router_for
from headcount.studio.studio import studio_of
from headcount.studio.web import templates

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)
_PAGE = 100


@_curators.get("/deeds")
def deeds(
    request: Request,
    before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
    person: Annotated[str | None, Query(max_length=32)] = None,
) -> Response:
    """Show a page of the log."""
    studio = studio_of(request)
    shown = studio.audit_log.listed(before=before, most=_PAGE, person=person or None)
    return templates.page(
        request,
        "deeds.html.jinja",
        deeds=shown,
        people=studio.users.listed(),
        person=person,
        before=shown[-1].number if len(shown) == _PAGE else None,
    )


ROUTERS = (_curators,)
