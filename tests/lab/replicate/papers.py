"""Small synthetic datasets for tests of the paper replications."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MOVIELENS = {
    "ratings.dat": "1::10::5::978300760\n1::20::3::978302109\n2::10::4::978301968\n3::30::1::978300275\n",
    "users.dat": "1::F::1::10::48067\n2::M::25::16::70072\n3::M::56::15::55117\n",
    "movies.dat": "10::Tale of T\xe9a, A (1995)::Drama\n20::Rye (1999)::Comedy|Drama\n30::Oat: Two (2000)::War\n",
}
GOWALLA = (
    "0\t2010-10-19T23:55:27Z\t30.2359091167\t-97.7951395833\t22847\n"
    "0\t2010-10-18T22:17:43Z\t30.2691029532\t-97.7493953705\t420315\n"
    "7\t2010-10-17T23:42:03Z\t30.2557309927\t-97.7633857727\t22847\n"
)
FOURSQUARE = (
    "470\t49bbd6c0\tc1\tArts & Crafts Store\t40.71\t-74.00\t-240\tTue Apr 03 18:00:09 +0000 2012\n"
    "979\t4a43c0ae\tc2\tCaf\xe9\t40.60\t-74.04\t-240\tWed Apr 04 03:00:25 +0000 2012\n"
)
PLAYS = "userID\tartistID\tweight\n2\t51\t13883\n2\t52\t11690\n3\t51\t1\n"
TAGGED = "userID\tartistID\ttagID\tday\tmonth\tyear\n2\t52\t13\t1\t4\t2009\n3\t51\t13\t1\t4\t2009\n"
ARTISTS = 'id\tname\turl\tpictureURL\n51\tBlue Kettle\thttp://a\thttp://b\n52\tThe "Owls"\thttp://c\t\n'
NETFLIX = {
    "mv_0000001.txt": "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n",
    "mv_0000002.txt": "2:\n1488844,4,2005-09-05\n",
}


def zipped(path: Path, folder: str, files: dict[str, str], encoding: str = "utf-8") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}/{name}", text.encode(encoding))
    return path


def movielens(folder: Path, **changed: str) -> Path:
    files = {**MOVIELENS, **{f"{name}.dat": text for name, text in changed.items()}}
    return zipped(folder / "ml-1m.zip", "ml-1m", files, "latin-1")


def foursquare(folder: Path, text: str = FOURSQUARE) -> Path:
    files = {"dataset_TSMC2014_NYC.txt": text, "dataset_TSMC2014_readme.txt": "about"}
    return zipped(folder / "dataset_tsmc2014.zip", "dataset_tsmc2014", files, "latin-1")


def gowalla(folder: Path, text: str = GOWALLA) -> Path:
    path = folder / "loc-gowalla_totalCheckins.txt.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def hetrec(folder: Path) -> Path:
    files = {"user_artists.dat": PLAYS, "user_taggedartists.dat": TAGGED, "artists.dat": ARTISTS}
    with zipfile.ZipFile(folder / "hetrec2011-lastfm-2k.zip", "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return folder


def netflix(folder: Path) -> Path:
    inner = io.BytesIO()
    with tarfile.open(fileobj=inner, mode="w") as archive:
        for name, text in NETFLIX.items():
            _add(archive, f"training_set/{name}", text.encode())
    path = folder / "nf_prize_dataset.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        _add(archive, "download/README", b"about")
        _add(archive, "download/training_set.tar", inner.getvalue())
    return path


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def shared(folder: Path, *, users: int = 60, items: int = 25, seed: int = 1) -> Path:
    """Write small logs under the names of the shared folder: films, check-ins, places, baskets, clicks, tags."""
    draws = np.random.Generator(np.random.PCG64(seed))
    films = _log(draws, users, items, records_per_user=12, twice=False)
    gender, age = draws.choice(["M", "F"], users), draws.choice([1, 18, 25, 35, 56], users)
    people = films["user"].to_numpy() - 1
    films = films.append_column("gender", pa.array(gender[people]))
    films = films.append_column("age", pa.array(age[people].astype(np.int8)))
    stars = np.random.Generator(np.random.PCG64(seed + 1)).integers(1, 6, films.num_rows).astype(np.int8)
    unrated = people >= users - 5  # as in the copy that is shared
    films = films.append_column("rating", pa.array(stars, mask=unrated))
    pq.write_table(films, folder / "movielens-1m.parquet")
    pq.write_table(films.filter(pa.array(~unrated)), folder / "movielens-100k.parquet")
    titles = [f"Film {number} ({1950 + number})" for number in range(1, items + 1)]
    pq.write_table(
        pa.table({"item": pa.array(range(1, items + 1), pa.int32()), "title": titles}),
        folder / "movielens-1m-items.parquet",
    )
    shutil.copy(folder / "movielens-1m-items.parquet", folder / "movielens-100k-items.parquet")
    visits = _log(draws, users, items, records_per_user=15, twice=True)
    minutes = draws.integers(1, 60 * 24 * 70, visits.num_rows).astype(np.int32)
    pq.write_table(visits.append_column("minute", pa.array(minutes)), folder / "foursquare-nyc.parquet")
    pq.write_table(_log(draws, users, items, records_per_user=11, twice=False), folder / "gowalla-10core.parquet")
    for name, records_per_user in (("fimi-retail", 7), ("kosarak-prefix", 5), ("bms-webview-1", 3)):
        pq.write_table(
            _log(draws, users, items, records_per_user=records_per_user, twice=False), folder / f"{name}.parquet"
        )
    bins, hosts = np.arange(4096), draws.zipf(1.6, 300)
    counts = np.bincount(np.minimum(hosts, 4096) - 1, minlength=4096)
    trace = {"dataset": ["NETTRACE"] * bins.size, "bin": bins.astype(np.int32), "count": counts}
    pq.write_table(pa.table(trace), folder / "dpbench-1d.parquet")
    for name in ("hetrec-lastfm-tags", "hetrec-movielens-tags"):
        tagged = _log(draws, users, items, records_per_user=9, twice=True).rename_columns(["user", "resource"])
        tags = draws.integers(1, 12, tagged.num_rows).astype(np.int32)
        tagged = tagged.append_column("tag", pa.array(tags))
        eager = np.array([[1, 1 + n % items, n] for n in range(1, 31)], dtype=np.int32)  # enough for theorem 4.4.1
        added = pa.table(list(eager.T), names=tagged.column_names)
        pq.write_table(pa.concat_tables([tagged, added]), folder / f"{name}.parquet")
    bands = [f"Band {number}" for number in range(1, items + 1)]
    artists = pa.table({"item": pa.array(range(1, items + 1), pa.int32()), "name": bands})
    pq.write_table(artists, folder / "hetrec-lastfm-artists.parquet")
    return folder


def _log(draws: np.random.Generator, users: int, items: int, *, records_per_user: int, twice: bool) -> pa.Table:
    weights = 1 / np.arange(1, items + 1)
    weights /= weights.sum()
    user, item = [], []
    for number in range(1, users + 1):
        many = int(draws.integers(max(1, records_per_user // 3), min(items, 2 * records_per_user)))
        user += [number] * many
        item += (1 + draws.choice(items, many, replace=twice, p=weights)).tolist()
    return pa.table({"user": pa.array(user, pa.int32()), "item": pa.array(item, pa.int32())})
