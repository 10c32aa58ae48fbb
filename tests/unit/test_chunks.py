"""Chunks for retrieval."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkgate_client.formats.chunks import Chunk, Chunker, ChunkOptions, chunks_of
from inkgate_client.formats.chunks.options import estimated_tokens
from inkgate_client.types import Block, BlockType, PageResult, Table, TableCell

SENTENCE = "The inspector measured the rainfall at seven stations. "


def block(
    text: str, kind: BlockType = BlockType.TEXT, top: float = 0, markdown: str = "", level: int | None = None
) -> Block:
    shown = markdown or ("#" * level + " " + text if level else text)
    return Block(kind, (10, top, 90, top + 9), (), text, shown, level)


def page(*blocks: Block, index: int = 0) -> PageResult:
    return PageResult(
        index, 100, 200, blocks=blocks, markdown="\n\n".join(each.markdown for each in blocks if each.markdown)
    )


def of_markdown(markdown: str, index: int = 0) -> PageResult:
    return PageResult(index, 100, 200, markdown=markdown)


def chunks(*pages: PageResult, **options: object) -> list[Chunk]:
    return list(chunks_of(pages, ChunkOptions(**options)))  # type: ignore[arg-type]


def test_a_section_is_a_chunk_with_its_path_pages_and_boxes() -> None:
    first = page(
        block("Report", BlockType.TITLE, 0, level=1),
        block("Rain", BlockType.TITLE, 10, level=2),
        block("It rained.", top=20),
        block("- in May\n- in June", BlockType.LIST, 30),
    )
    second = page(
        block("It went on.", top=5), block("Snow", BlockType.TITLE, 20, level=2), block("None.", top=30), index=1
    )
    rain, snow = chunks(first, second)
    assert rain.text == "# Report\n\n## Rain\n\nIt rained.\n\n- in May\n- in June\n\nIt went on."
    assert rain.headings == ("Report", "Rain")
    assert rain.pages == (1, 2)
    assert [(place.page, place.box[1], place.type.value) for place in rain.places] == [
        (1, 0, "title"), (1, 10, "title"), (1, 20, "text"), (1, 30, "list"), (2, 5, "text"),
    ]  # fmt: skip
    assert rain.types == (BlockType.TITLE, BlockType.TEXT, BlockType.LIST)
    assert (snow.index, snow.text, snow.headings, snow.pages) == (1, "## Snow\n\nNone.", ("Report", "Snow"), (2,))
    assert snow.tokens == estimated_tokens(snow.text)


def test_headings_stand_in_front_if_they_are_asked_for() -> None:
    body = SENTENCE * 20
    found = chunks(of_markdown(f"# Report\n\n## Rain\n\n{body}"), characters=400, headings=True)
    assert found[0].text.startswith("# Report\n\n## Rain\n\nThe inspector")
    assert found[0].context == ""
    for chunk in found[1:]:
        assert chunk.context == "# Report\n\n## Rain"
        assert chunk.text == f"{chunk.context}\n\n{chunk.own_text}"
        assert chunk.own_text.startswith("The inspector")
    assert max(len(chunk.text) for chunk in found) <= 400
    long = "Very long heading " * 20
    assert chunks(of_markdown(f"# {long}\n\n## Rain\n\n{body}"), characters=400, headings=True)[-1].context == "## Rain"


def test_text_is_cut_between_sentences_where_it_can_be() -> None:
    found = chunks(of_markdown(SENTENCE * 40), characters=200)
    assert all(chunk.text.endswith("stations.") for chunk in found)
    items = "\n".join(f"- item {number} with some words" for number in range(40))
    assert all(chunk.text.startswith("- item") for chunk in chunks(of_markdown(items), characters=200))


def test_chinese_is_cut_between_characters_but_not_before_a_full_stop() -> None:
    found = chunks(of_markdown("今天下雨了" * 30 + "。" + "雪" * 100), tokens=32)
    assert max(estimated_tokens(chunk.text) for chunk in found) <= 32
    assert not any(chunk.text.startswith("。") for chunk in found)


def test_a_word_longer_than_a_chunk_stays_whole() -> None:
    found = chunks(of_markdown("short " + "x" * 500 + " short"), characters=100)
    assert [len(chunk.text) for chunk in found] == [5, 500, 5]


def test_what_begins_in_the_middle_of_a_line_becomes_no_heading_or_list() -> None:
    found = chunks(of_markdown(("word " * 5 + "# " + "1. ") * 30), characters=100)
    assert not any(re.match(r"#|\d\.", chunk.text) for chunk in found)


def test_a_table_is_whole_if_it_can_be_and_else_has_its_headers_in_each_piece() -> None:
    rows = [f"| station {number} | {number * 7} mm |" for number in range(30)]
    table = "\n".join(["| Station | Rain |", "| --- | --- |", *rows])
    before = "Before. " * 20
    whole = chunks(of_markdown(f"{before}\n\n{table}"), characters=len(table) + 10)
    assert [chunk.text for chunk in whole] == [before.strip(), table]
    divided = chunks(of_markdown(f"{before}\n\n{table}"), characters=300)[1:]
    assert len(divided) > 2
    for chunk in divided:
        assert chunk.text.startswith("| Station | Rain |\n| --- | --- |\n| station")
        assert len(chunk.text) <= 300
    assert [row for chunk in divided for row in chunk.text.split("\n")[2:]] == rows


def test_rows_that_a_cell_spans_stay_together() -> None:
    rows = "".join(
        f'<tr><td rowspan="2">{number}</td><td>upper {number}</td></tr><tr><td>lower {number}</td></tr>'
        for number in range(20)
    )
    head = "<tr><th>No.</th><th>Value</th></tr>"
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    found = chunks(of_markdown(table), characters=300)
    for chunk in found:
        assert chunk.text.startswith(f"<table><thead>{head}</thead><tbody><tr>")
        assert chunk.text.endswith("</tr></tbody></table>")
        assert chunk.text.count("upper") == chunk.text.count("lower")
    assert "".join(chunk.text for chunk in found).count("upper") == 20


def test_a_table_that_goes_on_over_pages_is_one_with_one_header() -> None:
    def part(index: int, *rows: str, header: str = "Station") -> PageResult:
        cells = (
            TableCell(0, 0, header, header=True),
            *(TableCell(number + 1, 0, row) for number, row in enumerate(rows)),
        )
        markdown = "\n".join([f"| {header} |", "| --- |", *(f"| {row} |" for row in rows)])
        table = Table(len(cells), 1, cells, continues=index > 0)
        return page(replace(block("", BlockType.TABLE, markdown=markdown), table=table), index=index)

    one, two, three = part(0, "Aa", "Bb"), part(1, "Cc"), part(2, "Ee", header="Dd")
    (found,) = chunks(one, two, three)
    assert found.text == "| Station |\n| --- |\n| Aa |\n| Bb |\n| Cc |\n| Dd |\n| Ee |"
    assert found.pages == (1, 2, 3)
    many = chunks(
        *(part(index, *[f"row {index} {number} of the table" for number in range(9)]) for index in range(4)),
        characters=100,
    )
    assert all(chunk.text.startswith("| Station |\n| --- |\n| row") for chunk in many)
    assert sum(chunk.text.count("row") for chunk in many) == 36


def test_a_caption_stays_with_its_table() -> None:
    table = "\n".join(["| A | B |", "| --- | --- |", *["| 1 | 2 |"] * 10])
    cells = Table(1, 1, (TableCell(0, 0, "A"),))
    blocks = (
        block("Before. " * 12),
        block("Table 1: Rain.", BlockType.CAPTION, 10),
        replace(block("", BlockType.TABLE, 20, table), table=cells),
    )
    _, found = chunks(page(*blocks), characters=200)
    assert found.text == f"Table 1: Rain.\n\n{table}"
    assert found.captions == ("Table 1: Rain.",)
    divided = chunks(page(*blocks), characters=100)
    assert [chunk.captions for chunk in divided if chunk.types == (BlockType.TABLE,)] == [("Table 1: Rain.",)] * (
        len(divided) - 2
    )


def test_a_paragraph_that_goes_on_in_another_column_has_both_boxes() -> None:
    one = block("It goes on in the next co-", top=10)
    two = block("lumn, where it ends.", top=50)
    joined = replace(page(one, two), markdown="It goes on in the next column, where it ends.")
    (found,) = chunks(joined)
    assert [place.block for place in found.places] == [0, 1]


def test_an_empty_line_divides_no_code_table_or_formula_unless_it_is_never_closed() -> None:
    code = "```python\nfirst = 1\n\nsecond = 2\n```"
    formula = "$$\na\n\nb\n$$"
    table = "<table>\n<tr><td>1</td></tr>\n\n<tr><td>2</td></tr>\n</table>"
    found = chunks(of_markdown(f"{code}\n\n{formula}\n\n{table}\n\n<table>\n\n$$\n\nText."), merge=False)
    assert [chunk.text for chunk in found] == [code, formula, table, "<table>", "$$", "Text."]


def test_chunks_overlap_by_whole_sentences_within_a_section() -> None:
    found = chunks(of_markdown(f"# One\n\n{SENTENCE * 20}\n\n# Two\n\n{SENTENCE}"), characters=300, overlap=70)
    for before, chunk in pairwise(found[:-1]):
        shared = chunk.text[: chunk.overlap]
        assert shared == SENTENCE.strip()
        assert before.text.endswith(shared)
    assert found[-1].overlap == 0
    assert max(len(chunk.text) for chunk in found) <= 300


def test_a_chunk_is_there_as_soon_as_the_next_section_begins() -> None:
    chunker = Chunker()
    assert chunker.add(of_markdown("# One\n\nText.")) == []
    assert [chunk.text for chunk in chunker.add(of_markdown("# Two\n\nText.", 1))] == ["# One\n\nText."]
    assert [chunk.text for chunk in chunker.end()] == ["# Two\n\nText."]


def test_the_callers_tokenizer_counts() -> None:
    found = list(chunks_of([of_markdown(SENTENCE * 20)], ChunkOptions(tokens=32, count=lambda text: len(text.split()))))
    assert max(len(chunk.text.split()) for chunk in found) <= 32
    assert [chunk.tokens for chunk in found] == [len(chunk.text.split()) for chunk in found]


@pytest.mark.parametrize(
    "wrong", [{"tokens": 3}, {"characters": 5}, {"tokens": 99, "characters": 999}, {"overlap": 300}]
)
def test_limits_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="hunks"):
        chunks(**wrong)


WORD = st.text("abcdefgéßжשعü雨雪。,.;:!?()[]*_`$<>|#-+\\/&~0123456789\u00a0\U0001f327\u0301", min_size=1, max_size=14)
LINE = st.lists(WORD, min_size=1, max_size=30).map(" ".join)
PARAGRAPH = st.lists(LINE, min_size=1, max_size=4).map("\n".join)
HEADING = st.builds(lambda level, text: f"{'#' * level} {text}", st.integers(1, 6), LINE)
CELL = st.text("abc 123雨", max_size=12)
TABLE = st.lists(st.tuples(CELL, CELL), min_size=2, max_size=12).map(
    lambda rows: "\n".join(
        [f"| {rows[0][0]} | {rows[0][1]} |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows[1:])]
    )
)
PAGES = st.lists(st.lists(st.one_of(HEADING, PARAGRAPH, TABLE), max_size=6).map("\n\n".join), min_size=1, max_size=4)


def words_of(text: str) -> Counter[str]:
    """What is no white space, by character; an escape at the beginning of a line is none."""
    return Counter(re.sub(r"[\s\\]", "", text))


@settings(max_examples=150, deadline=None)
@given(
    PAGES, st.sampled_from([{"characters": 100}, {"characters": 1000}, {"tokens": 32}, {"tokens": 64, "merge": False}])
)
def test_each_character_of_the_markdown_is_in_one_chunk(texts: list[str], options: dict[str, int]) -> None:
    found = chunks(*(of_markdown(text, index) for index, text in enumerate(texts)), **options)
    repeated: Counter[str] = Counter()
    seen: set[str] = set()
    for chunk in found:
        for lines in re.findall(r"^(\|.*\|\n\| --- \| --- \|)$", chunk.text, re.MULTILINE):
            repeated += words_of(lines) if lines in seen else Counter()
            seen.add(lines)
    together: Counter[str] = sum((words_of(chunk.text) for chunk in found), Counter())
    written: Counter[str] = sum(map(words_of, texts), Counter())
    assert set(together - written) <= set(repeated)
    assert not written - together


@settings(max_examples=100, deadline=None)
@given(PAGES, st.sampled_from([0, 30]))
def test_no_word_is_cut_and_no_chunk_is_too_large_but_for_words_and_rows(texts: list[str], overlap: int) -> None:
    found = chunks(*(of_markdown(text, index) for index, text in enumerate(texts)), characters=200, overlap=overlap)
    words = {word.lstrip("\\") for text in texts for word in re.findall(r"[^\s雨雪。]+", text)}
    for chunk in found:
        assert len(chunk.text) <= 200
        assert {word.lstrip("\\") for word in re.findall(r"[^\s雨雪。]+", chunk.text)} <= words
