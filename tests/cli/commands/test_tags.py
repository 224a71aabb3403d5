"""``headcount tags`` from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from headcount.cli.main import main
from tests.support.tag_logs import RESOURCES, WORDS, crowd


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("tags")
    columns = zip(*crowd(1200), strict=True)
    pq.write_table(pa.table(dict(zip(("u", "r", "t"), map(list, columns), strict=True))), place / "tags.parquet")
    (place / "words.txt").write_text("\n".join(WORDS), encoding="utf-8")
    resource_table = pa.table({"id": RESOURCES, "name": [f"Thing {resource_id[1:]}" for resource_id in RESOURCES]})
    pacsv.write_csv(resource_table, place / "things.csv")
    pacsv.write_csv(pa.table({"tag": ["t20", "t20", "t2"]}), place / "mine.csv")
    assert main(["tags", "release", *flags(place), "--epsilon", "8", "--delta", "1e-6", "--out",
                 str(place / "model")]) == 0  # fmt: skip
    return place


def flags(place: Path) -> list[str]:
    return [str(place / "tags.parquet"), "--user", "u", "--resource", "r", "--tag", "t", "--vocabulary",
            str(place / "words.txt"), "--resources", str(place / "things.csv")]  # fmt: skip


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_tags_are_recommended_by_id_and_by_label(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(folder / "model")
    by_id = printed(capsys, "tags", "recommend", model, "--resource", "r3", "-k", "4")
    assert by_id == printed(capsys, "tags", "recommend", model, "--resource", "Thing 3", "-k", "4")
    assert [row["rank"] for row in by_id] == [1, 2, 3, 4]
    assert {int(row["tag"][1:]) // 12 for row in by_id} == {0}
    mine = ["--mine", str(folder / "mine.csv")]
    own = printed(capsys, "tags", "recommend", model, "--resource", "r3", "-k", "2", *mine)
    assert [row["tag"] for row in own] == ["t20", "t2"]
    assert main(["tags", "recommend", model, "--resource", "r3"]) == 0
    assert "t0" in capsys.readouterr().out
    assert main(["tags", "recommend", model, "--resource", "nothing"]) == 2


def test_a_fallback_to_popular_tags_is_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At ε = 0.01 no resource stands out; at ε = 8 those that everybody tags do."""
    assert main(["tags", "release", *flags(folder), "--epsilon", "0.01", "--out", str(folder / "weak")]) == 0
    capsys.readouterr()
    words = "The release says nothing of the tags of 'Thing 3' alone"
    for model, expected in (("model", False), ("weak", True)):
        assert main(["tags", "recommend", str(folder / model), "--resource", "Thing 3", "-k", "4"]) == 0
        assert (words in " ".join(capsys.readouterr().err.split())) is expected
    mine = ["--mine", str(folder / "mine.csv"), "--json"]
    assert main(["tags", "recommend", str(folder / "weak"), "--resource", "Thing 3", *mine]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)[0]["tag"] == "t20"
    assert "these are the popular tags, beside your own" in " ".join(captured.err.split())


def test_profiles_are_a_table_that_can_be_released_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "synthetic.parquet"
    profiles = printed(capsys, "tags", "profiles", str(folder / "model"), "--out", str(out))
    table = pq.read_table(out)
    assert table.column_names == ["user", "resource", "tag"]
    assert profiles["assignments"] == table.num_rows > 1000
    assert main(["tags", "profiles", str(folder / "model"), "--out", str(out)]) == 2
    assert main(["tags", "profiles", str(folder / "model"), "--out", str(out), "--force"]) == 0


def test_topics_are_listed_and_drawn(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(folder / "model")
    topics = printed(capsys, "tags", "topics", model, "-k", "3")
    assert len(topics) >= 2
    assert all(len(topic["tags"]) == 3 for topic in topics)
    for name in ("topics.html", "topics.svg", "topics.png"):
        assert main(["tags", "topics", model, "--to", str(folder / name)]) == 0
        assert (folder / name).stat().st_size > 2000
    assert topics[0]["tags"][0]["name"] in (folder / "topics.html").read_text(encoding="utf-8")
    assert main(["tags", "topics", model, "--to", str(folder / "topics.html")]) == 2
    assert main(["tags", "topics", model, "--to", str(folder / "topics.pdf")]) == 2
    capsys.readouterr()


def test_a_model_is_explained_reported_and_exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(folder / "model")
    assert main(["explain", model]) == 0
    assert "discrete Gaussian noise" in " ".join(capsys.readouterr().out.split())
    assert main(["report", model, "--to", str(folder / "report.html")]) == 0
    assert "What people&#39;s tags are about" in (folder / "report.html").read_text(encoding="utf-8")
    assert main(["export", model, "--to", str(folder / "sheets")]) == 0
    assert (folder / "sheets" / "model" / "tags.csv").is_file()
    assert main(["export", model, "--to", str(folder / "book"), "--format", "xlsx"]) == 0
    assert main(["top", model]) == 2
    assert "holds no items" in capsys.readouterr().err


def test_a_ledger_is_charged_and_a_repetition_costs_nothing(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = ["--ledger", f"sqlite:///{tmp_path}/ledger.db", "--dataset", "tags"]
    assert main(["ledger", "create", *ledger, "--epsilon", "2", "--delta", "1e-5"]) == 0
    capsys.readouterr()
    spend = ["--epsilon", "1", "--delta", "1e-6", *ledger]
    first = printed(capsys, "tags", "release", *flags(folder), *spend, "--out", str(tmp_path / "one"))
    again = printed(capsys, "tags", "release", *flags(folder), *spend, "--out", str(tmp_path / "two"))
    assert first["ledger"]["entry"] == again["ledger"]["entry"]
    assert "earlier" in again
    more = [*spend[:1], "5", *spend[2:]]
    assert main(["tags", "release", *flags(folder), *more, "--out", str(tmp_path / "three")]) == 1


def test_published_methods_need_research_and_say_what_they_are(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["tags", "release", *flags(folder), "--epsilon", "1", "--method", "suppression-published"]
    assert main([*arguments, "--out", str(tmp_path / "no")]) == 2
    assert "use tag-model, or add --research" in capsys.readouterr().err
    assert main([*arguments, "--research", "--option", "kept=0.5", "--out", str(tmp_path / "yes")]) == 0
    assert "NOT PRIVATE" in capsys.readouterr().out
    profiles = printed(capsys, "tags", "profiles", str(tmp_path / "yes"), "--out", str(tmp_path / "all.parquet"))
    assert profiles["assignments"] > 0
    assert main(["tags", "topics", str(tmp_path / "yes")]) == 2
    assert main(["tags", "recommend", str(tmp_path / "yes"), "--resource", "r3"]) == 2


def test_a_dry_run_says_what_it_would_cost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = printed(capsys, "tags", "release", *flags(folder), "--epsilon", "1", "--dry-run")
    assert plan["price"] == {"epsilon": "1", "delta": "0"}
    assert plan["cells"] == {"model/tags": len(WORDS), "model/resources": len(RESOURCES)}
    assert main(["tags", "release", *flags(folder), "--epsilon", "1", "--delta", "1e-6", "--dry-run"]) == 0
    assert "tag weight" in capsys.readouterr().out
    assert main(["tags", "releese"]) == 2
    assert main(["tags", "release", *flags(folder), "--epsilon", "1", "--select-limit", "3", "--dry-run"]) == 2
