"""Terms of the domain in what is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from inkgate.bootstrap.stack import _revision
from inkgate.errors import InputRejected
from inkgate.service.terms import Terms, load_terms
from inkgate.service.terms_in_pages import with_terms
from inkgate.settings import Settings
from inkgate_client.codec import dump_page, load_page, page_to_dict, parse_page
from inkgate_client.term_correction import TermCorrection
from inkgate_client.types import Block, BlockType, Line, PageResult, Table, TableCell, Word

TERMS = Terms.of(["Amoxicillin", "Aspirin", "阿莫西林胶囊"])


def line(*words: tuple[str, float]) -> Line:
    quad = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    parts = tuple(Word(word, quad, confidence) for word, confidence in words)
    return Line(" ".join(word for word, _ in words), quad, min(each.confidence for each in parts), parts)


def page(*lines: Line) -> PageResult:
    """A paragraph of all lines but the last, which is a table of one cell."""
    paragraph = " ".join(each.text for each in lines[:-1])
    cell = lines[-1].text
    table = Table(1, 1, (TableCell(0, 0, cell, lines=(len(lines) - 1,)),))
    blocks = (
        Block(BlockType.TEXT, (0, 0, 9, 9), tuple(range(len(lines) - 1)), paragraph, paragraph),
        Block(BlockType.TABLE, (0, 9, 9, 18), (len(lines) - 1,), cell, f"| {cell} |", table=table),
    )
    markdown = f"{paragraph}\n\n| {cell} |"
    return PageResult(0, lines=lines, blocks=blocks, text=f"{paragraph}\n\n{cell}", markdown=markdown)


def test_a_term_stands_wherever_its_line_does_and_what_was_read_is_kept() -> None:
    read = page(line(("Take", 1), ("Arnoxici1lin", 0.6)), line(("daily", 1)), line(("Asp1rin", 0.5)))
    found = with_terms(read, TERMS)
    blocks = found.blocks or ()
    assert [each.text for each in found.lines] == ["Take Amoxicillin", "daily", "Aspirin"]
    assert found.text == "Take Amoxicillin daily\n\nAspirin"
    assert found.markdown == "Take Amoxicillin daily\n\n| Aspirin |"
    assert [each.text for each in blocks] == ["Take Amoxicillin daily", "Aspirin"]
    assert [each.markdown for each in blocks] == ["Take Amoxicillin daily", "| Aspirin |"]
    assert blocks[1].table is not None
    assert blocks[1].table.cells[0].text == "Aspirin"
    assert found.corrections == (
        TermCorrection(0, "Amoxicillin", "Arnoxici1lin"),
        TermCorrection(2, "Aspirin", "Asp1rin"),
    )
    assert load_page(dump_page(found)).corrections == found.corrections
    assert parse_page(orjson.dumps(page_to_dict(found))).corrections == found.corrections


def test_the_same_word_that_was_read_with_confidence_stays() -> None:
    read = page(line(("Asp1rin", 0.99), ("GmbH", 1)), line(("Take", 1), ("Asp1rin", 0.5)), line(("Asp1rin", 0.99)))
    found = with_terms(read, TERMS)
    assert found.text == "Asp1rin GmbH Take Aspirin\n\nAsp1rin"
    assert [each.line for each in found.corrections] == [1]


def test_of_a_word_that_stands_in_a_line_or_on_a_page_twice_the_doubtful_one_changes() -> None:
    once = with_terms(page(line(("Asp1rin", 0.99), ("and", 1), ("Asp1rin", 0.5)), line(("x", 1))), TERMS)
    assert once.text == "Asp1rin and Aspirin\n\nx"
    same = [line(("Take", 1), ("Asp1rin", confidence)) for confidence in (0.99, 0.5, 0.99, 0.5)]
    found = with_terms(page(*same, line(("x", 1))), TERMS)
    assert found.text == "Take Asp1rin Take Aspirin Take Asp1rin Take Aspirin\n\nx"


def test_terms_stand_in_escaped_markdown_too() -> None:
    read = page(line(("2*", 1), ("Asp1rin", 0.5)), line(("x", 1)))
    found = with_terms(replace(read, markdown="2\\* Asp1rin\n\n| x |"), TERMS)
    assert found.markdown == "2\\* Aspirin\n\n| x |"


def test_headers_change_only_where_the_corrected_line_stands_in_them() -> None:
    read = replace(
        page(line(("Take", 1), ("Asp1rin", 0.5)), line(("x", 1))), header="Asp1rin Ltd", footer="Take Asp1rin 2"
    )
    found = with_terms(read, TERMS)
    assert (found.header, found.footer) == ("Asp1rin Ltd", "Take Aspirin 2")


def test_a_part_of_a_longer_word_stays() -> None:
    read = replace(page(line(("Asp1rin", 0.5)), line(("x", 1))), text="xAsp1rinx")
    assert with_terms(read, TERMS).text == "xAsp1rinx"


def test_two_terms_of_one_line_both_change() -> None:
    found = with_terms(page(line(("Arnoxici1lin", 0.6), ("Asp1rin", 0.5)), line(("x", 1))), TERMS)
    assert found.text == "Amoxicillin Aspirin\n\nx"


def test_a_page_without_doubtful_terms_is_the_same_object() -> None:
    read = page(line(("Take", 1), ("Arnoxici1lin", 0.95)), line(("x", 1)))
    assert with_terms(read, TERMS) is read


def test_other_terms_are_another_revision_of_cached_pages(tmp_path: Path) -> None:
    revisions = set()
    file = tmp_path / "terms.toml"
    for term in ("Amoxicillin", "Aspirin"):
        file.write_text(f'[[terms]]\nterm = "{term}"\n')
        revisions.add(_revision(Settings.model_validate({"terms": {"files": [str(file)]}})))
    assert len(revisions | {_revision(Settings())}) == 3


def test_a_file_that_can_not_be_used_names_the_setting(tmp_path: Path) -> None:
    with pytest.raises(InputRejected, match=r"`terms\.files`"):
        load_terms([str(tmp_path / "none.toml")], "terms.files")
