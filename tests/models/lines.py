"""Lines of text for the tiny model: DejaVu Sans Mono, 28 pixels high, 14 pixels per character.

Two characters cover one visual token (28 x 28 pixels) of PaddleOCR-VL's vision encoder.
"""

from __future__ import annotations

import random
import string
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

HEIGHT = 28
CHARACTER_WIDTH = 14
LONGEST = 32
FONT = Path(__file__).parent / "font" / "DejaVuSansMono.ttf"
ALPHABET = string.ascii_letters + string.digits + " .,:;-+*/=()[]#%&@!?'\"$"

_font = ImageFont.truetype(str(FONT), 23.25)  # advance 14.0 pixels


def random_line(rng: random.Random, length: int) -> str:
    """`length` characters, the first and the last not a space: words, numbers and signs of no particular language."""
    letters = rng.choices(ALPHABET, k=length)
    for end in (0, -1):
        if letters[end] == " ":
            letters[end] = rng.choice(string.ascii_letters)
    return "".join(letters)


def render(text: str) -> Image.Image:
    """The line in black on white, RGB, a whole number of visual tokens wide."""
    width = -(-len(text) * CHARACTER_WIDTH // HEIGHT) * HEIGHT
    image = Image.new("RGB", (width, HEIGHT), "white")
    ImageDraw.Draw(image).text((0, HEIGHT / 2), text, font=_font, fill="black", anchor="lm")
    return image
