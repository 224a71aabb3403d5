"""The review page of curators: a release is published or withheld, with a title and a note."""

from __future__ import annotations

from fastapi.responses import RedirectResponse, Response

from headcount.errors import HeadcountError
from headcount.studio.access import AccessLevel, router_for
from headcount.studio.forms import text
from headcount.studio.services.releases import decide_release, review_release
from headcount.studio.studio import Call, Sent
from headcount.studio.web.error_responses import form_page

_curators = router_for(AccessLevel.CURATORS, include_in_schema=False)


@_curators.get("/releases/{release}/review")
def review(call: Call, release: str) -> Response:
    """Show a release before analysts see it."""
    return _page(call, release)


@_curators.post("/releases/{release}/review")
def decide(call: Call, release: str, sent: Sent) -> Response:
    """Keep title and note, and publish or withhold the release if this was chosen."""
    form = {name: text(sent, name) for name in ("title", "note", "decision")}
    try:
        decide_release(call.studio, call.visitor, release, **form)
    except HeadcountError as error:
        return _page(call, release, error)
    is_published = form["decision"] == "publish"
    return RedirectResponse(f"/releases/{release}" + ("" if is_published else "/review"), 303)


def _page(call: Call, release: str, error: HeadcountError | None = None) -> Response:
    held, loaded, excerpts = review_release(call.studio, call.visitor, release)
    return form_page(call.request, "review.html.jinja", error, held=held, release=loaded, tables=excerpts)


ROUTERS = (_curators,)
