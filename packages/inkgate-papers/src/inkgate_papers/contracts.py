"""The fields of contracts, in the head and in prose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate_papers.flow import TextFlow, named

_TITLE = re.compile(r"合同书?$|协议书?$|\b(?:agreement|contract|lease)\b", re.IGNORECASE)
_NOT_TITLE = re.compile(r"编号|\bno\b|number|[:：]|this |the parties", re.IGNORECASE)
_LONGEST_TITLE: Final = 60
_TITLE_ROWS: Final = 6
_END = r"(?=\s*(?:$|\n|[\u4e00-\u9fff]{2,6}(?:[（(][^）)]{1,12}[）)])? ?:|[,，;；。]))"
_NUMBER = re.compile(
    r"(?:合同|协议)?编号 ?: ?(?P<number>[A-Za-z0-9][\w/()\[\]〔〕（）第号-]{2,40})"
    r"|\b(?:contract|agreement|reference|ref)\.? ?(?:no|number|nr|#)\.? ?:? ?(?P<english>[A-Z0-9][A-Z0-9/_-]{2,30})",
    re.IGNORECASE,
)
_ROLE = r"(?:\s?[（(][^）)]{1,12}[）)])?"
_COMPANY = r"[\u4e00-\u9fffA-Za-z0-9（）()·&., -]{2,60}?"
_SIDES = {
    "party_a": r"甲\s?方|出租方|发包方|委托方|买\s?方|需\s?方|出卖人|采购方|聘用单位|用人单位",
    "party_b": r"乙\s?方|承租方|承包方|受托方|卖\s?方|供\s?方|买受人|供应方|受聘人|劳动者",
}
_BETWEEN = re.compile(
    r"\bbetween\s?:?\s(?P<party_a>[\s\S]{3,120}?)\s?(?:\([^)]{1,80}\))?\s?,?\sand\s(?P<party_b>[\s\S]{3,120}?)"
    r"\s?(?:\(|,\s(?:a|an|with|having|each|both|collectively)\s|;|\.\s(?=[A-Z0-9])|\.$|\swhereas\b)",
    re.IGNORECASE,
)
_ENGLISH_SIDES = {
    name: re.compile(
        rf"(?<!for )\b(?:{roles})\s?: ?(?!for )(?P<name>[^:_\n]{{3,80}}?)"
        r"(?=\s(?:party|buyer|tenant|contractor|address|date)\b|\s\s|\n|$)",
        re.IGNORECASE,
    )
    for name, roles in (
        ("party_a", "party a|seller|landlord|lessor|client|employer|licensor"),
        ("party_b", "party b|buyer|tenant|lessee|contractor|employee|licensee"),
    )
}
_SIGNED = re.compile(
    r"(?:签订|签约|签署|订立)(?:日期|时间) ?:? ?|\b(?:made|entered into|executed|signed|dated)\b[^.]{0,30}?\b(?:on"
    r"|as of|this|dated)\s"
    r"|\b(?:date of (?:agreement|signature|contract)|effective date|dated|date) ?:? ?",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?:签订|签约|签署|履行)地点? ?: ?(?P<place>[\u4e00-\u9fff]{2,20}?)(?=$|\s|[,，。;]|根据|甲|乙|签订|合同|鉴于|为)"
    r"|\b(?:place(?: of (?:signing|signature|contract))?|signed at) ?: ?"
    r"(?P<english>[A-Z][\w .'-]{2,40}?)(?=$|[,;]|\s(?:between|date)\b)"
    r"|\b(?:made|entered into|executed)\b.{0,40}?\d{4},? (?:in"
    r"|at) (?P<made>[A-Z][\w.'-]{1,30}(?: [A-Z][\w.'-]{1,30}){0,3}),? (?=between|by)",
)
_TERM = re.compile(
    r"自(?P<start>.{4,24}?)起?至(?P<end>.{4,24}?)止"
    r"|[自从于](?P<first>.{4,24}?)(?:起|生效|开始)[^。]{0,8}?至(?P<last>.{4,24}?)(?:止|终止|届满|结束)"
)
_STARTS = re.compile(
    r"\b(?:commenc\w+|begin\w*|start\w*|effective|from)\b.{0,30}?\b(?:on|from|as of|date)\s|\bfrom\s", re.IGNORECASE
)
_ENDS = re.compile(r"\b(?:until|expir\w+|terminat\w+|end\w*|through|to)\b.{0,20}?(?:\bon\s)?", re.IGNORECASE)
_PERIOD = re.compile(
    r"\b(?:for|of) an? (?:initial |fixed )?(?:term|period) of (?P<term>.{3,40}?(?:years?|months?|days?))\b",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"(?:总金额|合同金额|总价款?|价款|合同价|总额|服务费|租金|货款|报酬)"
    r"|\b(?:total (?:amount|price|fee|sum|value)|contract (?:price|value|sum)|purchase price|fee of|sum of"
    r"|amount of|rent of)\b",
    re.IGNORECASE,
)
_NEAR: Final = 80
"""Characters behind a label in which its value begins."""
_DAY = KINDS["date"]


def read_contract(pages: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """Title, number, parties, dates, place, amount and term."""
    flow = TextFlow.of(pages)
    start, end, term = _term(flow)
    number = _NUMBER.search(flow.text)
    words = flow.values(KINDS["cn_amount_words"])
    return named(
        {
            "title": _title(pages),
            "number": _group(flow, number, ("number", "english")),
            **_parties(flow),
            "date": _signed(flow, start),
            "place": _group(flow, _PLACE.search(flow.text), ("place", "english", "made")),
            "start_date": start,
            "end_date": end,
            "term": term,
            "amount": _amount(flow),
            "amount_in_words": flow.candidate(words[0].start, words[0].end) if words else None,
        }
    )


def _group(flow: TextFlow, match: re.Match[str] | None, names: Sequence[str]) -> FieldCandidate | None:
    name = next((name for name in names if match is not None and match[name]), None)
    return (
        None
        if match is None or name is None
        else flow.candidate(*match.span(name), flow.text[match.start() : match.start(name)])
    )


def _title(pages: PrintedPages) -> FieldCandidate | None:
    for row in pages.rows[:_TITLE_ROWS]:
        text = row.text.strip()
        if len(text) <= _LONGEST_TITLE and _TITLE.search(text) and not _NOT_TITLE.search(text):
            return FieldCandidate(text, row.page, row.number, row.lines, score=1.0)
    return None


def _parties(flow: TextFlow) -> dict[str, FieldCandidate | None]:
    """Behind `甲方：`, in `between X and Y`, or behind `Party A:`."""
    between = _BETWEEN.search(flow.text)
    found: dict[str, FieldCandidate | None] = {}
    for name, roles in _SIDES.items():
        found[name] = _of_role(flow, roles)
        if found[name] is None:
            found[name] = flow.search(_ENGLISH_SIDES[name], "name")
        if found[name] is None and between is not None:
            found[name] = flow.candidate(*between.span(name), "between")
    return found


def _of_role(flow: TextFlow, roles: str) -> FieldCandidate | None:
    """The rest of the cell that begins with the role."""
    pattern = re.compile(
        rf"^(?:{roles}){_ROLE}\s?[:：]\s?(?P<name>{_COMPANY})(?:\s?[（(](?:以下|下称|简称).*)?[，,。;；]?$"
    )
    for row in flow.pages.rows:
        for cell in row.cells:
            match = pattern.match(cell.text.strip()[:200])
            if match and "盖章" not in match["name"] and "签" not in match["name"][:1]:
                label = match[0][: match.start("name")]
                return FieldCandidate(match["name"].strip(), row.page, row.number, (cell.line,), label, None, 1.0)
    return None


def _signed(flow: TextFlow, start: FieldCandidate | None) -> FieldCandidate | None:
    """The date behind a word for signing; else the last one of the document, under the signatures."""
    for match in _SIGNED.finditer(flow.text):
        if found := flow.first(_DAY, match.end(), match.end() + 24):
            return found
    days = flow.values(_DAY)
    last = flow.candidate(days[-1].start, days[-1].end, score=0.8) if days else None
    return last if last is not None and (start is None or last.row > start.row + 2) else None


def _term(flow: TextFlow) -> tuple[FieldCandidate | None, FieldCandidate | None, FieldCandidate | None]:
    """First and last day, and the term in words."""
    for match in _TERM.finditer(flow.text):
        start = flow.first(_DAY, *match.span("start" if match["start"] else "first"))
        end = flow.first(_DAY, *match.span("end" if match["start"] else "last"))
        if start and end:
            return start, end, flow.candidate(*match.span())
    start = _behind(flow, _STARTS, 0)
    begins = 0 if start is None else flow.text.find(start.text) + len(start.text)
    end = _behind(flow, _ENDS, begins) if start is not None else None
    return start, end, flow.search(_PERIOD, "term")


def _behind(flow: TextFlow, pattern: re.Pattern[str], start: int) -> FieldCandidate | None:
    for match in pattern.finditer(flow.text, start):
        if found := flow.first(_DAY, match.end(), match.end() + 24):
            return found
    return None


def _amount(flow: TextFlow) -> FieldCandidate | None:
    """The first amount with a currency behind a word for the price; else the first with a currency at all."""
    money = [
        each
        for each in flow.values(KINDS["money"])
        if each.unit != "%" and (each.unit or each.decimals == 2 or _signed_money(flow, each.start))
    ]
    for match in _AMOUNT.finditer(flow.text):
        for each in money:
            if match.end() <= each.start <= match.end() + _NEAR:
                return flow.candidate(each.start, each.end, match[0])
    return flow.candidate(money[0].start, money[0].end, score=0.8) if money else None


def _signed_money(flow: TextFlow, start: int) -> bool:
    return flow.text[start : start + 1] in {"¥", "￥", "$"}
