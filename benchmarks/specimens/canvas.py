"""What specimens are drawn on, and what a specimen is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random

from PIL import Image, ImageDraw, ImageFont

NOTO = "/usr/share/fonts/opentype/noto/Noto{}CJK-{}.ttc"
FONTS = {
    "sans": (NOTO.format("Sans", "Regular"), 2),
    "bold": (NOTO.format("Sans", "Bold"), 2),
    "serif": (NOTO.format("Serif", "Regular"), 2),
    "serif-bold": (NOTO.format("Serif", "Bold"), 2),
    "mono": (NOTO.format("Sans", "Regular"), 7),
    "ocr-b": ("/usr/share/fonts/opentype/ocr-b/OCRB.otf", 0),
}
"""File and index of a face. Debian's fonts-noto-cjk and fonts-ocr-b have them."""
INK = (25, 25, 30)

Values = Mapping[str, str]


@cache
def font(face: str, size: int) -> ImageFont.FreeTypeFont:
    path, index = FONTS[face]
    return ImageFont.truetype(path, size, index=index)


@dataclass(frozen=True, slots=True)
class Specimen:
    """A paper.

    Attributes:
        kind: template; several may be of one document type.
        type: the document type.
        values: what is printed.
        truth: fields of `data`; those that are not named are null, or empty.
        checked: names of the `values` that have a check digit.
        draw: draws the paper with other values.
    """

    kind: str
    type: str
    values: Values
    truth: Mapping[str, object]
    draw: Callable[[Values], Image.Image]
    checked: tuple[str, ...] = ()

    def image(self) -> Image.Image:
        return self.draw(self.values)

    def with_wrong_digit(self, name: str, random: Random) -> Specimen:
        """With one digit of a checked number changed."""
        text = self.values[name]
        at = random.choice([at for at, letter in enumerate(text) if letter.isdigit()])
        other = random.choice([digit for digit in "0123456789" if digit != text[at]])
        return replace(self, values={**self.values, name: text[:at] + other + text[at + 1 :]})


@dataclass(slots=True)
class Canvas:
    """A picture in RGB."""

    width: int
    height: int
    colour: tuple[int, int, int] = (250, 250, 246)
    image: Image.Image = field(init=False)
    pen: ImageDraw.ImageDraw = field(init=False)

    def __post_init__(self) -> None:
        self.image = Image.new("RGB", (self.width, self.height), self.colour)
        self.pen = ImageDraw.Draw(self.image)

    def text(
        self, at: tuple[float, float], text: str, size: int, face: str = "sans", ink: tuple[int, int, int] = INK
    ) -> float:
        """Writes a line; returns where it ends."""
        self.pen.text(at, text, ink, font(face, size))
        return at[0] + self.pen.textlength(text, font(face, size))

    def spaced(self, at: tuple[float, float], text: str, size: int, gap: float, face: str = "sans") -> float:
        """As `text`, with a gap between letters."""
        x = at[0]
        for letter in text:
            x = self.text((x, at[1]), letter, size, face) + gap
        return x

    def centred(self, y: float, text: str, size: int, face: str = "sans", ink: tuple[int, int, int] = INK) -> None:
        self.text(((self.width - self.pen.textlength(text, font(face, size))) / 2, y), text, size, face, ink)

    def mark(self, at: tuple[float, float]) -> None:
        """Says that the paper is nobody's."""
        self.text(at, "样本 SPECIMEN", 20, "sans", (150, 150, 160))

    def prose(self, at: tuple[float, float], text: str, size: int, width: float, face: str = "serif") -> float:
        """Writes a paragraph, broken at `width`; returns where the next line begins."""
        x, y = at
        line = ""
        for part in _parts(text):
            if line and self.pen.textlength(line + part.rstrip(), font(face, size)) > width:
                self.text((x, y), line.rstrip(), size, face)
                line, y = "", y + size * 1.55
            line += part if line or part.strip() else ""
        self.text((x, y), line.rstrip(), size, face)
        return y + size * 1.55

    def block(self, at: tuple[float, float], text: str, size: int, face: str = "sans") -> float:
        """Writes lines below each other; returns where the next one begins."""
        y = at[1]
        for line in text.splitlines():
            self.text((at[0], y), line, size, face)
            y += size * 1.35
        return y

    def waves(self, random: Random, tint: tuple[int, int, int]) -> None:
        """Fine lines of a security background."""
        for at in range(0, self.height, 14):
            drop = random.randrange(-18, 18)
            self.pen.line((0, at, self.width, at + drop), tint, 1)

    def portrait(self, box: tuple[int, int, int, int]) -> None:
        """A head and shoulders in grey."""
        left, top, right, bottom = box
        wide, high = right - left, bottom - top
        self.pen.rectangle(box, (214, 220, 226))
        self.pen.ellipse((left + wide * 0.3, top + high * 0.15, right - wide * 0.3, top + high * 0.55), (150, 150, 150))
        self.pen.ellipse(
            (left + wide * 0.12, top + high * 0.6, right - wide * 0.12, bottom + high * 0.3), (120, 125, 135)
        )
        self.pen.rectangle((left, bottom + 1, right, bottom + high * 0.3 + 2), self.colour)


def _parts(text: str) -> list[str]:
    """Where a line may break: behind spaces, and between Chinese characters, but not before a mark."""
    parts: list[str] = []
    for letter in text:
        chinese = letter > "\u2e7f"
        marks = "，。、；：）》”！"
        if not parts or (chinese and letter not in marks) or parts[-1].endswith(" ") or parts[-1][-1] > "\u2e7f":
            if letter in marks and parts:
                parts[-1] += letter
            else:
                parts.append(letter)
        else:
            parts[-1] += letter
    return parts
