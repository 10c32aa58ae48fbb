"""Documents as Azure AI Document Intelligence shows them: each item's span has its text."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson
import pytest

from inkgate.api.azure_content import AzureForm, IndexType
from inkgate.api.azure_document import LARGE_PARTS, SMALL_PARTS, AnalyzedPart, figure_of
from inkgate_client.types import (
    Barcode,
    Block,
    BlockType,
    Box,
    CheckMark,
    LeftOut,
    LeftOutReason,
    Line,
    PageError,
    PageResult,
    Table,
    TableCell,
)
from support.fake_engine import line, quad

BOX: Box = (10, 20, 110, 40)
LINES = (
    "Journal",
    "Report 🎈 of e\u0301te\u0301",
    "1. Introduction",
    "A *first* & line_",
    "1999. goes <b>on</b>",
    "- one",
    "goes on",
    "- two",
    "Name & address",
    "EUR",
    "Egypt,",
    "Jordan",
    "Table 1: Sales",
    "axis",
    'Figure 1: "Sales"',
    "[x] paid [ ] free",
    "7",
    "Beside blocks",
)
CELLS = (
    TableCell(0, 0, "Name & address", lines=(8,), box=BOX, header=True),
    TableCell(0, 1, "EUR", lines=(9,), header=True),
    TableCell(1, 0, "Egypt, Jordan", column_span=2, lines=(10, 11), box=BOX),
    TableCell(2, 0, ""),
    TableCell(2, 1, "12 <"),
)


def block(kind: BlockType, *lines: int, **more: Any) -> Block:  # noqa: ANN401 - any field
    text = "\n".join(LINES[number] for number in lines)
    return Block(kind, BOX, lines, text, text, **more)


def read(text: str, top: float) -> Line:
    """A line whose words are without its check boxes, which are written into it later."""
    found = line(text, top)
    return replace(found, words=tuple(word for word in found.words if word.text.strip("[x]")))


BLOCKS = (
    block(BlockType.HEADER, 0),
    block(BlockType.TITLE, 1, level=1),
    block(BlockType.TITLE, 2, level=2),
    block(BlockType.TEXT, 3, 4),
    block(BlockType.LIST, 5, 6, 7),
    block(BlockType.CAPTION, 12),
    block(BlockType.TABLE, 8, 9, 10, 11, table=Table(3, 2, CELLS)),
    block(BlockType.FIGURE, 13),
    block(BlockType.CAPTION, 14),
    block(BlockType.TEXT, 15),
    block(BlockType.FOOTER, 16),
    Block(BlockType.CHECKBOX, BOX, (), "", "", checkbox=CheckMark(checked=True, label="paid", confidence=0.9)),
    Block(BlockType.CHECKBOX, BOX, (), "", "", checkbox=CheckMark(checked=False, label="free", confidence=0.8)),
    Block(BlockType.BARCODE, BOX, (), "", "", barcode=Barcode("QRCode", "hello", quad(*BOX))),
)
PAGE = PageResult(
    0,
    1000,
    2000,
    100.0,
    lines=tuple(read(text, 30.0 * number) for number, text in enumerate(LINES)),
    blocks=BLOCKS,
    left_out=(LeftOut("7", LeftOutReason.PAGE_NUMBER, (16,)),),
)
READ = AzureForm(layout=False)
TEXT = AzureForm(layout=True)
MARKDOWN = AzureForm(layout=True, markdown=True)


def shown(form: AzureForm, *pages: PageResult) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in LARGE_PARTS:
        part = AnalyzedPart(name, form)
        data = part.begin() + b"".join(map(part.page, pages)) + part.end()
        found[name] = data.decode() if name == "content" else orjson.loads(data)
    return found | {name: orjson.loads(part.small(name)) for name in SMALL_PARTS}


def items(found: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, int]]]]:
    """The text and the spans of everything that has both."""
    for page in found["pages"]:
        yield from ((word["content"], [word["span"]]) for word in page["words"])
        yield from ((each["content"], each["spans"]) for each in page["lines"])
    yield from ((each["content"], each["spans"]) for each in found["paragraphs"])
    for table in found["tables"]:
        yield from ((cell["content"], cell["spans"]) for cell in table["cells"])
    for owner in (*found["tables"], *found["figures"]):
        if "caption" in owner:
            yield owner["caption"]["content"], owner["caption"]["spans"]


def cut(content: str, span: dict[str, int], kind: IndexType) -> str:
    start, end = span["offset"], span["offset"] + span["length"]
    if kind is IndexType.CODE_UNITS:
        return content.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
    if kind is IndexType.CODE_POINTS:
        return content[start:end]
    return "".join(re.findall(r".[\u0300-\u036f]*", content, re.DOTALL)[start:end])


@pytest.mark.parametrize("markdown", [False, True])
@pytest.mark.parametrize("kind", IndexType)
def test_the_span_of_an_item_has_its_text(kind: IndexType, markdown: bool) -> None:
    found = shown(AzureForm(True, markdown, kind), PAGE, replace(PAGE, index=1))
    every = list(items(found))
    assert len(every) > 100
    faults = []
    for text, spans in every:
        got = "\n".join(cut(found["content"], span, kind) for span in spans)
        if got != text and (not markdown or html.unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", got)) != text):
            faults.append((text, got))
    assert faults == []
    assert all(spans for text, spans in every if text)


def test_text_is_the_lines_in_their_order() -> None:
    content = shown(TEXT, PAGE, PageResult(1, lines=(line("Last", 0),)))["content"]
    assert content.splitlines() == [
        *("Journal", LINES[1], "1. Introduction", LINES[3], LINES[4], "- one", "goes on", "- two"),
        *("Table 1: Sales", "Name & address", "EUR", "Egypt,", "Jordan", "12 <"),
        *('Figure 1: "Sales"', "axis", ":selected: paid :unselected: free", "7", "Beside blocks", "Last"),
    ]


def test_markdown_has_tables_figures_and_comments_as_azure_writes_them() -> None:
    content = shown(MARKDOWN, PAGE, PageResult(1, lines=(line("Last", 0),)))["content"]
    assert content == (
        '<!-- PageHeader="Journal" -->\n\n# Report 🎈 of e\u0301te\u0301\n\n## 1. Introduction\n\n'
        "A \\*first\\* & line\\_\n1999\\. goes \\<b>on\\</b>\n\n- one\ngoes on\n\n- two\n\n"
        "<table>\n<caption>Table 1: Sales</caption>\n"
        "<tr>\n<th>Name &amp; address</th>\n<th>EUR</th>\n</tr>\n"
        '<tr>\n<td colspan="2">Egypt,\nJordan</td>\n</tr>\n'
        "<tr>\n<td></td>\n<td>12 &lt;</td>\n</tr>\n</table>\n\n"
        '<figure>\n<figcaption>Figure 1: "Sales"</figcaption>\n\naxis\n\n</figure>\n\n'
        '\u2612 paid \u2610 free\n\n<!-- PageNumber="7" -->\n\nBeside blocks\n\n<!-- PageBreak -->\n\nLast'
    )


def test_tables_figures_and_sections_refer_to_paragraphs() -> None:
    found = shown(MARKDOWN, PAGE, replace(PAGE, index=1))

    def texts(elements: list[str]) -> list[str]:
        return [found["paragraphs"][int(each.rpartition("/")[2])]["content"] for each in elements]

    assert len(found["tables"]) == len(found["figures"]) == 2
    for number, (table, figure) in enumerate(zip(found["tables"], found["figures"], strict=True)):
        assert (table["rowCount"], table["columnCount"]) == (3, 2)
        assert table["caption"]["content"] == "Table 1: Sales"
        assert [cell.get("kind") for cell in table["cells"]] == ["columnHeader", "columnHeader", None, None, None]
        assert [texts(cell.get("elements", [])) for cell in table["cells"]][2:] == [["Egypt,\nJordan"], [], ["12 <"]]
        assert table["boundingRegions"][0]["pageNumber"] == number + 1
        assert (figure["id"], texts(figure["elements"])) == (f"{number + 1}.1", ["axis"])
        assert texts(figure["caption"]["elements"]) == ['Figure 1: "Sales"']
    root, title, part, *_ = found["sections"]
    assert root["elements"] == ["/sections/1", "/sections/3"]
    assert texts(title["elements"][:1]) == [LINES[1]]
    assert title["elements"][1:] == ["/sections/2"]
    assert texts(part["elements"][:2]) == ["1. Introduction", f"{LINES[3]}\n{LINES[4]}"]
    assert {"/tables/0", "/figures/0"} < set(part["elements"])
    assert root["spans"][0]["offset"] == len('<!-- PageHeader="Journal" -->\n\n')


def test_paragraphs_have_roles_and_lists_one_for_each_item() -> None:
    found = shown(TEXT, PAGE)["paragraphs"]
    roles = {each["content"]: each.get("role") for each in found}
    assert {text: role for text, role in roles.items() if role} == {
        "Journal": "pageHeader",
        LINES[1]: "title",
        "1. Introduction": "sectionHeading",
        "7": "pageNumber",
    }
    assert {"- one\ngoes on", "- two"} < roles.keys()


def test_check_boxes_and_codes_of_a_page() -> None:
    lonely = replace(PAGE, lines=(), blocks=BLOCKS[-3:], left_out=())
    for form, page in ((TEXT, PAGE), (MARKDOWN, PAGE), (TEXT, lonely)):
        found = shown(form, page)
        (about,) = found["pages"]
        marks = {
            mark["state"]: cut(found["content"], mark["span"], IndexType.TEXT_ELEMENTS)
            for mark in about["selectionMarks"]
        }
        names = ("\u2612", "\u2610") if form.markdown else (":selected:", ":unselected:")
        assert (marks["selected"], marks["unselected"]) == names
        assert [(code["kind"], code["value"]) for code in about["barcodes"]] == [("QRCode", "hello")]


def test_places_are_on_the_page_as_it_was_sent_in_inches_of_a_pdf() -> None:
    turned = PageResult(0, 1000, 2000, 100.0, rotation=90, lines=(line("ab", 50),))
    (page,) = shown(replace(READ, inches=True), turned)["pages"]
    assert (page["width"], page["height"], page["unit"], page["angle"]) == (20.0, 10.0, "inch", -90)
    assert page["lines"][0]["polygon"] == [0.5, 9.9, 0.5, 9.7, 0.7, 9.7, 0.7, 9.9]
    (page,) = shown(replace(READ, inches=True), replace(turned, dpi=None, rotation=0))["pages"]
    assert (page["width"], page["unit"], page["angle"]) == (1000.0, "pixel", 0)


def test_a_page_that_a_model_wrote() -> None:
    markdown = "# Sales\n\nGrew by $5\\%$\nin **all** shops\n\n| a |"
    page = PageResult(0, 100, 100, text="Sales\nGrew by 5%\nin all shops\na", markdown=markdown, blocks=())
    found = shown(MARKDOWN, page)
    assert found["content"] == markdown
    assert [each["content"] for each in found["paragraphs"]] == ["# Sales", "Grew by $5\\%$\nin **all** shops", "| a |"]
    assert found["paragraphs"][0]["role"] == "title"
    lines = {each["content"]: each["spans"] for each in found["pages"][0]["lines"]}
    assert list(lines) == ["Sales", "a", "Grew by 5%", "in all shops"]
    assert lines["Sales"] == [{"offset": 2, "length": 5}]
    assert lines["in all shops"] == []
    assert shown(TEXT, page)["content"] == page.text


def test_blocks_and_cells_without_lines() -> None:
    table = Table(1, 2, (TableCell(0, 0, "one two"), TableCell(0, 1, "2")))
    blocks = (
        Block(BlockType.TEXT, BOX, (), "Grew by 5%", "Grew by $5\\%$"),
        Block(BlockType.TABLE, BOX, (), "one two 2", "<table>", table=table),
        Block(BlockType.FOOTER, BOX, (), "7", "7"),
    )
    page = PageResult(0, 100, 100, blocks=blocks, left_out=(LeftOut("7", LeftOutReason.PAGE_NUMBER, ()),))
    found = shown(MARKDOWN, page)
    assert found["content"] == (
        'Grew by $5\\%$\n\n<table>\n<tr>\n<td>one two</td>\n<td>2</td>\n</tr>\n</table>\n\n<!-- PageNumber="7" -->'
    )
    assert [word["content"] for word in found["pages"][0]["words"]] == ["one", "two", "2", "7"]
    assert [cell["content"] for cell in found["tables"][0]["cells"]] == ["one two", "2"]


def test_a_page_that_failed_is_named_in_content_and_warnings() -> None:
    failed = PageResult(1, error=PageError("engine_failed", "No luck.", "Retry."))
    for form in (READ, TEXT, MARKDOWN):
        found = shown(form, PageResult(0, lines=(line("First", 0),)), failed)
        assert "could not be read" in found["content"]
        assert found["warnings"] == [
            {"code": "engine_failed", "message": "Page 2 could not be read: No luck.", "target": "/pages/1"}
        ]


def test_figures_are_found_by_their_numbers() -> None:
    assert figure_of(PAGE, 1) is BLOCKS[7]
    assert figure_of(PAGE, 2) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("abc", 3),
        ("e\u0301a", 2),
        ("👩\u200d👩\u200d👧!", 2),
        ("🇩🇪🇫🇷", 2),
        ("👍🏽 ok", 4),
        ("한국", 2),
        ("\u1112\u1161\u11ab", 1),
        ("नि", 1),
        ("\u0301", 1),
    ],
)
def test_text_elements_are_what_readers_see(text: str, count: int) -> None:
    assert IndexType.TEXT_ELEMENTS.length(text) == count
    assert IndexType.CODE_UNITS.length(text) == len(text.encode("utf-16-le")) // 2
