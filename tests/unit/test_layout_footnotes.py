"""Footnotes: marks and notes that are certain are linked, all else stays plain text."""

from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkgate.layout.text.footnotes import with_footnotes
from inkgate.layout.text.markdown import page_markdown
from inkgate.layout.whole_document import finished_pages
from inkgate_client.escape import escape
from inkgate_client.types import Block, BlockType, Line, PageResult

Part = tuple[BlockType, str, float, float]
"""Type, text, top and height of the lines of a block."""


def page(*parts: Part, index: int = 0) -> PageResult:
    lines: list[Line] = []
    blocks: list[Block] = []
    for kind, text, top, height in parts:
        rows = text.split("\n")
        first = len(lines)
        for i, row in enumerate(rows):
            y = top + 1.2 * i * height
            lines.append(Line(row, ((50.0, y), (550.0, y), (550.0, y + height), (50.0, y + height)), 0.9))
        box = (50.0, top, 550.0, top + 1.2 * len(rows) * height)
        blocks.append(Block(kind, box, tuple(range(first, len(lines))), text, escape(text)))
    return PageResult(
        index, 600, 1000, lines=tuple(lines), blocks=tuple(blocks), markdown=page_markdown(blocks), text="x"
    )


def body(text: str, top: float = 100) -> Part:
    return BlockType.TEXT, text, top, 20


def note(text: str, top: float = 900, kind: BlockType = BlockType.TEXT) -> Part:
    return kind, text, top, 15


def written(*parts: Part) -> list[str]:
    return [block.markdown for block in with_footnotes([page(*parts)])[0].blocks or ()]


@pytest.mark.parametrize("kind", [BlockType.TEXT, BlockType.REFERENCE, BlockType.FOOTER])
@pytest.mark.parametrize("text", ["It was estimated{} in May.", "It was found.{} Then more.", "(Yang et al., 2017).{}"])
@pytest.mark.parametrize("mark", ["16", "1", "†"])
def test_a_mark_and_its_note_are_linked(kind: BlockType, text: str, mark: str) -> None:
    assert written(body(text.format(mark)), note(f"{mark} Annual Report, section 2", kind=kind)) == [
        text.format(f"[^{mark}]"), f"[^{mark}]: Annual Report, section 2"
    ]  # fmt: skip


def test_raised_digits_are_marks_wherever_they_stand() -> None:
    assert written(body("Of 100² and more"), note("² As measured")) == ["Of 100[^2] and more", "[^2]: As measured"]


def test_several_notes_of_one_block_stand_by_themselves() -> None:
    text = "The code1 was run in practice2 and in theory."
    assert written(body(text), note("1The code is\nhere.\n2For instance, this\n7 Other numbers are text")) == [
        "The code[^1] was run in practice[^2] and in theory.",
        "[^1]: The code is here.\n\n[^2]: For instance, this 7 Other numbers are text",
    ]


@pytest.mark.parametrize(
    "text",
    ["It was 16 and more", "In CO16 there is", "see www.example.com/page16 there", "of 3.16 metres",
     "first16 and second16", "words16th are", "The numbers16,17 here", "Nothing"],
)  # fmt: skip
def test_without_a_certain_mark_all_stays_plain(text: str) -> None:
    assert written(body(text), note("16 Annual Report")) == [escape(text), "16 Annual Report"]


@pytest.mark.parametrize(
    "other",
    [note("16 Annual Report", top=300), (BlockType.TEXT, "16 Annual Report", 900, 20), note("16. Annual Report"),
     note("16 000 people"), (BlockType.TITLE, "16 Annual Report", 900, 15)],
)  # fmt: skip
def test_what_is_not_surely_a_note_stays_plain(other: Part) -> None:
    assert written(body("It was estimated16 in May"), other)[0] == "It was estimated16 in May"


def test_text_below_in_the_same_column_is_not_below_notes() -> None:
    parts = (body("It was estimated16 in May"), note("16 Annual Report", top=600), body("And so on", top=800))
    assert written(*parts)[0] == "It was estimated16 in May"


def test_a_page_number_may_stand_below_notes() -> None:
    parts = (body("It was estimated16 in May"), note("16 Annual Report", top=900), body("61", top=950))
    assert written(*parts)[1] == "[^16]: Annual Report"


def test_a_sentence_goes_on_after_the_notes_of_its_column() -> None:
    parts = (body("It was estimated16 in the month"), note("16 Annual Report"), body("of May."))
    assert (
        finished_pages([page(*parts)])[0].markdown
        == "It was estimated[^16] in the month of May.\n\n[^16]: Annual Report"
    )


def test_labels_are_unique_in_a_document() -> None:
    pages = [page(body("It was found1 there"), note("1 Report"), index=i) for i in range(2)]
    done = finished_pages(pages)
    assert [one.markdown for one in done] == [
        "It was found[^1] there\n\n[^1]: Report", "It was found[^1-2] there\n\n[^1-2]: Report"
    ]  # fmt: skip
    assert finished_pages(done) == done


ROWS = st.sampled_from(
    ["word1 and", "word2.", "Go on†, they", "1 Note one", "2 Note two", "† Dagger", "3Note", "plain"]
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(BlockType), st.lists(ROWS, min_size=1, max_size=4), st.booleans()), max_size=7)
)
def test_no_character_is_lost_or_doubled(drawn: Sequence[tuple[BlockType, list[str], bool]]) -> None:
    parts = [
        (kind, "\n".join(rows), 100.0 * (i + 1), 15.0 if small else 20.0) for i, (kind, rows, small) in enumerate(drawn)
    ]
    before = page(*parts)
    after = with_footnotes([before])[0]
    for old, new in ((before, after), (after, with_footnotes([after])[0])):
        assert [block.lines for block in old.blocks or ()] == [block.lines for block in new.blocks or ()]
        counts = [
            Counter(c for block in one.blocks or () for c in block.markdown if c.isalnum() or c == "†")
            for one in (old, new)
        ]
        assert counts[0] == counts[1]
    assert with_footnotes([after])[0] == after
