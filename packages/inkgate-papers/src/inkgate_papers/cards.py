"""The fields of bank cards and business cards, most of which stand without a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from stdnum import luhn

from inkgate.fields.folded import glue
from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages, PrintedRow, RowCell
from inkgate_papers.flow import TextFlow, named

_BANK = re.compile(
    r"\bbank\b|\bbanque\b|\bbanco\b|\bbanca\b|sparkasse|credit union|银行|信用社|農商|银联商务", re.IGNORECASE
)
_CARD_WORDS: Final = frozenset(
    [
        "valid",
        "thru",
        "from",
        "month",
        "year",
        "good",
        "until",
        "expires",
        "end",
        "bank",
        "debit",
        "credit",
        "card",
        "visa",
        "mastercard",
        "maestro",
        "unionpay",
        "platinum",
        "gold",
        "classic",
        "world",
        "specimen",
        "member",
        "since",
        "authorized",
        "signature",
        "electronic",
        "use",
        "only",
        "international",
        "business",
        "american",
        "express",
        "discover",
        "jcb",
        "contactless",
        "customer",
        "service",
        "account",
        "number",
        "cvv",
        "security",
        "code",
    ]
)
_PERSON = re.compile(r"[A-Z][A-Z.'’-]*(?:[ /][A-Z][A-Z.'’-]*){1,3}")
_COMPANY = re.compile(
    r"(?:公司|集团|事务所|研究院|研究所|工作室|大学|学院|医院|银行|中心|协会|基金会|厂|店)$"
    r"|\b(?:ltd|limited|inc|llc|llp|plc|gmbh|ag|kg|co|corp|corporation|company|group|partners|holdings?|university|"
    r"institute|associates|studios?|bank|s\.?a\.?s?|b\.?v|s\.?r\.?l|pty|pte|bhd|oy|aps)\b\.?",
    re.IGNORECASE,
)
_TITLE = re.compile(
    r"(?:经理|总监|工程师|主任|主管|总裁|董事|董事长|顾问|律师|教授|会计师?|专员|代表|助理|秘书|设计师|架构师|部长"
    r"|院长|校长|"
    r"处长|科长|医师|医生|编辑|记者|分析师|研究员|讲师|负责人|合伙人|店长|厂长|创始人|总编|翻译|销售|顾問|經理)$"
    r"|\b(?:manager|engineer|director|officer|president|counsel|consultant|developer|designer|analyst|assistant|"
    r"secretary|professor|lecturer|attorney|lawyer|accountant|architect|partner|founder|owner|head|lead|chief|ceo|cto|"
    r"cfo|coo|vp|executive|representative|specialist|coordinator|administrator|supervisor|editor|agent|advisor|adviser|"
    r"scientist|researcher|physician|technician|chairman|chairwoman|treasurer|geschäftsführer(?:in)?|leiter(?:in)?|directeur|directrice)\b",
    re.IGNORECASE,
)
_ADDRESS_LABEL = re.compile(
    r"^\s*(?:[\u4e00-\u9fff]{0,4}[地厂店住校]\s*址|address|addr?|adresse|a(?=\s*[:：]))(?:\s*[/|]\s*[a-z]{1,10})?\s*[:：.]?\s*",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"[省市区县路街道巷弄].{0,30}\d+\s?[号號层楼室]"
    r"|\d.{0,40}\b(?:street|st|road|rd|avenue|ave|lane|ln|square|drive|dr|boulevard|blvd|way|place|court|quay|floor|"
    r"suite)\b|(?:straße|strasse|str\.|weg|platz|allee)\s*\d|\b(?:rue|via|calle|avenida)\b.{0,30}\d",
    re.IGNORECASE,
)
_FAX = re.compile(r"\bfax\b|传真|傳真|^\s*f\s*[:：.]", re.IGNORECASE)
_CHINESE_NAME = re.compile(r"[\u4e00-\u9fff](?:[ ·]?[\u4e00-\u9fff]){1,3}")
_LATIN_NAME = re.compile(r"[^\W\d_][\w.'’-]*(?: [^\W\d_][\w.'’-]*){1,3}")
_NAME_AND_TITLE = re.compile(r"([\u4e00-\u9fff]{2,4}|[\u4e00-\u9fff](?: [\u4e00-\u9fff]){1,2})[ 　|/]+(\S.*)")
_DEGREE = re.compile(r",? (?:Ph\.?D|MBA|M\.?D|M\.?Sc|B\.?Sc|LL\.?M|CPA|PMP|P\.?E|Esq)\.?$")
_GOES_ON = re.compile(r"\d{4,6}\b|\d ?[号號层楼室座]|[省市区县路街道园]|\b[A-Z]{2} \d{5}\b")
_LABELLED = re.compile(r"^[^\d:：@]{1,14}[:：]")
_IN_CHINESE = re.compile(r"(?<=[\u4e00-\u9fff]) +(?=[\u4e00-\u9fff])")
_LONGEST_CELL: Final = 300
"""Characters of a line of a card."""
_UNSURE: Final = 0.85
"""How sure a person's name is that only its place and form tell."""


@dataclass(frozen=True, slots=True)
class _CardCell:
    row: PrintedRow
    cell: RowCell

    @property
    def height(self) -> float:
        return self.cell.box[3] - self.cell.box[1]

    def candidate(self, text: str, score: float = 1.0, label: str = "") -> FieldCandidate:
        return FieldCandidate(text.strip(), self.row.page, self.row.number, (self.cell.line,), label, None, score)


def _cells(pages: PrintedPages) -> Iterator[_CardCell]:
    return (_CardCell(row, cell) for row in pages.rows for cell in row.cells)


_Add = Callable[[str, _CardCell, str], None]


def read_bank_card(pages: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """Number, bank, the latest month on it, and the holder, who mostly stands below the number."""
    flow = TextFlow.of(pages)
    numbers = [
        flow.candidate(each.start, each.end, score=1.0 if luhn.is_valid(str(each.readings[0])) else 0.9)
        for each in flow.values(KINDS["bank_card"])
    ]
    numbers.sort(key=lambda each: (-each.score, -len(each.text)))
    latest = sorted(flow.values(KINDS["month"]), key=lambda each: str(KINDS["month"].json(each)), reverse=True)
    months = [flow.candidate(each.start, each.end, flow.text[max(0, each.start - 30) : each.start]) for each in latest]
    bank = next((each for each in _cells(pages) if _BANK.search(each.cell.text)), None)
    row = numbers[0].row if numbers else -1
    holders = [each for each in _cells(pages) if _is_holder(each)]
    holders.sort(key=lambda each: (each.row.number < row, -each.row.number))
    people = [each.candidate(each.cell.text, _UNSURE) for each in holders]
    found: dict[str, Sequence[FieldCandidate]] = {
        "number": numbers[:3],
        "valid_thru": months[:3],
        "name": people[:3],
    }
    return found | named({"bank": None if bank is None else bank.candidate(bank.cell.text)})


def _is_holder(cell: _CardCell) -> bool:
    text = cell.cell.text.strip()
    words = {word.lower() for word in re.findall(r"[A-Za-z]+", text)}
    return bool(_PERSON.fullmatch(text)) and not words & _CARD_WORDS


def read_business_card(pages: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """Each line is a name, a title, a company, an address or something that shows what it is."""
    found: dict[str, list[FieldCandidate]] = {}
    people: list[tuple[bool, float, FieldCandidate]] = []

    def add(name: str, each: _CardCell, text: str) -> None:
        found.setdefault(name, []).append(each.candidate(_IN_CHINESE.sub("", text)))

    for each in _cells(pages):
        text = each.cell.text.strip()[:_LONGEST_CELL]
        if not _sort_typed(each, text, add):
            for part, of in _parts(text):
                if of != "name":
                    add(of, each, part)
                else:
                    chinese = bool(_CHINESE_NAME.fullmatch(part))
                    people.append((not chinese, -each.height, each.candidate(_IN_CHINESE.sub("", part), _UNSURE)))
    if address := found.get("address"):
        found["address"] = [_whole_address(pages, each) for each in address]
    people.sort(key=lambda person: person[:2])
    return {**found, "name": [person[2] for person in people][:3]}


def _whole_address(pages: PrintedPages, first: FieldCandidate) -> FieldCandidate:
    """The address with a second line directly below it."""
    row = pages.rows[first.row]
    cell = next(cell for cell in row.cells if cell.line in first.lines)
    for other in pages.rows[row.number + 1 : row.number + 2]:
        for below in other.cells:
            near = other.page == row.page and below.box[1] - cell.box[3] < pages.unit
            overlaps = below.box[0] < cell.box[2] and cell.box[0] < below.box[2]
            typed = any(KINDS[kind].find(below.text) for kind in ("email", "web", "phone_number"))
            if near and overlaps and not typed and _GOES_ON.search(below.text) and not _LABELLED.match(below.text):
                text = first.text + (glue(first.text, below.text) or "") + below.text.strip()
                if glue(first.text, below.text) == " " and not first.text.endswith(","):
                    text = f"{first.text}, {below.text.strip()}"
                return replace(first, text=text, lines=(*first.lines, below.line))
    return first


def _sort_typed(each: _CardCell, text: str, add: _Add) -> bool:
    """Adds what has a form of its own, and addresses; whether there was some."""
    mails, sites = KINDS["email"].find(text), KINDS["web"].find(text)
    phones = KINDS["phone_number"].find(text)
    for name, values in (("email", mails), ("website", sites)):
        for value in values[:2]:
            add(name, each, text[value.start : value.end])
    label = _ADDRESS_LABEL.match(text)
    rest = text[label.end() :] if label else text
    labelled = label is not None and label[0].strip()[-1:] in {":", "："}
    if not mails and not sites and (labelled or (not phones and _ADDRESS.search(rest))):
        add("address", each, rest)
        return True
    fax = _FAX.search(text)
    for value in phones if fax else ():
        if fax is not None and fax.start() < value.start:
            add("fax", each, text[value.start : value.end])
            break
    return bool(mails or sites or phones)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a line, and what they are."""
    text = _DEGREE.sub("", text)
    both = _NAME_AND_TITLE.fullmatch(text)
    if both and _TITLE.search(both[2]) and not _TITLE.search(both[1]):
        yield both[1], "name"
        yield both[2], "title"
    elif _COMPANY.search(text) and len(text) >= 4:
        yield text, "company"
    elif _TITLE.search(text):
        yield text, "title"
    elif (_CHINESE_NAME.fullmatch(text) or _is_latin_name(text)) and not _LABELLED.match(text):
        yield text, "name"


def _is_latin_name(text: str) -> bool:
    words = text.split()
    return bool(_LATIN_NAME.fullmatch(text)) and all(word[0].isupper() for word in words) and text.isascii()
