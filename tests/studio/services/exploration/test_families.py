"""Whatever was ever released has something to show: a release of every method, with every set of tables."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pytest

from headcount.methods.registry import FAMILIES, family_releasing
from headcount.studio.services.exploration import views
from headcount.studio.services.exploration.item_contexts import grid, items_with_lift
from headcount.studio.services.exploration.item_profile import profile, related
from headcount.studio.services.exploration.opened_release import OpenedRelease
from tests.seeded.cases import Case, every_case
from tests.seeded.record import recorded
from tests.seeded.running import release_of


@functools.cache
def case_per_method() -> Mapping[str, Case]:
    """Return a recorded case for every method with every set of tables that came out."""
    records = recorded()
    cases: dict[tuple[str, str, tuple[str, ...]], Case] = {}
    for case in every_case():
        tables = records[case.name].get("tables")
        if tables:
            method = case.words.get("method") or case.command
            cases.setdefault((case.command, method, tuple(tables)), case)
    return {f"{command} {method}: {', '.join(tables)}": case for (command, method, tables), case in cases.items()}


@pytest.mark.parametrize("name", case_per_method())
def test_every_release_has_something_sensible_to_show(name: str) -> None:
    case = case_per_method()[name]
    opened = OpenedRelease(release_of(case, case.engines[0]))
    shown = views.part(opened)
    assert shown.title
    held = views.table_summaries(opened)
    assert held[0].name == opened.main
    assert {held_table.name for held_table in held} == set(opened.release.tables)
    for held_table in held:
        page = opened.browsed(held_table.name).page(size=10)
        assert page.total == held_table.rows
        assert len(page.rows) == min(held_table.rows, 10)
    addresses = {view.address for view in views.views(opened)}
    if "contexts" in addresses:
        for context in opened.release.contexts or ():
            opened.browsed(opened.context_table or "", context).page("a")
    if "heat" in addresses:
        assert grid(opened).rows
        items_with_lift(opened, (opened.release.contexts or ("",))[0])
    if "topics" in addresses:
        assert views.topics(opened)[0]["tags"]
    if opened.item_table is not None and opened.release.tables[opened.item_table].num_rows:
        item = str(opened.browsed(opened.item_table).page().rows[0]["item"])
        assert profile(opened, item).name
        if "related" in addresses:
            result = related(opened, opened.item(item))
            assert bool(result.rows) != bool(result.silent)
    if "tags" in addresses:
        assert opened.tags is not None
        resource = opened.release.tables["model/resources"]["resource"][0].as_py()
        assert opened.tags.recommend(resource, k=3)


def test_every_family_is_among_them() -> None:
    commands = {case.command for case in case_per_method().values()}
    assert commands == {"release", "rank", "query", "session", "tags", "neighbours"}
    table_sets = {name.split(": ")[1] for name in case_per_method()}
    families = [family_releasing(dict.fromkeys(tables.split(", "))) for tables in table_sets]
    assert {family.name for family in families if family} == set(FAMILIES)
