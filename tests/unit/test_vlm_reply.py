"""Detection of answers that repeat themselves: it finds loops, but no repetition that real pages have."""

from __future__ import annotations

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.vlm.reply import RepeatedTail, RepetitionDetector, RepetitionLimits, repeating_tail

WORDS = ["ink", "gate", "the", "of", "Größe", "文字", "12.50", "page", "and", "read", "(see", "A.3)", "—"]


def prose(length: int, seed: int = 1) -> str:
    rng = random.Random(seed)
    text = ""
    while len(text) < length:
        text += rng.choice(WORDS) + rng.choice([" ", " ", " ", "\n"])
    return text[:length]


def watched(text: str, piece: int = 7) -> RepeatedTail | None:
    """What a guard says that sees `text` come in pieces."""
    guard = RepetitionDetector()
    for start in range(0, len(text), piece):
        if loop := guard.feed(text[start : start + piece]):
            return loop
    return guard.look()


def html_table(rows: int, columns: int, cell: str) -> str:
    return "<table>" + ("<tr>" + f"<td>{cell}</td>" * columns + "</tr>") * rows + "</table>"


def otsl_table(rows: int, columns: int, cell: str) -> str:
    return (f"<fcel>{cell}" * columns + "<nl>") * rows


REAL = {
    "dotted leaders": "\n".join(f"Chapter {n} {'.' * 120} {n * 7}" for n in range(1, 60)),
    "spaced leaders": "\n".join(f"{n}. Title {'. ' * 90}{n}" for n in range(1, 60)),
    "a whole line of dots": "Name " + "." * 1000 + "\n" + "_" * 500,
    "ruled lines of a form": ("_" * 110 + "\n") * 45,
    "fields of a form": "Name: ____________ Date: __________\n" * 50,
    "boxes to tick": "[ ] Yes  [ ] No\n" * 80,
    "a sheet of labels": "The Ink & Gate Company\n12 Harbour Street\n10115 Berlin\nGermany\n\n" * 30,
    "a column of equal numbers": "0.00\n" * 120,
    "a hex dump": "\n".join(f"{at:08x}  {'00 ' * 16} |................|" for at in range(0, 1600, 16)),
    "a hex dump without addresses": ("00 " * 16 + "\n") * 70,
    "an empty form in HTML": html_table(45, 8, ""),
    "zeros in HTML": html_table(60, 12, "0.00"),
    "a wide row of empty cells": html_table(1, 60, ""),
    "zeros in OTSL": otsl_table(80, 12, "0.00"),
    "empty cells in OTSL": ("<ecel>" * 10 + "<nl>") * 100,
    "a pipe table": "| 0 | 0 | 0 |\n" * 100,
    "a list": "\n".join(f"{n}. item" for n in range(1, 400)),
    "bullets": "- none\n" * 100,
    "a matrix": r"\begin{matrix}" + (r"0 & 0 & 0 & 0 \\" + "\n") * 40 + r"\end{matrix}",
    "laughter": "ha" * 300,
    "blank lines": "\n" * 500 + "end",
}


def test_what_pages_really_have_is_no_loop() -> None:
    assert [name for name, text in REAL.items() if watched(prose(3000) + "\n" + text)] == []
    assert [name for name, text in REAL.items() if watched(text + prose(700))] == []


LOOPS = {
    "a word": "the ",
    "a sign": "。",
    "a sentence": "Pages are read one after the other, and that is that. ",
    "a line": "Total amount due: 42.50\n",
    "a paragraph": prose(700, seed=2) + "\n\n",
    "nothing but dots": ".",
    "empty lines of a form": "_" * 80 + "\n",
    "cells without end": "<td></td>",
    "cells of OTSL": "<fcel>0.00",
    "rows": "<tr><td>1</td><td></td><td></td></tr>",
    "rows of OTSL": "<fcel>a<ecel><ecel><nl>",
    "rows of a pipe table": "| a |  |  |\n",
    "a formula": r"\quad ",
    "spaces": " ",
}


@pytest.mark.parametrize("piece", [1, 3, 400])
def test_a_loop_is_found_with_where_it_begins(piece: int) -> None:
    wrong = []
    before = prose(2500) + "§"
    for name, unit in LOOPS.items():
        loop = watched(before + unit * (30_000 // len(unit)), piece)
        if loop is None or (loop.start, loop.unit) != (len(before), unit) or loop.count < 8:
            wrong.append((name, loop))
    assert wrong == []


def test_a_loop_ends_soon_after_it_is_one() -> None:
    guard = RepetitionDetector()
    pieces = [prose(1000), *["It goes on and on. "] * 1000]
    fed = next(index for index, piece in enumerate(pieces) if guard.feed(piece))
    assert fed * len(pieces[1]) < 2000 + 512


def test_a_loop_far_down_a_long_answer_is_placed_in_the_whole() -> None:
    before = prose(90_000) + "§"
    loop = watched(before + "again and again " * 400)
    assert loop is not None
    assert (loop.start, loop.unit) == (len(before), "again and again ")


@given(st.text("ab|\n.", min_size=0, max_size=80), st.text("ab|\n.", min_size=1, max_size=12), st.integers(0, 30))
def test_the_tail_is_what_trying_every_unit_finds(before: str, unit: str, count: int) -> None:
    """Against the plain way: every length of unit, counted back."""
    text = before + unit * count
    patience = RepetitionLimits(
        repeats=3, run_span=6, line_span=12, blank_span=20, cells=5, rows=4, table_span=60, max_unit=40
    )
    expected = None
    for length in range(1, min(patience.max_unit, len(text)) + 1):
        alike = 0
        while alike < len(text) - length and text[-1 - alike] == text[-1 - alike - length]:
            alike += 1
        if alike and patience.is_over(text[len(text) - length :], length + alike):
            expected = (length, length + alike)
            break
    assert repeating_tail(text, patience) == expected


@given(st.lists(st.sampled_from(WORDS), max_size=300), st.integers(1, 50))
def test_pieces_don_t_matter(words: list[str], piece: int) -> None:
    text = " ".join(words)
    assert watched(text, piece) is None
    looping = text + "§" + "over and over " * 300
    loop = watched(looping, piece)
    assert loop is not None
    assert loop.start == len(text) + 1


def test_texts_that_nearly_repeat_cost_little() -> None:
    """Units that differ in one sign at their end: the worst case for looking backwards. It ends, and finds nothing."""
    text = "".join("a" * 1990 + sign for sign in string.ascii_letters)
    assert repeating_tail(text, RepetitionLimits()) is None
