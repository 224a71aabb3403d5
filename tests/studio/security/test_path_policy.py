"""No name of a request leads out of the files of the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headcount.errors import HeadcountError, UnknownNameError, UsageError
from headcount.studio.security import path_policy
from headcount.studio.settings import Settings

OUT = (
    "../secret.csv",
    "sub/../../secret.csv",
    "/etc/passwd",
    "//etc/passwd",
    "..",
    "sub/..",
    "",
    ".\\..\\secret.csv",
    "C:\\secret.csv",
    "C:/secret.csv",
    "file:///etc/passwd",
    "link.csv",
    "linked/secret.csv",
    "folder",
    "a\0b.csv",
    "*.csv",
    "no.csv",
)


@pytest.fixture
def desk(tmp_path: Path) -> Settings:
    settings = Settings(tmp_path / "desk")
    (settings.files / "sub").mkdir(parents=True)
    for name in ("visits.csv", "venues.csv", "sub/more.csv", "shop.db", "scores.csv"):
        settings.files.joinpath(name).write_text("a,b\n1,2\n")
    (tmp_path / "secret.csv").write_text("s\n1\n")
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "secret.csv").write_text("s\n1\n")
    (settings.files / "link.csv").symlink_to(tmp_path / "secret.csv")
    (settings.files / "linked").symlink_to(tmp_path / "secrets")
    (settings.files / "folder").mkdir()
    (settings.files / "folder" / "inner.csv").symlink_to(tmp_path / "secret.csv")
    return settings


@pytest.mark.parametrize("name", OUT)
def test_a_name_that_leads_out_is_no_file(desk: Settings, name: str) -> None:
    with pytest.raises(UnknownNameError):
        path_policy.resolve_inside(desk, name)
    with pytest.raises(HeadcountError):
        path_policy.event_sources(desk, {"files": [name]})
    for scheme in ("sqlite:///", "duckdb:///"):
        with pytest.raises(HeadcountError):
            path_policy.event_sources(desk, {"address": f"{scheme}{name}"})


@pytest.mark.parametrize("name", [None, 3, ["visits.csv"], {"a": 1}])
def test_what_is_no_text_is_no_file(desk: Settings, name: Any) -> None:
    with pytest.raises(UnknownNameError):
        path_policy.resolve_inside(desk, name)


def test_files_and_folders_inside_are_resolved(desk: Settings) -> None:
    assert path_policy.resolve_inside(desk, "visits.csv") == "visits.csv"
    assert path_policy.resolve_inside(desk, "sub") == "sub"
    assert path_policy.event_sources(desk, {"files": ["visits.csv", "./sub/more.csv"]}) == [
        "visits.csv",
        "sub/more.csv",
    ]
    assert path_policy.event_sources(desk, {"address": "sqlite:///shop.db"}) == ["sqlite:///shop.db"]
    assert path_policy.event_sources(desk, {"address": "duckdb:///shop.db"}) == ["duckdb://shop.db"]


def test_an_absolute_file_of_a_database_is_one_inside(desk: Settings) -> None:
    with pytest.raises(UnknownNameError):
        path_policy.event_sources(desk, {"address": "sqlite:////etc/passwd"})


@pytest.mark.parametrize(
    "address", ["postgresql://ann:s3cret@db/shop", "s3://bucket/log", "https://h/log.csv", "adbc+snowflake:x"]
)
def test_addresses_elsewhere_are_for_studios_that_were_started_so(desk: Settings, address: str) -> None:
    with pytest.raises(UsageError, match="lies elsewhere") as refused:
        path_policy.event_sources(desk, {"address": address})
    assert "s3cret" not in str(refused.value.to_json())
    assert path_policy.event_sources(Settings(desk.data, remote=True), {"address": address}) == [address]


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "local:///etc", "adbc+sqlite:/etc/x", "adbc+duckdb:/x", "spark:t"]
)
def test_files_of_the_machine_are_no_address_elsewhere(desk: Settings, address: str) -> None:
    with pytest.raises(HeadcountError):
        path_policy.event_sources(Settings(desk.data, remote=True), {"address": address})


@pytest.mark.parametrize("flag", path_policy.LIST_FLAGS)
def test_a_list_is_a_file_inside_or_a_list(desk: Settings, flag: str, tmp_path: Path) -> None:
    def read(given: Any) -> Any:
        return path_policy.resolve_read_flags(desk, {flag: given})[flag]

    assert read("venues.csv") == "venues.csv"
    assert read("venues.csv:a,b") == "venues.csv:a,b"
    assert read("tea, rye") == ["tea", "rye"]
    assert read("imdb.com:1,imdb.com:2") == ["imdb.com:1", "imdb.com:2"]
    assert read(["tea", "rye"]) == ["tea", "rye"]
    assert read("/etc/passwd") == ["/etc/passwd"]  # one item of that name, which nothing opens
    for outside in (str(tmp_path / "secret.csv"), "../secret.csv", "../secret.csv:s", "link.csv", "gone.csv"):
        with pytest.raises(UnknownNameError):
            read(outside)


def test_fields_of_a_request_that_name_files_stay_inside(desk: Settings, tmp_path: Path) -> None:
    fine = {"bins": "sub/more.csv", "options": {"scores": "scores.csv", "d": 2, "sampling": "row"}}
    assert path_policy.resolve_request_files(desk, fine, by_curator=True) == fine
    assert path_policy.resolve_request_files(desk, {"bins": {"age": [0, 10]}}, by_curator=True) == {
        "bins": {"age": [0, 10]}
    }
    for bad in ("/etc/passwd", "../secret.csv", str(tmp_path / "secret.csv"), "link.csv"):
        for fields in ({"bins": bad}, {"options": {"scores": bad}}, {"asked": bad}):
            with pytest.raises(UnknownNameError):
                path_policy.resolve_request_files(desk, fields, by_curator=True)


def test_passwords_are_never_shown() -> None:
    assert (
        path_policy.describe_source({"address": "postgresql://ann:s3cret@db/shop?password=x"})
        == "postgresql://db/shop"
    )
