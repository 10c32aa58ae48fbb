"""ALTO, against its grammar, and against the real schema where ALTO_XSD names it."""

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from lxml import etree

from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format, render
from inkgate_client.formats.alto import SCHEMA
from inkgate_client.formats.text import one_line
from inkgate_client.types import Block, BlockType, DocumentResult, Line, PageResult, Quad, Word
from support import alto_rules, strategies
from support import sample_results as sample
from support.alto_rules import ALTO
from support.sample_results import upright

FULL = replace(sample.DOCUMENT, pages=(replace(sample.PAGE, blocks=sample.BLOCKS, rotation=90), sample.FAILED))


def rendered(*pages: PageResult) -> bytes:
    return render(replace(sample.DOCUMENT, pages=pages), Format.ALTO)


def alto(*pages: PageResult) -> etree._Element:
    return etree.fromstring(rendered(*pages))


def only(root: etree._Element, tag: str) -> etree._Element:
    (element,) = root.iter(f"{ALTO}{tag}")
    return element


@strategies.examples
@given(strategies.documents())
def test_every_document_follows_the_grammar(result: DocumentResult) -> None:
    assert alto_rules.violations(render(result, Format.ALTO)) == []


@pytest.mark.parametrize("result", [sample.DOCUMENT, FULL])
def test_the_sample_follows_the_grammar(result: DocumentResult) -> None:
    assert alto_rules.violations(render(result, Format.ALTO)) == []


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (('ID="line_1_2"', 'ID="line_1_1"'), "ID line_1_1 occurs 2 times"),
        (('TAGREFS="type_text"', 'TAGREFS="type_prose"'), "nothing has the ID type_prose"),
        (('WIDTH="113"', 'WIDTH="114"'), "reaches out of"),
        (('WC="0.9912"', 'WC="1.5"'), "Invalid attribute WC"),
        (("<MeasurementUnit>pixel", "<MeasurementUnit>metre"), "MeasurementUnit"),
        (('CONTENT="Gate"', 'TEXT="Gate"'), "String"),
    ],
)
def test_the_rules_notice_what_is_wrong(broken: tuple[str, str], told: str) -> None:
    data = render(FULL, Format.ALTO, Coordinates.UPRIGHT).decode()
    assert broken[0] in data
    assert told in "\n".join(alto_rules.violations(data.replace(*broken).encode()))


@pytest.mark.real
@strategies.examples
@given(strategies.documents())
@example(FULL)
@example(sample.DOCUMENT)
def test_every_document_is_valid_by_the_real_schema(schema: etree.XMLSchema, result: DocumentResult) -> None:
    root = etree.fromstring(render(result, Format.ALTO))
    for element in root.iter():
        element.attrib.pop("BASEDIRECTION", None)  # of ALTO 4.3
    schema.assertValid(root)


@pytest.fixture(scope="module")
def schema() -> etree.XMLSchema:
    """The schema of ALTO 4.2 or later, with the xlink.xsd that lies beside it instead of the one on the web."""
    path = Path(os.environ.get("ALTO_XSD", ""))
    if not path.is_file():
        assert not os.environ.get("INKGATE_REQUIRE_ALL"), "ALTO_XSD must name the schema here"
        pytest.skip("ALTO_XSD names no schema; docs/reference/formats.md says where there is one")
    tree = etree.parse(path)
    for imported in tree.iter("{http://www.w3.org/2001/XMLSchema}import"):
        imported.set("schemaLocation", str(path.with_name("xlink.xsd")))
    return etree.XMLSchema(tree)


@strategies.examples
@given(strategies.pages())
def test_lines_read_as_they_were_found(page: PageResult) -> None:
    found = alto_rules.text(rendered(page))
    for line in page.lines:
        text = one_line(line.text)
        if text:
            assert text in found


def test_the_description_names_unit_file_software_and_engine() -> None:
    description = only(alto(sample.PAGE), "Description")
    assert [element.text for element in description.iter() if element.text and element.text.strip()][:5] == [
        "pixel",
        "sample.pdf",
        "contentGeneration",
        "status: complete",
        "engine: ppocr",
    ]


def test_the_page_says_its_size_number_and_confidence() -> None:
    page = only(alto(replace(sample.PAGE, index=6)), "Page")
    assert dict(page.attrib) == {
        "ID": "page_7",
        "PHYSICAL_IMG_NR": "7",
        "PROCESSINGREFS": "inkgate",
        "PC": "0.9604",
        "WIDTH": "800",
        "HEIGHT": "1000",
    }


def test_strings_have_boxes_confidences_and_spaces_between_them() -> None:
    line = next(alto(sample.PAGE).iter(f"{ALTO}TextLine"))
    assert [part.tag.removeprefix(ALTO) for part in line] == ["String", "SP", "String", "SP", "String"]
    assert dict(line[4].attrib) == {
        "ID": "string_1_3",
        "CONTENT": "Gate",
        "HPOS": "228",
        "VPOS": "80",
        "WIDTH": "113",
        "HEIGHT": "40",
        "WC": "0.9893",
    }
    assert dict(line[3].attrib) == {"HPOS": "214", "VPOS": "80", "WIDTH": "14"}


def test_a_line_without_words_is_one_string() -> None:
    assert [
        string.get("CONTENT") for string in alto(replace(sample.PAGE, lines=(sample.REST,))).iter(f"{ALTO}String")
    ] == ["ated lines."]


@pytest.mark.parametrize(
    ("first", "second", "hyphen"),
    [
        ("hyphen-", "ated", "-"),
        ("hyphen\u2010", "ated", "\u2010"),
        ("soft\u00ad", "ware", "\u00ad"),
        ("2019-", "ated", None),
        ("end -", "ated", None),
        ("Anglo-", "Saxon", None),
        ("hyphen", "ated", None),
    ],
)
def test_a_word_broken_at_a_line_end_has_a_hyphen_element(first: str, second: str, hyphen: str | None) -> None:
    lines = (Line(first, upright(0, 0, 90, 20), 0.9), Line(second, upright(0, 24, 90, 44), 0.9))
    root = alto(PageResult(0, 100, 100, lines=lines))
    assert [element.get("CONTENT") for element in root.iter(f"{ALTO}HYP")] == ([] if hyphen is None else [hyphen])
    assert alto_rules.text(etree.tostring(root)) == [first, second]


def worded(text: str, top: float) -> Line:
    words = [Word(word, upright(90 * i, top, 90 * i + 80, top + 20), 0.9) for i, word in enumerate(text.split())]
    return Line(text, upright(0, top, 300, top + 20), 0.9, tuple(words))


@pytest.mark.parametrize(
    ("texts", "parts"),
    [
        (
            ["read in hyphen-", "ated lines"],
            [("hyphen", "HypPart1", "hyphenated"), ("ated", "HypPart2", "hyphenated")],
        ),
        (["soft\u00ad", "ware"], [("soft", "HypPart1", "software"), ("ware", "HypPart2", "software")]),
        (["one hyphen", "ated"], []),
        (["Anglo-", "Saxon"], []),
        (["un-", "hyphen-", "ated"], []),
    ],
)
def test_the_parts_of_a_broken_word_name_the_whole(texts: list[str], parts: list[tuple[str, str, str]]) -> None:
    root = alto(PageResult(0, 300, 100, lines=tuple(worded(text, 24 * i) for i, text in enumerate(texts))))
    named = [string for string in root.iter(f"{ALTO}String") if string.get("SUBS_TYPE")]
    found = [(each.get("CONTENT"), each.get("SUBS_TYPE"), each.get("SUBS_CONTENT")) for each in named]
    assert found == parts
    assert alto_rules.violations(etree.tostring(root)) == []


def test_a_line_whose_words_are_not_known_is_no_part_of_one() -> None:
    lines = (Line("read in hyphen-", upright(0, 0, 90, 20), 0.9), Line("ated lines", upright(0, 24, 90, 44), 0.9))
    root = alto(PageResult(0, 100, 100, lines=lines))
    assert not [string for string in root.iter(f"{ALTO}String") if string.get("SUBS_TYPE")]


def test_the_version_is_the_one_that_the_schema_in_ci_has() -> None:
    run = (Path(__file__).parents[4] / ".ci" / "run").read_text(encoding="utf-8")
    version = str(alto(sample.PAGE).get("SCHEMAVERSION"))
    assert f"alto-{version.replace('.', '-')}.xsd" in run
    assert SCHEMA.endswith(f"alto-{version.replace('.', '-')}.xsd")


def test_a_hyphen_on_the_last_line_of_a_block_stays_in_its_word() -> None:
    root = alto(PageResult(0, 100, 100, lines=(Line("hyphen-", upright(0, 0, 90, 20), 0.9),)))
    assert not list(root.iter(f"{ALTO}HYP"))


def test_upright_lines_need_no_polygon_and_sloping_ones_have_it() -> None:
    sloping: Quad = ((100, 100), (500, 120), (499, 140), (99, 120))
    lines = (Line("level", upright(10, 10.4, 90.5, 30), 0.9), Line("sloping", sloping, 0.9))
    polygons = list(alto(PageResult(0, 600, 200, lines=lines)).iter(f"{ALTO}Polygon"))
    assert [polygon.get("POINTS") for polygon in polygons] == ["100,100 500,120 499,140 99,120"] * 2


@pytest.mark.parametrize(
    ("quads", "rotation"),
    [
        ([upright(0, 0, 90, 20)], None),
        ([((10, 90), (10, 0), (30, 0), (30, 90))], "90"),
        ([((30, 0), (30, 90), (10, 90), (10, 0))], "270"),
        ([((10, 90), (10, 0), (30, 0), (30, 90)), ((30, 0), (30, 90), (10, 90), (10, 0))], None),
    ],
)
def test_blocks_say_how_their_text_is_turned(quads: list[Quad], rotation: str | None) -> None:
    lines = tuple(Line("text", quad, 0.9) for quad in quads)
    block = Block(BlockType.TEXT, (0, 0, 100, 100), tuple(range(len(lines))), "", "")
    page = PageResult(0, 100, 100, lines=lines, blocks=(block,))
    assert only(alto(page), "TextBlock").get("ROTATION") == rotation


def test_blocks_refer_to_tags_of_their_kind_and_level() -> None:
    root = etree.fromstring(render(FULL, Format.ALTO))
    tags = {tag.get("ID"): (tag.get("TYPE"), tag.get("LABEL")) for tag in only(root, "Tags")}
    first = next(root.iter(f"{ALTO}TextBlock"))
    assert [tags[name] for name in first.get("TAGREFS").split()] == [("block type", "title"), ("heading level", "1")]
    assert only(root, "Illustration").get("TAGREFS") == "type_figure"


def test_a_page_that_was_turned_says_so() -> None:
    root = alto(replace(sample.PAGE, rotation=270))
    assert only(root, "Page").get("PROCESSINGREFS") == "inkgate rotation_1"
    assert "page 1: turned 270 degrees clockwise" in "".join(only(root, "Description").itertext())


def test_a_page_read_from_its_text_layer_says_so() -> None:
    root = alto(replace(sample.PAGE, source="text_layer"))
    assert only(root, "Page").get("PROCESSINGREFS") == "inkgate source_1"


def test_a_failed_page_is_there_without_text_and_refers_to_its_error() -> None:
    root = alto(sample.PAGE, sample.FAILED)
    page = list(root.iter(f"{ALTO}Page"))[1]
    assert page.get("PROCESSINGREFS") == "inkgate error_2"
    assert page.get("WIDTH") is None
    assert not list(page.iter(f"{ALTO}TextBlock"))
    told = "page 2: could not be read: page_broken: its content stream ends -- early"
    assert told in [element.text for element in root.iter(f"{ALTO}processingStepDescription")]


def test_a_blank_page_is_valid() -> None:
    assert alto_rules.violations(rendered(PageResult(0, 800, 1000))) == []


def test_control_characters_and_surrogates_are_left_out() -> None:
    line = replace(sample.REST, text='a\x00\ud800\ufffeb\tc\n"<&d')
    assert alto_rules.text(rendered(replace(sample.PAGE, lines=(line,)))) == ['ab c "<&d']
