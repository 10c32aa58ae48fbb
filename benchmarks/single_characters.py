"""Single characters and pairs on drawn pages: how many the embedded engine reads right, reads in doubt, or gets wrong
without saying so.

    python -m benchmarks.single_characters [--half judging] [--fonts FOLDER] [--json FILE] [--errors FILE]

Every printable character of ASCII and Latin-1 and five more stand alone, and pairs of digits, letters and signs, in 15
faces of each half and three sizes, on three kinds of page: a sheet with little else, a ruled table, a price list. The
halves share no family: rules and thresholds are chosen on `tuning`, figures come from `judging`. The faces are in
Debian's packages (`PACKAGES`).
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

import inkgate
from inkgate.types import Box, Line, PageResult, Word, box_of_quad

PACKAGES = (
    "fonts-cabin fonts-cantarell fonts-clear-sans fonts-comfortaa fonts-crosextra-caladea fonts-crosextra-carlito "
    "fonts-dejavu-core fonts-ebgaramond fonts-firacode fonts-inter fonts-karla fonts-lato fonts-liberation "
    "fonts-mononoki fonts-noto-core fonts-open-sans fonts-oxygen fonts-play fonts-quicksand fonts-roboto-unhinted "
    "fonts-sil-charis fonts-urw-base35 fonts-vollkorn"
)
FACES = {
    "tuning": [
        "DejaVuSans",
        "DejaVuSerif-Bold",
        "LiberationSans-Regular",
        "LiberationMono-Regular",
        "NimbusRoman-Regular",
        "Carlito-Regular",
        "Lato-Regular",
        "Roboto-Regular",
        "Cantarell-Regular",
        "EBGaramond12-Regular",
        "FiraCode-Regular",
        "Comfortaa-Regular",
        "Inter-Regular",
        "Vollkorn-Regular",
        "Play-Regular",
    ],
    "judging": [
        "NimbusSans-Regular",
        "NotoSans-Regular",
        "OpenSans-Italic",
        "NotoSerif-Regular",
        "Caladea-Regular",
        "CharisSIL-Regular",
        "ClearSans-Regular",
        "Karla-Bold",
        "Quicksand-Regular",
        "Cabin-Regular",
        "P052-Roman",
        "URWBookman-Light",
        "NimbusSansNarrow-Regular",
        "mononoki-Regular",
        "OxygenMono-Regular",
    ],
}
SIZES = (20, 28, 48)
"""Pixels an em: 9.6, 13 and 23 points at the 150 dots an inch of the pages."""
PAGE = (1240, 1754)
MARGIN = 90
DIGITS, LETTERS = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SIGNS = "%€$£+-.,:;/°#*()<>=&!?½²–"
ALONE = (*map(chr, range(33, 127)), *(chr(code) for code in range(0xA1, 0x100) if code != 0xAD), *"€–—•…")
PAIRS = ((DIGITS, LETTERS), (LETTERS, DIGITS), (DIGITS, SIGNS), (SIGNS, DIGITS), (DIGITS, DIGITS), (LETTERS, LETTERS))
A_KIND = 15
"""Pairs of each kind in each face and size."""
DOUBTFUL = 0.9
"""Confidence below which the documentation calls a word doubtful, and marks it on request."""
SAME = str.maketrans(
    {
        **{chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)},
        "\u03bc": "\u00b5",
        "½": "1/2",
        "¼": "1/4",
        "¾": "3/4",
    }
)
"""Full-width forms are their ASCII characters; the two code points of mu are one character; a fraction
may be written out."""
WORDS = [
    "Apples",
    "Pears",
    "Bread",
    "Butter",
    "Coffee",
    "Paper",
    "Screws",
    "Cable",
    "Lamp",
    "Brush",
    "Paint",
    "Soap",
    "Glue",
    "Rope",
    "Hinge",
]
TEXT = ("The following items were delivered on Monday", "and are listed in the order of their numbers.")


@dataclass(frozen=True, slots=True)
class Item:
    """A character or pair, its kind, and its cell on the page."""

    text: str
    kind: str
    cell: Box


@dataclass(frozen=True, slots=True)
class DrawnPage:
    image: Image.Image
    items: tuple[Item, ...]
    face: str
    size: int
    layout: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was read in the cell of an item. `result`: right, flagged, missing or wrong."""

    face: str
    size: int
    layout: str
    kind: str
    printed: str
    read: str
    confidence: float
    result: str


def texts(face: str, size: int) -> list[tuple[str, str]]:
    """Characters and pairs with their kinds, in a random order that is fixed."""
    choice = random.Random(f"{face} {size}")
    found = [(character, "ascii" if character.isascii() else "latin-1 and signs") for character in ALONE]
    for first, second in PAIRS:
        pairs = [a + b for a in first for b in second]
        found += [(pair, "pair") for pair in choice.sample(pairs, A_KIND)]
    choice.shuffle(found)
    return found


def pages(face: str, size: int, path: Path) -> Iterator[DrawnPage]:
    """The pages of one face and size: a third of the texts in each layout."""
    font = ImageFont.truetype(str(path), size)
    drawn = texts(face, size)
    for number, (layout, places) in enumerate(LAYOUTS.items()):
        part = drawn[number::3]
        while part:
            image = Image.new("RGB", PAGE, "white")
            pen = ImageDraw.Draw(image)
            for row, line in enumerate(TEXT):
                pen.text((MARGIN, MARGIN + row * 1.7 * size), line, "black", font, anchor="ls")
            cells = places(pen, font, size)[: len(part)]
            items = []
            for (text, kind), cell in zip(part, cells, strict=False):
                middle = (cell[0] + cell[2]) / 2, cell[1] + 0.5 * (cell[3] - cell[1]) + 0.35 * size
                pen.text(middle, text, "black", font, anchor="ms")
                items.append(Item(text, kind, cell))
            yield DrawnPage(image, tuple(items), face, size, layout)
            part = part[len(cells) :]


def sheet(_pen: ImageDraw.ImageDraw, _font: ImageFont.FreeTypeFont, size: int) -> list[Box]:
    """Cells far from each other."""
    return _grid(4.5 * size, 2.6 * size, 3.6 * size)


def table(pen: ImageDraw.ImageDraw, _font: ImageFont.FreeTypeFont, size: int) -> list[Box]:
    """Cells with rules around them."""
    cells = _grid(3.4 * size, 1.9 * size, 3 * size)
    for cell in cells:
        pen.rectangle(cell, outline="black", width=max(size // 14, 1))
    return cells


def price_list(pen: ImageDraw.ImageDraw, font: ImageFont.FreeTypeFont, size: int) -> list[Box]:
    """Cells between a word and a price: two columns of them."""
    choice = random.Random(size)
    cells = []
    for column in range(2):
        left = MARGIN + column * (PAGE[0] - 2 * MARGIN) / 2
        for row in range(int((PAGE[1] - 2 * MARGIN - 4 * size) / (1.7 * size))):
            top = MARGIN + 3 * size + row * 1.7 * size
            base = top + 0.85 * size + 0.35 * size
            pen.text((left, base), choice.choice(WORDS), "black", font, anchor="ls")
            price = f"{choice.randrange(1, 100)}.{choice.randrange(100):02}"
            pen.text((left + 10.4 * size, base), price, "black", font, anchor="rs")
            cells.append((left + 4.7 * size, top, left + 7 * size, top + 1.7 * size))
    return cells


def _grid(wide: float, high: float, top: float) -> list[Box]:
    cells = []
    for row in range(int((PAGE[1] - 2 * MARGIN - top) / high)):
        for column in range(int((PAGE[0] - 2 * MARGIN) / wide)):
            left, upper = MARGIN + column * wide, MARGIN + top + row * high
            cells.append((left, upper, left + wide, upper + high))
    return cells


LAYOUTS = {"sheet": sheet, "table": table, "price list": price_list}


def outcomes(page: DrawnPage, read: PageResult) -> Iterator[Outcome]:
    """What was read in each cell of the page."""
    words = [part for line in read.lines for part in (line.words or (line,))]
    for item in page.items:
        inside = sorted((word for word in words if _is_in(word, item.cell)), key=lambda word: word.quad[0][0])
        text = "".join("".join(word.text.split()) for word in inside)
        confidence = min((word.confidence for word in inside), default=0.0)
        noted = any(note.box is None or _meet(note.box, item.cell) for note in getattr(read, "review_notes", ()))
        if text.translate(SAME) == item.text.translate(SAME):
            result = "right"
        elif noted or (inside and confidence < DOUBTFUL):
            result = "flagged"
        else:
            result = "wrong" if inside else "missing"
        if result == "right" and confidence < DOUBTFUL:
            result = "right, flagged"
        yield Outcome(page.face, page.size, page.layout, item.kind, item.text, text, round(confidence, 3), result)


def _is_in(word: Word | Line, cell: Box) -> bool:
    left, top, right, bottom = box_of_quad(word.quad)
    return cell[0] < (left + right) / 2 < cell[2] and cell[1] < (top + bottom) / 2 < cell[3]


def _meet(first: Box, second: Box) -> bool:
    return first[0] < second[2] and second[0] < first[2] and first[1] < second[3] and second[1] < first[3]


RESULTS = ("right", "right, flagged", "flagged", "missing", "wrong")


def counted(found: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """The number of each result, by kind, size and layout, and of all."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        for group in (one.kind, f"{one.size} px", one.layout, "all"):
            counts.setdefault(group, Counter())[one.result] += 1
    return {group: {result: counts[group][result] for result in RESULTS} for group in sorted(counts)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=list(FACES), default="judging")
    parser.add_argument("--faces", nargs="+", help="only these")
    parser.add_argument(
        "--fonts", type=Path, default=Path("/usr/share/fonts"), help="where the faces are, at any depth"
    )
    parser.add_argument("--json", type=Path)
    parser.add_argument("--errors", type=Path, help="every outcome, a line of JSON each")
    arguments = parser.parse_args()
    files = {path.stem: path for path in sorted(arguments.fonts.rglob("*.[ot]tf"))}
    faces = arguments.faces or FACES[arguments.half]
    absent = [face for face in faces if face not in files]
    if absent:
        parser.error(f"No file of {', '.join(absent)}. Install {PACKAGES}, or name their folder.")
    found: list[Outcome] = []
    with inkgate.Ocr() as ocr:
        for face in faces:
            for size in SIZES:
                for page in pages(face, size, files[face]):
                    data = io.BytesIO()
                    page.image.save(data, "PNG", compress_level=1)
                    found += outcomes(page, ocr.read(data.getvalue(), task="text").pages[0])
    counts = counted(found)
    print(f"| {arguments.half} | n | {' | '.join(RESULTS)} |\n| --- | --- |{' --- |' * len(RESULTS)}")
    for group, by_result in counts.items():
        print(f"| {group} | {sum(by_result.values())} | {' | '.join(map(str, by_result.values()))} |")
    if arguments.errors:
        lines = (json.dumps(asdict(one), ensure_ascii=False) for one in found)
        arguments.errors.write_text("\n".join(lines) + "\n", encoding="utf-8")
    if arguments.json:
        about = {"half": arguments.half, "faces": faces, "machine": platform.processor() or platform.machine()}
        arguments.json.write_text(json.dumps({**about, "counts": counts}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
