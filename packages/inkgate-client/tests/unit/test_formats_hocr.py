"""hOCR, against the rules of its specification."""

import re
from dataclasses import replace

import lxml.html
import pytest
from hypothesis import given
from lxml import etree

from inkgate_client.formats import Format, render
from inkgate_client.formats.text import one_line
from inkgate_client.types import Block, BlockType, DocumentResult, Line, PageResult, Quad
from support import hocr_rules, strategies
from support import sample_results as sample
from support.sample_results import upright


def hocr(*pages: PageResult, name: str = "scan.png") -> etree._Element:
    return etree.fromstring(render(replace(sample.DOCUMENT, name=name, pages=pages), Format.HOCR))


def of_class(root: etree._Element, kind: str) -> list[etree._Element]:
    return [element for element in hocr_rules.elements(root) if element.get("class") == kind]


def meta(root: etree._Element, name: str) -> list[str]:
    return [field.get("content") for field in root.iter(f"{hocr_rules.XHTML}meta") if field.get("name") == name]


def line_properties(quad: Quad) -> dict[str, str]:
    root = hocr(PageResult(0, 1000, 1000, lines=(Line("text", quad, 0.5),)))
    return hocr_rules.properties(of_class(root, "ocr_line")[0])


@strategies.examples
@given(strategies.documents())
def test_every_document_follows_the_specification(result: DocumentResult) -> None:
    assert hocr_rules.violations(render(result, Format.HOCR)) == []


def test_the_direction_of_a_block_without_lines_is_declared() -> None:
    block = Block(BlockType.TEXT, (0.0, 0.0, 9.0, 9.0), (), "א", "")
    result = replace(sample.DOCUMENT, pages=(PageResult(0, 100, 100, blocks=(block,)),))
    assert hocr_rules.violations(render(result, Format.HOCR)) == []


@pytest.mark.parametrize("blocks", [None, sample.BLOCKS])
def test_the_sample_follows_the_specification(blocks: tuple[Block, ...] | None) -> None:
    result = replace(sample.DOCUMENT, pages=(replace(sample.PAGE, blocks=blocks, rotation=90), sample.FAILED))
    assert hocr_rules.violations(render(result, Format.HOCR)) == []


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (('id="line_1_2"', 'id="line_1_1"'), "id line_1_1 occurs 2 times"),
        (("ocrx_word", "ocrx_token"), "ocrx_token is not a class"),
        (('content="ocr_page ocr_carea', 'content="ocr_page'), "ocr_carea is used and not declared"),
        (("bbox 228 80 341 120; x_wconf 98.93", "x_wconf 98.93"), "bbox"),
        (("bbox 228 80 341 120", "bbox 228 80 342 120"), "reaches out of"),
        (("x_wconf 99.12", "x_wconf 199.12"), "not a percentage"),
        (("textangle 90.00", "angle 90.00"), "angle is not a property"),
        (("ppageno 1", "ppageno 0"), "ppageno 0 occurs 2 times"),
        (("</body>", "stray</body>"), "text outside a line"),
        (("scan_res 200 200", "scan_res 200.5 200"), "does not follow its grammar"),
    ],
)
def test_the_rules_notice_what_is_wrong(broken: tuple[str, str], told: str) -> None:
    data = render(sample.DOCUMENT, Format.HOCR).decode()
    assert broken[0] in data
    try:
        found = hocr_rules.violations(data.replace(*broken).encode())
    except KeyError as error:  # a missing bbox ends the check of what lies around it
        found = [str(error)]
    assert any(told in rule for rule in found)


@strategies.examples
@given(strategies.documents())
def test_browsers_see_the_same_elements_as_xml_readers(result: DocumentResult) -> None:
    data = render(result, Format.HOCR)
    strict = hocr_rules.elements(etree.fromstring(data))
    lenient = [e for e in lxml.html.document_fromstring(data.split(b"\n", 1)[1]).iter() if e.get("class")]
    nesting = [(e.get("id"), e.getparent().get("id")) for e in strict]
    assert nesting == [(e.get("id"), e.getparent().get("id")) for e in lenient]


@strategies.examples
@given(strategies.pages())
def test_lines_read_as_they_were_found(page: PageResult) -> None:
    found = ["".join(line.itertext()) for line in of_class(hocr(page), "ocr_line")]
    for line in page.lines:
        text = one_line(line.text)
        if text:
            assert text in found


def test_the_page_says_its_image_size_number_and_resolution() -> None:
    root = hocr(PageResult(6, 800, 1000, dpi=199.6, rotation=270))
    assert of_class(root, "ocr_page")[0].get("title") == (
        'image "scan.png"; bbox 0 0 1000 800; ppageno 6; scan_res 200 200; x_rotation 270'
    )


def test_what_is_not_known_is_left_out() -> None:
    root = hocr(PageResult(0, 800, 1000), name="")
    assert of_class(root, "ocr_page")[0].get("title") == "bbox 0 0 800 1000; ppageno 0"


@pytest.mark.parametrize(
    ("name", "image"),
    [
        ("in box/scan 1.png", '"in box/scan 1.png"'),
        ('a"b;c%.png', '"a%22b%3Bc%25.png"'),
        ("文.png", '"%E6%96%87.png"'),
        ("a\ud800.png", '"a%EF%BF%BD.png"'),
    ],
)
def test_names_fit_into_the_properties_format(name: str, image: str) -> None:
    page = of_class(hocr(PageResult(0, 8, 8), name=name), "ocr_page")[0]
    assert hocr_rules.properties(page)["image"] == image


def test_words_have_boxes_confidences_and_their_spaces() -> None:
    root = hocr(sample.PAGE)
    first = of_class(root, "ocr_line")[0]
    assert "".join(first.itertext()) == "Ink & Gate"
    assert first[2].get("title") == "bbox 228 80 341 120; x_wconf 98.93"
    assert ["".join(line.itertext()) for line in of_class(root, "ocr_line")][3] == "文字识别"


def test_a_line_without_words_is_one_word() -> None:
    words = of_class(hocr(PageResult(0, 900, 900, lines=(sample.REST,))), "ocrx_word")
    assert [(word.text, word.get("title")) for word in words] == [
        ("ated lines.", "bbox 100 196 320 226; x_wconf 95.34")
    ]


def test_level_lines_need_no_direction() -> None:
    assert set(line_properties(upright(10, 10, 200, 30))) == {"bbox"}


def test_sloping_lines_have_a_baseline_from_the_bottom_left_corner_of_their_box() -> None:
    found = line_properties(((100, 100), (500, 120), (499, 140), (99, 120)))
    assert found == {"bbox": "99 100 500 140", "baseline": "0.050 -20"}
    assert line_properties(((99, 120), (499, 100), (500, 120), (100, 140)))["baseline"] == "-0.050 0"


@pytest.mark.parametrize(
    ("quad", "angle"),
    [
        (((10, 300), (10, 20), (40, 20), (40, 300)), "90.00"),
        (((300, 40), (10, 40), (10, 10), (300, 10)), "180.00"),
        (((40, 20), (40, 300), (10, 300), (10, 20)), "270.00"),
    ],
)
def test_turned_lines_have_a_text_angle(quad: Quad, angle: str) -> None:
    found = line_properties(quad)
    assert found["textangle"] == angle
    assert "baseline" not in found


def test_kinds_of_blocks_are_declared_only_where_they_were_looked_for() -> None:
    without, blank, full = (
        meta(hocr(replace(sample.PAGE, blocks=blocks)), "ocr-capabilities")[0].split()
        for blocks in (None, (), sample.BLOCKS)
    )
    assert without == ["ocr_page", "ocr_carea", "ocr_par", "ocr_line", "ocrx_word", "ocrp_wconf"]
    assert blank == full
    assert "ocr_table" in full


def test_blocks_have_the_class_of_their_kind() -> None:
    root = hocr(replace(sample.PAGE, blocks=sample.BLOCKS))
    (image,), (footer,) = of_class(root, "ocr_image"), of_class(root, "ocr_footer")
    assert (len(image), image.get("title")) == (0, "bbox 300 300 600 450")
    assert "".join(footer.itertext()).strip() == "文字识别"


@pytest.mark.parametrize("level", [1, 6])
def test_titles_are_headings(level: int) -> None:
    title = replace(sample.BLOCKS[0], level=level)
    assert title.type is BlockType.TITLE
    paragraph = of_class(hocr(replace(sample.PAGE, blocks=(title,))), "ocr_par")[0]
    assert paragraph.tag == f"{hocr_rules.XHTML}h{level}"


def test_a_failed_page_is_there_without_text_and_said_in_the_metadata() -> None:
    root = hocr(sample.PAGE, sample.FAILED)
    page = of_class(root, "ocr_page")[1]
    assert (page.get("title"), len(page)) == ('image "scan.png"; bbox 0 0 0 0; ppageno 1', 0)
    assert meta(root, "inkgate-status") == ["partial"]
    assert meta(root, "inkgate-error") == ["page 2: page_broken: its content stream ends -- early"]


def test_control_characters_and_surrogates_are_left_out() -> None:
    line = replace(sample.REST, text="a\x00\x1b\ud800\ufffeb\tc\nd")
    data = render(replace(sample.DOCUMENT, pages=(replace(sample.PAGE, lines=(line,)),)), Format.HOCR).decode()
    assert ">ab c d<" in data
    assert not re.search("[\x00-\x08\x0b-\x1f\ufffe]", data)


def test_very_long_lines_stay_whole() -> None:
    text = " ".join(["word"] * 20_000)
    line = Line(text, upright(0, 0, 900, 20), 1.0)
    root = hocr(PageResult(0, 1000, 1000, lines=(line,)))
    assert "".join(of_class(root, "ocr_line")[0].itertext()) == text


def test_a_document_without_a_name_has_a_title() -> None:
    """Browsers take an empty <title/> of XHTML sent as HTML for the start of a title that never ends."""
    title = hocr(name="").find(f".//{hocr_rules.XHTML}title")
    assert title is not None
    assert title.text
