"""The steps for whole documents: running headers and footers are those that are repeated."""

from dataclasses import replace

import pytest

from inkgate.layout.arrange import arrange
from inkgate.layout.evidence import PageEvidence, Region
from inkgate.layout.text.markdown import left_out_blocks, page_markdown
from inkgate.layout.whole_document import finished, finished_pages
from inkgate_client.types import Block, BlockType, DocumentResult, LeftOut, LeftOutReason, Line, PageResult
from support.layouts import PAGE, column, line, prose, region

HEAD, FOOT = 60.0, 1540.0


def page(index: int, *edges: Line, body: list[Line] | None = None, regions: list[Region] | None = None) -> PageResult:
    """A page of running text, another on each page, with these lines at its edges."""
    text = column(prose(f"page{index}row", 12), 100, 300) if body is None else body
    arranged = arrange([*edges, *text], PAGE, PageEvidence(regions or ()))
    return arranged.put_into(PageResult(index, PAGE.width, PAGE.height), parse=True)


def left_out(pages: tuple[PageResult, ...]) -> list[list[tuple[str, str]]]:
    return [[(part.text, part.reason.value) for part in each.left_out] for each in pages]


def test_lines_repeated_at_the_same_place_are_left_out_and_put_into_header_and_footer() -> None:
    made = [page(i, line("Annual report", 100, HEAD), line(f"Part A | {i + 3} of 90", 500, FOOT + i)) for i in range(3)]
    done = finished_pages(made)
    for i, each in enumerate(done):
        assert left_out(done)[i] == [("Annual report", "running_header"), (f"Part A | {i + 3} of 90", "running_footer")]
        assert (each.header, each.footer) == ("Annual report", f"Part A | {i + 3} of 90")
        assert each.markdown is not None
        assert "Annual" not in each.markdown
        assert f"page{i}row0" in each.markdown
        assert (each.text, each.lines) == (made[i].text, made[i].lines)
        assert [block.type for block in each.blocks or ()] == [BlockType.HEADER, BlockType.TEXT, BlockType.FOOTER]


def test_left_and_right_pages_may_have_their_own() -> None:
    heads = [line("Chapter one", 100, HEAD) if i % 2 else line("The whole book", 700, HEAD) for i in range(6)]
    assert [part[0][0] for part in left_out(finished_pages([page(i, head) for i, head in enumerate(heads)]))] == [
        head.text for head in heads
    ]


def test_a_line_whose_last_number_counts_with_the_pages_is_a_running_line_whatever_the_chapter() -> None:
    feet = ["Introduction 7", "Methods 8", "Results 9"]
    done = finished_pages([page(i, line(foot, 500, FOOT)) for i, foot in enumerate(feet)])
    assert left_out(done) == [[(foot, "running_footer")] for foot in feet]


def test_a_misread_running_line_is_found_among_others_but_one_with_another_number_stays() -> None:
    heads = ["Report of 1998"] * 3 + ["Repcrt of 1998", "Report of 1999", "Report ot 1998", *["Report of 1998"] * 3]
    done = finished_pages([page(i, line(head, 100, HEAD)) for i, head in enumerate(heads)])
    assert [bool(each.left_out) for each in done] == [head != "Report of 1999" for head in heads]


def test_roman_numbers_count_as_well() -> None:
    feet = ["Preface viii", "Preface ix", "Preface x"]
    assert all(left_out(finished_pages([page(i, line(foot, 500, FOOT)) for i, foot in enumerate(feet)])))


def test_numbers_that_count_with_the_pages_are_page_numbers_on_pages_without_running_text_too() -> None:
    pages = [page(i, line(str(i + 11), 500, FOOT), body=[line(f"Chart {'abc'[i]}", 300, 700)]) for i in range(3)]
    assert not any(each.left_out for each in pages)
    assert left_out(finished_pages(pages)) == [[(str(i), "page_number")] for i in (11, 12, 13)]


@pytest.mark.parametrize(
    "edges",
    [
        [line("Total 120.00", 100, FOOT), line("Total 98.50", 100, FOOT), line("Total 7.00", 100, FOOT)],  # amounts
        [line("Annual report", 100, HEAD), line("Annual report", 100, HEAD + 90), line("Annual report", 100, HEAD)],
        [line("Annual report", 100, HEAD), line("Another one", 100, HEAD), line("and a third", 100, HEAD)],
        [line("Results", 100, HEAD, height=40.0)] * 3,  # titles of slides are larger than text
        [line("Annual report", 100, 600)] * 3,  # in the middle of the page
        [line("5", 500, FOOT)] * 3,
    ],
)
def test_other_lines_at_the_edges_stay(edges: list[Line]) -> None:
    pages = [page(i, edge) for i, edge in enumerate(edges)]
    assert finished_pages(pages) == tuple(pages)


def test_what_is_repeated_far_away_in_a_long_document_stays() -> None:
    pages = [page(i, *([line("Summary", 100, HEAD)] if i % 8 == 0 else [])) for i in range(40)]
    assert finished_pages(pages) == tuple(pages)


def test_copies_of_a_form_keep_their_heads() -> None:
    labels = [line(name, 100, 400 + 120 * row) for row, name in enumerate(["Name", "Street", "Town", "Telephone"])]
    pages = [page(i, line("Application", 100, HEAD), line(f"Page {i + 1}", 100, FOOT), body=labels) for i in range(3)]
    assert left_out(finished_pages(pages)) == [[(f"Page {i}", "page_number")] for i in (1, 2, 3)]


def test_what_is_all_the_text_of_its_pages_stays() -> None:
    cards = [page(i, line("Admit one", 100, HEAD), body=[]) for i in range(4)]
    assert finished_pages(cards) == tuple(cards)
    blank = page(3, line("Annual report", 100, HEAD), body=[])
    assert finished_pages([*(page(i, line("Annual report", 100, HEAD)) for i in range(3)), blank])[3].markdown == ""


def test_two_pages_need_a_number_that_counts_or_the_layout_model() -> None:
    plain = [page(i, line("To whom it may concern", 100, HEAD)) for i in range(2)]
    assert finished_pages(plain) == tuple(plain)
    counted = finished_pages([page(i, line(f"Page {i + 1} - Letter", 100, HEAD)) for i in range(2)])
    assert all(left_out(counted))
    head = region(BlockType.HEADER, 80, 40, 500, 100)
    marked = finished_pages([page(i, line("Annual report", 100, HEAD), regions=[head]) for i in range(2)])
    assert left_out(marked) == [[("Annual report", "running_header")]] * 2


def model_page(index: int, *blocks: Block) -> PageResult:
    """A page of an engine that reports no lines."""
    text = "\n\n".join(block.text for block in blocks)
    return PageResult(index, 1200, 1600, blocks=blocks, text=text, markdown=page_markdown(blocks))


def test_blocks_without_lines_are_judged_alike() -> None:
    def pages() -> list[PageResult]:
        heads = Block(BlockType.TITLE, (100, 40, 500, 80), (), "Annual report", "# Annual report", level=1)
        body = [Block(BlockType.TEXT, (100, 300, 900, 900), (), f"Text {c}", f"Text {c}") for c in "abc"]
        return [model_page(i, heads, text) for i, text in enumerate(body)]

    done = finished_pages(pages())
    assert [each.markdown for each in done] == ["Text a", "Text b", "Text c"]
    assert done[0].left_out == (LeftOut("Annual report", LeftOutReason.RUNNING_HEADER, ()),)
    assert (done[0].blocks or ())[0].level is None
    assert finished_pages(done) == done


def test_invisible_text_leaves_out_no_header_that_says_the_same() -> None:
    head = Block(BlockType.HEADER, (100, 40, 500, 80), (), "Annual report", "Annual report")
    hidden = LeftOut("Annual report", LeftOutReason.INVISIBLE, (), (0.0, 0.0, 9.0, 9.0))
    assert left_out_blocks([head], [hidden]) == set()
    assert left_out_blocks([head], [replace(hidden, reason=LeftOutReason.RUNNING_HEADER)]) == {0}


def test_markdown_that_a_model_wrote_as_a_whole_stays() -> None:
    pages = [replace(page(i, line("Annual report", 100, HEAD)), markdown="# By a model") for i in range(3)]
    result = DocumentResult("d", "application/pdf", 1, 3, "e", tuple(pages))
    assert finished(result) is result
    without = replace(result, pages=tuple(replace(each, blocks=None, markdown=None) for each in pages))
    assert finished(without) is without
