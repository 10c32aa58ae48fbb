"""Labels, names and goods, cut into the halves that documents are drawn for."""

import random
import string
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

Half = Literal["tuning", "judging"]
_JUDGING_SHARE = 0.5
"""How often a document of the judging half takes a label that only this half has."""


@cache
def _data(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8")))


def _split(text: str) -> tuple[list[str], list[str]]:
    """The words before the bar, and those after it."""
    common, _, own = text.partition("|")
    return [word.strip() for word in common.split(";")], [word.strip() for word in own.split(";")] if own else []


def label(rng: random.Random, half: Half, section: str, key: str) -> str:
    """A label of a language (or of "tax" and "vat_id" by country); the tuning half never sees those of the judging half."""
    common, own = _split(_data("labels.yaml")[section][key])
    return rng.choice(own if own and half == "judging" and rng.random() < _JUDGING_SHARE else common)


def name(rng: random.Random, half: Half, language: str, key: str) -> str:
    """A word for names: the halves share none."""
    common, own = _split(_data("names.yaml")["languages"][language][key])
    return rng.choice(own if half == "judging" and own else common)


def form(rng: random.Random, half: Half, language: str) -> str:
    """A legal form, or nothing."""
    data = _data("names.yaml")["languages"][language]
    common, own = _split(data.get("form", "Ltd; Limited; Inc.; LLC; ; & Co | LLP; Corp."))
    return rng.choice([*common, *own] if half == "judging" else common)


def town(rng: random.Random, half: Half, country: str) -> str:
    """A town with its postal code, in the country's form."""
    common, own = _split(_data("names.yaml")["towns"][country])
    chosen = rng.choice(own if half == "judging" else common)
    letters = "ABDEFGHJLNPQRSTUWXYZ"
    return "".join(
        rng.choice(string.digits) if sign == "#" else rng.choice(letters) if sign == "@" else sign for sign in chosen
    )


def goods(rng: random.Random, half: Half, language: str, key: str) -> list[str]:
    """The goods of a kind, in random order."""
    common, own = _split(_data("names.yaml")["languages"][language][key])
    chosen = [*common, *own] if half == "judging" else common
    return rng.sample(chosen, len(chosen))


def chosen(rng: random.Random, section: str, key: str) -> str:
    """Words of neighbours.yaml, which only layouts of the tuning half print: of a language, or of "firms" or "countries"."""
    data = _data("neighbours.yaml")
    words = str(data[section].get(key) or data["en"][key])
    return rng.choice([word.strip() for word in words.split(";")])


def tax_names(key: str) -> list[str]:
    """What the tax of a country is called in both halves, the usual name first. `key`: of a region."""
    return _split(_data("labels.yaml")["tax"][key])[0]
