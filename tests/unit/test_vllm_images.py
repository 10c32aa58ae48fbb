"""Sizes and token counts against the models' own code.

The expected sizes were computed once by `smart_resize` of transformers 5.19.1, models/hunyuan_vl and
models/paddleocr_vl (image_processing_pil_*.py), with the presets' limits; the last column with PaddleOCR-VL's defaults.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.presets import find_preset, hunyuanocr, paddleocr_vl
from inkgate.errors import InputRejected
from inkgate_client.types import Size

HUNYUAN = hunyuanocr.LIMITS
PADDLE = paddleocr_vl.LIMITS
SPOTTING = replace(paddleocr_vl.SPOTTING_LIMITS, double_under=None)
PADDLE_DEFAULT = replace(PADDLE, min_pixels=384 * 384, max_pixels=1536 * 1536)

EXPECTED = [
    ((1654, 2339), (1664, 2336), (840, 1176), (1064, 1484), (1288, 1820)),
    ((2480, 3508), (1696, 2432), (840, 1176), (1064, 1484), (1288, 1820)),
    ((1000, 1000), (992, 992), (980, 980), (1008, 1008), (1008, 1008)),
    ((640, 480), (640, 480), (644, 476), (644, 476), (644, 476)),
    ((100, 30), (960, 288), (616, 196), (616, 196), (728, 224)),
    ((20, 400), (128, 2304), (84, 1512), (84, 1512), (112, 1736)),
    ((400, 20), (2304, 128), (1512, 84), (1512, 84), (1736, 112)),
    ((10, 10), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((1280, 720), (1280, 704), (1288, 728), (1288, 728), (1288, 728)),
    ((28, 28), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((27, 5000), (64, 6976), (28, 5180), (28, 5180), (56, 5236)),
    ((5, 990), (64, 7232), (28, 5544), (28, 5544), (28, 5544)),
    ((3000, 20), (6272, 64), (4200, 28), (4200, 28), (4704, 56)),
    ((1, 1), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((1500, 1499), (1504, 1504), (980, 980), (1260, 1260), (1512, 1512)),
    ((1600, 1200), (1600, 1216), (1148, 840), (1456, 1092), (1596, 1204)),
    ((4000, 4000), (2048, 2048), (980, 980), (1260, 1260), (1512, 1512)),
    ((512, 512), (512, 512), (504, 504), (504, 504), (504, 504)),
    ((511, 513), (512, 512), (504, 504), (504, 504), (504, 504)),
    ((48, 48), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((80, 80), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((42, 42), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((70, 98), (448, 608), (308, 420), (308, 420), (336, 476)),
    ((2048, 2048), (2048, 2048), (980, 980), (1260, 1260), (1512, 1512)),
    ((2064, 2064), (2048, 2048), (980, 980), (1260, 1260), (1512, 1512)),
    ((336, 336), (512, 512), (336, 336), (336, 336), (392, 392)),
    ((1003, 1001), (992, 992), (980, 980), (1008, 1008), (1008, 1008)),
    ((6000, 31), (7136, 64), (5992, 28), (5992, 28), (5992, 28)),
    ((200, 1), (7264, 64), (5600, 28), (5600, 28), (5600, 28)),
]
TOO_NARROW = [(1, 250), (3601, 18), (16, 3201)]


@pytest.mark.parametrize(("size", "hunyuan", "paddle", "spotting", "default"), EXPECTED)
def test_sizes_are_those_of_the_models_own_code(
    size: tuple[int, int],
    hunyuan: tuple[int, int],
    paddle: tuple[int, int],
    spotting: tuple[int, int],
    default: tuple[int, int],
) -> None:
    resized = [limits.resized(Size(*size)) for limits in (HUNYUAN, PADDLE, SPOTTING, PADDLE_DEFAULT)]
    assert resized == [Size(*expected) for expected in (hunyuan, paddle, spotting, default)]


@pytest.mark.parametrize("limits", [HUNYUAN, PADDLE, SPOTTING])
@pytest.mark.parametrize("size", TOO_NARROW)
def test_an_image_that_the_models_own_code_refuses_is_refused_with_its_size(
    limits: ImageLimits, size: tuple[int, int]
) -> None:
    with pytest.raises(InputRejected, match=rf"{size[0]} x {size[1]} pixels.* 200:1") as refused:
        limits.resized(Size(*size))
    assert refused.value.code == "image_too_narrow"


def test_tokens_of_an_image_are_exact() -> None:
    cases = [
        (HUNYUAN, (1654, 2339), 73 * (52 + 1) + 2),  # 1664 x 2336 in squares of 32
        (HUNYUAN, (512, 512), 16 * 17 + 2),
        (HUNYUAN, (4000, 4000), 64 * 65 + 2),
        (PADDLE, (1654, 2339), 42 * 30),  # 840 x 1176 in squares of 28
        (PADDLE, (100, 30), 7 * 22),
        (paddleocr_vl.SPOTTING_LIMITS, (640, 480), 34 * 46),  # doubled: 1280 x 960, seen as 1288 x 952
        (paddleocr_vl.SPOTTING_LIMITS, (1500, 1499), 45 * 45),  # not doubled: one side is 1500
    ]
    wrong = [(limits, size, found) for limits, size, tokens in cases if (found := limits.tokens(Size(*size))) != tokens]
    assert wrong == []


@given(st.integers(1, 20_000), st.integers(1, 20_000), st.sampled_from([HUNYUAN, PADDLE, SPOTTING]))
def test_an_image_that_was_resized_is_not_resized_again(width: int, height: int, limits: ImageLimits) -> None:
    try:
        once = limits.resized(Size(width, height))
    except InputRejected as refused:
        if refused.code != "image_too_narrow":
            raise
        return
    assert once.width % limits.factor == 0
    assert once.height % limits.factor == 0
    assert once.pixels >= limits.min_pixels
    if max(once.width, once.height) <= limits.aspect * min(once.width, once.height):
        assert limits.resized(once) == once


def test_a_smaller_image_is_asked_for_by_its_sides() -> None:
    assert HUNYUAN.shrunk(0.5).resized(Size(4000, 4000)) == Size(1024, 1024)
    assert HUNYUAN.shrunk(0.01).max_pixels == HUNYUAN.min_pixels


def test_limits_that_no_image_meets_are_refused() -> None:
    with pytest.raises(ValueError, match="no image can meet"):
        replace(HUNYUAN, max_pixels=1000)


def test_images_in_tiles_cost_what_the_models_own_code_counts() -> None:
    deepseek, docling = find_preset("deepseek-ocr-2").limits, find_preset("granite-docling").limits
    # 2 x 3 tiles of 144 tokens, the page in 256, and one more; a small image has no tiles
    assert deepseek.tokens(Size(1654, 2339)) == 256 + 6 * 144 + 1
    assert deepseek.tokens(Size(600, 700)) == 257
    # 3 x 4 tiles and the page, each 64 tokens in two marks, and the ends of the rows
    assert docling.tokens(Size(1654, 2339)) == 13 * 66 + 4 + 2


def test_the_longer_side_bounds_an_image_before_its_pixels_do() -> None:
    limits = find_preset("lightonocr").limits
    assert limits.resized(Size(1654, 2339)) == Size(1092, 1540)
    assert limits.resized(Size(500, 700)) == Size(504, 700)
    assert limits.shrunk(0.5).resized(Size(1654, 2339)) == Size(532, 784)
