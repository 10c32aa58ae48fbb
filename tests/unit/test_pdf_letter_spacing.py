"""Headings whose letters are set apart are words; cells and notes of single letters stay what they are."""

from itertools import product

from inkgate.documents.pdf.glyph import Glyph
from inkgate.documents.pdf.text_layer import lines_of

SIZE = 20.0
SPACE = Glyph(" ", 0, 0, 0, 0, 0, 0, 1, 0, SIZE)
NARROW, WIDE = set("ilI1.,-"), set("mwMW")


def set_wide(text: str, spacing: float, *, inferred: bool = False, bold: bool = False, top: float = 50) -> list[Glyph]:
    """`text` with `spacing` ems after each character, and pdfium's spaces if `inferred` or typed.

    Letters are 0.3, 0.5 or 0.8 em wide with 0.05 em free at each side; a space is 0.25 em wide.
    """
    glyphs: list[Glyph] = []
    x = 100.0
    for char in text:
        width = 0.25 if char == " " else 0.3 if char in NARROW else 0.8 if char in WIDE else 0.5
        if char == " ":
            glyphs.append(SPACE)
        else:
            left, right = x + 0.05 * SIZE, x + (width - 0.05) * SIZE
            glyphs.append(Glyph(char, left, top - 14, right, top, x, top, 1, 0, SIZE, bold=bold))
            if inferred:
                glyphs.append(SPACE)
        x += (width + spacing) * SIZE
    return glyphs


def texts(glyphs: list[Glyph]) -> list[str]:
    return [line.text for line in lines_of(glyphs)]


def test_letters_set_apart_are_words() -> None:
    wrong = []
    words = (
        "INVOICE",
        "ANNUAL REPORT",
        "TERMS OF USE",
        "Rechnung Nr. 2024-117",
        "Ausgabe 12",
        "ÜBERSICHT",
        "СЧЁТ НА ОПЛАТУ",
    )
    for text, spacing, inferred in product(words, (0.1, 0.2, 0.3, 0.5, 0.8), (False, True)):
        found = texts(set_wide(text, spacing, inferred=inferred))
        if found != [text]:
            wrong.append((text, spacing, inferred, found))
    assert not wrong


def test_letters_typed_apart_are_words_if_they_read_like_words() -> None:
    wrong = []
    for text in ("INVOICE", "SUMMARY", "ANNUAL REPORT", "ANGEBOT", "FACTURE", "ÜBERSICHT", "Agenda"):
        for spacing in (0.0, 0.1):
            typed = "  ".join(" ".join(word) for word in text.split())
            found = texts(set_wide(typed, spacing))
            if found != [text]:
                wrong.append((text, spacing, found))
    assert texts(set_wide("M E N U", 0.0, bold=True)) == ["MENU"]
    assert not wrong


def test_single_letters_that_are_no_words_stay_apart() -> None:
    wrong = []
    kept = (
        "a b c d e f", "x y z", "A B C D E", "1 2 3 4 5 6", "M T W T F S S", "J F M A M J J A S O N D", "Y N Y N Y N",
        "A C B D A E B", "I am a B C", "Vitamin A B C D E", "x = y + z", "2 0 2 4", "O X O X O", "D E 8 9 3 7",
        "illicit hill", "a b", "I II III IV V", "N E S W",
    )  # fmt: skip
    for text in kept:
        found = texts(set_wide(text, 0.0))
        if found != [text]:
            wrong.append((text, found))
    assert not wrong


def test_cells_of_letters_in_columns_are_not_joined() -> None:
    cells = [
        glyph._replace(left=glyph.left + shift, right=glyph.right + shift, x=glyph.x + shift)
        for shift, text in ((0, "Y N"), (45, "N Y"), (90, "Y Y"))
        for glyph in [Glyph("\n", 0, 0, 0, 0, 0, 0, 1, 0, SIZE), *set_wide(text, 0.0)]
    ]
    assert texts(cells) == ["Y N", "N Y", "Y Y"]
