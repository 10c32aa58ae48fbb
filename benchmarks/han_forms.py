"""How many characters of simplified and of traditional Chinese the embedded engine misreads on drawn pages, with
doubtful characters decided by the page's kind of Chinese and without.

    python -m benchmarks.han_forms [--seed 1]

Needs the Debian package fonts-noto-cjk. The lines are the usual characters of GB 2312 and Big5 in a random order, in
two faces and sizes: without the context of words, which is harder than text.
"""

from __future__ import annotations

import argparse
import io
import random
from collections.abc import Iterator
from itertools import product

from PIL import Image, ImageDraw, ImageFont
from rapidfuzz.distance import Levenshtein

import inkgate
from inkgate.settings import Settings

FACES = ("NotoSerifCJK-Bold", "NotoSansCJK-Regular")
SIZES = (22, 30)
CHARACTERS = {"gb2312": (range(0xB0, 0xD8), 2), "big5": (range(0xA4, 0xC6), 3)}
"""First bytes of the usual characters in each encoding, and the face of the font that has their forms."""
A_LINE, A_PAGE = 22, 40


def lines(encoding: str, seed: int) -> list[str]:
    """The usual characters of an encoding in a random order, in lines."""
    firsts, _ = CHARACTERS[encoding]
    codes = (bytes(code).decode(encoding, "ignore") for code in product(firsts, range(0x40, 0xFF)))
    characters = [each for each in codes if len(each) == 1 and each >= "\u4e00"]
    random.Random(seed).shuffle(characters)
    return ["".join(characters[at : at + A_LINE]) for at in range(0, len(characters), A_LINE)]


def page(texts: list[str], face: str, index: int, size: int) -> bytes:
    """A PNG of the lines in black on white."""
    font = ImageFont.truetype(f"/usr/share/fonts/opentype/noto/{face}.ttc", size, index)
    image = Image.new("RGB", (size * (A_LINE + 4), int(size * 1.7 * len(texts)) + 60), "white")
    pen = ImageDraw.Draw(image)
    for number, text in enumerate(texts):
        pen.text((size * 2, 30 + number * size * 1.7), text, "black", font)
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def readings(ocr: inkgate.Ocr, encoding: str, seed: int) -> Iterator[tuple[str, str]]:
    """The text of each page and what was read, without spaces."""
    all_lines = lines(encoding, seed)
    for face, size, at in product(FACES, SIZES, range(0, len(all_lines), A_PAGE)):
        texts = all_lines[at : at + A_PAGE]
        result = ocr.read(page(texts, face, CHARACTERS[encoding][1], size), task="text")
        yield "".join(texts), "".join(result.text.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    seed = parser.parse_args().seed
    print("| encoding | characters | misread if decided | misread if not |\n| --- | --- | --- | --- |")
    for encoding in CHARACTERS:
        misread = []
        for disambiguate in (True, False):
            settings = Settings.model_validate({"engine": {"ppocr": {"disambiguate_characters": disambiguate}}})
            with inkgate.Ocr(settings) as ocr:
                pairs = list(readings(ocr, encoding, seed))
            misread.append(sum(Levenshtein.distance(*pair) for pair in pairs))
        print(f"| {encoding} | {sum(len(text) for text, _ in pairs)} | {misread[0]} | {misread[1]} |")


if __name__ == "__main__":
    main()
