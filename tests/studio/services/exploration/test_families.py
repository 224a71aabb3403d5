"""Whatever was ever released has something to show: a release of every method, with every set of tables."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest

from headcount.methods.registry import FAMILIES, family_releasing
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.heat_map import grid
from headcount.studio.services.exploration.item_profile import profile, related
from headcount.studio.services.exploration.lift import stands_out
from headcount.studio.services.exploration.opened_release import Opened
from tests.seeded.cases import Case, every_case
from tests.seeded.record import recorded
from tests.seeded.running import made


@functools.cache
def one_of_each() -> Mapping[str, Case]:
    """Return a recorded case for every method with every set of tables that came out."""
    records = recorded()
    found: dict[tuple[str, str, tuple[str, ...]], Case] = {}
    for case in every_case():
        tables = records[case.name].get("tables")
        if tables:
            method = case.words.get("method") or case.command
            found.setdefault((case.command, method, tuple(tables)), case)
    return {f"{command} {method}: {', '.join(tables)}": case for (command, method, tables), case in found.items()}


@pytest.mark.parametrize("name", one_of_each())
def test_every_release_has_something_sensible_to_show(name: str) -> None:
    case = one_of_each()[name]
    opened = Opened(made(case, case.engines[0]))
    shown = views.part(opened)
    assert shown.title
    held = views.held(opened)
    assert held[0].name == opened.main
    assert {each.name for each in held} == set(opened.release.tables)
    for each in held:
        page = opened.browsed(each.name).page(size=10)
        assert page.total == each.rows
        assert len(page.rows) == min(each.rows, 10)
    seen = {view.address for view in views.views(opened)}
    if "contexts" in seen:
        for context in opened.release.contexts or ():
            opened.browsed(opened.of_contexts or "", context).page("a")
    if "heat" in seen:
        assert grid(opened).rows
        stands_out(opened, (opened.release.contexts or ("",))[0])
    if "topics" in seen:
        assert views.topics(opened)[0]["tags"]
    if opened.of_items is not None and opened.release.tables[opened.of_items].num_rows:
        item = str(opened.browsed(opened.of_items).page().rows[0]["item"])
        assert profile(opened, item).name
        if "related" in seen:
            told = related(opened, opened.item(item))
            assert bool(told.rows) != bool(told.silent)
    if "tags" in seen:
        assert opened.tags is not None
        resource = opened.release.tables["model/resources"]["resource"][0].as_py()
        assert opened.tags.recommend(resource, k=3)


def test_every_family_is_among_them() -> None:
    commands = {case.command for case in one_of_each().values()}
    assert commands == {"release", "rank", "query", "session", "tags", "neighbours"}
    seen = {name.split(": ")[1] for name in one_of_each()}
    families = [family_releasing(dict.fromkeys(tables.split(", "))) for tables in seen]
    assert {each.name for each in families if each} == set(FAMILIES)
