"""The list of all data sets that can be loaded by name.

Sizes and checksums are those that publishers give, or that the files are known to have; 0 stands for what we do
not know for certain.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow.compute as pc

from headcount.events.sources.source import Source, TableSource
from headcount.events.times import LABELS
from headcount.lab.datasets import baskets, downloads, large, stand_ins, user_tables
from headcount.lab.datasets.entry import DatasetEntry, Download
from headcount.lab.datasets.parsed import Sizes, whole

AGES = ("Under 25", "25-34", "Above 34")
"""The age groups of Fan and Jin, section 6.3."""


def with_age_groups(source: Source) -> Source:
    """Turn the ages of MovieLens, 1 for under 18, into the three groups of Fan and Jin."""
    table = whole(source)
    age = table["age"]
    group = pc.if_else(pc.less(age, 25), AGES[0], pc.if_else(pc.less(age, 35), AGES[1], AGES[2]))
    return TableSource(table.set_column(table.column_names.index("age"), "age", group))


_DEMOGRAPHIC = {"gender": {"context": "gender,age", "contexts": {"gender": ["M", "F"], "age": list(AGES)}}}
_WEEK = {"weekday": {"context": "weekday", "contexts": {"weekday": list(LABELS["weekday"])}}}
_NEW_YORK = "America/New_York"
_GROUPLENS = (
    "research use with acknowledgement; not to be redistributed, nor used commercially, without permission"
)
_HETREC = "non-commercial use; cite Last.fm and HetRec 2011"
_HETREC_PAGE = "GroupLens, HetRec 2011 (https://grouplens.org/datasets/hetrec-2011/)"
_FIMI = "the FIMI repository (http://fimi.uantwerpen.be/data/)"
_KDD_CUP = "KDD Cup 2000 (Blue Martini Software)"
_KDD_CUP_TERMS = "KDD Cup 2000 agreement: research use with acknowledgement"
_SNAP = "SNAP, loc-gowalla (https://snap.stanford.edu/data/loc-gowalla.html)"
_SNAP_TERMS = "no licence text found; cite E. Cho, S. A. Myers, J. Leskovec, KDD 2011"
_CHECKINS = Download(
    (downloads.GOWALLA,), "lines of user, UTC time, latitude, longitude and place between tabs", downloads.gowalla
)
_NETFLIX_TERMS = "its publisher no longer hands it out; research use, no redistribution"
_NETFLIX_PAGE = "the Netflix Prize (README of the training set)"
_NETFLIX_SAYS = Sizes(records=100_480_507, users=480_189, items=17_770)
_NETFLIX = (
    Download(
        (large.NETFLIX,),
        "mv_0000001.txt to mv_0017770.txt: a line with film and colon, then user, rating and date between commas",
        large.netflix,
    ),
    Download(
        large.NETFLIX_PARTS,
        "lines with film and colon, each followed by user, rating and date between commas",
        large.netflix_parts,
    ),
)

ENTRIES: Mapping[str, DatasetEntry] = {
    "movielens-1m": DatasetEntry(
        about="MovieLens 1M, film ratings with gender and age of the users",
        licence=_GROUPLENS,
        page="GroupLens, MovieLens 1M (https://grouplens.org/datasets/movielens/1m/)",
        downloads=(
            Download(
                (downloads.RATINGS, downloads.USERS, downloads.MOVIES),
                "ratings.dat (user::film::rating::time), users.dat and movies.dat",
                downloads.movielens_1m,
            ),
        ),
        publisher_says=Sizes(records=1_000_209, users=6_040, items=3_706),
        checksums={"ml-1m.zip": "c4d9eecfca2ab87c1945afe126590906"},
        shared=("movielens-1m", "movielens-1m-items"),
        copy_columns="user, item, rating, gender, age",
        labels=("item", "title"),
        words=_DEMOGRAPHIC,
        prepare=with_age_groups,
    ),
    "movielens-100k": DatasetEntry(
        about="MovieLens 100K, film ratings",
        licence=_GROUPLENS,
        page="GroupLens, MovieLens 100K (https://grouplens.org/datasets/movielens/100k/)",
        downloads=(
            Download(
                (downloads.RATINGS_100K, downloads.MOVIES_100K),
                "u.data (user, film, rating, time between tabs) and u.item",
                downloads.movielens_100k,
            ),
        ),
        publisher_says=Sizes(records=100_000, users=943, items=1_682),
        checksums={"ml-100k.zip": "0e33842e24a9c977be4e0107933c0723"},
        shared=("movielens-100k", "movielens-100k-items"),
        copy_columns="user, item, rating",
        labels=("item", "title"),
    ),
    "movielens-10m": DatasetEntry(
        about="MovieLens 10M, film ratings",
        licence=_GROUPLENS,
        page="GroupLens, MovieLens 10M (https://grouplens.org/datasets/movielens/10m/)",
        downloads=(
            Download(
                (downloads.RATINGS_10M, downloads.MOVIES_10M),
                "ratings.dat (user::film::rating::time) and movies.dat",
                downloads.movielens_10m,
            ),
        ),
        publisher_says=Sizes(records=10_000_054, users=69_878, items=10_677),
        checksums={"ml-10m.zip": "ce571fd55effeba0271552578f2648bd"},
        shared=("movielens-10m", "movielens-10m-items"),
        labels=("item", "title"),
    ),
    "foursquare-nyc": DatasetEntry(
        about="Foursquare check-ins in New York; the copy counts minutes from about 2012-04-03 18:00 UTC",
        licence="research use; traces of people's movements, to be handled with care",
        page="D. Yang and others, TSMC 2014 (https://sites.google.com/site/yangdingqi/home/foursquare-dataset)",
        downloads=(
            Download(
                (downloads.FOURSQUARE,),
                "dataset_TSMC2014_NYC.txt: user, venue, category and its name, latitude, longitude, minutes from "
                "UTC and UTC time between tabs",
                downloads.foursquare_nyc,
            ),
        ),
        publisher_says=Sizes(records=227_428, users=1_083, items=38_333),
        shared=("foursquare-nyc",),
        copy_columns="user, item, and time or minute",
        words={
            "minute": {
                "context": "weekday:minute",
                "time_format": "min@2012-04-03T18:00:00+00:00",
                "timezone": _NEW_YORK,
            },
            "time": {"context": "weekday:time", "timezone": _NEW_YORK},
        },
    ),
    "gowalla-10core": DatasetEntry(
        about="Gowalla, users and places with ten or more alone, each pair once and without time",
        licence="no licence text found; cite the papers",
        page="the authors of NGCF (X. Wang and others, SIGIR 2019) and LightGCN (X. He and others, SIGIR 2020)",
        downloads=(
            Download(
                (baskets.GOWALLA_TRAIN, baskets.GOWALLA_TEST),
                "a line for each user: their number and those of their places between blanks",
                baskets.gowalla_10core,
            ),
        ),
        publisher_says=Sizes(records=1_027_370, users=29_858, items=40_981),
        shared=("gowalla-10core",),
    ),
    "gowalla": DatasetEntry(
        about="all check-ins of Gowalla",
        licence=_SNAP_TERMS,
        page=_SNAP,
        downloads=(_CHECKINS,),
        publisher_says=Sizes(records=6_442_890, users=0, items=0),
        shared=("gowalla",),
        copy_columns="user, item, time",
        shape=stand_ins.GOWALLA,
        scale=0.1,
        words={"time": {"context": "weekday:time"}, **_WEEK},
    ),
    "gowalla-all-places": DatasetEntry(
        about="all check-ins of Gowalla, with a column for every number of a place up to the largest, used or not",
        licence=_SNAP_TERMS,
        page=_SNAP,
        downloads=(_CHECKINS,),
        publisher_says=Sizes(records=6_442_890, users=0, items=0),
        shared=("gowalla",),
        columns=range(5_977_758),
    ),
    "kosarak": DatasetEntry(
        about="Kosarak, clicks on a news portal",
        licence="no licence text found",
        page=_FIMI,
        downloads=(
            Download((baskets.KOSARAK,), "a line for each session: its pages between blanks", baskets.kosarak),
        ),
        publisher_says=Sizes(records=0, users=990_002, items=41_270),
        shared=("kosarak",),
    ),
    "kosarak-prefix": DatasetEntry(
        about="Kosarak, the first 36,682 of 990,002 sessions",
        licence="no licence text found",
        page=_FIMI,
        shared=("kosarak-prefix",),
    ),
    "hetrec-lastfm-plays": DatasetEntry(
        about="Last.fm, the artists that people listened to most",
        licence=_HETREC,
        page=_HETREC_PAGE,
        downloads=(
            Download(
                (downloads.PLAYS, downloads.ARTISTS),
                "user_artists.dat (user, artist, times between tabs) and artists.dat",
                downloads.hetrec_plays,
            ),
        ),
        publisher_says=Sizes(records=92_834, users=1_892, items=17_632),
        shared=("hetrec-lastfm-plays", "hetrec-lastfm-artists"),
        labels=("item", "name"),
    ),
    "hetrec-lastfm-tags": DatasetEntry(
        about="Last.fm, the tags that people gave to artists",
        licence=_HETREC,
        page=_HETREC_PAGE,
        downloads=(
            Download(
                (downloads.TAGGED, downloads.ARTISTS),
                "user_taggedartists.dat (user, artist, tag, day, month, year between tabs) and artists.dat",
                downloads.hetrec_tags,
            ),
        ),
        publisher_says=Sizes(records=186_479, users=1_892, items=12_523),
        shared=("hetrec-lastfm-tags", "hetrec-lastfm-artists"),
        copy_columns="user, item, tag",
        labels=("item", "name"),
    ),
    "hetrec-movielens-tags": DatasetEntry(
        about="MovieLens, the tags that people gave to films",
        licence="non-commercial research; cite HetRec 2011",
        page=_HETREC_PAGE,
        downloads=(
            Download(
                (downloads.TAGGED_FILMS,),
                "user_taggedmovies-timestamps.dat (user, film, tag, time between tabs)",
                downloads.hetrec_film_tags,
            ),
        ),
        publisher_says=Sizes(records=47_957, users=2_113, items=5_908),
        shared=("hetrec-movielens-tags",),
        copy_columns="user, item, tag",
    ),
    "hetrec-delicious-tags": DatasetEntry(
        about="Delicious, the tags that people gave to pages",
        licence="non-commercial research; cite HetRec 2011",
        page=_HETREC_PAGE,
        downloads=(
            Download(
                (downloads.TAGGED_PAGES,),
                "user_taggedbookmarks-timestamps.dat (user, page, tag, time between tabs)",
                downloads.hetrec_page_tags,
            ),
        ),
        publisher_says=Sizes(records=437_593, users=1_867, items=0),
        shared=("hetrec-delicious-tags",),
        copy_columns="user, item, tag",
    ),
    "fimi-retail": DatasetEntry(
        about="FIMI retail, the baskets of a Belgian supermarket",
        licence="use with acknowledgement of the donor, T. Brijs",
        page=_FIMI,
        downloads=(
            Download((baskets.RETAIL,), "a line for each basket: its goods between blanks", baskets.retail),
        ),
        publisher_says=Sizes(records=908_576, users=88_162, items=16_470),
        shared=("fimi-retail",),
    ),
    "bms-webview-1": DatasetEntry(
        about="BMS-WebView-1, page views of a shop",
        licence=_KDD_CUP_TERMS,
        page=_KDD_CUP,
        downloads=(
            Download(
                (baskets.BMS_SESSIONS,),
                "a line for each session: its pages between blanks",
                baskets.bms_sessions,
            ),
            Download((baskets.BMS_VIEWS,), "a line for each view: session and page", baskets.bms_views),
        ),
        publisher_says=Sizes(records=149_639, users=59_602, items=497),
        shared=("bms-webview-1",),
    ),
    "bms-pos": DatasetEntry(
        about="BMS-POS, purchases in a shop by kinds of goods",
        licence=_KDD_CUP_TERMS,
        page=_KDD_CUP,
        downloads=(
            Download((baskets.BMS_POS,), "a line for each thing bought: purchase and kind", baskets.bms_pos),
        ),
        publisher_says=Sizes(records=0, users=515_597, items=1_657),
        shared=("bms-pos",),
    ),
    "msweb": DatasetEntry(
        about="areas of microsoft.com that people visited in a week of 1998",
        licence="CC BY 4.0",
        page="UCI, Anonymous Microsoft Web Data (https://archive.ics.uci.edu/dataset/4/anonymous+microsoft+web+data)",
        downloads=(
            Download(
                (baskets.MSWEB, baskets.MSWEB_TEST),
                "lines A (an area), C (a visitor) and V (an area that they visited), between commas",
                baskets.msweb,
            ),
        ),
        publisher_says=Sizes(records=113_845, users=37_711, items=0),
        shared=("msweb", "msweb-items"),
        labels=("item", "title"),
    ),
    "uci-adult": DatasetEntry(
        about="UCI Adult, 30,162 of 45,222 complete records, in 16 bins each of four columns",
        licence="CC BY 4.0",
        page="UCI, Adult (https://archive.ics.uci.edu/dataset/2/adult)",
        downloads=(
            Download(
                (user_tables.ADULT, user_tables.ADULT_TEST),
                "15 fields between commas, age first",
                user_tables.adult,
            ),
        ),
        publisher_says=Sizes(records=48_842, users=0, items=0),
        shared=("uci-adult",),
        copy_columns="the 15 of the publisher, from age to income",
        people=user_tables.adult_cells,
        columns=range(user_tables.ADULT_CELLS),
    ),
    "uci-adult-hours": DatasetEntry(
        about="UCI Adult, 30,162 of 45,222 complete records, by hours a week",
        licence="CC BY 4.0",
        page="UCI, Adult (https://archive.ics.uci.edu/dataset/2/adult)",
        downloads=(
            Download(
                (user_tables.ADULT, user_tables.ADULT_TEST),
                "15 fields between commas, age first",
                user_tables.adult,
            ),
        ),
        publisher_says=Sizes(records=48_842, users=0, items=0),
        shared=("uci-adult",),
        copy_columns="the 15 of the publisher, from age to income",
        people=user_tables.hours_cells,
        columns=range(user_tables.HOURS_CELLS),
    ),
    "nltcs": DatasetEntry(
        about="the National Long-Term Care Survey, 16 questions of two values",
        licence="no licence text found",
        page="StatLib, the disability table of the National Long-Term Care Survey (http://lib.stat.cmu.edu/datasets/)",
        downloads=(
            Download(
                (user_tables.NLTCS,),
                "under a heading, 16 answers of 0 or 1, how many people gave them, and percent, between tabs",
                user_tables.nltcs,
            ),
        ),
        publisher_says=Sizes(records=21_574, users=0, items=0),
        shared=("nltcs",),
        copy_columns="a0 to a15",
        people=user_tables.nltcs_cells,
        columns=range(user_tables.NLTCS_CELLS),
    ),
    "dpbench-nettrace": DatasetEntry(
        about="connections of a network trace by host (DPBench)",
        licence="no licence text found; cite M. Hay and others, SIGMOD 2016",
        page="DPBench, M. Hay and others, SIGMOD 2016 (datafiles/1D of the repository dpcomp_core)",
        downloads=(Download((user_tables.NETTRACE,), "an array of 4,096 counts", user_tables.nettrace),),
        shared=("dpbench-1d",),
        copy_columns="dataset, bin, count",
        people=user_tables.nettrace_cells,
        columns=range(user_tables.NETTRACE_CELLS),
    ),
    "netflix": DatasetEntry(
        about="Netflix",
        licence=_NETFLIX_TERMS,
        page=_NETFLIX_PAGE,
        downloads=_NETFLIX,
        publisher_says=_NETFLIX_SAYS,
        shared=("netflix",),
        copy_columns="user, item, rating, date",
        shape=stand_ins.NETFLIX,
        scale=0.01,
        words={"date": {"context": "weekday:date"}, **_WEEK},
    ),
    "netflix-extract": DatasetEntry(
        about="Netflix, films that 20 to 250 people rated, and people who rated 20 or more of these",
        licence=_NETFLIX_TERMS,
        page=_NETFLIX_PAGE,
        downloads=_NETFLIX,
        publisher_says=_NETFLIX_SAYS,
        shared=("netflix",),
        copy_columns="user, item, rating, date",
        prepare=large.rarely_rated,
    ),
    "pubmed": DatasetEntry(
        about="PubMed abstracts",
        licence="CC BY 4.0",
        page="UCI, Bag of Words (https://archive.ics.uci.edu/dataset/164/bag+of+words)",
        downloads=(
            Download(
                (large.PUBMED,),
                "three lines with the numbers of documents, words and rows, then document, word and count between "
                "blanks",
                large.pubmed,
            ),
        ),
        publisher_says=Sizes(records=483_450_157, users=0, items=0),
        shared=("pubmed",),
        shape=stand_ins.PUBMED,
        scale=0.01,
        columns=range(1, 141_044),
    ),
}
"""All data sets that are known by name."""
