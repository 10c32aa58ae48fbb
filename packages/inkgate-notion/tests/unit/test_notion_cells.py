"""Values as Notion's columns have them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate_notion.cells import RowValue, ValueKind, cell, pieces, rich_text
from inkgate_notion.columns import NotionSchemaMismatch, notion_id


@given(st.text(st.sampled_from("a 字𝄞"), max_size=300), st.integers(1, 60))
def test_pieces_are_the_text_and_none_is_longer_than_javascript_may_count(text: str, times: int) -> None:
    cut = pieces(text * times)
    assert "".join(cut) == text * times
    assert all(0 < len(piece.encode("utf-16-le")) // 2 <= 2000 for piece in cut)


def test_a_text_of_too_many_pieces_ends_with_an_ellipsis() -> None:
    cut = rich_text("𝄞" * 40_000)
    assert len(cut) == 10
    assert cut[-1]["text"]["content"].endswith("𝄞…")


FITTING: list[tuple[str, str | float | bool | None, Any]] = [
    ("number", "18.70", 18.7),
    ("number", "17.00", 17),
    ("number", None, None),
    ("date", "2026-03-14", {"start": "2026-03-14"}),
    ("date", "2026-03-14T09:41:00", {"start": "2026-03-14T09:41:00"}),
    ("date", "", None),
    ("select", "tools, used", {"name": "tools used"}),
    ("select", " ", None),
    ("multi_select", "a", [{"name": "a"}]),
    ("checkbox", True, True),
    ("checkbox", None, False),
    ("rich_text", False, [{"type": "text", "text": {"content": "no"}}]),
    ("rich_text", "a\x00b", [{"type": "text", "text": {"content": "ab"}}]),
    ("url", "https://example.org", "https://example.org"),
    ("phone_number", None, None),
]
MISFITS = [
    ("number", "12 pcs", "is not a number"),
    ("number", "NaN", "is not a number"),
    ("number", "0.1234567890123456789", "more digits"),
    ("number", "90071992547409931", "more digits"),
    ("date", "14/03/2026", "is not a date"),
    ("checkbox", "maybe", "neither true nor false"),
    ("email", "a" * 201, "more than 200"),
    ("select", ",", "nothing but commas"),
    ("select", "𝄞" * 51, "more than 100"),
    ("multi_select", "a" * 101, "more than 100"),
]


def test_a_value_is_written_exactly_or_not_at_all() -> None:
    for kind, value, expected in FITTING:
        assert cell(kind, RowValue(ValueKind.TEXT, value)) == {kind: expected}, (kind, value)
    for kind, misfit, said in MISFITS:
        with pytest.raises(ValueError, match=said) as error:
            cell(kind, RowValue(ValueKind.TEXT, misfit))
        assert misfit not in str(error.value)


def test_an_id_is_found_in_what_people_copy() -> None:
    expected = "1f2e3d4c-5b6a-4798-8796-a5b4c3d2e1f0"
    plain = expected.replace("-", "")
    for text in (plain, expected, f" {plain.upper()} ", f"https://app.notion.com/p/Scans-{plain}?v={'0' * 32}"):
        assert notion_id(text) == expected
    with pytest.raises(NotionSchemaMismatch):
        notion_id("https://www.notion.so/acme?v=" + plain)
