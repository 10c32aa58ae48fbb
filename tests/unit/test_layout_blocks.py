"""Blocks and Markdown where geometry is joined with a layout model's regions."""

import re

import pytest

from inkgate.layout.arrange import Arrangement
from inkgate.layout.evidence import Region
from inkgate_client.types import BlockType, LeftOutReason, Line
from support.layouts import PAGE, PITCH, arrange, column, in_order, line, prose, region


def kinds(result: Arrangement) -> list[BlockType]:
    return [block.type for block in result.blocks]


def cells(rows: list[list[str]], left: float = 100, top: float = 300, step: float = 240) -> list[Line]:
    return [
        line(text, left + j * step, top + i * PITCH) for i, row in enumerate(rows) for j, text in enumerate(row) if text
    ]


def test_a_page_of_every_kind_of_block() -> None:
    lines = [
        line("Journal of Pages", 100, 30),
        line("On reading order", 300, 90, 500, 44),
        *column(prose("a", 4), 100, 170, 900),
        *cells([["Year", "Pages"], ["2018", "12"], ["2019", "14"]], top=320),
        line("Table 1. Pages by year", 100, 420),
        line("17", 590, 1550),
    ]
    regions = [
        region(BlockType.HEADER, 90, 25, 400, 55),
        region(BlockType.TITLE, 290, 80, 810, 140),
        region(BlockType.TEXT, 95, 165, 1005, 280),
        region(BlockType.TABLE, 95, 315, 500, 400),
        region(BlockType.CAPTION, 95, 415, 500, 445),
        region(BlockType.FIGURE, 100, 500, 900, 900),
        region(BlockType.FOOTER, 580, 1545, 630, 1575),
    ]
    result = arrange(lines, PAGE, regions)
    assert kinds(result) == [
        BlockType.HEADER,
        BlockType.TITLE,
        BlockType.TEXT,
        BlockType.TABLE,
        BlockType.CAPTION,
        BlockType.FIGURE,
        BlockType.FOOTER,
    ]
    assert (result.header, result.footer) == ("Journal of Pages", "17")
    assert result.markdown.startswith("Journal of Pages\n\n# On reading order\n\na0 of some")
    assert "| Year | Pages |\n| --- | --- |\n| 2018 | 12 |\n| 2019 | 14 |" in result.markdown
    assert result.markdown.endswith("Table 1. Pages by year\n\n> [Figure]")
    assert in_order(result.text, "Journal of Pages", "On reading order", "a3", "2019 14", "Table 1.", "17")
    assert (len(result.blocks[5].lines), result.blocks[5].box) == (0, (100.0, 500.0, 900.0, 900.0))
    assert {block.type_confidence for block in result.blocks if block.type is not BlockType.TABLE} == {0.9}


def test_titles_are_ranked_by_height() -> None:
    lines = [
        line("The whole", 100, 50, 300, 44),
        line("A part", 100, 130, 200, 30),
        *column(prose("a", 3), 100, 180, 900),
        line("A part of the part", 100, 300, 200, 22),
        *column(prose("b", 3), 100, 340, 900),
        line("Another part", 100, 460, 200, 30),
        *column(prose("c", 3), 100, 500, 900),
    ]
    tops = [40, 120, 295, 450]
    regions = [region(BlockType.TITLE, 90, top, 420, top + 60 if top == 40 else top + 44) for top in tops]
    result = arrange(lines, PAGE, regions)
    assert [block.level for block in result.blocks if block.type is BlockType.TITLE] == [1, 2, 3, 2]


def test_titles_of_the_text_size_begin_at_the_second_level() -> None:
    lines = [line("A heading", 100, 100), *column(prose("a", 5), 100, 150, 900)]
    result = arrange(lines, PAGE, [region(BlockType.TITLE, 90, 95, 400, 125)])
    assert result.markdown.startswith("## A heading\n\n")


def test_a_title_in_two_rows_is_one_heading() -> None:
    lines = [*column(["Emission at High and Low", "Energies"], 100, 100), *column(prose("a", 3), 100, 200, 900)]
    result = arrange(lines, PAGE, [region(BlockType.TITLE, 90, 95, 600, 150)])
    assert result.markdown.startswith("## Emission at High and Low Energies\n\n")


def test_a_table_keeps_empty_cells_and_escapes_pipes() -> None:
    rows = [["Name", "Old", "New"], ["a|b", "", "3"], ["c", "4", ""], ["d", "5", "6"]]
    result = arrange(cells(rows), PAGE, [region(BlockType.TABLE, 90, 290, 800, 430)])
    assert result.markdown == (
        "| Name | Old | New |\n| --- | --- | --- |\n| a\\|b |  | 3 |\n| c | 4 |  |\n| d | 5 | 6 |"
    )
    assert result.text == "Name Old New\na|b 3\nc 4\nd 5 6"


def test_a_heading_over_several_columns_of_a_table_does_not_join_them() -> None:
    lines = [
        line("Scores of both years together", 300, 300),
        *cells([[f"r{i}", f"{i}1", f"{i}2"] for i in range(4)], top=330),
    ]
    result = arrange(lines, PAGE, [region(BlockType.TABLE, 90, 290, 800, 450)])
    assert result.markdown.splitlines()[0].count("|") == 4
    assert result.markdown.splitlines()[2] == "| r0 | 01 | 02 |"


def test_a_column_that_the_model_left_out_of_a_table_is_taken_in() -> None:
    lines = cells([["Rent", "170", "22"], ["Travel", "26", "14"], ["Total", "196", "36"]])
    result = arrange(lines, PAGE, [region(BlockType.TABLE, 320, 290, 800, 400)])
    assert result.markdown.splitlines()[-1] == "| Total | 196 | 36 |"
    assert result.blocks[0].box[0] == 100


def test_a_table_of_one_column_is_text() -> None:
    result = arrange(column(prose("a", 3), 100, 300, 500), PAGE, [region(BlockType.TABLE, 90, 290, 800, 400)])
    assert kinds(result) == [BlockType.TEXT]
    assert "|" not in result.markdown


def test_a_table_in_one_of_two_columns_is_read_there() -> None:
    above = [
        "The results of all stations were read",
        "in the morning, and late at night by two",
        "observers who did not know each other.",
        "They differ by less than a degree on most",
        "of the days, as this table shows at once.",
    ]
    below = [
        "All of the years before were much warmer,",
        "which nobody had expected. The reasons are",
        "not known, but the instruments were moved",
        "to a new place in that spring, and nobody",
        "has looked at what this means for them.",
    ]
    right = [f"{text} {number}" for number, text in enumerate([*below, *above[:4], *below])]
    lines = [
        *column(above, 100, 100, 460),
        *cells([["Year", "Pages"], ["2018", "12"], ["2019", "14"]], top=260),
        *column(below, 100, 370, 460),
        *column(right, 600, 100, 460),
    ]
    result = arrange(lines, PAGE, [region(BlockType.TABLE, 95, 255, 540, 345)])
    assert kinds(result)[1] is BlockType.TABLE
    assert in_order(result.text, above[4], "2019 14", below[0], below[4], right[0], right[13])


ENCODER = [line("encoder", 300, 500), line("decoder", 600, 500)]
PLOT = [line("epochs", 400, 700), *(line(str(10 * tick), 200 + 150 * tick, 650) for tick in range(4))]
PLOT_UPWARDS = [line("epochs", 400, 700), *(line(f"0.{8 - 2 * tick}", 200, 350 + 90 * tick) for tick in range(4))]


@pytest.mark.parametrize(
    ("labels", "label", "caption"),
    [(ENCODER, "", "Figure 2. The model"), (ENCODER, "chart", ""), (PLOT, "", ""), (PLOT_UPWARDS, "", "")],
)
def test_labels_of_charts_and_of_figures_with_a_caption_are_left_out(
    labels: list[Line], label: str, caption: str
) -> None:
    lines = [*column(prose("a", 4), 100, 100, 900), *labels, *([line(caption, 300, 810)] if caption else [])]
    result = arrange(lines, PAGE, [Region(BlockType.FIGURE, (150, 300, 900, 800), 0.9, label=label)])
    figure = next(block for block in result.blocks if block.type is BlockType.FIGURE)
    (part,) = result.left_out
    assert (part.lines, part.text, part.reason) == (figure.lines, figure.text, LeftOutReason.FIGURE_TEXT)
    assert {result.lines[i].text for i in part.lines} == {line.text for line in labels}
    assert labels[0].text in result.text
    assert labels[0].text not in result.markdown


@pytest.mark.parametrize(
    "texts", [["For information call", "13 11 20"], ["1", "Open", "2", "Read", "3", "Sign"], ["12.50", "99.00", "1.20"]]
)
def test_other_text_in_a_figure_stands_below_its_placeholder(texts: list[str]) -> None:
    lines = [*column(prose("a", 4), 100, 100, 900), *column(texts, 400, 500)]
    result = arrange(lines, PAGE, [region(BlockType.FIGURE, 150, 300, 900, 800)])
    assert result.markdown.endswith("> [Figure]\n\n" + "  \n".join(texts))
    assert not result.left_out


@pytest.mark.parametrize("kind", [BlockType.CAPTION, BlockType.TEXT])
def test_a_figures_caption_stands_in_its_placeholder_and_nowhere_else(kind: BlockType) -> None:
    caption = column(["Figure 2. The growth of a", "well-watered plant"], 200, 420, 500)
    lines = [*column(prose("a", 4), 100, 100, 800), *caption, *column(prose("B", 4), 100, 700, 800)]
    regions = [region(BlockType.FIGURE, 150, 240, 850, 410), region(kind, 195, 415, 705, 475)]
    result = arrange(lines, PAGE, regions)
    assert "\n\n> [Figure: Figure 2. The growth of a well-watered plant]\n\n" in result.markdown
    assert result.markdown.count("Figure 2") == 1
    assert kinds(result) == [BlockType.TEXT, BlockType.FIGURE, BlockType.CAPTION, BlockType.TEXT]


def test_a_caption_above_its_figure_follows_it_and_one_far_away_stays_text() -> None:
    lines = [line("Fig. 1: near", 200, 200), line("Fig. 2: far", 200, 900)]
    regions = [region(BlockType.FIGURE, 150, 230, 850, 500)]
    assert arrange(lines, PAGE, regions).markdown == "> [Figure: Fig. 1: near]\n\nFig. 2: far"


def test_a_sentence_goes_on_below_a_figure() -> None:
    above, below = column([*prose("a", 3), "a row that ends"], 100, 100, 800), column(["in the midst."], 100, 500)
    result = arrange([*above, *below], PAGE, [region(BlockType.FIGURE, 100, 240, 900, 480)])
    assert result.markdown.endswith("ends in the midst.\n\n> [Figure]")


def test_a_figure_full_of_text_is_read_as_text() -> None:
    lines = column(prose("a", 12), 100, 100, 700)
    result = arrange(lines, PAGE, [region(BlockType.FIGURE, 90, 90, 820, 450)])
    assert BlockType.FIGURE not in kinds(result)
    assert in_order(result.markdown, "a0", "a11")


def test_long_lines_under_a_figure_are_no_part_of_it() -> None:
    lines = [*column(prose("above", 6), 100, 100, 800), *column(prose("below", 2), 100, 760, 800)]
    result = arrange(lines, PAGE, [region(BlockType.FIGURE, 95, 300, 920, 830)])
    assert in_order(result.markdown, "above5", "below0", "below1")


def test_of_overlapping_regions_the_better_one_counts() -> None:
    lines = [line("A heading", 100, 100), *column(prose("a", 5), 100, 150, 900)]
    regions = [region(BlockType.TEXT, 90, 95, 400, 125, 0.5), region(BlockType.TITLE, 92, 96, 400, 126, 0.8)]
    assert kinds(arrange(lines, PAGE, regions)) == [BlockType.TITLE, BlockType.TEXT]


def test_lines_outside_all_regions_are_paragraphs_of_their_own() -> None:
    lines = [*column(prose("a", 3), 100, 100, 900), *column(prose("b", 3), 100, 100 + 3 * PITCH, 900)]
    result = arrange(lines, PAGE, [region(BlockType.REFERENCE, 90, 95, 1010, 95 + 3 * PITCH)])
    assert kinds(result) == [BlockType.REFERENCE, BlockType.TEXT]
    assert [block.type_confidence for block in result.blocks] == [0.9, None]


def test_a_formula_is_one_line_of_text() -> None:
    lines = [*column(prose("a", 2), 100, 100, 900), line("E * m_2 = <c>", 400, 200), line("(1)", 960, 200)]
    result = arrange(lines, PAGE, [region(BlockType.FORMULA, 390, 190, 700, 230)])
    assert result.markdown.endswith("E \\* m_2 = \\<c> (1)")


BODY = column(["Nothing but words on this line of the page."] * 20, 100, 200, 900)


@pytest.mark.parametrize("text", ["17", "- 17 -", "xiv", "Page 3 of 12", "3/12", "ES-6", "第3页 共9页"])
def test_a_lone_page_number_at_the_edge_is_a_footer(text: str) -> None:
    result = arrange([*BODY, line(text, 500, 1500)], PAGE, [])
    assert result.footer == text
    assert text not in result.markdown
    assert result.text.endswith(text)


CONTENT = [
    "Annual Report 2009",
    "Amount due 450",
    "Paris, 3 juin 2024",
    "I hereby confirm receipt",
    "Chapter 2 117",
    "2009",
    "$450",
    "-450",
    "12.50",
    "12/3",
    "No.12",
    "Li",
    "mix",
    "(3)",
]


def test_what_is_no_page_number_stays_in_the_markdown_whatever_the_layout_model_says() -> None:
    lost = []
    for text in CONTENT:
        for top in (60, 1500):
            box = (495.0, top - 4.0, 505.0 + 10 * len(text), top + 24.0)
            for regions in ([], [Region(BlockType.HEADER, box, 0.9)], [Region(BlockType.FOOTER, box, 0.9)]):
                result = arrange([*BODY, line(text, 500, top)], PAGE, regions)
                parts = [re.sub("^#{1,6} ", "", part) for part in result.markdown.replace("\\", "").split("\n\n")]
                if text not in parts or text not in result.text.split("\n\n"):
                    lost.append((text, top, regions))
    assert lost == []


@pytest.mark.parametrize("texts", [["Room", "12"], ["TOTAL", "450"], ["450"]])
def test_a_number_on_a_page_without_running_text_stays_in_the_markdown(texts: list[str]) -> None:
    result = arrange([line(text, 500, 1500 - 700 * i) for i, text in enumerate(reversed(texts))], PAGE, [])
    assert result.markdown.split("\n\n") == texts


def test_a_number_amid_the_page_is_no_footer() -> None:
    lines = [*column(prose("a", 4), 100, 100, 900), line("17", 500, 600), *column(prose("b", 4), 100, 1000, 900)]
    assert arrange(lines, PAGE, []).footer is None


def test_a_last_line_that_belongs_to_the_text_is_no_footer() -> None:
    lines = column([*prose("a", 3), "in the year 1917"], 100, 1440, 900)
    assert arrange(lines, PAGE, [region(BlockType.FOOTER, 90, 1520, 1010, 1550)]).footer is None


def test_a_header_amid_the_page_is_text() -> None:
    lines = column(prose("a", 8), 100, 600, 900)
    result = arrange(lines, PAGE, [region(BlockType.HEADER, 90, 590, 1010, 900)])
    assert kinds(result) == [BlockType.TEXT]


def test_a_stamp_along_the_side_is_kept_out_of_the_markdown() -> None:
    stamp = Line("arXiv:2101.00001v1 [cs.CL]", ((20, 900), (20, 400), (44, 400), (44, 900)), 0.9)
    result = arrange([*column(prose("a", 12), 100, 300, 900), stamp], PAGE, [])
    assert "arXiv" not in result.markdown
    assert result.text.endswith(stamp.text)


def test_text_alone_has_no_headers() -> None:
    lines = [*column(prose("a", 4), 100, 100, 900), line("17", 500, 1500)]
    result = arrange(lines, PAGE)
    assert result.footer is None
    assert result.markdown.endswith("17")


def test_regions_without_lines_are_blocks_only_as_figures() -> None:
    regions: list[Region] = [region(kind, 100, 100 + i * 120, 900, 200 + i * 120) for i, kind in enumerate(BlockType)]
    assert kinds(arrange([], PAGE, regions)) == [BlockType.FIGURE]


def test_a_table_that_the_model_overlooked_is_found_by_its_cells() -> None:
    rows = [["Item", "Qty", "Price"], ["TOWEL ROD", "2", "12.00"], ["BRACKET", "5", "20.00"], ["SCREW", "8", "7.50"]]
    result = arrange(cells(rows), PAGE, [])
    assert kinds(result) == [BlockType.TABLE]
    assert result.markdown.splitlines()[2] == "| TOWEL ROD | 2 | 12.00 |"
    assert (result.blocks[0].type_confidence or 0.0) > 0.5


def test_text_alone_makes_no_tables() -> None:
    result = arrange(cells([["Item", "Qty", "Price"], *[["ROD", "2", "12.00"]] * 3]), PAGE)
    assert kinds(result) == [BlockType.TEXT]


def test_text_beside_a_table_in_the_other_column_stays_out_of_it() -> None:
    lines = [
        *column(prose("left", 4), 100, 100, 460),
        *cells([["Year", "Pages"], ["2018", "12"], ["2019", "14"]], top=240),
        *column(prose("right", 9), 600, 100, 460),
    ]
    result = arrange(lines, PAGE, [region(BlockType.TABLE, 95, 235, 540, 325)])
    assert in_order(result.markdown, "left3", "| 2019 | 14 |", "right0")


def test_the_spacing_of_a_table_says_nothing_about_the_text_around_it() -> None:
    rows = [[f"r{i}", f"{i}1", f"{i}2"] for i in range(4)]
    lines = [
        *[line(text, 100, 100 + i * 44, 900) for i, text in enumerate(prose("a", 2))],
        *cells(rows, top=200),
        *[line(text, 100, 330 + i * 44, 900) for i, text in enumerate(prose("b", 2))],
    ]
    regions = [
        region(BlockType.TEXT, 90, 95, 1010, 170),
        region(BlockType.TABLE, 90, 195, 800, 310),
        region(BlockType.TEXT, 90, 325, 1010, 400),
    ]
    assert kinds(arrange(lines, PAGE, regions)) == [BlockType.TEXT, BlockType.TABLE, BlockType.TEXT]


@pytest.mark.parametrize(
    "text",
    [
        "Figure S1. Growth",
        "Fig. 2.1a Growth",
        "FIGURE 3 Growth",
        "Abb. 2: Wachstum",
        "Рис. 4. Рост",
        "图3 结果",
        "Figuur 5 – Groei",
    ],
)
def test_captions_are_numbered_in_many_ways(text: str) -> None:
    lines = [*column(prose("a", 4), 100, 100, 800), line(text, 200, 630), *column(prose("B", 4), 100, 800, 800)]
    found = arrange(lines, PAGE, [region(BlockType.FIGURE, 200, 300, 700, 620)]).markdown
    assert f"> [Figure: {text}]" in found
    assert found.count(text) == 1


def test_a_sentence_about_a_figure_is_no_caption() -> None:
    rows = [
        "Figure 3 shows how plants grow in the light of",
        "lamps, and in the shade of other plants around",
        "that are higher.",
    ]
    found = arrange(column(rows, 100, 630, 800), PAGE, [region(BlockType.FIGURE, 200, 300, 700, 620)]).markdown
    assert found.startswith("> [Figure]\n\nFigure 3 shows")


def test_a_numbered_caption_stands_beside_its_figure_too() -> None:
    lines = [*column(prose("a", 4), 100, 100, 900), *column(["Figure 3. The", "growth of plants"], 720, 400)]
    found = arrange(lines, PAGE, [region(BlockType.FIGURE, 200, 300, 700, 620)]).markdown
    assert "> [Figure: Figure 3. The growth of plants]" in found
