"""What the places and films of the synthetic logs are called, and when each kind of place is busy.

Nothing here is taken from a real register: names are put together from the word lists below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Week = tuple[int, int, int, int, int, int, int]


@dataclass(frozen=True)
class Kind:
    """A kind of venue: how common it is, when people go (Monday first), and how it is named.

    ``hours`` are relative weights of the hours from ``opens`` on; hours past midnight belong to the night
    that began on the day before.
    """

    label: str
    share: int
    week: Week
    opens: int
    hours: tuple[int, ...]
    patterns: tuple[str, ...]


KINDS = (
    Kind(
        "café",
        16,
        (9, 9, 10, 10, 12, 15, 13),
        7,
        (4, 8, 9, 7, 5, 5, 6, 6, 6, 4, 2),
        ("Café {noun}", "{person}'s Coffee", "{sign} Coffee House", "{street} Coffee Bar", "The {sign} Café"),
    ),
    Kind(
        "restaurant",
        22,
        (8, 9, 10, 12, 18, 19, 12),
        11,
        (2, 7, 7, 3, 1, 1, 3, 8, 11, 9, 4),
        (
            "{person}'s Table",
            "{sign} Kitchen",
            "{district} Noodle House",
            "{sign} Grill",
            "Trattoria {person}",
            "{person} & {other_person}",
            "{street} Pizzeria",
            "{sign} Curry House",
            "The {noun} and {other_noun}",
            "{street} Dumpling Bar",
        ),
    ),
    Kind(
        "bar",
        12,
        (4, 5, 7, 11, 27, 24, 6),
        17,
        (3, 5, 6, 8, 10, 10, 8, 5, 2),
        (
            "The {sign}",
            "The {noun} and {other_noun}",
            "{person}'s Taproom",
            "{street} Wine Bar",
            "The {sign} Arms",
        ),
    ),
    Kind(
        "club",
        4,
        (1, 1, 3, 9, 34, 40, 4),
        21,
        (5, 9, 12, 10, 7, 4, 2),
        (
            "Club {noun}",
            "{adjective} Room",
            "{sign} Ballroom",
            "The {adjective} Cellar",
            "{street} Warehouse",
        ),
    ),
    Kind(
        "cinema",
        3,
        (7, 12, 8, 9, 24, 25, 15),
        14,
        (3, 3, 4, 6, 8, 11, 12, 7, 3),
        ("{noun} Cinema", "{district} Picture House", "{sign} Cinema", "{street} Film Club"),
    ),
    Kind(
        "bakery",
        9,
        (10, 10, 10, 11, 13, 29, 12),
        6,
        (5, 9, 11, 10, 8, 5, 4, 3, 3, 3, 2),
        ("{person}'s Bakery", "{sign} Bakery", "{street} Bakehouse", "{person} & Daughters Bakers"),
    ),
    Kind(
        "market",
        3,
        (3, 4, 9, 6, 13, 48, 4),
        7,
        (5, 9, 12, 12, 9, 6, 3, 2),
        ("{district} Market", "{street} Market", "{noun} Farmers Market", "{noun} Flower Market"),
    ),
    Kind(
        "gym",
        7,
        (20, 19, 19, 17, 10, 7, 6),
        6,
        (6, 8, 5, 3, 3, 3, 4, 3, 2, 3, 7, 11, 12, 9, 5),
        (
            "{district} Gym",
            "{street} Fitness",
            "{noun} Climbing Hall",
            "{sign} Yoga",
            "{street} Swimming Pool",
        ),
    ),
    Kind(
        "canteen",
        5,
        (20, 21, 21, 20, 15, 2, 1),
        8,
        (2, 2, 2, 6, 12, 10, 3, 1),
        ("{person} Works Canteen", "{street} Canteen", "{noun} House Canteen", "{district} Campus Mensa"),
    ),
    Kind(
        "museum",
        3,
        (2, 9, 11, 12, 11, 22, 33),
        10,
        (6, 9, 9, 8, 9, 8, 6, 3),
        ("Museum of {plural}", "{person} Gallery", "{district} Museum", "{person} Collection"),
    ),
    Kind(
        "park",
        4,
        (9, 9, 10, 10, 12, 23, 27),
        7,
        (3, 4, 5, 6, 7, 7, 8, 9, 9, 9, 8, 6, 3),
        ("{person} Park", "{noun} Gardens", "{street} Playground", "{adjective} Meadow", "{noun} Hill"),
    ),
    Kind(
        "library",
        3,
        (17, 18, 18, 17, 13, 13, 4),
        9,
        (4, 7, 8, 6, 6, 8, 9, 9, 7, 4),
        ("{district} Library", "{street} Reading Room", "{person} Library"),
    ),
    Kind(
        "shop",
        6,
        (11, 11, 12, 13, 18, 32, 3),
        9,
        (3, 6, 8, 8, 7, 8, 9, 10, 9, 5),
        ("{person} Books", "{sign} Records", "{person}'s Hardware", "{street} Arcade", "{sign} Toys"),
    ),
    Kind(
        "theatre",
        2,
        (3, 9, 12, 14, 22, 25, 15),
        18,
        (8, 12, 8, 3),
        ("{noun} Theatre", "{person} Concert Hall", "{street} Playhouse", "{district} Opera"),
    ),
    Kind(
        "station",
        1,
        (16, 16, 16, 16, 18, 10, 8),
        5,
        (3, 7, 12, 11, 6, 4, 4, 5, 4, 4, 7, 11, 12, 9, 6, 4, 3, 2),
        ("{district} Station", "{street} Tram Stop", "{noun} Ferry Landing"),
    ),
)

LANDMARKS = (
    ("Central Station", "station"),
    ("Riverside Park", "park"),
    ("Old Harbour Market", "market"),
    ("Kornhaus Food Hall", "restaurant"),
    ("University Canteen", "canteen"),
    ("The Blue Heron", "bar"),
    ("City Library", "library"),
    ("Orpheum Cinema", "cinema"),
    ("Lindenhof Climbing Hall", "gym"),
    ("Museum of the Sea", "museum"),
    ("The Copper Kettle", "café"),
    ("The Velvet Room", "club"),
    ("Three Rivers Bakery", "bakery"),
    ("Northgate Arcade", "shop"),
    ("The Crooked Lantern", "bar"),
    ("Marble Baths", "gym"),
    ("Hilltop Botanical Garden", "park"),
    ("Glassworks Canteen", "canteen"),
    ("Lantern Street Playhouse", "theatre"),
    ("Harbour Noodle House", "restaurant"),
    ("Night Ferry Ballroom", "club"),
    ("Gallery of Modern Craft", "museum"),
    ("Meridian Picture House", "cinema"),
    ("Ferry Landing East", "station"),
)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


DISTRICTS = _words(
    "Lindenhof,Harbour,Northgate,Millbrook,Kornmarkt,Eastfield,Rosenberg,Old Town,Riverside,Hillcrest,"
    "Foxley,Westend,Sandhaven,Bellevue,Quarryside,Saint Clement"
)
_ADJECTIVES = _words(
    "Amber,Ashen,Autumn,Blue,Brass,Bright,Broken,Copper,Crimson,Crooked,Curious,Dancing,Distant,Drowsy,"
    "Electric,Emerald,Faithful,Forgotten,Gentle,Gilded,Golden,Happy,Hidden,Hollow,Humble,Idle,Indigo,Iron,"
    "Ivory,Jolly,Laughing,Little,Lonely,Lucky,Marble,Merry,Midnight,Mossy,Northern,Painted,Paper,Patient,"
    "Quiet,Red,Roaming,Rusty,Scarlet,Secret,Silver,Singing,Sleepy,Snowy,Southern,Spotted,Stone,Sunny,"
    "Velvet,Wandering,White,Wild,Winter,Wooden,Yellow,Young"
)
_NOUNS = _words(
    "Acorn,Almond,Anchor,Apple,Badger,Barrel,Beacon,Bell,Birch,Bridge,Butterfly,Candle,Cedar,Chestnut,"
    "Clover,Comet,Compass,Crane,Cricket,Crown,Dolphin,Dove,Dragon,Falcon,Feather,Fern,Fiddle,Finch,Fountain,"
    "Fox,Garden,Goose,Hare,Harvest,Hazel,Hedgehog,Heron,Horizon,Island,Juniper,Kettle,Kite,Ladder,Lantern,"
    "Lark,Lemon,Lighthouse,Lion,Magpie,Maple,Marigold,Mirror,Moon,Mulberry,Nightingale,Oak,Olive,Orchard,"
    "Otter,Owl,Peacock,Pear,Pelican,Pepper,Pilgrim,Pine,Plum,Poppy,Quill,Quince,Rabbit,Raven,River,Robin,"
    "Rose,Saffron,Sail,Salmon,Shepherd,Sparrow,Spoon,Stag,Star,Stork,Sunflower,Swallow,Swan,Thistle,Tiger,"
    "Tortoise,Tulip,Turtle,Violin,Walnut,Whale,Willow,Windmill,Wren"
)
_PEOPLE = _words(
    "Abara,Adler,Almeida,Andersen,Arslan,Baptiste,Becker,Bianchi,Bloom,Brandt,Calloway,Castellan,Chandra,"
    "Cohen,Costa,Dahl,Delacroix,Demir,Dubois,Eriksen,Farah,Ferrante,Fontaine,Fujita,Garnier,Goldberg,Gupta,"
    "Haddad,Hansen,Hartmann,Hoang,Ibrahim,Ivanova,Jansen,Jimenez,Kaplan,Karlsson,Keller,Kim,Kowalski,Laurent,"
    "Lindqvist,Lopez,Marino,Mbeki,Mensah,Moreau,Murphy,Nakamura,Navarro,Novak,Obi,Okafor,Oliveira,Pascal,"
    "Petrov,Quinn,Rahman,Reyes,Ricci,Rossi,Sato,Schneider,Silva,Sorensen,Suzuki,Tanaka,Tesfaye,Tran,Vargas,"
    "Vogel,Walsh,Weber,Wong,Yilmaz,Zhao"
)
_STREETS = tuple(
    f"{first} {second}"
    for second in ("Street", "Lane", "Square", "Row", "Yard")
    for first in _words(
        "Bell,Bishop,Canal,Castle,Chapel,Cooper,Dyer,Ferry,Fisher,Glover,Granary,Guild,Kiln,King,Lock,Mason,"
        "Mill,Mint,Orchard,Potter,Priory,Quay,Saddler,Salt,School,Tanner,Tower,Weaver,Well,Wool"
    )
)
_PLURALS = _words(
    "Bicycles,Bridges,Clocks,Dolls,Ferries,Glass,Gardens,Illusions,Instruments,Letters,Lighthouses,Maps,Masks,"
    "Minerals,Paper,Photographs,Ships,Silk,Stars,Stones,Tea,Textiles,Toys,Trams,Watches,Wine"
)
_TITLES = (
    "The {adjective} {noun}",
    "{adjective} {noun}",
    "The {noun} of {district}",
    "A {noun} for {person}",
    "{person} and the {noun}",
    "Last Train to {district}",
    "The {noun} Keeper",
    "Beyond the {adjective} {noun}",
    "{person} in {district}",
    "The {adjective} Summer of {person}",
    "Night on {street}",
    "Letters from {street}",
    "The {person} Affair",
    "Return of the {noun}",
    "{noun} Season",
)


def venue_names(
    rng: np.random.Generator, kinds: Sequence[int] | NDArray[np.int64], districts: NDArray[np.int64]
) -> list[str]:
    """Return a distinct name for each venue, given its kind and district; none is a landmark's.

    >>> rng = np.random.Generator(np.random.PCG64(1))
    >>> len(set(venue_names(rng, [0] * 500, np.zeros(500, dtype=np.int64))))
    500
    """
    taken = {name: 1 for name, _ in LANDMARKS}
    return [
        _fresh(rng, KINDS[kind].patterns, DISTRICTS[district % len(DISTRICTS)], taken, " No. {}")
        for kind, district in zip(kinds, districts, strict=True)
    ]


def film_titles(rng: np.random.Generator, many: int) -> list[str]:
    """Return ``many`` distinct film titles, each with a year.

    >>> titles = film_titles(np.random.Generator(np.random.PCG64(1)), 3)
    >>> len(set(titles)), all(title.endswith(")") for title in titles)
    (3, True)
    """
    taken: dict[str, int] = {}
    years = 2026 - np.floor(70 * rng.random(many) ** 2).astype(np.int64)
    return [_fresh(rng, _TITLES, None, taken, " Part {}") + f" ({year})" for year in years]


def _fresh(
    rng: np.random.Generator,
    patterns: tuple[str, ...],
    district: str | None,
    taken: dict[str, int],
    numbered: str,
) -> str:
    """Fill a pattern until the name is new; after a few tries, number the last one."""
    name = ""
    for _ in range(12):
        draws = rng.random(8)
        adjective = _pick(_ADJECTIVES, draws[0])
        noun, other_noun = _pick_two(_NOUNS, draws[1], draws[2])
        person, other_person = _pick_two(_PEOPLE, draws[3], draws[4])
        name = _pick(patterns, draws[5]).format(
            adjective=adjective,
            noun=noun,
            other_noun=other_noun,
            sign=f"{adjective} {noun}",
            person=person,
            other_person=other_person,
            street=_pick(_STREETS, draws[6]),
            plural=_pick(_PLURALS, draws[7]),
            district=district or _pick(DISTRICTS, draws[7]),
        )
        if name not in taken:
            taken[name] = 1
            return name
    plain = name
    while name in taken:
        taken[plain] += 1
        name = plain + numbered.format(taken[plain])
    taken[name] = 1
    return name


def _pick(words: Sequence[str], draw: float) -> str:
    return words[int(draw * len(words))]


def _pick_two(words: Sequence[str], draw: float, other: float) -> tuple[str, str]:
    first = int(draw * len(words))
    return words[first], words[(first + 1 + int(other * (len(words) - 1))) % len(words)]
