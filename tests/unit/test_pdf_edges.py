"""Lines of a text layer that the page's edge cuts."""

from __future__ import annotations

from inkgate.documents.pdf.edges import cut_lines
from inkgate.documents.pdf.glyph import Glyph
from inkgate_client.types import Box, ReviewReason, Size

SIZE = Size(600, 800)


def line(text: str, x: float, y: float, size: float = 20.0, *, down: bool = False) -> list[Glyph]:
    """`text` from (x, y), the left end of its baseline, or downwards; its characters are half as wide as high."""
    found = []
    for at, character in enumerate(text):
        along = at * size / 2
        left, top = (x - size * 0.2, y + along) if down else (x + along, y - size * 0.8)
        width, height = (size, size / 2 - 1) if down else (size / 2 - 1, size)
        cx, cy = left + width / 2, top + height / 2
        visible = 0 <= cx <= SIZE.width and 0 <= cy <= SIZE.height
        origin = (x, y + along) if down else (x + along, y)
        direction = (0.0, 1.0) if down else (1.0, 0.0)
        found.append(Glyph(character, left, top, left + width, top + height, *origin, *direction, size, visible))
    return found


def boxes(*lines: list[Glyph]) -> list[Box | None]:
    glyphs = [glyph for each in lines for glyph in [*each, Glyph("\n", 0, 0, 0, 0, 0, 0, 1, 0, 1)]]
    notes = cut_lines(glyphs, SIZE)
    assert {note.reason for note in notes} <= {ReviewReason.CUT_OFF}
    return [note.box for note in notes]


WHOLE = line("A whole line of text", 50, 400)


def test_a_line_that_an_edge_cuts_is_flagged_where_it_is_cut() -> None:
    wrong = []
    for size in (8.0, 12.0, 20.0, 40.0):
        for share in (0.3, 0.5, 0.7):
            cases = {
                "upper": line("Total 1,284.50", 50, size * (0.8 - share), size),
                "lower": line("Total 1,284.50", 50, SIZE.height + size * (0.8 - share), size),
                "right": line("Total 1,284.50", SIZE.width - 8 * size / 2 - (1 - share) * size / 2, 300, size),
                "left": line("Total 1,284.50", -(4 + share) * size / 2, 300, size),
                "right, between letters": line("Total 1,284.50", SIZE.width - 8 * size / 2, 300, size),
                "down": line(
                    "Total 1,284.50", 300, SIZE.height - 8 * size / 2 - (1 - share) * size / 2, size, down=True
                ),
            }
            for name, cut in cases.items():
                found = boxes(WHOLE, cut, WHOLE)
                if len(found) != 1 or found[0] is None or not _at_edge(found[0], name):
                    wrong.append((name, size, share, found))
    assert wrong == []


def _at_edge(box: Box, name: str) -> bool:
    left, top, right, bottom = box
    inside = 0 <= left < right <= SIZE.width and 0 <= top < bottom <= SIZE.height
    edges = {"upper": top, "lower": bottom - SIZE.height, "left": left, "down": bottom - SIZE.height}
    return inside and abs(edges.get(name, right - SIZE.width)) < 10


def test_whole_lines_and_text_beside_the_page_are_not_flagged() -> None:
    kept = [
        WHOLE,
        line("right at the edge", 1, 300),
        line("up to the edge", SIZE.width - 14 * 10, 300),
        line("at the top", 50, 16),
        line("an accent reaches over the edge", 50, 14),
        line("crop marks", 700, 300),
        line("another page", 50, -100),
        line("below", 50, 900),
        line("ab", 50, 8),
    ]
    assert boxes(*kept) == []
    clipped = line("Total 1,284.50 EUR and more", 420, 300)
    assert boxes([glyph._replace(visible=glyph.visible and glyph.left < 520) for glyph in clipped]) == []
    assert boxes([glyph._replace(visible=False) for glyph in line("Total 1,284.50", 560, 300)]) == []


def test_few_of_many_cut_lines_are_named() -> None:
    assert len(boxes(*[line("Total 1,284.50", 560, 20.0 * at) for at in range(2, 40)])) == 20
