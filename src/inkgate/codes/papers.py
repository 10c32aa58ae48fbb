"""Codes of papers that persons carry: North American driving licences and identity cards, and boarding passes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from inkgate.codes.days import iso_day

_AAMVA = re.compile(r"@\s{1,4}(?:ANSI |AAMVA)\d{6,12}")
_ELEMENTS: Final = {
    "DCS": "surname",
    "DAB": "surname",
    "DAC": "given_names",
    "DCT": "given_names",
    "DAD": "middle_names",
    "DAQ": "number",
    "DBB": "birth_date",
    "DBA": "expiry_date",
    "DBD": "issue_date",
    "DBC": "sex",
    "DAG": "street",
    "DAI": "city",
    "DAJ": "state",
    "DAK": "postcode",
    "DCG": "issuing_country",
}
"""Elements of the AAMVA card design standard (version 10) and names of their values."""
_SEXES: Final = {"1": "M", "2": "F", "9": "X"}
_DATES: Final = frozenset({"birth_date", "expiry_date", "issue_date"})
_BOARDING = re.compile(
    r"M(?P<legs>[1-4])(?P<name>[A-Z /.'-]{20})(?P<electronic>[E ])(?P<booking>[A-Z0-9 ]{7})"
    r"(?P<origin>[A-Z]{3})(?P<destination>[A-Z]{3})(?P<carrier>[A-Z0-9 ]{3})(?P<flight>\d{4}[A-Z ]|[A-Z0-9 ]{5})"
    r"(?P<day>\d{3})(?P<cabin>[A-Z])(?P<seat>[A-Z0-9 ]{4})(?P<sequence>[A-Z0-9 ]{5})(?P<status>[A-Z0-9 ])"
)
"""The first leg of IATA resolution 792, which has fixed widths."""


def id_card(text: str) -> Mapping[str, str] | None:
    """The PDF417 of a North American card (AAMVA)."""
    if not _AAMVA.match(text):
        return None
    values: dict[str, str] = {}
    for line in re.split(r"[\n\r\x1e]+", text):
        element = re.sub(r"^(?:DL|ID)(?=D[A-Z]{2})", "", line[-200:] if line.startswith("ANSI") else line)
        if line.startswith(("ANSI", "AAMVA")):  # the header ends where the first subfile begins
            begun = line.find("DLDA") if "DLDA" in line else line.find("DLD")
            element = line[begun + 2 :] if begun >= 0 else ""
        name = _ELEMENTS.get(element[:3])
        if name is not None and name not in values and (value := element[3:].strip()) and value != "NONE":
            values[name] = value
    if "number" not in values:
        return None
    american = values.get("issuing_country", "USA") == "USA"
    for name in _DATES & values.keys():
        values[name] = iso_day(values[name], month_first=american)
    values["sex"] = _SEXES.get(values.get("sex", ""), "")
    return values


def boarding_pass(text: str) -> Mapping[str, str] | None:
    """The code of a boarding pass; of several legs, the first. The day has no year: it stays the day of the year."""
    match = _BOARDING.match(text)
    if match is None or not 1 <= int(match["day"]) <= 366:
        return None
    surname, _, given = match["name"].strip().partition("/")
    flight = match["flight"].strip().lstrip("0")
    return {
        "surname": surname,
        "given_names": given,
        "booking": match["booking"].strip(),
        "origin": match["origin"],
        "destination": match["destination"],
        "flight": f"{match['carrier'].strip()}{flight}",
        "day_of_year": str(int(match["day"])),
        "cabin": match["cabin"],
        "seat": match["seat"].strip().lstrip("0"),
        "sequence": match["sequence"].strip().lstrip("0"),
    }
