"""Whether characters look like what a font's map claims: right and wrong maps of the fonts that tests have."""

from __future__ import annotations

import random
import string
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from inkgate.documents.pdf.shapes import LAYERS, WEIGHTS, Shape, doubtful
from support.font_shapes import LETTERS_AND_DIGITS, drawn_shapes

DPI = 150
SIZES = (7, 10, 16)
FONTS = (
    *(f"DejaVuSans{cut}" for cut in ("", "-Bold", "-Oblique", "-BoldOblique")),
    *(f"DejaVuSansMono{cut}" for cut in ("", "-Bold", "-Oblique")),
    *(f"DejaVuSerif{cut}" for cut in ("", "-Bold", "-Italic", "-BoldItalic")),
    *(f"STIXGeneral{cut}" for cut in ("", "Bol", "Italic", "BolIta")),
    *("cmr10", "cmb10", "cmss10", "cmti10", "cmtt10"),
)
"""Matplotlib's. The network learned from fonts like STIX and cm, but nothing was chosen by DejaVu."""

Drawn = dict[tuple[str, int], list[Shape]]


def _font(name: str) -> Path:
    spec = find_spec("matplotlib")
    if spec is None or spec.origin is None:
        pytest.skip("matplotlib, whose fonts are used, is not installed")
    return Path(spec.origin).parent / "mpl-data" / "fonts" / "ttf" / f"{name}.ttf"


@pytest.fixture(scope="module")
def drawn() -> Drawn:
    """Two samples of each character, in each font and size."""
    rng = random.Random(3)
    result = {}
    for name in FONTS:
        for size in SIZES:
            text = list(LETTERS_AND_DIGITS * 2)
            rng.shuffle(text)
            result[name, size] = drawn_shapes(_font(name), "".join(text), size, DPI, rng)
    return result


def _claimed(shapes: list[Shape], by: dict[str, str]) -> list[Shape]:
    """The same ink under a map that is wrong for the characters in `by`."""
    return [replace(shape, text=by.get(shape.text, shape.text)) for shape in shapes]


def test_no_digit_and_few_letters_of_a_right_map_are_doubtful(drawn: Drawn) -> None:
    wrong = {}
    for key, shapes in drawn.items():
        found = doubtful([shapes])[0]
        if any(char.isdigit() for char in found) or len(found) > 52 / 5:
            wrong[key] = sorted(found)
    assert not wrong


def test_two_digits_in_each_others_place_are_doubtful(drawn: Drawn) -> None:
    missed = []
    for key, shapes in drawn.items():
        for pairs in _rounds(string.digits):
            swapped = {first: second for pair in pairs for first, second in (pair, pair[::-1])}
            found = doubtful([_claimed(shapes, swapped)])[0]
            missed += [(*key, *pair) for pair in pairs if not found.keys() & set(pair)]
    assert not missed


def _rounds(players: str) -> list[list[tuple[str, str]]]:
    """All pairs, in rounds in which everybody plays."""
    fixed, others = players[0], players[1:]
    rounds = []
    for turn in range(len(others)):
        row = fixed + others[turn:] + others[:turn]
        rounds.append([(row[i], row[-1 - i]) for i in range(len(row) // 2)])
    return rounds


def test_letters_under_a_shifted_map_are_doubtful(drawn: Drawn) -> None:
    missed = []
    for (name, size), shapes in drawn.items():
        for by in (1, 3, 13, 25):
            lower, upper = string.ascii_lowercase, string.ascii_uppercase
            shifted = dict(zip(lower + upper, lower[by:] + lower[:by] + upper[by:] + upper[:by], strict=True))
            if len(doubtful([_claimed(shapes, shifted)])[0]) < 52 * 3 / 5:
                missed.append((name, size, by))
    assert not missed


def test_light_text_on_dark_is_judged_as_dark_text_on_light(drawn: Drawn) -> None:
    for shapes in drawn.values():
        inverted = [replace(shape, ink=(200 - shape.ink // 2)) for shape in shapes]
        found = doubtful([inverted])[0]
        assert not any(char.isdigit() for char in found)
        assert len(found) <= 52 / 5


def test_small_capitals_are_no_doubt(drawn: Drawn) -> None:
    capitals = [shape for shape in drawn["DejaVuSerif", 10] if shape.text.isupper()]
    small = [replace(shape, text=shape.text.lower(), above=0.8 * shape.above) for shape in capitals]
    assert len(doubtful([small])[0]) <= 2


@pytest.mark.parametrize(
    "shape",
    [
        Shape("7", np.zeros((0, 0), np.uint8), 0.7, 0.0),
        Shape("7", np.full((12, 9), 255, np.uint8), 0.7, 0.0),
        Shape(",", np.zeros((3, 3), np.uint8), 0.1, -0.1),
        Shape("ff", np.eye(9, dtype=np.uint8), 0.7, 0.0),
    ],
    ids=["no pixel", "no ink", "a sign", "two characters"],
)
def test_what_cannot_be_judged_is_not_doubtful(shape: Shape) -> None:
    assert doubtful([[shape]])[0] == {}


def test_a_shape_of_one_pixel_and_a_large_one_can_be_judged() -> None:
    line = np.full((300, 40), 255, np.uint8)
    line[:, 10:30] = 0
    doubtful([[Shape("8", np.array([[0]], np.uint8), 0.7, 0.0), Shape("1", line, 0.7, 0.0)]])
    assert "8" in doubtful([[Shape("8", line, 0.7, 0.0)]])[0]


def test_weights_fit_the_layers() -> None:
    assert WEIGHTS.stat().st_size == 2 * sum(inputs * outputs + outputs for inputs, outputs in LAYERS) <= 150_000
