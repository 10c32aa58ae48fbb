"""Chinese VAT invoices (增值税发票), on paper and fully digital (数电票).

Their boxes have the same labels twice, for buyer and seller.

On paper the buyer's box stands above the items and the seller's below; in fully digital invoices they stand side by
side, the buyer's on the left.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import plain
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages, PrintedRow, RowCell

_NAME = re.compile(r"名\s{0,3}称\s{0,3}[:：;；]?|(?<![^\W_])称\s{0,3}[:：;；]")
_TAX_NUMBER = re.compile(r"(?:纳税人)?识别号\s{0,3}[:：;；]?")
_SELLER = re.compile(r"销\s*售\s*方|销\s*方")
_ITEMS = re.compile(r"货物|应税|劳务|项目名称|服务名称|商品名称|车牌")
"""The header of the items is a `名称`, too."""
_NEXT_LABEL = re.compile(r"名\s{0,3}称\s{0,3}[:：]|统一社会|纳税人识别|密|销\s*售|购\s*买")
_SUM = re.compile(r"^\W*合\s*计\W*$|^\W*合\s*计\s*(?=[￥¥YV*\d])")
_TOTAL = re.compile(r"价税合计|小写")
_NUMBER_SIGN = re.compile(r"(?:N[o0ºo°]|№)\s?[.:：]?\s?(\d{8})(?!\d)")
_CODE = re.compile(r"(?<!\d)(\d{12}|\d{10})(?!\d)")
_LABELLED: Final = {
    "code": re.compile(r"发\s?票\s?代\s?码\s{0,3}[:：]?\s{0,3}(\d{12}|\d{10})(?!\d)"),
    "number": re.compile(r"发\s?票\s?号\s?码\s{0,3}[:：]?\s{0,3}(\d{20}|\d{8})(?!\d)"),
    "date": re.compile(r"开\s?票\s?日\s?期\s{0,3}[:：]?\s{0,3}(20\d\d\s?[年.-]\s?\d{1,2}\s?[月.-]\s?\d{1,2}\s?日?)"),
    "check_code": re.compile(r"校\s?验\s?码\s{0,3}[:：]?\s{0,3}(\d{5}\s?\d{5}\s?\d{5}\s?\d{5}|\d{6})(?!\d)"),
}
_TOP: Final = 0.3
"""Share of the printed height in which an unlabelled code stands."""
_SURE, _LIKELY, _UNLABELLED = 1.0, 0.95, 0.85


@dataclass(frozen=True, slots=True)
class _Found:
    """A value and where its label stands."""

    text: str
    row: PrintedRow
    cell: RowCell
    label: str
    left: float
    top: float


def read_vat_invoice(printed: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """The fields of the first page, by the names of the type `cn_vat_invoice`."""
    if not printed.rows:
        return {}
    printed = printed.levelled(printed.rows[0].page)
    found: dict[str, FieldCandidate] = {}
    for name, pattern in _LABELLED.items():
        found |= _labelled(printed, name, pattern)
    found |= _unlabelled(printed, found)
    names = _parties(printed, _behind_all(printed, _NAME, number=False))
    numbers = _parties(printed, _behind_all(printed, _TAX_NUMBER, number=True))
    for party in ("buyer", "seller"):
        if party in names:
            found[f"{party}_name"] = _candidate(names[party], _SURE)
        if party in numbers:
            found[f"{party}_tax_number"] = _candidate(numbers[party], _SURE)
    return {name: [each] for name, each in (found | _sums(printed)).items()}


def _candidate(found: _Found, score: float) -> FieldCandidate:
    row, cell = found.row, found.cell
    return FieldCandidate(found.text.strip(), row.page, row.number, (cell.line,), found.label, None, score)


def _labelled(printed: PrintedPages, name: str, pattern: re.Pattern[str]) -> dict[str, FieldCandidate]:
    """Numbers behind their labels, in one cell or in the next."""
    for row in printed.rows:
        for at, cell in enumerate(row.cells):
            following = row.cells[at + 1] if at + 1 < len(row.cells) else None
            match, of = pattern.search(plain(cell.text)), cell
            if match is None and following is not None:
                match, of = pattern.fullmatch(plain(f"{cell.text.strip()}{following.text.strip()}")), following
            if match is not None:
                label = match[0][: match.start(1) - match.start()].strip(" :：")
                return {name: _candidate(_Found(match[1], row, of, label, 0, 0), _SURE)}
    return {}


def _unlabelled(printed: PrintedPages, found: Mapping[str, object]) -> dict[str, FieldCandidate]:
    """Number (behind №) and code of invoices whose form has no labels for them."""
    more: dict[str, FieldCandidate] = {}
    low = max((row.cells[0].box[3] for row in printed.rows), default=0.0)
    for row in printed.rows:
        for cell in row.cells:
            text = plain(cell.text)
            number, code = _NUMBER_SIGN.search(text), _CODE.fullmatch(text.strip())
            if number and "number" not in found and "number" not in more:
                more["number"] = _candidate(_Found(number[1], row, cell, "№", 0, 0), _LIKELY)
            if code and cell.box[1] < _TOP * low and "code" not in found and "code" not in more:
                more["code"] = _candidate(_Found(code[1], row, cell, "", 0, 0), _UNLABELLED)
    return more


def _behind_all(printed: PrintedPages, label: re.Pattern[str], *, number: bool) -> list[_Found]:
    """What stands behind each occurrence of a label, top to bottom."""
    found = []
    for row in printed.rows:
        for at, cell in enumerate(row.cells):
            if _ITEMS.search(cell.text) and not number:
                continue
            for match in label.finditer(cell.text):
                behind = cell.text[match.end() :]
                cut = _NEXT_LABEL.search(behind)
                text, of = (behind[: cut.start()] if cut else behind).strip(" :：;；_-.·"), cell
                if not text and not cut and at + 1 < len(row.cells) and not label.search(row.cells[at + 1].text):
                    of = row.cells[at + 1]
                    text = of.text.strip(" :：;；")
                share = match.start() / max(len(cell.text), 1)
                left = cell.box[0] + share * (cell.box[2] - cell.box[0])
                if text and (not number or KINDS["cn_tax_number"].find(text)):
                    value = KINDS["cn_tax_number"].find(text)[0] if number else None
                    shown = text[value.start : value.end] if value is not None else text
                    found.append(_Found(shown, row, of, match[0].strip(" :："), left, cell.box[1]))
    return found


def _parties(printed: PrintedPages, found: Sequence[_Found]) -> dict[str, _Found]:
    """Buyer and seller: left and right if two stand on one row, else above and below."""
    if not found:
        return {}
    first = found[0]
    beside = [each for each in found[1:] if abs(each.top - first.top) < 1.5 * printed.unit]
    if beside:
        left, right = sorted((first, beside[0]), key=lambda each: each.left)
        return {"buyer": left, "seller": right}
    if len(found) > 1:
        return {"buyer": first, "seller": found[1]}
    edges = [row.cells[-1].box[2] for row in printed.rows]
    low = max(row.cells[0].box[3] for row in printed.rows)
    on_right, below = first.left > max(edges) / 2, first.top > low / 2
    return {"seller" if on_right or below else "buyer": first}


def _sums(printed: PrintedPages) -> dict[str, FieldCandidate]:
    """Amount and tax on the row of 合计, the total behind 小写, and the amount in words."""
    found: dict[str, FieldCandidate] = {}
    for row in printed.rows:
        text = row.text
        if _TOTAL.search(text):
            for cell in row.cells:
                for value in KINDS["cn_amount_words"].find(plain(cell.text)):
                    shown = cell.text[value.start : value.end]
                    found.setdefault("total_in_words", _candidate(_Found(shown, row, cell, "大写", 0, 0), _SURE))
            amounts = _amounts(row)
            if amounts:
                found.setdefault("total", _candidate(_Found(*amounts[-1], "价税合计", 0, 0), _SURE))
        elif any(_SUM.search(cell.text) for cell in row.cells[:2]):
            amounts = _amounts(row)
            if amounts:
                found.setdefault("amount", _candidate(_Found(*amounts[0], "合计", 0, 0), _SURE))
            if len(amounts) > 1:
                found.setdefault("tax", _candidate(_Found(*amounts[1], "合计", 0, 0), _SURE))
    return found


def _amounts(row: PrintedRow) -> list[tuple[str, PrintedRow, RowCell]]:
    """The amounts of a row, left to right, as printed. OCR reads ¥ as Y or V."""
    found: list[tuple[str, PrintedRow, RowCell]] = []
    for cell in row.cells:
        text = re.sub(r"(?<![A-Za-z])[YV](?=\s?\d)", "¥", cell.text)
        values = (value for value in KINDS["money"].find(text) if value.unit != "%" and value.decimals)
        found += [(text[value.start : value.end].strip(), row, cell) for value in values]
    return found
