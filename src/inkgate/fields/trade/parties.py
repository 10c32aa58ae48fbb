"""Who issued an invoice or receipt: measures of each line that may be the issuer's name or address."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from rapidfuzz import fuzz

from inkgate.fields.folded import fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import evident
from inkgate.fields.rules.rows import PrintedPages, RowCell
from inkgate.fields.trade.spots import Surroundings
from inkgate.fields.trade.words import Concepts, concepts_in
from inkgate.runtimes.trees import FloatArray
from inkgate_client.concurrency import pause
from inkgate_client.types import Box

MAX_LINES: Final = 240
"""Lines of a document that may be names: the first and last ones of it."""
LONGEST: Final = 120
"""Maximum length of a name or a line of an address in characters."""
_FORM: Final = re.compile(
    r"\b(?:sdn\.?\s*bhd|s/b|bhd|berhad|ltd|limited|plc|llc|llp|inc|corp|corporation|co|company|gmbh|mbh|ag|kg|ohg|ug|"
    r"gbr|e\.?\s?k|kgaa|haftungsbeschränkt|sarl|s\.?a\.?r\.?l|sas|s\.?a\.?s|sasu|eurl|s\.?a|s\.?r\.?l|s\.?p\.?a|s\.?n\.?c|s\.?l\.?u|s\.?l|"
    r"lda|unipessoal|b\.?v|n\.?v|v\.?o\.?f|sp\.?\s?z\s?o\.?\s?o|sp\.?\s?k|sp\.?\s?j|s\.?r\.?o|a\.?s|spol|ab|aps|"
    r"oy|as|pty|pvt|private|pte|enterprise|trading|& (?:sons?|co|partner|cie|fils|figli|söhne|zn)|inh)\b\.?"
    r"|有限公司|公司|商店|超市|商行|集团|中心|株式会社|有限会社|合同会社|㈱",
    re.IGNORECASE,
)
_TRADE: Final = re.compile(
    r"\b(?:restaurants?|restoran|cafe|café|caffè|coffee|bakery|bistro|pizzeria|ristorante|trattoria|hotel|pharmacy|"
    r"apotheke|pharmacie|farmacia|farmácia|apteka|lékárna|market|mart|store|shop|supermarket|supermarkt|bäckerei|metzgerei|"
    r"boulangerie|garage|studio|services?|solutions|consulting|hardware|stationery|electronics|books?|marketing|holdings?|"
    r"resources|clinic|foods?|kitchen|grill|bar|pub|salon|petrol|station|stores|design|media|systems|technologies|"
    r"group|international|works?|werk|werkstatt|druckerei|handel|imports?|exports?|supply|supplies)\b"
    r"|餐厅|饭店|酒店|药房|书店|便利店|咖啡|食堂|商会|薬局|書店|酒家|面馆|超级市场",
    re.IGNORECASE,
)
_STREET: Final = re.compile(
    r"\b(?:street|st|road|rd|avenue|ave|blvd|boulevard|drive|dr|lane|ln|way|court|close|square|highway|suite|floor|unit|"
    r"jalan|jln|taman|lot|kampung|lorong|persiaran|bandar|wisma|plaza|mall|rue|chemin|allée|place|via|viale|corso|"
    r"piazza|calle|avenida|avda|plaza|paseo|rua|praça|travessa|largo|estrada|straat|weg|laan|plein|gracht|kade|dreef|"
    r"ul|aleja|al|plac|os|ulice|náměstí|nám|třída|nagar|marg|sector|phase|plot|p\.?o\.?\s?box|postfach|cedex)\b"
    r"|\w(?:straße|strasse|str\.|gasse|platz|allee|ring|damm|ufer|steig|weg|straat|laan|gracht|kade|vägen|gatan)\b"
    r"|[路街号號区區市县省]|丁目|番地|都|府|県|町",
    re.IGNORECASE,
)
_POSTCODE: Final = re.compile(
    r"(?<!\d)\d{5}(?!\d)|(?<!\d)\d{4}(?:-\d{3}|\s?[A-Z]{2})?\s+[^\W\d]|\b[A-Z]{1,2}\d[\dA-Z]?\s?\d[A-Z]{2}\b|〒?\d{3}-\d{4}"
    r"|\d{2}-\d{3}\b|\b\d{3}\s\d{2}\b|\b\d{6}\b|\b[A-Z]{2}\s\d{5}"
)
_MAIL_OR_WEB: Final = re.compile(
    r"@|www\.|https?:|\.(?:com|net|org|eu|de|fr|it|es|pt|nl|pl|cz|in|my|cn|jp|uk|ch|at)\b", re.IGNORECASE
)
_DOMAIN: Final = re.compile(
    r"(?:www\.|https?://(?:www\.)?|@|\b)([a-z0-9-]{3,40})\.(?:[a-z]{2,3}\.)?[a-z]{2,4}\b", re.IGNORECASE
)
_REGISTER: Final = re.compile(
    r"\b(?:HRB|HRA|Handelsregister|Geschäftsführer|Registergericht|Amtsgericht|RCS|REA|KvK|KRS|Registro|capital|"
    r"Company (?:No|Reg)|Registered)\b",
    re.IGNORECASE,
)
_REGISTRATION: Final = re.compile(
    r"[\s,]{0,4}(?:[(（\[]\s{0,2}(?:(?:co|company|reg|no)\W{0,3}){0,3}[A-Z]{0,3}\d[\d ./-]{2,20}[A-Z]{0,2}\s*[)）\]]?"
    r"|[(（\[]?\s{0,2}(?:(?:co|company|reg|no)\W{0,3}){0,3}[A-Z]{0,3}\d{5,}[-–\s]{0,3}[A-Z]{0,2}\s*[)）\]]?)\W*$",
    re.IGNORECASE,
)
"""A number of registration behind a name: (123456-X)."""
_MIN_DIGITS: Final = 5
"""Digits that it has at least."""
_TITLE: Final = re.compile(
    r"invoice|rechnung|facture|factuur|fattura|factura|fatura|faktura|quittung|receipt|請求書|領収書|发票|發票|收据",
    re.IGNORECASE,
)
"""Titles that are no part of a name if they are its last word."""
_REST_OF_FORM: Final = 2
"""Letters beside a legal form that are no name: & Co. KG."""
_CAPITAL: Final = re.compile(r"\s+(?:au capital|cap(?:itale)? soc|RCS\b|HRB\b).*$", re.IGNORECASE)
_MIN_NAME: Final = 4
"""Characters before such a number that are a name."""
_CONCEPTS: Final = (
    "issuer", "customer", "invoice_title", "invoice_number", "other_number", "date", "issue_date", "due_date", "phone",
    "address", "bank", "tax_id", "total", "description", "number", "paid", "name",
)  # fmt: skip
_FACTS: Final = (
    "form", "trade", "street", "postcode", "web", "register", "has_date", "has_amount", "has_phone", "tax_id", "bank",
)  # fmt: skip
_SHARED: Final = ("form", "street", "postcode", "web", "has_phone", "tax_id", "bank", "register")
"""Facts that a group has if one of its lines does."""
_OF_PAGE: Final = (
    "x", "y", "left", "right", "centred", "alone_wide", "height", "tallest", "rank_of_height", "order", "page",
    "last_page", "of_row", "cells_in_row", "letters", "words", "digits", "capitals", "comma", "colon", "dash",
    "times", "of_domain", "first_row", "lines", "before_title", "gap_above", "first_form",
)  # fmt: skip
_OF_GROUP: Final = (
    "label_issuer", "label_customer", "label_address", "row_issuer", "row_customer", "place", "size", "inside_issuer",
    "inside_customer", "inside_name", "introduced", "top", "side", "above_form", "below_form", "above_street",
    "below_street", "below_name",
)  # fmt: skip
_BETWEEN: Final = re.compile(r"\s+[|•·●–—*-]+\s+|\s{3,}")
"""What stands between the parts of a line."""
_SENTENCE: Final = re.compile(r"\.?\s{0,2}[.,;]\s+(?=[^\W\d_])|(?<=公司)[.。，,;]\s*")
"""What ends a name with a legal form before a sentence about it, as in `Nord AG. Amtsgericht Kiel`."""
_INTRODUCED: Final = re.compile(
    r"^(?:.{0,60}\b(?:payable to|a (?:brand|trading name|division) of|operated by|owned by|licensee of|trading as|"
    r"eine Marke der|betrieben von|une marque de|exploité par|un marchio di|una marca de|uma marca de|een merk van|"
    r"marka firmy|značka společnosti|ett varumärke från)|"
    r".{0,20}(?:copyright\s*(?:©\s*)?\d{4}|©(?:\s*\d{4})?)|版权所有|版權所有)\W*",
    re.IGNORECASE,
)
"""What stands before the name of a company in a sentence."""
_MAX_PARTS: Final = 6
_OPEN: Final = 24
"""Groups that a line may go on."""
_NO_FACTS: Final[Mapping[str, float]] = {}
_MARKS: Final = (" - ", "|", "·", "•", "–")
_LABELS: Final = ("issuer", "customer", "address", "name")
_IS_LABEL: Final = 0.7
"""Share of a text's letters that name one of these from which it is the label of what is behind it."""
_CENTS: Final = 2
_WORD_GAP: Final = 0.8
"""Heights of a line between words that were read apart."""
_DIGITS_OF_PHONE: Final = 9
_OF_BANK: Final = 0.3
_OF_TITLE: Final = 0.6
"""Shares of a line's letters from which it is of a bank, or a title."""
_LONGEST_LABEL: Final = 40
_ABOVE: Final = 2.2
"""Heights of a line that a label stands above it at most."""
NAMES: Final = (
    *(f"own_{each}" for each in _CONCEPTS),
    *_FACTS,
    *_OF_PAGE,
    *(f"group_{each}" for each in _SHARED),
    *_OF_GROUP,
)
"""The measures of a line."""


@dataclass(frozen=True, slots=True)
class NameLine:
    """A line that may be a name or a part of an address.

    Attributes:
        start, end: of the text in the cell: behind a label, as in `Seller: Nord Ltd`.
        label: that label; empty without one.
        group: number of the lines that stand below each other as one paragraph; `at`: place in it.
        whole: the text without the label.
        text: without a title or a number of registration behind it, too.
    """

    page: int
    row: int
    cell: RowCell
    start: int
    end: int
    label: str
    group: int
    at: int
    whole: str
    text: str

    @property
    def height(self) -> float:
        """In pixels."""
        return self.cell.box[3] - self.cell.box[1]

    @property
    def edges(self) -> tuple[float, float]:
        """Left and right edge of the text on the page, in pixels."""
        inside = [part for part in self.cell.parts() if part.start < self.end and self.start < part.end]
        return (inside[0].left, inside[-1].right) if inside else (self.cell.box[0], self.cell.box[2])


def _name_in(text: str) -> str:
    """The text without a title and a number of registration behind it."""
    text = _CAPITAL.sub("", text)
    name, space, last = text.rpartition(" ")
    if space and _TITLE.fullmatch(last):
        text = name.rstrip(" -–|,")
    numbered = _REGISTRATION.search(text)
    if numbered is None or numbered.start() <= _MIN_NAME or sum(map(str.isdigit, numbered[0])) < _MIN_DIGITS:
        return text
    bracketed = any(each in numbered[0] for each in "(（[")
    return text[: numbered.start()].strip() if bracketed or has_form(text) else text


def lines_on(pages: PrintedPages) -> list[NameLine]:
    """The lines, in groups; a line with a name and an address beside each other is two."""
    cells = [(row.page, row.number, cell) for row in pages.rows for cell in row.cells if len(cell.text) <= LONGEST]
    if len(cells) > MAX_LINES:
        cells = cells[: MAX_LINES * 2 // 3] + cells[-MAX_LINES // 3 :]
    last: list[tuple[int, int, Box]] = []
    sizes: list[int] = []
    found = []
    for page, row, cell in cells:
        open_ = range(len(last) - 1, max(-1, len(last) - 1 - _OPEN), -1)
        group = next((each for each in open_ if _goes_on(last[each], page, row, cell.box)), len(last))
        if group == len(last):
            last.append((page, row, cell.box))
            sizes.append(0)
        same = last[group][:2] == (page, row)
        last[group] = (page, row, _union(last[group][2], cell.box) if same else cell.box)
        for start, end, label in _parts(cell.text):
            whole = cell.text[start:end].strip()
            found.append(NameLine(page, row, cell, start, end, label, group, sizes[group], whole, _name_in(whole)))
            sizes[group] += 1
    return found


def names_in(text: str) -> list[str]:
    """The parts of a line, of which some may be names: without their labels and numbers of registration."""
    return [_name_in(text[start:end].strip()) for start, end, _ in _parts(text)]


def _parts(text: str) -> list[tuple[int, int, str]]:
    """The parts of a line, as in `Nord Ltd | 5 Mill Lane` and `Seller: Nord Ltd`: start, end, and the label before."""
    start, label = _behind_label(text)
    cuts = [(match.start(), match.end()) for match in _BETWEEN.finditer(text, start)]
    if not cuts and (cut := _behind_form(text, start)) is not None:
        cuts = [cut]
    starts, ends = [start, *(end for _, end in cuts)], [*(at for at, _ in cuts), len(text)]
    parts = [(at, end) for at, end in zip(starts, ends, strict=True) if text[at:end].strip()]
    return [(at, end, label if at == start else "") for at, end in parts[:_MAX_PARTS]] or [(start, len(text), label)]


def _behind_form(text: str, start: int) -> tuple[int, int] | None:
    """What parts a name with a legal form from what is behind it: an address, or a sentence."""
    for named in _FORM.finditer(text, start):
        if not text[start : named.start()].strip():
            continue
        end = named.end() - (named[0].endswith(".") and named[0].lower() != "co." and "." not in named[0][:-1])
        if _FORM.match(text, named.end() + len(text[named.end() :]) - len(text[named.end() :].lstrip(" .,;&"))):
            continue
        if (ended := _SENTENCE.match(text, end)) is not None:
            return end, ended.end()
        comma = text.find(",", end)
        return (comma, comma + 1) if comma > 0 and any(map(str.isdigit, text[comma:])) else None
    return None


def _goes_on(last: tuple[int, int, Box], page: int, row: int, box: Box) -> bool:
    """Whether a cell continues the paragraph that ends with `last`: directly below, at the same edge or middle, or
    behind it in the row like the next word.
    """
    if last[0] != page:
        return False
    a, b = last[2], box
    height = min(a[3] - a[1], b[3] - b[1])
    taller = max(a[3] - a[1], b[3] - b[1])
    if last[1] == row:
        return 0 <= b[0] - a[2] <= _WORD_GAP * height
    near = -0.5 * height <= b[1] - a[3] <= 1.0 * taller
    aligned = abs(a[0] - b[0]) <= height or abs(a[2] - b[2]) <= height or abs(a[0] + a[2] - b[0] - b[2]) <= 2 * height
    return near and aligned and a[0] < b[2] and b[0] < a[2]


def _union(a: Box, b: Box) -> Box:
    return min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])


def _behind_label(text: str) -> tuple[int, str]:
    """Where the text behind a label begins: `Seller: Nord Ltd`."""
    before, colon, behind = text.partition(":")
    if not colon:
        before, colon, behind = text.partition("：")
    named = concepts_in(before) if colon and behind.strip() else {}
    if max((named.get(each, 0.0) for each in _LABELS), default=0.0) >= _IS_LABEL:
        start = len(before) + 1
        return start + len(text[start:]) - len(text[start:].lstrip()), before
    introduced = _INTRODUCED.match(text)
    if introduced is not None and text[introduced.end() :].strip():
        return introduced.end(), introduced[0]
    return 0, ""


def measures(pages: PrintedPages, lines: Sequence[NameLine]) -> FloatArray:
    """Returns the measures of the lines (N, len(NAMES))."""
    if not lines:
        return np.zeros((0, len(NAMES)))
    document = _Document(pages, lines)
    return np.array([document.measures_of(number) for number in range(len(lines))], dtype=np.float64)


class _Document:
    """What the measures of a line need to know of the others."""

    def __init__(self, pages: PrintedPages, lines: Sequence[NameLine]) -> None:
        self._pages = pages
        self._lines = lines
        self._sheet = Surroundings(pages)
        self._heights = [line.height for line in lines]
        self._unit, self._tallest = max(1.0, median(self._heights)), max(1.0, *self._heights)
        self._ranks = {
            height: rank for rank, height in enumerate(sorted({*map(_rounded, self._heights)}, reverse=True))
        }
        self._times = Counter(fold(line.text) for line in lines)
        self._facts = [_facts(line) for line in lines]
        self._first_form = next((number for number, fact in enumerate(self._facts) if fact["form"]), -1)
        self._title = next((line.cell.box[1] for line in lines if is_title(line.text)), float("inf"))
        self._members: dict[int, list[int]] = {}
        for number, line in enumerate(lines):
            self._members.setdefault(line.group, []).append(number)
        self._named = [(line, named) for line in lines if (named := _named(line))]
        self._labels = {group: self._label_of(numbers[0]) for group, numbers in self._members.items()}
        texts = (cell.text for row in pages.rows for cell in row.cells if _MAIL_OR_WEB.search(cell.text))
        self._domains = {fold(match[1]) for text in texts for match in _DOMAIN.finditer(text)}

    def measures_of(self, number: int) -> list[float]:
        """The measures of a line, in the order of NAMES."""
        pause()
        found = self._facts[number] | self._of_page(number) | self._of_group(number)
        return [float(found[name]) for name in NAMES]

    def _of_page(self, number: int) -> dict[str, float]:
        line = self._lines[number]
        box, text = line.cell.box, line.text
        x, y = self._sheet.place(box, line.page)
        left, top, right, _ = self._sheet.extents[line.page]
        width, letters, row = max(1.0, right - left), sum(map(str.isalpha, text)), self._pages.rows[line.row]
        return {
            "x": x,
            "y": y,
            "left": (box[0] - left) / width,
            "right": (right - box[2]) / width,
            "centred": abs((box[0] + box[2]) / 2 - (left + right) / 2) / width,
            "alone_wide": (box[2] - box[0]) / width,
            "height": line.height / self._unit,
            "tallest": line.height / self._tallest,
            "rank_of_height": self._ranks[_rounded(line.height)],
            "order": number / len(self._lines),
            "page": line.page,
            "last_page": line.page == self._lines[-1].page,
            "of_row": row.cells.index(line.cell),
            "cells_in_row": len(row.cells),
            "letters": letters,
            "words": len(text.split()),
            "digits": sum(map(str.isdigit, text)) / max(1, len(text)),
            "capitals": sum(map(str.isupper, text)) / max(1, letters),
            "comma": text.count(","),
            "colon": ":" in line.cell.text,
            "dash": any(mark in text for mark in _MARKS),
            "times": self._times[fold(text)],
            "of_domain": self._likeness(text),
            "first_row": row.number,
            "lines": len(self._lines),
            "before_title": self._title > box[1],
            "gap_above": (box[1] - top) / self._unit,
            "first_form": number == self._first_form,
        }

    def _likeness(self, text: str) -> float:
        """How much the name is like that of a website or a mail address, in percent."""
        name = fold(_FORM.sub("", text))
        if len(name) < _MIN_NAME:
            return 0.0
        return max((fuzz.partial_ratio(name, each) for each in self._domains if len(each) >= _MIN_NAME), default=0.0)

    def _label_of(self, first: int) -> dict[str, float]:
        """The label of a group: in its first line, in one right above it, or left of it."""
        line = self._lines[first]
        found = dict.fromkeys(("label_issuer", "label_customer", "label_address", "row_issuer", "row_customer"), 0.0)
        for other, named in self._named:
            if other.page != line.page:
                continue
            if other is line or _is_above(other.cell.box, line.cell.box):
                for name in ("issuer", "customer", "address"):
                    found[f"label_{name}"] = max(found[f"label_{name}"], named.get(name, 0.0))
            if other.row == line.row and other.cell.box[2] <= line.cell.box[0]:
                for name in ("issuer", "customer"):
                    found[f"row_{name}"] = max(found[f"row_{name}"], named.get(name, 0.0))
        return found

    def _of_group(self, number: int) -> dict[str, float]:
        line = self._lines[number]
        numbers, facts = self._members[line.group], self._facts
        before = facts[numbers[line.at - 1]] if line.at else _NO_FACTS
        behind = facts[numbers[line.at + 1]] if line.at + 1 < len(numbers) else _NO_FACTS
        x, y = self._sheet.place(self._lines[numbers[0]].cell.box, line.page)
        inside = concepts_in(line.label) if line.label else {}
        plain = (facts[each] for each in numbers[: line.at])
        return {
            **{f"group_{name}": max(facts[each][name] for each in numbers) for name in _SHARED},
            **self._labels[line.group],
            "place": line.at,
            "size": len(numbers),
            "inside_issuer": inside.get("issuer", 0.0),
            "inside_customer": inside.get("customer", 0.0),
            "inside_name": inside.get("name", 0.0),
            "introduced": line.start > 0 and not inside,
            "top": y,
            "side": x,
            "above_form": before.get("form", 0.0),
            "below_form": behind.get("form", 0.0),
            "above_street": before.get("street", 0.0),
            "below_street": behind.get("street", 0.0),
            "below_name": any(not each["street"] and not each["web"] and not each["has_phone"] for each in plain),
        }


def _named(line: NameLine) -> Concepts:
    """What a short line says that may be the label of others; empty if it is none."""
    named = concepts_in(line.cell.text.partition(":")[0]) if len(line.cell.text) <= _LONGEST_LABEL else {}
    return named if named.keys() & {"issuer", "customer", "address"} else {}


def _rounded(height: float) -> float:
    return round(height, 1)


def has_form(text: str) -> bool:
    """Whether a text has a legal form."""
    return _FORM.search(text) is not None


def is_company(text: str) -> bool:
    """Whether a text is the name of a company, with its legal form at an end and no number."""
    forms = [(each.start(), each.end()) for each in _FORM.finditer(text)] if not any(map(str.isdigit, text)) else []
    at_end = any(start == 0 or not text[end:].strip(" .") for start, end in forms)
    return at_end and not is_form(text) and not is_web(text)


def is_web(text: str) -> bool:
    """Whether a text has a mail address or a site."""
    return _MAIL_OR_WEB.search(text) is not None


def is_form(text: str) -> bool:
    """Whether a text is a legal form alone, as the rest of a name that goes on in the next line."""
    rest = sum(map(str.isalpha, _FORM.sub("", text)))
    return rest <= _REST_OF_FORM and _FORM.search(text) is not None


def has_postcode(text: str) -> bool:
    """Whether a text has what may be a postcode."""
    return _POSTCODE.search(text) is not None


def is_street(text: str) -> bool:
    """Whether a text names a street, or a part of a building."""
    return _STREET.search(text) is not None


def is_title(text: str) -> bool:
    """Whether a text is the title of an invoice or receipt."""
    return concepts_in(text).get("invoice_title", 0.0) > _OF_TITLE


def _is_above(label: Box, box: Box) -> bool:
    """Whether a label stands right above a line."""
    height = box[3] - box[1]
    return -0.5 * height <= box[1] - label[3] < _ABOVE * height and label[0] < box[2] and box[0] < label[2]


def _facts(line: NameLine) -> dict[str, float]:
    """What the text of a line alone says."""
    text, named = line.cell.text[line.start : line.end], concepts_in(line.text)
    digits = sum(map(str.isdigit, text))
    found = {f"own_{concept}": named.get(concept, 0.0) for concept in _CONCEPTS}
    return found | {
        "form": float(_FORM.search(line.text) is not None),
        "trade": float(_TRADE.search(line.text) is not None),
        "street": float(digits > 0 and _STREET.search(text) is not None),
        "postcode": float(_POSTCODE.search(text) is not None),
        "web": float(_MAIL_OR_WEB.search(text) is not None),
        "register": float(_REGISTER.search(text) is not None),
        "has_date": float(bool(KINDS["date"].find(text))),
        "has_amount": float(any(value.decimals == _CENTS for value in KINDS["money"].find(text))),
        "has_phone": float("phone" in named or digits >= _DIGITS_OF_PHONE),
        "tax_id": float("tax_id" in named or bool(evident(KINDS["vat_id"], text))),
        "bank": float(named.get("bank", 0.0) > _OF_BANK or bool(KINDS["iban"].find(text))),
    }
