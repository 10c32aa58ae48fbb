"""Terms of a domain: what becomes one, and what stays as it was read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from inkgate.extraction.finder import with_read_as
from inkgate.fields.extract import answer
from inkgate.fields.proposed import proposed
from inkgate.fields.schema import FieldSchema
from inkgate.service.terms import Terms, TermsFileInvalid, distance
from inkgate_client.types import Line, PageResult, Word
from support.receipts import RECEIPT, page

TERMS = Terms.of(
    ["Amoxicillin", "Amoxapine", "Acetylsalicylic acid", "Aspirin", "B12 complex", "阿莫西林胶囊", "头孢克肟片"]
)


def line(*words: tuple[str, float]) -> Line:
    """Words side by side; single Chinese characters without spaces."""
    quad = ((0.0, 0.0), (9.0, 0.0), (9.0, 9.0), (0.0, 9.0))
    space = "" if any(word > "\u4e00" for word, _ in words) else " "
    parts = tuple(Word(word, quad, confidence) for word, confidence in words)
    return Line(space.join(word for word, _ in words), quad, min(confidence for _, confidence in words), parts)


def corrected(*words: tuple[str, float]) -> str:
    found, changes = TERMS.correct(PageResult(0, lines=(line(*words),)))
    if not changes:
        assert found.lines[0].text == line(*words).text
    return found.lines[0].text


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ([("Drug:", 1), ("Arnoxici1lin,", 0.7), ("500", 1)], "Drug: Amoxicillin, 500"),
        ([("AMOX1CILLIN", 0.5)], "AMOXICILLIN"),
        ([("Acetylsa1icylic", 0.6), ("acid", 0.99)], "Acetylsalicylic acid"),
        ([("8l2", 0.5), ("complex", 1)], "8l2 complex"),  # too short
        ([("Arnoxici1lin", 0.95)], "Arnoxici1lin"),  # sure
        ([("Acetylsa1icylic", 0.6), ("ester", 0.99)], "Acetylsa1icylic ester"),  # not the whole term
        ([("Amoxirine", 0.5)], "Amoxirine"),  # near none
        ([("Aspiring", 0.5), ("25", 0.5)], "Aspirin 25"),
        ([("12.50", 0.3), ("1204", 0.3)], "12.50 1204"),
        ([(each, 0.5 if each == "林" else 1) for each in "阿莫西木胶囊"], "阿莫西木胶囊"),
        ([(each, 0.5 if each == "木" else 1) for each in "服阿莫西木胶囊"], "服阿莫西林胶囊"),
        ([(each, 0.5 if each == "孢" else 1) for each in "头孢克肟片"], "头孢克肟片"),
    ],
)
def test_doubtful_words_become_terms(words: list[tuple[str, float]], wanted: str) -> None:
    assert corrected(*words) == wanted


def test_a_digit_never_becomes_another_one() -> None:
    assert distance("vitamin b13", "vitamin b12") > 1000
    assert distance("vitamin b1", "vitamin b12") > 1000
    assert distance("vitamin bl2", "vitamin b12") == pytest.approx(0.3)


def test_a_word_that_is_near_two_terms_stays() -> None:
    terms = Terms.of(["Hydroxyzine", "Hydralazine", "Clonidine", "Clozidine"])
    page_ = PageResult(0, lines=(line(("Clo2idine", 0.4)), line(("Clomidine", 0.4))))
    found, changes = terms.correct(page_)
    assert [each.text for each in found.lines] == ["Clozidine", "Clomidine"]
    assert [(each.line, each.text, each.read_as) for each in changes] == [(0, "Clozidine", "Clo2idine")]


def test_pages_without_the_terms_are_not_touched() -> None:
    """Every word of a receipt, with little confidence."""
    read = page(RECEIPT)
    lines = tuple(
        replace(each, words=tuple(Word(word, each.quad, 0.4) for word in each.text.split())) for each in read.lines
    )
    doubtful = replace(read, lines=lines)
    assert TERMS.correct(doubtful) == (doubtful, [])


def test_a_source_says_what_was_read() -> None:
    read = PageResult(0, lines=(line(("Drug:", 1.0), ("Arnoxici1lin", 0.7)),))
    found, changes = TERMS.correct(read)
    schema = FieldSchema.of_names(["drug"])
    extraction = with_read_as(answer([found], schema, proposed([found], schema)), changes)
    source = extraction.fields["/drug"].sources[0]
    assert (extraction.data["drug"], source.text, source.read_as) == (
        "Amoxicillin",
        "Drug: Amoxicillin",
        "Drug: Arnoxici1lin",
    )
    assert source.confidence == pytest.approx(0.85)


def test_files_of_terms(tmp_path: Path) -> None:
    good, bad = tmp_path / "terms.toml", tmp_path / "bad.toml"
    good.write_text('[[terms]]\nterm = "Amoxicillin"\naliases = ["Amoxil"]\nkind = "drug"\n')
    assert Terms.load([good]).forms == ("Amoxicillin", "Amoxil")
    for text in (
        "terms = 1",
        "[[terms]]\nname = 'x'",
        "[[terms]]\nterm = ''",
        "[[terms]]\nterm = 'a'\naliases = [1]",
        "[",
        "terms = " + "[" * 5000,
    ):
        bad.write_text(text)
        with pytest.raises(TermsFileInvalid, match=r"bad\.toml"):
            Terms.load([bad])


def test_many_terms_and_doubtful_words_are_bounded() -> None:
    random = Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    terms = Terms.of("".join(random.choices(letters, k=9)) for _ in range(3000))
    words = [("".join(random.choices(letters, k=9)), 0.2) for _ in range(600)]
    _, changes = terms.correct(PageResult(0, lines=(line(*words),)))
    assert not changes
