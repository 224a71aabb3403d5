"""Synthetic files in the formats of the publishers of public datasets."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.lab.replicate import papers

Rows = Sequence[tuple[int, int | str]]
TRAIN = """\
39, State-gov, 77516, Bachelors, 13, Divorced, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K
50, Private, 83311, HS-grad, 9, Divorced, Sales, Husband, White, Male, 0, 0, 13, United-States, >50K
38, ?, 215646, HS-grad, 9, Divorced, ?, Not-in-family, White, Male, 0, 0, 40, United-States, <=50K

"""
TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, Peru, <=50K.
50, Private, 83311, HS-grad, 9, Divorced, Sales, Husband, White, Male, 0, 0, 13, United-States, >50K.
"""
# bins of age, school, hours and job of the complete ones: 1 6 6 6, 4 12 6 0, and 6 8 2 11 twice
ADULTS = [(0, 5734), (1, 19552), (2, 26667), (3, 26667)]
NLTCS = "\t".join([*(f"Y{n}" for n in range(1, 17)), "COUNT", "PERCENT"]) + "\n"
NLTCS += "\t".join(["0"] * 16 + ["2", "66.67"]) + "\n" + "\t".join(["1"] + ["0"] * 14 + ["1", "1", "33.33"]) + "\n"
MSWEB = (
    'I,4,"www.microsoft.com","created by getlog.pl"\nA,1287,1,"International AutoRoute","/autoroute"\n'
    'A,1000,1,"regwiz","/regwiz"\nC,"10001",10001\nV,1000,1\nV,1287,1\nC,"10002",10002\nV,1000,1\n'
)


@dataclass(frozen=True)
class Published:
    """How to write a publisher's files into a folder, and the users and items of their records."""

    write: Callable[[Path], object]
    rows: Rows


def texts(files: dict[str, str | bytes]) -> Callable[[Path], None]:
    """Write files; what ends with gz is compressed."""

    def write(folder: Path) -> None:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            raw = content.encode("latin-1") if isinstance(content, str) else content
            path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)

    return write


def zipped(archive: str, inside: str, files: dict[str, str]) -> Callable[[Path], object]:
    return lambda folder: papers.zipped(folder / archive, inside, files, "latin-1")


def _trace() -> bytes:
    counts = np.zeros(4096)
    counts[[3, 4095]] = 2, 1
    file = io.BytesIO()
    np.save(file, counts)
    return file.getvalue()


NETFLIX: Rows = [(1488844, 1), (822109, 1), (1488844, 2)]
COMBINED: dict[str, str | bytes] = {
    "combined_data_1.txt": "1:\n1488844,3,2005-09-06\n822109,5,2005-05-13\n",
    "combined_data_2.txt": "2:\n1488844,4,2005-09-05\n",
    "combined_data_3.txt": "",
    "combined_data_4.txt": "",
}
TAGGED = "userID\tmovieID\ttagID\ttimestamp\n75\t353\t5290\t1162160415000\n78\t353\t5264\t1176691425000\n"
GOWALLA: Rows = [(0, 22847), (0, 420315), (7, 22847)]

PUBLISHED: dict[str, Published] = {
    "movielens-1m": Published(papers.movielens, [(1, 10), (1, 20), (2, 10), (3, 30)]),
    "movielens-100k": Published(
        zipped(
            "ml-100k.zip",
            "ml-100k",
            {
                "u.data": "196\t242\t3\t881250949\n186\t302\t3\t891717742\n",
                "u.item": "242|Caf\xe9 (1996)|24-Jan-1997||http://a|0|1\n302|Rye (1997)|1-Jan-1997||http://b|0|0\n",
            },
        ),
        [(196, 242), (186, 302)],
    ),
    "movielens-10m": Published(
        zipped(
            "ml-10m.zip",
            "ml-10M100K",
            {
                "ratings.dat": "1::122::5::838985046\n2::122::3.5::838983525\n",
                "movies.dat": "122::Boomerang (1992)::Comedy|Romance\n",
            },
        ),
        [(1, 122), (2, 122)],
    ),
    "foursquare-nyc": Published(papers.foursquare, [(470, "49bbd6c0"), (979, "4a43c0ae")]),
    "gowalla-10core": Published(
        texts({"gowalla/train.txt": "0 5 7\n1 5\n", "gowalla/test.txt": "0 9\n1\n"}),
        [(0, 5), (0, 7), (0, 9), (1, 5)],
    ),
    "gowalla": Published(papers.gowalla, GOWALLA),
    "gowalla-all-places": Published(
        lambda folder: papers.gowalla(folder, papers.GOWALLA.replace("22847", "3").replace("420315", "12")),
        [(0, 3), (0, 12), (7, 3)],
    ),
    "kosarak": Published(texts({"kosarak.dat.gz": "1 2 2\n\n7\n"}), [(1, 1), (1, 2), (1, 2), (3, 7)]),
    "hetrec-lastfm-plays": Published(papers.hetrec, [(2, 51), (2, 52), (3, 51)]),
    "hetrec-lastfm-tags": Published(papers.hetrec, [(2, 52), (3, 51)]),
    "hetrec-movielens-tags": Published(
        texts({"user_taggedmovies-timestamps.dat": TAGGED}), [(75, 353), (78, 353)]
    ),
    "hetrec-delicious-tags": Published(
        zipped("hetrec2011-delicious-2k.zip", ".", {"user_taggedbookmarks-timestamps.dat": TAGGED}),
        [(75, 353), (78, 353)],
    ),
    "fimi-retail": Published(texts({"retail.dat.gz": "0 1 2 \n30 \n"}), [(1, 0), (1, 1), (1, 2), (2, 30)]),
    "bms-webview-1": Published(texts({"BMS1.dat": "10307 10311\n12487\n"}), [(1, 10307), (1, 10311), (2, 12487)]),
    "bms-pos": Published(texts({"BMS-POS.dat.gz": "7\t1\n7\t2\n\n9\t1\n"}), [(7, 1), (7, 2), (9, 1)]),
    "msweb": Published(
        texts({"anonymous-msweb.data.gz": MSWEB, "anonymous-msweb.test.gz": 'C,"10001",10001\nV,1287,1\n'}),
        [(10001, 1000), (10001, 1287), (10002, 1000), (110001, 1287)],
    ),
    "uci-adult": Published(texts({"adult.data": TRAIN, "adult.test": TEST}), ADULTS),
    "uci-adult-hours": Published(
        texts({"adult.data": TRAIN, "adult.test": TEST}), [(0, 12), (1, 12), (2, 39), (3, 39)]
    ),
    "nltcs": Published(texts({"2to16disabilityNLTCS.txt": NLTCS}), [(0, 0), (1, 0), (2, 32769)]),
    "dpbench-nettrace": Published(texts({"NETTRACE.n4096.npy": _trace()}), [(0, 3), (1, 3), (2, 4095)]),
    "netflix": Published(papers.netflix, NETFLIX),
    "netflix-extract": Published(papers.netflix, NETFLIX),
    "pubmed": Published(
        texts({"docword.pubmed.txt.gz": "3\n141043\n3\n1 5 2\n1 141043 1\n3 5 1\n"}), [(1, 5), (1, 141043), (3, 5)]
    ),
}
"""By the name of the data set."""

OTHER_FORMS: dict[str, Published] = {
    "bms-webview-1": Published(
        texts({"BMS-WebView-1.dat": "1\t10307\n1\t10311\n2\t12487\n"}), PUBLISHED["bms-webview-1"].rows
    ),
    "netflix": Published(texts(COMBINED), NETFLIX),
    "uci-adult": Published(zipped("adult.zip", ".", {"adult.data": TRAIN, "adult.test": TEST}), ADULTS),
}
"""The same files as others hand them out."""
