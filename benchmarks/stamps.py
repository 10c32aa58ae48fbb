"""Draws stamps on printed pages, reads them with the embedded engine, and counts what was found.

    python -m benchmarks.stamps [--count N] [--first N]

Round, oval and rectangular stamps, red and blue, half of them over text and photographed. A stamp is found if its box
overlaps the true one by half or more; its text is compared by characters. Needs Debian's fonts-noto-cjk.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from random import Random

import numpy as np
from PIL import Image, ImageDraw
from rapidfuzz.distance import Levenshtein

from benchmarks.vat_invoices import company, font, photographed
from inkgate.library import Ocr
from inkgate.types import Block, BlockType, Box

INKS = {"red": (205, 35, 45, 215), "blue": (40, 60, 185, 215)}
WORDS = (
    "合同编号",
    "甲方应当按照约定支付价款",
    "本协议一式两份",
    "The parties agree as follows",
    "特此证明",
    "收款金额",
)
INSIDE = ("合同专用章", "财务专用章", "发票专用章", "业务专用章")


@dataclass(frozen=True, slots=True)
class StampedPage:
    """A page with one stamp. `box`: of the stamp; None after the page was photographed."""

    image: Image.Image
    shape: str
    colour: str
    text: str
    box: Box | None


def stamped(random: Random) -> StampedPage:
    page = Image.new("RGBA", (1240, 1754), (252, 252, 249, 255))
    draw = ImageDraw.Draw(page)
    for row in range(24):
        draw.text((110, 120 + 62 * row), f"{random.choice(WORDS)}  {random.choice(WORDS)}", (25, 25, 28), font(26))
    shape, colour = random.choice(("round", "round", "oval", "rectangle")), random.choice(("red", "red", "blue"))
    ring, inside = company(random), random.choice(INSIDE)
    wide, high = {"round": (300, 300), "oval": (340, 230), "rectangle": (300, 110)}[shape]
    left, top = random.randrange(120, 1000 - wide), random.randrange(200, 1500 - high)
    layer = Image.new("RGBA", page.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    ink = INKS[colour]
    if shape == "rectangle":
        pen.rectangle((left, top, left + wide, top + high), outline=ink, width=5)
        pen.text((left + 25, top + 28), inside, ink, font(48))
        text = inside
    else:
        pen.ellipse((left, top, left + wide, top + high), outline=ink, width=6)
        for at, letter in enumerate(ring):
            _letter(
                layer, letter, (left, top, left + wide, top + high), np.pi * (0.9 + 1.2 * (at + 0.5) / len(ring)), ink
            )
        if shape == "round":
            _star(pen, left + wide / 2, top + high / 2, 42, ink)
        pen.text((left + wide / 2 - 75, top + high * (0.7 if shape == "round" else 0.55)), inside, ink, font(30))
        text = ring + inside
    image = Image.alpha_composite(page, layer).convert("RGB")
    if random.random() < 0.5:
        return StampedPage(photographed(image, random), shape, colour, text, None)
    return StampedPage(image, shape, colour, text, (left, top, left + wide, top + high))


def _letter(layer: Image.Image, letter: str, box: Box, angle: float, ink: tuple[int, int, int, int]) -> None:
    """Draws a letter of the text along the border of an ellipse, turned outwards."""
    tile = Image.new("RGBA", (60, 60), (0, 0, 0, 0))
    ImageDraw.Draw(tile).text((13, 8), letter, ink, font(34))
    wide, high = box[2] - box[0], box[3] - box[1]
    x = (box[0] + box[2]) / 2 + (wide / 2 - 36) * np.cos(angle)
    y = (box[1] + box[3]) / 2 + (high / 2 - 36) * np.sin(angle)
    turned = tile.rotate(
        -np.degrees(np.arctan2(np.sin(angle) / high, np.cos(angle) / wide)) - 90, resample=Image.Resampling.BICUBIC
    )
    layer.alpha_composite(turned, (round(x - 30), round(y - 30)))


def _star(pen: ImageDraw.ImageDraw, x: float, y: float, radius: float, ink: tuple[int, int, int, int]) -> None:
    points = []
    for at in range(10):
        angle, size = np.pi * (at / 5 - 0.5), radius * (1 if at % 2 == 0 else 0.4)
        points.append((x + size * np.cos(angle), y + size * np.sin(angle)))
    pen.polygon(points, fill=ink)


def overlap(first: Box, second: Box) -> float:
    """Intersection over union."""
    wide = min(first[2], second[2]) - max(first[0], second[0])
    high = min(first[3], second[3]) - max(first[1], second[1])
    shared = max(0.0, wide) * max(0.0, high)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (first, second))
    return shared / (areas - shared)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="folder for the pictures")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    edits = letters = 0
    times: list[float] = []
    with Ocr() as ocr:
        for seed in range(arguments.first, arguments.first + arguments.count):
            page = stamped(Random(seed))
            file = BytesIO()
            page.image.save(file, "PNG")
            if arguments.keep:
                page.image.save(arguments.keep / f"{seed}.png")
            result = ocr.read(file.getvalue()).pages[0]
            found = [block for block in result.blocks or () if block.type is BlockType.STAMP]
            times.append(result.timings_ms.get("stamps", 0.0))
            right = [block for block in found if _is_right(block, page)]
            counts["stamps"] += 1
            counts["found"] += bool(right)
            counts["false"] += len(found) - len(right[:1])
            said = "".join((right[0].stamp.text if right and right[0].stamp else "").split())
            edits += Levenshtein.distance(said, page.text)
            letters += len(page.text)
            counts["text right"] += said == page.text
            if said != page.text:
                print(f"{seed} {page.shape} {page.colour}: {said!r}, not {page.text!r}")
    shown = {**counts, "characters_wrong": edits / letters, "read_ms": float(np.median(times))}
    print(json.dumps(shown, indent=2, ensure_ascii=False))


def _is_right(block: Block, page: StampedPage) -> bool:
    """Whether the block is the page's stamp; of photographed pages by shape and colour only."""
    if block.stamp is None or block.stamp.colour != page.colour:
        return False
    return page.box is None or (overlap(block.box, page.box) >= 0.5 and block.stamp.shape == page.shape)


if __name__ == "__main__":
    main()
