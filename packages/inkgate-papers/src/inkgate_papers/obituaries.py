"""The fields of obituaries, which are prose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Final

from inkgate.fields.kinds import KINDS
from inkgate.fields.rules.candidates import FieldCandidate
from inkgate.fields.rules.rows import PrintedPages
from inkgate_papers.flow import TextFlow, named

_DIED = re.compile(
    r"(?:逝\n?世|去\n?世|辞\n?世|病\n?逝|离\n?世|仙\n?逝|与\n?世\n?长\n?辞|停止呼吸)"
    r"|\b(?:passed away|died|passed peacefully|went to be with"
    r"|departed this life|entered into rest)\b",
    re.IGNORECASE,
)
_BORN = re.compile(r"出?生于|诞生于|\bborn\b", re.IGNORECASE)
_SERVICE = re.compile(
    r"(?:追悼会|告[别別]仪式|遗体告[别別]|追思会|追思礼拜|葬礼)"
    r"|\b(?:(?:memorial|funeral|graveside|celebration of life|church)?\s?services?|funeral|memorial|visitation"
    r"|mass of christian burial|celebration of life)\b",
    re.IGNORECASE,
)
_PERSON = r"(?<!\w)[A-Z][\w.'’-]{0,30}(?: (?:\"[^\"]{1,20}\"|\([^)]{1,20}\)|[A-Z][\w.'’-]{0,30})){1,5}"
_NAME_AND_AGE = re.compile(
    rf"(?P<name>{_PERSON}),? (?:aged? |age of )?(?P<age>1?\d\d)(?= years|,(?! ?(?:18|19|20)\d\d)|\.|;)"
)
_NAME_OF_HEAD = re.compile(_PERSON)
_CHINESE_NAME = re.compile(
    r"(?P<name>[\u4e00-\u9fff]{2,4}?)(?:先生|女士|夫人|同志|老人|老先生|教授|老师|院士)(?=因|于|，|,|逝|生|在|不幸"
    r"|同志)"
)
_NAME_BEHIND_FAMILY = re.compile(rf"(?:父亲|母亲|祖父|祖母|岳父|岳母|慈父|慈母|敬爱的|亲爱的){_CHINESE_NAME.pattern}")
_FAMILY = re.compile(r"^(?:我们?(?:敬爱|亲爱)的|慈父|慈母|家父|家母|先父|先母|父亲|母亲|祖父|祖母|原|敬爱的|亲爱的)+")
_AGE = re.compile(
    r"(?:享年|终年|享寿|年仅) ?(?P<age>1?\d\d?) ?岁|\b(?:at the age of|aged?|at age) (?P<english>1?\d\d?)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"在(?P<place>[\u4e00-\u9fff0-9A-Za-z]{3,30}?)(?:举行|召开|进行)"
    r"|\b(?:at|in) (?P<english>(?:the )?[A-Z][\w.'’&-]*(?: (?:of|the|and|&|[A-Z][\w.'’&-]*)){0,7})"
)
_HEADING: Final = frozenset(
    {"obituary", "in loving memory", "in memoriam", "death notice", "in memory of", "celebration of life"}
)
_NEAR: Final = 160
"""Characters of a sentence around the word that tells what it is about."""
_HEAD_ROWS: Final = 5
_MAX_EVENTS: Final = 50
"""Words for an event whose sentences are looked at."""
_SENTENCE = re.compile(r"(?<!\b[A-Z])(?<!St)(?<!Mr)(?<!Dr)(?<!Mrs)\.\s(?=[A-Z])|。")
_DAY = KINDS["date"]


def read_obituary(pages: PrintedPages) -> Mapping[str, Sequence[FieldCandidate]]:
    """Name, dates, age, and when and where the service is."""
    flow = TextFlow.of(pages)
    age = _AGE.search(flow.text)
    with_age = _NAME_AND_AGE.search(flow.text)
    found = {
        "name": _name(flow, with_age),
        "birth_date": _day_of(flow, _BORN, behind=True),
        "death_date": _day_of(flow, _DIED, behind=False),
        **_service(flow),
    }
    if with_age is not None:
        found["age"] = flow.candidate(*with_age.span("age"))
    elif age is not None:
        found["age"] = flow.candidate(*age.span("age" if age["age"] else "english"))
    return named(found)


def _name(flow: TextFlow, with_age: re.Match[str] | None) -> FieldCandidate | None:
    chinese = _NAME_BEHIND_FAMILY.search(flow.text) or _CHINESE_NAME.search(flow.text)
    if chinese is not None:
        start, end = chinese.span("name")
        family = _FAMILY.match(flow.text[start:end])
        return flow.candidate(start + (family.end() if family else 0), end)
    if with_age is not None:
        return flow.candidate(*with_age.span("name"))
    for row in flow.pages.rows[:_HEAD_ROWS]:
        text = row.text.strip()
        if text.lower() not in _HEADING and _NAME_OF_HEAD.fullmatch(text):
            return FieldCandidate(text, row.page, row.number, row.lines, score=0.85)
    return None


def _day_of(flow: TextFlow, event: re.Pattern[str], *, behind: bool) -> FieldCandidate | None:
    """The date in the event's sentence: the first behind its word, or the nearest one; Chinese has it before."""
    for match in islice(event.finditer(flow.text), _MAX_EVENTS):
        start, end = _sentence(flow.text, match.start(), match.end())
        after = flow.first(_DAY, match.end(), end)
        before = flow.values(_DAY, start, match.start())
        nearest = flow.candidate(before[-1].start, before[-1].end, match[0]) if before else None
        english = match[0].isascii()
        found = after or nearest if behind or english else nearest or after
        if found is not None:
            return found
    return None


def _sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns where the sentence that a place is in begins and ends."""
    first, last = max(0, start - _NEAR), min(len(text), end + _NEAR)
    bounds = [match.end() for match in _SENTENCE.finditer(text, first, last)]
    before = [each for each in bounds if each <= start]
    after = [each for each in bounds if each >= end]
    return (before[-1] if before else first), (after[0] if after else last)


def _service(flow: TextFlow) -> dict[str, FieldCandidate | None]:
    """Date, time and place in the first sentence about a service that has a date."""
    for match in islice(_SERVICE.finditer(flow.text), _MAX_EVENTS):
        start, end = _sentence(flow.text, match.start(), match.end())
        date = flow.first(_DAY, start, end)
        if date is None:
            continue
        time = flow.first(KINDS["time"], start, end)
        return {"service_date": date, "service_time": time, "service_place": _place(flow, start, end)}
    return {}


def _place(flow: TextFlow, start: int, end: int) -> FieldCandidate | None:
    for match in _PLACE.finditer(flow.text, start, end):
        group = "place" if match["place"] else "english"
        if not _DAY.find(match[group]) and not match[group].split()[0].isdigit():
            start_, end_ = match.span(group)
            return flow.candidate(start_, start_ + len(flow.text[start_:end_].rstrip(".,;")))
    return None
