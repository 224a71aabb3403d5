"""Every publisher's own file is read, as a copy would be; what is missing, damaged or of another size is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headcount.errors import AbsentError, DataError, UsageError, command_line, render
from headcount.events.encode.passes import EncodedLog
from headcount.lab.datasets import files, large, user_tables
from headcount.lab.datasets.by_name import Dataset, form_of, load, save_copy, where_to_get
from headcount.lab.datasets.entries import ENTRIES, DatasetEntry
from headcount.lab.datasets.parsed import Census, Parsed, Sizes
from tests.lab.datasets.publishers import COMBINED, OTHER_FORMS, PUBLISHED, TEST, TRAIN, Published, texts
from tests.lab.replicate import papers

FORMS = [*PUBLISHED.items(), *OTHER_FORMS.items()]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let extracts be of one rating, and catalogues short."""
    monkeypatch.setattr(large, "FEWEST", 1)
    entry = ENTRIES["gowalla-all-places"]
    monkeypatch.setitem(ENTRIES, "gowalla-all-places", replace(entry, columns=range(20)))


def edges(dataset: Dataset) -> Counter[tuple[object, str]]:
    """Count the records by item and context."""
    cells = np.concatenate([batch.cells for batch in EncodedLog(dataset.log).batches()])
    names = [*(dataset.log.context.labels if dataset.log.context else ()), "no context"]
    width = dataset.log.width
    return Counter((dataset.log.catalogue.ids[cell // width], names[cell % width]) for cell in cells.tolist())


def rows(dataset: Dataset) -> list[tuple[object, object]]:
    pairs = pa.Table.from_batches(dataset.log.source.batches(["user", "item"]))
    return sorted(zip(pairs["user"].to_pylist(), pairs["item"].to_pylist(), strict=True))


def test_every_publisher_has_a_synthetic_file() -> None:
    assert {name for name, entry in ENTRIES.items() if entry.downloads} == set(PUBLISHED)
    assert set(ENTRIES) - set(PUBLISHED) == {"kosarak-prefix"}  # which is an excerpt of ours


@pytest.mark.parametrize(("name", "published"), FORMS, ids=[name for name, _ in FORMS])
def test_the_publishers_files_and_a_copy_of_them_give_the_same_log(
    name: str, published: Published, tmp_path: Path
) -> None:
    home, copy = tmp_path / "files", tmp_path / "copy"
    home.mkdir()
    published.write(home)
    dataset = load(name, home, as_published=False)
    assert dataset.kind == "original download"
    assert rows(dataset) == sorted(published.rows)
    assert dataset.sizes == Sizes(
        len(published.rows), *(len({row[place] for row in published.rows}) for place in (0, 1))
    )
    assert [path.name for path in save_copy(name, home, copy)] == [
        f"{path}.parquet" for path in ENTRIES[name].shared
    ]
    again = load(name, copy)
    assert again.kind == "shared"
    assert rows(again) == rows(dataset)
    assert edges(again) == edges(dataset)
    assert again.log.catalogue == dataset.log.catalogue


@pytest.mark.parametrize("name", [name for name, entry in ENTRIES.items() if entry.publisher_says])
def test_another_size_than_published_is_refused(name: str, tmp_path: Path) -> None:
    PUBLISHED[name].write(tmp_path)
    with pytest.raises(DataError, match=r"(has \d+ \w+ where its publisher gives|its MD5 is).*save_copy"):
        load(name, tmp_path)


def test_the_size_of_what_is_expected_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PUBLISHED["uci-adult"].write(tmp_path)
    entry = replace(ENTRIES["uci-adult"], publisher_says=Sizes(records=5, users=0, items=0))
    monkeypatch.setitem(ENTRIES, "uci-adult", entry)
    assert load("uci-adult", tmp_path).sizes.records == 4


@pytest.mark.parametrize(("name", "entry"), ENTRIES.items(), ids=list(ENTRIES))
def test_a_missing_file_says_which_to_get_and_what_it_must_hold(
    name: str, entry: DatasetEntry, tmp_path: Path
) -> None:
    instructions = where_to_get(name)
    for download in entry.downloads:
        assert download.files in instructions
        assert download.holds in instructions
    if entry.downloads:
        assert entry.page in instructions
    for many in vars(entry.publisher_says).values() if entry.publisher_says else ():
        assert not many or f"{many:,}" in instructions
    assert f"{entry.shared[0]}.parquet ({entry.copy_columns})" in instructions
    assert entry.licence
    if form_of(name, tmp_path) is None:
        with pytest.raises(AbsentError) as error:
            load(name, tmp_path)
        assert error.value.remedy == render(instructions, command_line)
    with pytest.raises(AbsentError, match="the publisher's files"):
        save_copy(name, tmp_path, tmp_path / "copy")


def test_a_copy_goes_elsewhere(tmp_path: Path) -> None:
    PUBLISHED["kosarak"].write(tmp_path)
    with pytest.raises(UsageError, match="into another folder"):
        save_copy("kosarak", tmp_path, tmp_path)


def test_which_adults_are_taken_hangs_on_their_content_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = [
        TRAIN.splitlines()[0].replace("77516", str(number)).replace("39,", f"{20 + number},")
        for number in range(50)
    ]
    lines = [*many, *many[:3]]  # some people are alike
    texts({"adult.data": "\n".join(lines), "adult.test": TEST})(tmp_path)
    monkeypatch.setattr(user_tables, "ADULTS", 20)
    table = user_tables.adult(tmp_path).table
    kept = user_tables.adult_cells(table)
    assert kept.num_rows == 20
    order = np.random.default_rng(1).permutation(table.num_rows)
    assert user_tables.adult_cells(table.take(pa.array(order))).equals(kept)
    other = [lines[place] for place in np.random.default_rng(2).permutation(len(lines))]
    texts({"adult.data": "\n".join(other[10:]), "adult.test": "\n".join(other[:10]) + "\n" + TEST})(tmp_path)
    assert user_tables.adult_cells(user_tables.adult(tmp_path).table).equals(kept)
    assert user_tables.adult_cells(table.slice(5)).equals(kept) is False  # other people


def test_films_that_few_users_rated_and_users_with_enough_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "FEWEST", 2)
    monkeypatch.setattr(large, "MOST", 3)
    films = {1: [1, 2, 3, 4], 2: [1, 2, 5], 3: [1, 2, 3], 4: [3, 6], 5: [6]}
    pairs = [(user, film) for film, users in films.items() for user in users]
    table = pa.table([[pair[0] for pair in pairs], [pair[1] for pair in pairs]], names=["user", "item"])
    stars = table.cast(pa.schema([("user", pa.int32()), ("item", pa.int32())]))
    stars = stars.append_column("rating", pa.array([5] * len(pairs), pa.int8()))
    stars = stars.append_column("date", pa.array([0] * len(pairs), pa.int32()).cast(pa.date32()))
    kept = Parsed(large.rarely_rated(Parsed.from_table(stars).source)).table
    # film 1 has too many, 5 too few; then 5 and 6 have one film left, so that film 4 has one person, and so on
    assert sorted(zip(kept["user"].to_pylist(), kept["item"].to_pylist(), strict=True)) == [
        (1, 2), (1, 3), (2, 2), (2, 3),
    ]  # fmt: skip


def test_large_files_are_read_block_by_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks may end anywhere within a film or a document, and no pass holds more than one of them."""
    text = "".join(
        f"{film}:\n" + "".join(f"{user},4,2005-09-06\n" for user in range(film)) for film in range(1, 30)
    )
    parts: dict[str, str | bytes] = {f"combined_data_{part}.txt": "" for part in (2, 3, 4)}
    texts({"combined_data_1.txt": text, **parts})(tmp_path)
    words = "".join(f"{doc} {word} 1\n" for doc in range(1, 60) for word in range(1, 5))
    texts({"docword.pubmed.txt": f"59\n4\n236\n{words}"})(tmp_path)
    monkeypatch.setattr(files.blocks, "__defaults__", (64,))
    netflix, pubmed = large.netflix_parts(tmp_path).source, large.pubmed(tmp_path).source
    for source, sizes in ((netflix, Sizes(435, 29, 29)), (pubmed, Sizes(236, 59, 4))):
        batches = list(source.batches(["user", "item"]))
        assert max(batch.num_rows for batch in batches) < 20
        assert Census.count(source).sizes == sizes
    table = Parsed(netflix).table
    assert Counter(table["item"].to_pylist()) == {film: film for film in range(1, 30)}


def test_a_copy_may_be_stored_in_any_order(tmp_path: Path) -> None:
    papers.shared(tmp_path)
    before = load("hetrec-lastfm-tags", tmp_path)
    path = tmp_path / "hetrec-lastfm-tags.parquet"
    table = pq.read_table(path)
    pq.write_table(table.take(pa.array(np.random.default_rng(3).permutation(table.num_rows))), path)
    assert edges(load("hetrec-lastfm-tags", tmp_path)) == edges(before)


def read(name: str, place: int = 0) -> Callable[[Path], object]:
    return lambda folder: ENTRIES[name].downloads[place].read(folder).table


WRONG: dict[str, tuple[Callable[[Path], object], Callable[[Path], object], str]] = {
    "a film without a title": (
        texts({"ml-100k/u.data": "1\t2\t3\t4\n", "ml-100k/u.item": "1|Tea (1990)\ntwo\n"}),
        read("movielens-100k"),
        r"u\.item, line 2: expected the number and title of a film between \|, not 'two'",
    ),
    "a rating in words": (
        texts({"ml-10M100K/ratings.dat": "1::2::5::9\n1::3::five::9\n", "ml-10M100K/movies.dat": ""}),
        read("movielens-10m"),
        r"ratings\.dat, line 2: expected rating as float, not '1::3::five::9'",
    ),
    "a tag without a number": (
        texts({"user_taggedmovies-timestamps.dat": "userID\tmovieID\ttagID\ttimestamp\n75\t353\tdull\t11\n"}),
        read("hetrec-movielens-tags"),
        r"timestamps\.dat, line 2: expected tag as int32",
    ),
    "three numbers": (
        texts({"BMS-POS.dat": "1\t2\n3\t4\t5\n"}),
        read("bms-pos"),
        r"BMS-POS\.dat, line 2: expected 2 numbers, not '3 of them'",
    ),
    "a number too large": (
        texts({"retail.dat": "1 2\n99999999999\n"}),
        read("fimi-retail"),
        r"retail\.dat, line 2: expected numbers between blanks, not '99999999999'",
    ),
    "nobody": (
        texts({"gowalla/train.txt": "0 1\n\n2 3\n", "gowalla/test.txt": ""}),
        read("gowalla-10core"),
        r"train\.txt, line 2: expected a user and places",
    ),
    "a visitor without a number": (
        texts({"anonymous-msweb.data": 'A,1,1,"a","/a"\nC,"x"\n', "anonymous-msweb.test": ""}),
        read("msweb"),
        r"anonymous-msweb\.data, line 2: expected an area, a visitor or a visit, not 'C,\"x\"'",
    ),
    "a visit of nobody": (
        texts({"anonymous-msweb.data": "V,1000,1\n", "anonymous-msweb.test": ""}),
        read("msweb"),
        r"anonymous-msweb\.data, line 1: a visit before the first visitor",
    ),
    "an adult without an income": (
        texts({"adult.data": TRAIN.replace(", <=50K", "", 1), "adult.test": TEST}),
        read("uci-adult"),
        r"adult\.data, line 1: expected 15 fields \(age, workclass",
    ),
    "an age in words": (
        texts({"adult.data": TRAIN, "adult.test": TEST.replace("25,", "young,")}),
        read("uci-adult"),
        r"adult\.test, line 2: expected numbers where they belong",
    ),
    "fifteen answers": (
        texts({"2to16disabilityNLTCS.txt": "heading\n" + "\t".join(["0"] * 17) + "\n"}),
        read("nltcs"),
        r"2to16disabilityNLTCS\.txt, line 2: expected 18 fields \(a0,",
    ),
    "no array": (
        texts({"NETTRACE.n4096.npy": b"counts"}),
        read("dpbench-nettrace"),
        r"NETTRACE\.n4096\.npy cannot be read",
    ),
    "a date in a later film": (
        texts({**COMBINED, "combined_data_1.txt": "1:\n7,3,2005-09-06\n2:\n7,3,now\n"}),
        read("netflix", 1),
        r"combined_data_1\.txt, line 4: expected date as date32",
    ),
    "a heading in words": (
        texts({"docword.pubmed.txt": "3\nmany\n3\n1 1 1\n"}),
        read("pubmed"),
        r"docword\.pubmed\.txt, line 2: expected how many documents, words and lines there are, not 'many'",
    ),
    "a word beyond the last": (
        texts({"docword.pubmed.txt": "3\n4\n1\n1 5 1\n"}),
        read("pubmed"),
        r"docword\.pubmed\.txt: item 5 to 5, where it says 1 to 4",
    ),
    "too few rows": (
        texts({"docword.pubmed.txt": "3\n4\n9\n1 1 1\n"}),
        read("pubmed"),
        r"docword\.pubmed\.txt has 1 rows where it says 9; download it again",
    ),
    "a line of words": (
        texts({"docword.pubmed.txt": "3\n4\n2\n1 1 1\n1 two 1\n"}),
        read("pubmed"),
        r"docword\.pubmed\.txt, line 5: expected item as int32, not '1 two 1'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named_with_its_line(case: str, tmp_path: Path) -> None:
    write, parse, complaint = WRONG[case]
    write(tmp_path)
    with pytest.raises(DataError, match=complaint):
        parse(tmp_path)


def test_titles_are_kept(tmp_path: Path) -> None:
    for name in ("movielens-100k", "movielens-10m", "msweb"):
        PUBLISHED[name].write(tmp_path)
    assert load("movielens-100k", tmp_path, as_published=False).log.catalogue.labels == (
        "Café (1996)",
        "Rye (1997)",
    )
    assert load("movielens-10m", tmp_path, as_published=False).log.catalogue.labels == ("Boomerang (1992)",)
    assert load("msweb", tmp_path, as_published=False).log.catalogue.labels == (
        "regwiz",
        "International AutoRoute",
    )


def test_two_editions_in_one_folder_stay_distinct(tmp_path: Path) -> None:
    for folder, text in (("ml-1m", papers.MOVIELENS["ratings.dat"]), ("ml-10M100K", "1::122::3.5::838985046\n")):
        texts({f"{folder}/ratings.dat": text, f"{folder}/movies.dat": ""})(tmp_path)
    texts({"ml-1m/users.dat": papers.MOVIELENS["users.dat"]})(tmp_path)
    sizes = [load(f"movielens-{edition}m", tmp_path, as_published=False).sizes.records for edition in (1, 10)]
    assert sizes == [4, 1]


def test_places_without_visits_are_columns_too(tmp_path: Path) -> None:
    PUBLISHED["gowalla-all-places"].write(tmp_path)
    every, visited = (load(name, tmp_path, as_published=False) for name in ("gowalla-all-places", "gowalla"))
    assert (len(every.log.catalogue.ids), len(visited.log.catalogue.ids)) == (20, 2)


@pytest.mark.parametrize(("name", "entry"), ENTRIES.items(), ids=list(ENTRIES))
def test_the_page_lists_files_sizes_and_terms(name: str, entry: DatasetEntry) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reproduce.md").read_text(encoding="utf-8")
    forms = [download.files.split(" and ") for download in entry.downloads]
    named = " or ".join(" and ".join(f"`{file}`" for file in form) for form in forms) or "none: a copy alone"
    expected_sizes = vars(entry.publisher_says).values() if entry.publisher_says else (0, 0, 0)
    sizes = ", ".join(f"{many:,}" if many else "–" for many in expected_sizes)
    assert f"| `{name}` | {named} | {sizes} | {entry.licence} |" in page
