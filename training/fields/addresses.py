"""Addresses of sellers and buyers as lines."""

import random

from training.fields.regions import Region
from training.fields.words import Half, chosen, name, town

_NUMBER_FIRST = {"US", "GB", "IE", "AU", "FR", "IN", "SG", "KR", "TW"}
_RICH = 0.5
"""The share of addresses of the tuning half with more lines, or in one line."""
_STATES = {
    "MY": ("Selangor", "Selangor Darul Ehsan", "Johor", "Wilayah Persekutuan", "Perak", "Pulau Pinang"), "IN": ("Maharashtra", "Karnataka", "Tamil Nadu, India"),
    "GB": ("West Yorkshire", "Kent", "Surrey"), "IT": ("Lombardia",), "CN": (), "IE": ("Co. Dublin", "Co. Cork"),
}  # fmt: skip
_BUILDINGS = {
    "MY": ("Wisma Harmoni", "Menara Utama", "Plaza Sentral", "Kompleks Damai", "Sunway Mall", "The Gardens Mall", "Mid Valley", "Bangunan Setia"),
    "SG": ("Orchard Plaza", "Raffles Tower", "Jurong Point"), "DE": ("Haus 3", "Gewerbepark Süd", "Im Hof", "Gebäude B, 2. OG"), "AT": ("Stiege 2", "Top 14"), "FR": ("Bâtiment B", "ZI Nord", "Immeuble Le Parc", "BP 1042"),
    "IT": ("Palazzo C", "Zona Industriale"), "ES": ("Edificio Norte", "Polígono Industrial Sur", "2º B"), "PT": ("Edifício Atlas", "Lote 7"), "NL": ("Gebouw De Haven",),
    "PL": ("lok. 12", "II piętro"), "CZ": ("budova A",), "CH": ("Postfach 221", "Haus am See"), "ZH": ("国际大厦12层", "科技园3号楼"), "JP": ("第二ビル3F", "中央ビル501号室"), "CN": ("国际大厦1205室", "科技园3号楼"),
}  # fmt: skip
_ENGLISH = (
    "Suite {n}",
    "Unit {n}",
    "{n}th Floor",
    "Riverside House",
    "Business Park",
    "P.O. Box 1{n}",
    "Dept. {n}",
    "Victoria Buildings",
    "Tower B, Level {n}",
    "Shop {n}, Ground Floor",
)


def _malaysian(rng: random.Random, number: int) -> str:
    return (
        f"No. {number}, Jalan {rng.choice(('SS', 'PJU', 'Bukit', 'Setia'))} {rng.randint(1, 22)}/{rng.randint(1, 30)}"
    )


def _street(rng: random.Random, region: Region, half: Half, number: int) -> str:
    street = name(rng, half, region.language, "street")
    if region.country in _NUMBER_FIRST or region.key == "CH-fr":
        return f"{number}{',' if region.country == 'IN' else ''} {street}"
    return f"{street}{', ' if region.country in {'IT', 'ES', 'PT'} else ' '}{number}"


def _plain(rng: random.Random, region: Region, half: Half) -> tuple[str, ...]:
    place = town(rng, half, region.key)
    number = rng.randint(1, 180)
    if region.country == "MY":
        return _malaysian(rng, number), place
    if region.language not in {"zh", "ja"}:
        line = _street(rng, region, half, number)
        unit = {"US": "Suite ", "AU": "Unit ", "GB": "Unit "}.get(region.country)
        if unit and rng.random() < 0.2:
            return f"{unit}{rng.randint(1, 40)}", line, place
        return line, place
    street = name(rng, half, region.language, "street")
    if region.language == "zh":
        return (f"{place}{street}{number}号",)
    line = f"{street}{rng.randint(1, 9)}-{rng.randint(1, 20)}-{rng.randint(1, 30)}"
    post, _, city = place.partition(" ")
    return (post, f"{city}{line}")


def _building(rng: random.Random, region: Region) -> str:
    own = _BUILDINGS.get(region.country, ())
    text = rng.choice((*own, *_ENGLISH) if region.language == "en" else own or ("",))
    return text.format(n=rng.randint(4, 30))


def _mall(rng: random.Random) -> str:
    """A shop's unit in a mall or a row of shops."""
    unit = f"{rng.choice(('G', 'LG', 'F', '1', 'UG', 'L2'))}-{rng.randint(1, 99):02}"
    return rng.choice(
        (
            f"Lot {unit}",
            f"Lot No. {unit}, Level {rng.randint(1, 5)}",
            f"Unit {unit}",
            f"{unit} & {unit}A, Ground Floor",
            f"Kiosk {unit}",
        )
    )


def _rich(rng: random.Random, region: Region, lines: tuple[str, ...]) -> tuple[str, ...]:
    """The address with a unit, a building, a district, a state or its country; or in one line."""
    if not region.spaced:
        built = (*lines[:-1], lines[-1], _building(rng, region))
        return rng.choice((built, lines, ("".join(built),)))
    if rng.random() < 0.15:
        return (", ".join(lines),)
    made = list(lines)
    if region.country in {"MY", "SG", "IN", "ID"} and rng.random() < 0.5:
        made.insert(0, _mall(rng))
    if rng.random() < 0.4:
        made.insert(rng.randint(0, 1), _building(rng, region))
    if region.country in {"MY", "IN", "GB", "IE"} and rng.random() < 0.45:
        made.append(rng.choice(_STATES[region.country]))
    elif region.country == "MY":
        made.insert(-1, f"Taman {name(rng, 'tuning', 'en', 'firm')}")
    if region.country != "CH" and rng.random() < 0.35:
        made.append(chosen(rng, "countries", region.country))
    if len(made) > 3 and rng.random() < 0.3:
        made[:2] = [f"{made[0]}, {made[1]}"]
    if rng.random() < 0.3:
        made = [line if n == len(made) - 1 else line.rstrip(",") + "," for n, line in enumerate(made)]
    return tuple(line for line in made if line)


def address(rng: random.Random, region: Region, half: Half) -> tuple[str, ...]:
    """One to six lines; the judging half has few forms of them."""
    lines = _plain(rng, region, half)
    return _rich(rng, region, lines) if half == "tuning" and rng.random() < _RICH else lines
