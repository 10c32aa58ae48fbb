"""Draws the sample documents of the web page into src/inkgate/ui/assets/samples. Everything in them is invented.

Needs the Debian packages fonts-dejavu-core and fonts-noto-cjk.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

ROOT = Path(__file__).parents[1]
OUT = ROOT / "src" / "inkgate" / "ui" / "assets" / "samples"
SANS = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"
BOLD = "/usr/share/fonts/truetype/dejavu/DejaVuSans-Bold.ttf"
MONO = "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf"
CJK = "/usr/share/fonts/opentype/noto/NotoSerifCJK-Bold.ttc"

RECEIPT = (
    ("HARBOUR BAKERY", ""),
    ("7 Mill Street, Little Port", ""),
    ("Tel: 07-123 4567", ""),
    ("", ""),
    ("RECEIPT", "R10042"),
    ("Date: 14/03/2026", "09:41"),
    ("", ""),
    ("Sourdough bread", "6.50"),
    ("Coffee  2 x 3.20", "6.40"),
    ("Apple cake", "4.10"),
    ("", ""),
    ("SUBTOTAL", "17.00"),
    ("VAT 10%", "1.70"),
    ("TOTAL", "18.70"),
    ("", ""),
    ("CASH", "20.00"),
    ("CHANGE", "1.30"),
    ("", ""),
    ("Thank you, see you soon!", ""),
)
LETTER = (
    "Dear Ms Lindqvist,",
    "",
    "Thank you for your order of the twelfth of March. We have set",
    "the books aside for you. Two of them, the atlas and the guide to",
    "knots, come from our own bindery and will be ready on Friday.",
    "",
    "You asked how to keep old maps from fading. Hang them away",
    "from the window, behind glass that stops ultraviolet light, and",
    "turn the lamp off when you leave the room.",
    "",
    "Please let us know by the twentieth whether we should send the",
    "parcel or keep it for you at the shop.",
    "",
    "Yours sincerely,",
    "Amara Okafor, Corner Books",
)
NOTICE = (
    "尊敬的读者：",
    "",
    "您预订的三本书已经到店，其中《海港地图集》",
    "将于三月二十日前为您保留。请携带本通知和",
    "有效证件，到一楼服务台领取。",
    "",
    "如需邮寄，请拨打电话 0571-8800 1234。",
    "",
    "街角书店",
    "2026 年 3 月 12 日",
)


def aged(picture: Image.Image, seed: int, turn: float, noise: float) -> Image.Image:
    """The picture as a scanner sees a used page: slightly turned, soft and grainy."""
    picture = picture.rotate(turn, Image.Resampling.BICUBIC, fillcolor=250).filter(ImageFilter.GaussianBlur(0.7))
    grain = np.random.default_rng(seed).normal(0, noise, (picture.height, picture.width))
    return Image.fromarray(np.clip(np.asarray(picture, dtype=np.float64) + grain, 0, 255).astype(np.uint8))


def receipt() -> Image.Image:
    picture = Image.new("L", (560, 60 + 40 * len(RECEIPT)), 252)
    pen = ImageDraw.Draw(picture)
    for row, (left, right) in enumerate(RECEIPT):
        strong = left in {"HARBOUR BAKERY", "TOTAL"}
        font = ImageFont.truetype(BOLD if strong else MONO, 25)
        pen.text((34, 30 + 40 * row), left, 20, font)
        pen.text((526 - pen.textlength(right, font), 30 + 40 * row), right, 20, font)
    return aged(picture, 1, 0.4, 3)


def written(title: str, rows: tuple[str, ...], face: str, size: int) -> Image.Image:
    picture = Image.new("L", (1000, 1414), 252)
    pen = ImageDraw.Draw(picture)
    pen.text((110, 120), title, 15, ImageFont.truetype(BOLD if face == SANS else face, size + 14))
    for row, text in enumerate(rows):
        pen.text((110, 230 + int(row * size * 1.75)), text, 30, ImageFont.truetype(face, size))
    return picture


def save_small(picture: Image.Image, name: str) -> None:
    small = picture.convert("L").resize((144, round(144 * picture.height / picture.width)), Image.Resampling.LANCZOS)
    small.crop((0, 0, 144, min(192, small.height))).quantize(16).save(OUT / name, optimize=True)


def main() -> int:
    OUT.mkdir(parents=True, exist_ok=True)
    slip = receipt()
    slip.quantize(32).save(OUT / "receipt.png", optimize=True)
    first = aged(written("Corner Books", LETTER, SANS, 24), 2, -0.3, 7)
    second = aged(written("取书通知", NOTICE, CJK, 32), 3, 0.2, 5)
    first.save(OUT / "letter.pdf", save_all=True, append_images=[second], resolution=120, quality=60)
    report = Image.open(ROOT / "examples" / "report.png")
    (OUT / "report.png").write_bytes((ROOT / "examples" / "report.png").read_bytes())
    save_small(slip, "receipt-small.png")
    save_small(first, "letter-small.png")
    save_small(report, "report-small.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
