"""The fields of Chinese train tickets: of paper, and the electronic invoice of a journey."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate_client.types import Box
from inkgate_papers.flow import TextFlow, named

_STATION = re.compile(r"(?<![\u4e00-\u9fff])[\u4e00-\u9fff]{1,8} ?站(?![\u4e00-\u9fff])")
_TRAIN = re.compile(r"(?<![A-Z0-9])[GDCZTKYLS]\d{1,4}(?![\dA-Z])")
_SEAT = re.compile(r"\d{1,2} ?车 ?(?:\d{1,3} ?[A-F]?|无座) ?号?(?:[上中下]铺)?")
_CLASS = re.compile(
    r"商务座|特等座|优选一等座|一等座|二等座|一等卧|二等卧|高级软卧|动卧|高级动卧|新空调硬座|新空调硬卧|硬座|软座|硬卧|软卧|无座"
)
_PRICE = re.compile(r"(?:[¥￥] ?\d{1,5}(?:\.\d{1,2})?(?: ?元)?|\d{1,5}\.\d{1,2} ?元)")
_PAPER_NUMBER = re.compile(r"(?<![A-Z0-9])[A-Z]\d{6,9}(?![A-Z0-9])")
_ELECTRONIC_NUMBER = re.compile(r"电子客票号 ?: ?(?P<number>[A-Z0-9]{10,24})")
_INVOICE_NUMBER = re.compile(r"发票号码 ?: ?(?P<number>\d{8,20})")
_NAME = re.compile(r"\s{0,4}(?P<name>[\u4e00-\u9fff·]{2,12})")
_DEPARTURE = re.compile(
    r"(?P<date>20\d\d ?年 ?\d{1,2} ?月 ?\d{1,2} ?日)\s{0,3}(?P<time>\d{1,2} ?: ?\d\d)?(?P<leaves> ?开)?"
)
_BESIDE_TRAIN = re.compile(
    r"(?<![\u4e00-\u9fff])(?P<left>[\u4e00-\u9fff]{2,6})\s{1,3}[GDCZTKYLS]?\d{1,4}次?\s{1,3}(?P<right>[\u4e00-\u9fff]{2,6})(?![\u4e00-\u9fff])"
)
_SLOPE: Final = 1.5
"""Line heights by which two stations beside each other may differ, in a picture that was turned."""
_ISSUED: Final = "开票"


def read_train_ticket(pages: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """The journey, the seat, the price and the traveller."""
    flow = TextFlow.of(pages)
    first, second = _stations(flow)
    date, time = _departure(flow)
    number, name = _traveller(flow)
    ticket = flow.search(_ELECTRONIC_NUMBER, "number") or flow.search(_PAPER_NUMBER)
    return named(
        {
            "from_station": first,
            "to_station": second,
            "train_number": flow.search(_TRAIN),
            "date": date,
            "time": time,
            "seat": flow.search(_SEAT),
            "seat_class": flow.search(_CLASS),
            "price": flow.search(_PRICE),
            "name": name,
            "id_number": number,
            "ticket_number": ticket,
            "invoice_number": flow.search(_INVOICE_NUMBER, "number"),
        }
    )


def _stations(flow: TextFlow) -> tuple[FieldCandidate | None, FieldCandidate | None]:
    """The first two; of two beside each other, a train leaves from the left one. Without 站: beside the train."""
    found = list(flow.matches(_STATION))[:2]
    if len(found) < 2:
        beside = _BESIDE_TRAIN.search(flow.text)
        if beside is None:
            return None, None
        return flow.candidate(*beside.span("left")), flow.candidate(*beside.span("right"))
    first, second = (_box(flow, each) for each in found)
    high = max(first[3] - first[1], second[3] - second[1])
    swapped = abs(first[1] - second[1]) < _SLOPE * high and second[2] <= first[0]
    return (found[1], found[0]) if swapped else (found[0], found[1])


def _box(flow: TextFlow, candidate: FieldCandidate) -> Box:
    return next(cell.box for cell in flow.pages.rows[candidate.row].cells if cell.line in candidate.lines)


def _departure(flow: TextFlow) -> tuple[FieldCandidate | None, FieldCandidate | None]:
    """The date with a time of departure; without one the first that is not the invoice's."""
    matches = [
        each
        for each in _DEPARTURE.finditer(flow.text)
        if _ISSUED not in flow.text[max(0, each.start() - 6) : each.start()]
    ]
    if not matches:
        return None, None
    best = max(matches, key=lambda each: (bool(each["leaves"]), bool(each["time"]), -each.start()))
    date = flow.candidate(*best.span("date"))
    return date, flow.candidate(*best.span("time")) if best["time"] else None


def _traveller(flow: TextFlow) -> tuple[FieldCandidate | None, FieldCandidate | None]:
    """The identity number, and the name behind it."""
    numbers = flow.values(KINDS["cn_id_masked"])
    if not numbers:
        return None, None
    number = flow.candidate(numbers[0].start, numbers[0].end)
    name = _NAME.match(flow.text, numbers[0].end)
    return number, flow.candidate(*name.span("name")) if name else None
