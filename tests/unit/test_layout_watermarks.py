"""Words in large letters across a page's text, such as DRAFT: no headings, and not in the midst of the lines below."""

import math
from itertools import product

from inkgate.layout.arrange import Arrangement, arrange
from inkgate.layout.evidence import PageEvidence, Region
from inkgate.layout.text.running import watermarks
from inkgate_client.types import BlockType, Line, Quad, Size

SIZE = Size(1000, 1400)
ROWS = [f"The tenant pays the rent number {row} on the first day of the month," for row in range(30)]


def across(text: str, middle: tuple[float, float], height: float, angle: float) -> Line:
    """A line of text in letters half as wide as high, turned clockwise about its middle."""
    half, up = 0.3 * height * len(text), height / 2
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    corners = [(-half, -up), (half, -up), (half, up), (-half, up)]
    a, b, c, d = ((middle[0] + x * cos - y * sin, middle[1] + x * sin + y * cos) for x, y in corners)
    quad: Quad = (a, b, c, d)
    return Line(text, quad, 0.9)


def page(*marks: Line, rows: int = 30) -> Arrangement:
    text = [
        Line(row, ((100, y), (100 + 11 * len(row), y), (100 + 11 * len(row), y + 22), (100, y + 22)), 0.99)
        for row, y in zip(ROWS[:rows], range(150, 1250, 35), strict=False)
    ]
    regions = [Region(BlockType.TITLE, mark.box, 0.8) for mark in marks]
    return arrange([*marks, *text], SIZE, PageEvidence(regions=regions))


def test_watermarks_stand_after_the_text_and_are_no_headings() -> None:
    wrong = []
    words = ("CONFIDENTIAL", "DRAFT", "COPY", "ENTWURF", "DO NOT COPY", "VERTRAULICH")
    for word, angle, height in product(words, (-60, -45, -30, 0, 30, 45, 55, 90, 270), (60, 110)):
        read = page(across(word, (480, 640), height, angle))
        plain = page().markdown
        if read.markdown != f"{plain}\n\n{word}" or read.text.split("\n")[-1] != word:
            wrong.append((word, angle, height, read.markdown))
        if [line.text for line in read.lines][-1] != word or read.blocks[-1].type is not BlockType.TEXT:
            wrong.append((word, angle, height, "blocks"))
    assert not wrong


def test_watermarks_that_are_repeated_all_stand_after_the_text() -> None:
    marks = [across("SAMPLE", (x, y), 90, 45) for x in (250, 750) for y in (300, 700, 1330)]
    assert page(*marks).markdown == page().markdown + 6 * "\n\nSAMPLE"


def test_slanted_watermarks_on_the_empty_part_of_a_page_and_small_ones_over_its_text_are_known() -> None:
    wrong = []
    for word, angle, rows in product(("DRAFT", "CONFIDENTIAL"), (-45, 30, 45, 60), (1, 2, 4)):
        read = page(across(word, (500, 900), 90, angle), rows=rows)
        if read.markdown != f"{page(rows=rows).markdown}\n\n{word}":
            wrong.append((word, angle, rows, read.markdown))
    tiles = [across("COPY", (x, y), 24, 45) for x in range(200, 900, 200) for y in range(200, 1200, 200)]
    if page(*tiles).markdown != page().markdown + len(tiles) * "\n\nCOPY":
        wrong.append(("COPY", 45, 30, page(*tiles).markdown))
    assert not wrong


def test_headings_initials_signatures_and_stamps_at_the_side_are_no_watermarks() -> None:
    rest = list(page().lines)
    others = {
        "heading": across("Rental agreement", (400, 90), 60, 0),
        "signature": across("J. Miller", (400, 1185), 60, 0),
        "side": across("Archive copy", (40, 600), 22, 270),
        "initial": across("T", (110, 180), 90, 0),
        "line with an initial": Line(
            "Over the past three decades", ((100, 640), (420, 640), (420, 710), (100, 710)), 1.0
        ),
        "large number": across("1,204.50", (500, 640), 90, 0),
    }
    assert [name for name, line in others.items() if watermarks([*rest, line])] == []
