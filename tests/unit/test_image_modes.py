"""Pixels of every mode that image files come in."""

import numpy as np
import pytest
from PIL import Image, ImageCms

from support.images import CORNERS, corner_colours, corners, encoded, pixels_of, png, tiff

pytestmark = pytest.mark.anyio

GRADIENT = np.linspace(0, 1, 64 * 32).reshape(32, 64)


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA", "LA"])
async def test_modes_of_png_are_read(mode: str) -> None:
    page = corners().convert(mode)
    rgb = await pixels_of(encoded(page, "PNG"))
    assert rgb.shape == (page.height, page.width, 3)
    assert rgb.dtype == np.uint8
    assert rgb.flags.c_contiguous
    assert np.array_equal(rgb, np.asarray(page.convert("RGB")))


async def test_a_black_and_white_palette_is_read() -> None:
    # Two colours, one bit: what scanners write, and what rapidocr 3.10 takes for a blank page.
    page = Image.new("P", (40, 20), 1)
    page.putpalette([0, 0, 0, 255, 255, 255])
    page.paste(0, (5, 5, 35, 15))
    rgb = await pixels_of(encoded(page, "PNG", bits=1))
    assert rgb[10, 20].tolist() == [0, 0, 0]
    assert rgb[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("image_format", ["JPEG", "TIFF"])
async def test_cmyk_looks_as_it_prints(image_format: str) -> None:
    # Pillow writes CMYK JPEGs as Adobe does, inverted.
    data = encoded(corners().convert("CMYK"), image_format)
    assert np.abs(corner_colours(await pixels_of(data)) - CORNERS).max() < 16


async def test_lab_is_read_as_colours() -> None:
    to_lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")
    page = ImageCms.applyTransform(corners(), to_lab)
    assert page is not None
    assert page.mode == "LAB"
    assert np.abs(corner_colours(await pixels_of(encoded(page, "TIFF"))) - CORNERS).max() < 16


async def test_16_bits_are_scaled_not_cut() -> None:
    data = png((GRADIENT * 65535).astype(">u2"), 16, 0)
    grey = (await pixels_of(data))[..., 0]
    assert np.abs(grey - GRADIENT * 255).max() <= 1


@pytest.mark.parametrize("top", [255, 1023, 4095, 65535])
async def test_a_scan_of_fewer_bits_in_a_16_bit_file_is_not_black(top: int) -> None:
    grey = (await pixels_of(tiff((GRADIENT * top).astype(np.uint16))))[..., 0]
    assert np.abs(grey - GRADIENT * 255).max() <= 1


async def test_an_almost_even_16_bit_page_stays_even() -> None:
    page = np.random.default_rng(1).integers(60000, 60500, (32, 64))
    grey = (await pixels_of(tiff(page.astype(np.uint16))))[..., 0]
    assert int(grey.max()) - int(grey.min()) <= 3
    assert grey.min() > 220


async def test_16_bits_with_white_as_zero_are_turned() -> None:
    data = tiff(((1 - GRADIENT) * 65535).astype(np.uint16), photometric=0)
    assert np.abs((await pixels_of(data))[..., 0] - GRADIENT * 255).max() <= 1


@pytest.mark.parametrize(
    "values",
    [
        GRADIENT.astype(np.float32),
        (GRADIENT * 700 - 200).astype(np.float32),
        (GRADIENT * 70000 - 30000).astype(np.int32),
        (GRADIENT * (2**24 - 1)).astype(np.int32),
    ],
    ids=["floats to 1", "any floats", "negative integers", "32-bit integers"],
)
async def test_numbers_are_scaled_by_their_range(values: np.ndarray) -> None:
    assert np.abs((await pixels_of(tiff(values)))[..., 0] - GRADIENT * 255).max() <= 1


async def test_floats_that_are_no_numbers_are_white() -> None:
    values = GRADIENT.astype(np.float32)
    values[3, 4], values[5, 6], values[7, 8] = np.nan, np.inf, -np.inf
    grey = (await pixels_of(tiff(values)))[..., 0]
    assert (grey[3, 4], grey[5, 6], grey[7, 8]) == (255, 255, 0)


async def test_16_bit_colour_with_alpha_is_read() -> None:
    pixels = np.array([[[65535, 0, 0, 65535], [0, 0, 0, 0], [0, 0, 0, 0]]], ">u2")
    assert (await pixels_of(png(pixels, 16, 6)))[0].tolist() == [[255, 0, 0], [255, 255, 255], [255, 255, 255]]


async def test_a_transparent_colour_of_16_bits_is_white() -> None:
    pixels = np.array([[[65535, 0, 0], [0x1234, 0x1234, 0x1234]]], ">u2")
    data = png(pixels, 16, 2, (b"tRNS", np.array([65535, 0, 0], ">u2").tobytes()))
    assert (await pixels_of(data))[0].tolist() == [[255, 255, 255], [0x12, 0x12, 0x12]]


def _writing(ink: tuple[int, int, int], paper_alpha: int = 0) -> Image.Image:
    """Ink on a page that is transparent, its hidden colour the ink's own."""
    page = Image.new("RGBA", (60, 40), (*ink, paper_alpha))
    page.paste((*ink, 255), (10, 10, 30, 14))
    return page


@pytest.mark.parametrize("image_format", ["PNG", "WEBP", "TIFF"])
async def test_dark_writing_on_nothing_stands_on_white(image_format: str) -> None:
    options = {"lossless": True} if image_format == "WEBP" else {}
    rgb = await pixels_of(encoded(_writing((0, 0, 0)), image_format, **options))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[12, 20].tolist() == [0, 0, 0]


async def test_light_writing_on_nothing_stands_on_black() -> None:
    rgb = await pixels_of(encoded(_writing((255, 255, 255)), "PNG"))
    assert rgb[0, 0].tolist() == [0, 0, 0]
    assert rgb[12, 20].tolist() == [255, 255, 255]


async def test_a_white_page_with_transparent_edges_stays_white() -> None:
    page = Image.new("RGBA", (60, 40), (0, 0, 0, 0))
    page.paste((255, 255, 255, 255), (4, 4, 56, 36))
    assert (await pixels_of(encoded(page, "PNG"))).min() == 255


async def test_transparency_that_hides_all_is_ignored() -> None:
    page = _writing((0, 0, 0))
    page.paste((255, 255, 255, 0), (0, 0, 60, 8))
    page.putalpha(0)
    rgb = await pixels_of(encoded(page, "PNG"))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[12, 20].tolist() == [0, 0, 0]


@pytest.mark.parametrize("mode", ["P", "L", "1", "RGB"])
async def test_a_transparent_colour_gets_the_background(mode: str) -> None:
    page = Image.new("L", (60, 40), 0)
    page.paste(255, (10, 10, 30, 14))
    colour: int | tuple[int, int, int] = (0, 0, 0) if mode == "RGB" else 0
    # The hidden colour is black and what shows is white: only black behind it keeps it legible.
    rgb = await pixels_of(encoded(page.convert(mode), "PNG", transparency=colour))
    assert rgb[0, 0].tolist() == [0, 0, 0]
    assert rgb[12, 20].tolist() == [255, 255, 255]


async def test_a_transparent_gif_stands_on_white() -> None:
    page = Image.new("P", (60, 40), 0)
    page.putpalette([0, 0, 255, 10, 10, 10])
    page.paste(1, (10, 10, 30, 14))
    rgb = await pixels_of(encoded(page, "GIF", transparency=0))
    assert rgb[0, 0].tolist() == [255, 255, 255]
    assert rgb[12, 20].tolist() == [10, 10, 10]


async def test_an_image_larger_than_one_band_is_read_whole() -> None:
    page = corners(3000, 1500)
    assert np.array_equal(await pixels_of(encoded(page, "BMP")), np.asarray(page))
