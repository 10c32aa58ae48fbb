"""Chinese identity cards."""

from __future__ import annotations

from random import Random

from inkgate.fields.classify import classify
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate_client.fields.values import Extraction
from support.receipts import page

TYPES = DocumentTypes.load()
FRONT = """
姓名 样本{name}
性别{sex} 民族汉
出生 {year} 年 {month} 月 {day} 日
住址北京市朝阳区样本路
12号楼3单元401室
公民身份号码 {number}
"""
BACK = """
中华人民共和国
居民身份证
签发机关 北京市公安局朝阳分局
有效期限 2015.06.01-2035.06.01
"""


def check_character(first: str) -> str:
    """GB 11643: ISO 7064, MOD 11-2."""
    remainder = 0
    for digit in first:
        remainder = (remainder + int(digit)) * 2 % 11
    return "0123456789X"[(12 - remainder) % 11]


def number_of(born: str, order: int) -> str:
    first = f"110105{born}{order:03}"
    return first + check_character(first)


def found(text: str) -> Extraction:
    pages = [page(text)]
    schema = TYPES.named("cn_id_card")
    return answer(pages, schema, proposed(pages, schema))


def front(random: Random) -> tuple[str, dict[str, object]]:
    year, month, day, order = (
        random.randrange(1950, 2010),
        random.randrange(1, 13),
        random.randrange(1, 29),
        random.randrange(1000),
    )
    number = number_of(f"{year}{month:02}{day:02}", order)
    name, sex = random.choice("甲乙丙丁"), "男" if order % 2 else "女"
    text = FRONT.format(name=name, sex=sex, year=year, month=month, day=day, number=number)
    return text, {
        "name": f"样本{name}",
        "sex": sex,
        "nation": "汉",
        "birth_date": f"{year}-{month:02}-{day:02}",
        "address": "北京市朝阳区样本路12号楼3单元401室",
        "number": number,
        "authority": None,
        "valid_period": None,
    }


def test_both_sides_of_an_identity_card() -> None:
    random = Random(5)
    wrong = []
    for _ in range(50):
        text, truth = front(random)
        extraction = found(text)
        if (
            extraction.data != truth
            or not all(check.passed for check in extraction.checks)
            or len(extraction.checks) != 3
        ):
            wrong.append((extraction.data, truth))
    assert not wrong
    back = found(BACK).data
    assert (back["authority"], back["valid_period"]) == ("北京市公安局朝阳分局", "2015.06.01-2035.06.01")
    assert classify([page(front(random)[0])], TYPES).name == classify([page(BACK)], TYPES).name == "cn_id_card"


def test_each_wrong_digit_of_a_number_is_told() -> None:
    text, truth = front(Random(6))
    number = str(truth["number"])
    missed = []
    for at in range(17):
        changed = number[:at] + str((int(number[at]) + 1) % 10) + number[at + 1 :]
        extraction = found(text.replace(number, changed))
        field = extraction.fields["/number"]
        if field.status.value != "invalid" or extraction.status.value != "needs_review":
            missed.append(changed)
    assert not missed


def test_a_number_that_fits_neither_birth_nor_sex_is_told() -> None:
    text, truth = front(Random(7))
    other = number_of("19491001", 1 if truth["sex"] == "女" else 2)
    checks = {check.code: check.passed for check in found(text.replace(str(truth["number"]), other)).checks}
    assert checks == {"id_check_digit": True, "id_birth_date": False, "id_sex": False}
