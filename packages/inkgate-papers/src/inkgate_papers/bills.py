"""The fields of bills of lading: boxes with a label at their top, and texts of several lines below it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages, PrintedRow, RowCell

_LABELS: Final = {
    "shipper": r"shipper(?: ?/ ?exporter)?|发货人|托运人",
    "consignee": r"consignee|收货人",
    "notify_party": r"notify(?: party| address)?|通知人|通知方|被通知人",
    "bl_number": r"(?:b ?/? ?l|bill of lading|sea waybill|waybill) ?(?:no|number|nr)|提单号码?",
    "vessel": r"(?:ocean |mother |intended )?vessel(?: name)?|船名",
    "voyage": r"voy(?:age)?(?: ?no| number)?|航次",
    "port_of_loading": r"port of loading|loading port|装货港|起运港",
    "port_of_discharge": r"port of discharge|discharge port|discharging port|卸货港|目的港",
    "place_of_delivery": r"(?:final )?place of delivery|final destination|交货地点?",
    "issue_place": r"place (?:and date )?of (?:b ?/? ?l )?issue|签发地点?",
    "issue_date": r"date of (?:b ?/? ?l )?issue|issue date|签发日期",
    "gross_weight": r"gross weight|g\. ?w|毛重",
    "measurement": r"measurement|volume|尺码|体积",
}
_OTHERS: Final = (
    r"place (?:and date )?of (?:receipt|issue)|pre-?carriage by|container(?: no)?|seal(?: no)?|marks|packages"
    r"|number of|no\. ?of|"
    r"description|freight|export references|forwarding agent|for delivery|booking|laden on board|type of move"
)
_TAIL = r"s?\.?(?: ?[（(][^）)]{0,40}[）)])?"
_PATTERNS: Final = {
    name: re.compile(
        rf"^\W*(?:\d{{1,2}}\W{{1,2}})?(?:{label})(?:[\s/|]{{0,3}}(?:{label}))?{_TAIL}(?![a-z])", re.IGNORECASE
    )
    for name, label in _LABELS.items()
}
_ANY = re.compile(rf"^\W*(?:\d{{1,2}}\W{{1,2}})?(?:{'|'.join((*_LABELS.values(), _OTHERS))})(?![a-z])", re.IGNORECASE)
_VESSEL_AND_VOYAGE = re.compile(
    r"^(?P<vessel>\D[\w .'-]{2,40}?)\s?(?:/|,|\bV(?:OY)?(?:AGE)?\b\.?(?: ?NO\.?)?"
    r"|\s)\s?:?(?P<voyage>[A-Z]{0,3}\d[A-Z0-9]{1,8})$",
    re.IGNORECASE,
)
_PACKAGES = re.compile(
    r"\b\d{1,7} ?(?:cartons?|ctns?|packages?|pkgs?|pallets?|plts?|bags?|cases?|crates?|drums?|boxes|rolls?|units?"
    r"|pieces|pcs|bales?|bundles?|sets)\b",
    re.IGNORECASE,
)
_COMMA = re.compile(r",(?=[^\W\d])")
"""Behind which OCR loses the space."""
_PARTIES: Final = frozenset({"shipper", "consignee", "notify_party"})
_TYPED: Final = {"issue_date": "date", "gross_weight": "weight", "measurement": "volume"}
_MAX_LINES: Final = 6
"""Maximum lines of a party's name and address."""
_LONGEST_CELL: Final = 500
"""Characters of a line in which packages are looked for."""
_GAP: Final = 1.6
"""A box's next line is at most this many line heights below the last."""
_NEAR: Final = 3.0
"""The first line is at most this many line heights below its label, and begins so far left or right of it."""


def read_bill_of_lading(pages: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """What stands behind or below the labels; weight and measurement wherever they stand."""
    found: dict[str, list[FieldCandidate]] = {}
    for row in pages.rows:
        for cell in row.cells:
            for name, pattern in _PATTERNS.items():
                if name not in found and (match := pattern.match(cell.text[:120])):
                    block = _block(pages, row, cell, match, _MAX_LINES if name in _PARTIES else 1)
                    if block is not None and (fitting := _fitting(name, block)) is not None:
                        found[name] = [fitting]
    _split_vessel(found)
    for name, kind in _TYPED.items():
        if name not in found and (value := _first_value(pages, kind)) is not None and name != "issue_date":
            found[name] = [value]
    if packages := _first_match(pages, _PACKAGES):
        found["packages"] = [packages]
    return found


def _fitting(name: str, block: FieldCandidate) -> FieldCandidate | None:
    """The block, or the value of the field's kind in it; None if it is none for this field."""
    kind = _TYPED.get(name)
    if kind is not None:
        values = KINDS[kind].find(block.text)
        return _replaced(block, block.text[values[0].start : values[0].end]) if values else None
    if name == "issue_place":
        days = KINDS["date"].find(block.text)
        return _replaced(block, block.text[: days[0].start].rstrip(" ,") if days else block.text)
    return block if name not in {"bl_number", "voyage"} or any(map(str.isdigit, block.text)) else None


def _split_vessel(found: dict[str, list[FieldCandidate]]) -> None:
    """Vessel and voyage that share a box."""
    vessel = found.get("vessel", [None])[0]
    both = _VESSEL_AND_VOYAGE.match(vessel.text) if vessel else None
    if vessel is not None and both is not None and ("voyage" not in found or found["voyage"][0].text == vessel.text):
        found["vessel"] = [_replaced(vessel, both["vessel"])]
        found["voyage"] = [_replaced(vessel, both["voyage"])]


def _replaced(candidate: FieldCandidate, text: str) -> FieldCandidate:
    return FieldCandidate(
        text.strip(), candidate.page, candidate.row, candidate.lines, candidate.label, None, candidate.score
    )


def _block(
    pages: PrintedPages, row: PrintedRow, cell: RowCell, match: re.Match[str], most: int
) -> FieldCandidate | None:
    """The text behind the label in its cell, and the lines below it in the same box."""
    rest = cell.text[match.end() :].lstrip(" :：.")
    parts = [] if not rest or rest.startswith(("/", "(", "&", "and ")) else [(cell, rest)]
    last = cell
    for below in _below(pages, row, cell):
        gap = below.box[1] - last.box[3]
        limit = _GAP if last is not cell else _NEAR
        if len(parts) >= most or gap > limit * pages.unit or _ANY.match(below.text[:120]):
            break
        parts.append((below, below.text))
        last = below
    if not parts:
        return None
    text = _COMMA.sub(", ", " ".join(part.strip() for _, part in parts))
    return FieldCandidate(
        text, row.page, row.number, tuple(each.line for each, _ in parts), match[0].strip(), None, 1.0
    )


def _below(pages: PrintedPages, row: PrintedRow, cell: RowCell) -> Iterator[RowCell]:
    """Cells below that begin about where the label does, from the top."""
    for other in pages.rows[row.number + 1 :]:
        if other.page != row.page:
            return
        for each in other.cells:
            if abs(each.box[0] - cell.box[0]) <= _NEAR * pages.unit:
                yield each
                break


def _first_value(pages: PrintedPages, kind: str) -> FieldCandidate | None:
    for row in pages.rows:
        for cell in row.cells:
            if values := KINDS[kind].find(cell.text):
                text = cell.text[values[0].start : values[0].end]
                return FieldCandidate(text, row.page, row.number, (cell.line,), "", None, 0.9)
    return None


def _first_match(pages: PrintedPages, pattern: re.Pattern[str]) -> FieldCandidate | None:
    for row in pages.rows:
        for cell in row.cells:
            if match := pattern.search(cell.text[:_LONGEST_CELL]):
                return FieldCandidate(match[0], row.page, row.number, (cell.line,), "", None, 0.95)
    return None
