"""A lone line on an A4 sheet, and sheets with dirt but no text: how many the embedded engine reads right, flags, loses
or invents.

    python -m benchmarks.lone_lines [--half judging] [--fonts FOLDER] [--count N] [--json FILE] [--errors FILE]

Lines of 8 to 72 points at 150 to 300 dpi, anywhere on the sheet: black, grey, light, noisy, white on black. The halves
share no face, no text and no place: thresholds are chosen on `tuning`, figures come from `judging`. The faces are
those of benchmarks/single_characters.py.
"""

from __future__ import annotations

import argparse
import io
import json
import platform
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

import inkgate
from benchmarks.single_characters import FACES, PACKAGES, SAME
from inkgate.types import PageResult

POINTS = (8, 10, 12, 14, 24, 48, 72)
INCHES = (8.27, 11.69)
TEXTS = {
    "tuning": ("Appendix A", "17", "Exhibit 3", "Part II", "§ 12", "For internal use only", "Page 4 of 9", "Notes"),
    "judging": (
        "Annex B",
        "42",
        "Schedule 5",
        "Chapter IV",
        "No. 208",
        "This page is intentionally blank",
        "Signature",
        "End",
        "3/7",
        "Enclosures",
        "2024",
        "Blatt 6",
        "CONTENTS",
        "Tab 9",
    ),
}
LOOKS = {
    "black": (0, 255, 0),
    "grey": (70, 225, 0),
    "light": (165, 255, 0),
    "noisy": (20, 235, 9),
    "white": (255, 20, 0),
}
"""Ink, paper and the deviation of the noise, in grey levels. `white`: on black."""
EMPTY = ("paper", "noise", "specks", "border", "holes", "staple", "rule", "photograph")
DOUBTFUL = 0.9
"""Confidence below which the documentation calls a line doubtful."""
RESULTS = ("right", "flagged", "wrong", "missing")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page. `text`: printed on it; empty: nothing is."""

    image: Image.Image
    text: str
    look: str
    points: int
    face: str


@dataclass(frozen=True, slots=True)
class Outcome:
    look: str
    points: int
    face: str
    printed: str
    read: str
    result: str


def lines(half: str, count: int, fonts: dict[str, Path], seed: int = 0) -> Iterator[Sheet]:
    """`count` sheets with a line each, of all sizes and looks in turn."""
    choice = random.Random(f"{half} {seed}")
    for number in range(count):
        points, look = POINTS[number % len(POINTS)], tuple(LOOKS)[number // len(POINTS) % len(LOOKS)]
        face, dpi = choice.choice(FACES[half]), choice.choice((150, 200, 300))
        width, height = (round(side * dpi) for side in INCHES)
        font = ImageFont.truetype(str(fonts[face]), round(points * dpi / 72))
        fitting = [text for text in TEXTS[half] if font.getlength(text) < 0.95 * width]
        text = choice.choice(fitting)
        left, top, right, bottom = font.getbbox(text)
        x, y = (0.02 + 0.96 * choice.random() for _ in range(2))
        ink, paper, noise = LOOKS[look]
        image = Image.new("L", (width, height), paper)
        place = ((width - right + left) * x - left, (height - bottom + top) * y - top)
        ImageDraw.Draw(image).text(place, text, ink, font)
        yield Sheet(noisy(image, noise, number), text, look, points, face)


def noisy(image: Image.Image, deviation: float, seed: int) -> Image.Image:
    """As a scanner sees it: blurred a little, with noise."""
    if not deviation:
        return image
    pixels = np.asarray(cv2.GaussianBlur(np.asarray(image, np.float32), (0, 0), 0.8), np.float64)
    pixels += np.random.default_rng(seed).normal(0, deviation, pixels.shape)
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def empty_sheets(half: str, count: int, seed: int = 0) -> Iterator[Sheet]:
    """`count` sheets without text: paper, and what scanners and offices leave on it."""
    for number in range(count):
        kind = EMPTY[number % len(EMPTY)]
        rng = np.random.default_rng((number, half == "judging", seed))
        dpi = int(rng.choice([150, 200, 300]))
        width, height = (round(side * dpi) for side in INCHES)
        pixels = np.full((height, width), int(rng.integers(230, 256)), np.uint8)
        if kind in MARKS:
            MARKS[kind](pixels, dpi, rng)
        noise = float(rng.uniform(2, 9)) if kind not in {"paper", "photograph"} and rng.random() < 0.6 else 0.0
        yield Sheet(noisy(Image.fromarray(pixels), noise + 8 * (kind == "noise"), number), "", kind, 0, "")


def specks(pixels: np.ndarray, dpi: int, rng: np.random.Generator) -> None:
    for _ in range(int(rng.integers(20, 150))):
        x, y = (int(rng.integers(0, side)) for side in pixels.shape[::-1])
        cv2.circle(pixels, (x, y), int(rng.integers(1, max(2, dpi // 60))), int(rng.integers(0, 140)), -1)


def border(pixels: np.ndarray, dpi: int, rng: np.random.Generator) -> None:
    wide = int(rng.uniform(0.05, 0.4) * dpi)
    pixels[:wide] = pixels[:, -wide:] = int(rng.integers(0, 60))


def holes(pixels: np.ndarray, dpi: int, rng: np.random.Generator) -> None:
    height, x = len(pixels), int(rng.uniform(0.3, 0.6) * dpi)
    for share in (0.365, 0.635) if rng.random() < 0.5 else (0.1, 0.365, 0.635, 0.9):
        cv2.circle(pixels, (x, int(share * height)), int(0.12 * dpi), int(rng.integers(0, 90)), -1)


def staple(pixels: np.ndarray, dpi: int, rng: np.random.Generator) -> None:
    x, y, angle = 0.4 * dpi, 0.4 * dpi, rng.uniform(0, 3)
    end = (int(x + 0.4 * dpi * np.cos(angle)), int(y + 0.4 * dpi * np.sin(angle)))
    cv2.line(pixels, (int(x), int(y)), end, int(rng.integers(0, 120)), max(2, dpi // 60))


def rule(pixels: np.ndarray, dpi: int, rng: np.random.Generator) -> None:
    height, width = pixels.shape
    for y in rng.integers(0, height, int(rng.integers(1, 12))).tolist():
        pixels[y : y + max(1, dpi // 100), width // 10 : -width // 10] = 0


def photograph(pixels: np.ndarray, dpi: int, rng: np.random.Generator) -> None:
    height, width = pixels.shape
    top, left = height // 4, width // 5
    part = pixels[top : 3 * height // 4, left : 4 * width // 5]
    scene = np.zeros(part.shape, np.float32) + rng.uniform(60, 180)
    for fineness in (dpi / 3, dpi / 12, dpi / 40):
        scene += cv2.GaussianBlur(rng.normal(0, 1, part.shape).astype(np.float32), (0, 0), fineness) * fineness * 60
    part[:] = scene.clip(0, 255)


MARKS = {"specks": specks, "border": border, "holes": holes, "staple": staple, "rule": rule, "photograph": photograph}


def outcome(sheet: Sheet, read: PageResult) -> Outcome:
    """What became of a sheet. One without text is right if nothing was read, whether or not it is flagged."""
    text = "".join(" ".join(line.text for line in read.lines).split())
    doubtful = bool(read.review) or any(line.confidence < DOUBTFUL for line in read.lines)
    if text.translate(SAME) == "".join(sheet.text.split()).translate(SAME):
        result = "flagged" if not sheet.text and read.review else "right"
    elif doubtful:
        result = "flagged"
    else:
        result = "wrong" if text else "missing"
    return Outcome(sheet.look, sheet.points, sheet.face, sheet.text, text, result)


def counted(found: list[Outcome]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for one in found:
        groups = (one.look, f"{one.points} pt", "all lines") if one.printed else (one.look, "all without text")
        for group in groups:
            counts.setdefault(group, Counter())[one.result] += 1
    return {group: {result: count[result] for result in RESULTS} for group, count in counts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--half", choices=list(TEXTS), default="judging")
    parser.add_argument(
        "--fonts", type=Path, default=Path("/usr/share/fonts"), help="where the faces are, at any depth"
    )
    parser.add_argument("--count", type=int, default=196, help="sheets with a line")
    parser.add_argument("--empty", type=int, default=48, help="sheets without text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--errors", type=Path, help="every outcome, a line of JSON each")
    arguments = parser.parse_args()
    files = {path.stem: path for path in sorted(arguments.fonts.rglob("*.[ot]tf"))}
    absent = [face for face in FACES[arguments.half] if face not in files]
    if absent:
        parser.error(f"No file of {', '.join(absent)}. Install {PACKAGES}, or name their folder.")
    found = []
    with inkgate.Ocr() as ocr:
        printed = lines(arguments.half, arguments.count, files, arguments.seed)
        for sheets in (printed, empty_sheets(arguments.half, arguments.empty, arguments.seed)):
            for sheet in sheets:
                data = io.BytesIO()
                sheet.image.save(data, "PNG", compress_level=1)
                found.append(outcome(sheet, ocr.read(data.getvalue(), task="text").pages[0]))
                if arguments.errors:
                    with arguments.errors.open("a", encoding="utf-8") as errors:
                        errors.write(json.dumps(asdict(found[-1]), ensure_ascii=False) + "\n")
    counts = counted(found)
    print(f"| {arguments.half} | n | {' | '.join(RESULTS)} |\n| --- | --- |{' --- |' * len(RESULTS)}")
    for group, by_result in counts.items():
        print(f"| {group} | {sum(by_result.values())} | {' | '.join(map(str, by_result.values()))} |")
    if arguments.json:
        about = {"half": arguments.half, "machine": platform.processor() or platform.machine()}
        arguments.json.write_text(json.dumps({**about, "counts": counts}, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
