"""Fields of invoices and receipts that show what they are: accounts, tax numbers, currency, telephone, time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Final, cast

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.accounts import iban_holds, vat_id_holds, without_country
from inkgate.fields.kinds.base import ParsedValue
from inkgate.fields.rules.candidates import FieldCandidate, candidates_of, is_word
from inkgate.fields.rules.rows import PrintedPages
from inkgate.fields.trade.countries import currency_meant
from inkgate.fields.trade.spots import LONGEST_CELL, Around, Spot, Surroundings, before_in_cell, spot_at, spots_of
from inkgate.fields.trade.words import Concepts, concepts_in
from inkgate_client.types import Box

PartyBox = tuple[str, int, Box]
"""A party's name, address or heading: which party, page, box in pixels."""
Known = Mapping[str, Sequence[FieldCandidate]]
"""What else was found, by field, the likeliest first."""
_WITH_CHECK, _WITHOUT_CHECK = 1.0, 0.85
_UNCHECKED, _OF_TWO = 0.6, 0.3
"""Scores of a tax number without check digits, and of one of several."""
_BEFORE_LABEL: Final = re.compile(r"[\d|·•;–]|\s[-—]\s")
"""What stands between a label and other texts before it."""
_MAX_NUMBERS: Final = 200
"""Tax numbers, and places of parties, that are compared."""
_DEPTH: Final = 2
"""Rows from a number up to its label."""
_FAR, _BESIDE = 10.0, 2.0
"""Heights of a line from which a number is of no party, and how much more space beside a line counts than below it.
`training.fields` documents: 6 to 30 heights and one to three times give the same F1 within 0.3 points."""
_LONGEST_HEADING, _IS_HEADING = 40, 0.5
"""Characters of a line that may be the heading of a party, and the share of its letters that say so."""
_PARTIES: Final = frozenset({"merchant_name", "merchant_address", "customer_name", "customer_address"})
_MOST_PRINTED, _OF_SEVERAL, _BROKEN = 0.96, 0.9, 0.85
"""Scores of a currency's code, of one of several times, and of a telephone number with one bracket."""
_HEAD_ROWS: Final = 16
"""Rows in which a telephone number needs no label."""
_LABEL: Final = 24
"""Characters before a telephone number that are its label."""
_T = re.compile(r"(?<!\w)[Tt]\s?[:.]\s*$")
"""A short label of a telephone number."""
_PHONE = re.compile(r"\+?\(?\d[\d\s()./-]{5,16}\d")
_PHONE_FORM = re.compile(r"\(?\d{2,4}\)?[\s-]{1,2}\d{3,4}[\s-]?\d{3,4}")


def plain_fields(pages: PrintedPages, known: Known) -> dict[str, list[FieldCandidate]]:
    """The fields that were found, by name. `known`: others of the document. Of several times the nearest to its date
    counts, of several tax numbers that of the issuer.
    """
    parties = _party_boxes(pages, known)
    found = {
        "iban": _account(pages),
        "currency": _currency(pages, known),
        "phone": _phone(pages, parties),
        "time": _time(pages, next(iter(known.get("date", ())), None)),
    }
    fields = {name: [candidate] for name, candidate in found.items() if candidate is not None}
    return fields | ({"vat_id": numbers} if (numbers := _tax_numbers(pages, parties)) else {})


def _account(pages: PrintedPages) -> FieldCandidate | None:
    """The first IBAN whose check digits hold."""
    found = _of_kind(pages, "iban")
    good = [each for each in found if iban_holds(_reading(each)) and "customer" not in concepts_in(each.label)]
    if len({_reading(each) for each in good}) > 1:
        return replace(good[0], score=_OF_TWO)
    return replace(good[0], score=_WITH_CHECK) if good else replace(found[0], score=_WITHOUT_CHECK) if found else None


def _tax_numbers(pages: PrintedPages, parties: Sequence[PartyBox]) -> list[FieldCandidate]:
    """The issuer's tax numbers: those that no label and no place calls the customer's. Where there are some whose check
    digits hold, others don't count; of several each may be meant.
    """
    spots = spots_of(pages, KINDS["vat_id"])[:_MAX_NUMBERS]
    sheet = Surroundings(pages)
    by_cell: dict[tuple[int, int], list[Spot]] = {}
    for spot in spots:
        by_cell.setdefault((spot.row, spot.at), []).append(spot)
    best: dict[str, FieldCandidate] = {}
    for spot in spots:
        label = _own_label(sheet.around(spot, before_in_cell(spot, by_cell[spot.row, spot.at])))
        score = _score_of(spot, concepts_in(label))
        if score > 0 and not _is_of_customer(spot, parties, pages.unit):
            found = FieldCandidate(spot.text, spot.page, spot.row, (spot.cell.line,), label.strip(), spot.value, score)
            number = without_country(_reading(found))
            if number not in best or score > best[number].score:
                best[number] = found
    sure = [each for each in best.values() if each.score == _WITH_CHECK]
    chosen = sure or list(best.values())
    return [replace(each, score=_OF_TWO) for each in chosen] if len(chosen) > 1 else chosen


def _own_label(around: Around) -> str:
    """The last words before a number, or those right above it if there are none."""
    near = _BEFORE_LABEL.split(around.texts["near"])[-1]
    if is_word(near):
        return near
    return _BEFORE_LABEL.split(around.texts["head"])[-1] if around.depth <= _DEPTH else ""


def _score_of(spot: Spot, named: Concepts) -> float:
    """How sure a number is a tax number of the issuer by its label; 0 if it is none."""
    value = cast("ParsedValue", spot.value)
    holds = vat_id_holds(cast("str", value.readings[0]))
    labelled = named.get("tax_id", 0.0) > named.get("company_number", 0.0)
    if "customer" in named or not (labelled or (holds and not value.needs_label and "bank" not in named)):
        return 0.0
    return _WITH_CHECK if holds else _UNCHECKED if holds is None else _WITHOUT_CHECK


def _party_boxes(pages: PrintedPages, known: Known) -> list[PartyBox]:
    """Where the names and addresses of the parties stand, and what they are headed with: party, page, box."""
    boxes = {(row.page, cell.line): cell.box for row in pages.rows for cell in row.cells}
    chosen = [(name.partition("_")[0], found[0]) for name, found in known.items() if name in _PARTIES]
    places = [(party, each.page, boxes[each.page, line]) for party, each in chosen for line in each.lines]
    for row in pages.rows:
        for cell in row.cells:
            named = concepts_in(cell.text.partition(":")[0]) if len(cell.text) <= _LONGEST_HEADING else {}
            for concept, party in (("issuer", "merchant"), ("customer", "customer")):
                if named.get(concept, 0.0) >= _IS_HEADING and "tax_id" not in named:
                    places.append((party, row.page, cell.box))
    return places[:_MAX_NUMBERS]


def _is_of_customer(spot: Spot, parties: Sequence[PartyBox], unit: float) -> bool:
    """Whether the nearest name or address above a number, or beside it, is the customer's. What stands in the footer is
    far from both.
    """
    left, right, (_, top, _, _) = spot.left, spot.right, spot.cell.box
    nearest = {"merchant": inf, "customer": inf}
    for party, page, box in parties:
        if page == spot.page and box[1] <= top + unit / 2:
            beside = max(0.0, left - box[2], box[0] - right)
            nearest[party] = min(nearest[party], max(0.0, top - box[3]) + _BESIDE * beside)
    return nearest["customer"] < min(nearest["merchant"], _FAR * unit)


def _currency(pages: PrintedPages, known: Known) -> FieldCandidate | None:
    """The currency that is printed most often; a code or a name before a sign that several currencies have. Of these,
    the one of the document's country is meant.
    """
    found = _of_kind(pages, "currency")
    if not found:
        return None
    most = Counter(_reading(each) for each in found).most_common(1)[0][0]
    signs = [each for each in found if _reading(each) == most]
    clear = [each for each in signs if not cast("ParsedValue", each.value).ambiguous]
    if clear:
        return replace(clear[0], score=_MOST_PRINTED)
    found_of = (known.get(f"customer_{part}", ())[:1] for part in ("name", "address"))
    customers = {(each.page, line) for found in found_of for each in found for line in each.lines}
    meant = currency_meant(pages, cast("Sequence[str]", cast("ParsedValue", signs[0].value).readings), customers)
    return replace(signs[0], score=_MOST_PRINTED if meant else _WITHOUT_CHECK, reading=meant)


def _phone(pages: PrintedPages, parties: Sequence[PartyBox]) -> FieldCandidate | None:
    """The first telephone number: one labelled so or with a country's prefix, else one that is written as such in
    the head of the page. Numbers of fax machines and of customers are none.
    """
    written: FieldCandidate | None = None
    for row in pages.rows:
        for at, cell in enumerate(row.cells):
            matches = list(_PHONE.finditer(cell.text[:LONGEST_CELL]))
            days = KINDS["date"].find(cell.text[:LONGEST_CELL]) if matches else []
            for match in matches:
                text = match[0].strip()
                if any(day.start < match.end() and match.start() < day.end for day in days):
                    continue
                own = cell.text[: match.start()]
                label = (own if is_word(own) or at == 0 else row.cells[at - 1].text)[-_LABEL:]
                named = concepts_in(label)
                if "other_phone" in named or named.keys() & {"customer", "bank", "tax_id"}:
                    continue
                whole = text.count("(") == text.count(")")
                score = 1.0 if whole else _BROKEN
                found = FieldCandidate(text, row.page, row.number, (cell.line,), label, score=score)
                if "phone" in named or text.startswith("+") or _T.search(label):
                    spot = spot_at(row, at, match.start(), match.end(), cell.parts())
                    if not _is_of_customer(spot, parties, pages.unit):
                        return found
                    continue
                if written is None and row.number < _HEAD_ROWS and _PHONE_FORM.fullmatch(text):
                    written = found
    return written


def _time(pages: PrintedPages, date: FieldCandidate | None) -> FieldCandidate | None:
    """The time nearest to the date; without a date the first."""
    times: Sequence[FieldCandidate] = candidates_of(pages, KINDS["time"])
    if not times:
        return None
    best = times[0] if date is None else min(times, key=lambda each: (abs(each.row - date.row), each.row))
    different = {each.value.readings[0] for each in times if each.value is not None}
    return replace(best, score=_OF_SEVERAL) if len(different) > 1 else replace(best, score=1.0)


def _of_kind(pages: PrintedPages, kind: str) -> list[FieldCandidate]:
    return [each for each in candidates_of(pages, KINDS[kind]) if each.value is not None]


def _reading(candidate: FieldCandidate) -> str:
    return cast("str", cast("ParsedValue", candidate.value).readings[0])
