"""Chinese identity numbers, and amounts in words."""

from __future__ import annotations

from decimal import Decimal

import pytest

from inkgate.fields.kinds.chinese import ChineseIds, amount_of_words


def test_numbers_are_found_with_spaces_and_not_in_longer_ones() -> None:
    number, kind = "11010519900101001X", ChineseIds()
    assert [value.readings[0] for value in kind.find(f"号码 {number[:6]} {number[6:14]} {number[14:]}")] == [number]
    assert not kind.find(f"1{number}")


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        ("壹佰贰拾叁元肆角伍分", "123.45"),
        ("壹仟零伍元整", "1005"),
        ("拾元正", "10"),
        ("壹万贰仟叁佰元零伍分", "12300.05"),
        ("叁亿零伍拾万圆整", "300500000"),
        ("壹拾贰亿叁仟肆佰伍拾陆万柒仟捌佰玖拾元整", "1234567890"),
        ("贰元伍角", "2.5"),
        ("元", None),
        ("壹元贰", None),
        ("壹", None),
    ],
)
def test_amounts_in_words(words: str, amount: str | None) -> None:
    assert amount_of_words(words) == (None if amount is None else Decimal(amount))
