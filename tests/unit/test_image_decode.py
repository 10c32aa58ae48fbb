"""Sizes, orientation, shrinking, limits and damage of image files."""

import io

import numpy as np
import pytest
from PIL import Image

from inkgate.documents.images import ImagePage
from inkgate.errors import InputRejected
from inkgate_client.types import Size
from support.images import (
    CORNERS,
    HEIGHT,
    WIDTH,
    corner_colours,
    corners,
    encoded,
    heic,
    opened,
    pixels_of,
    png_chunk,
    png_header,
)

pytestmark = pytest.mark.anyio

FORMATS = ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "AVIF", "HEIC"]
# What turns an upright image into what a camera stores under each EXIF orientation.
STORED = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


def _file(image: Image.Image, image_format: str, **options: object) -> bytes:
    return heic(image) if image_format == "HEIC" else encoded(image, image_format, **options)


def _exif(orientation: object) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


async def _page(data: bytes) -> ImagePage:
    return await (await opened(data)).page(0)


@pytest.mark.parametrize("image_format", FORMATS)
async def test_every_format_is_read(image_format: str) -> None:
    document = await opened(_file(corners(), image_format))
    page = await document.page(0)
    pixels = await page.pixels()
    assert document.page_count == 1
    assert document.mime_type == f"image/{image_format.lower()}"
    assert page.size == Size(WIDTH, HEIGHT)
    assert page.text_layer is None
    assert pixels.rgb.shape == (HEIGHT, WIDTH, 3)
    assert pixels.scale == 1.0
    # The palette of a GIF and the subsampled colours of the lossy ones are near, not equal.
    assert np.abs(corner_colours(pixels.rgb) - CORNERS).max() < 40


@pytest.mark.parametrize("orientation", STORED)
@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP", "TIFF", "AVIF"])
async def test_orientation_is_undone_in_size_and_pixels(image_format: str, orientation: int) -> None:
    stored = corners().transpose(STORED[orientation])
    page = await _page(_file(stored, image_format, exif=_exif(orientation)))
    rgb = (await page.pixels()).rgb
    assert page.size == Size(WIDTH, HEIGHT)
    assert rgb.shape == (HEIGHT, WIDTH, 3)
    assert np.abs(corner_colours(rgb) - CORNERS).max() < 40


@pytest.mark.parametrize("orientation", [3, 6])
@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "TIFF"])
async def test_a_shrunk_page_is_upright_too(image_format: str, orientation: int) -> None:
    stored = corners(480, 320).transpose(STORED[orientation])
    pixels = await (await _page(_file(stored, image_format, exif=_exif(orientation)))).pixels(60)
    assert pixels.rgb.shape == (40, 60, 3)
    assert pixels.scale == 8.0
    assert np.abs(corner_colours(pixels.rgb) - CORNERS).max() < 40


async def test_orientation_of_heic_is_undone() -> None:
    page = await _page(heic(corners().transpose(STORED[6]), exif=_exif(6).tobytes()))
    assert page.size == Size(WIDTH, HEIGHT)
    assert np.abs(corner_colours((await page.pixels()).rgb) - CORNERS).max() < 40


async def test_orientation_after_the_pixels_of_a_png_counts() -> None:
    body = encoded(corners().transpose(STORED[8]), "PNG")
    end = body.rindex(b"IEND") - 4
    page = await _page(body[:end] + png_chunk(b"eXIf", _exif(8).tobytes()[6:]) + body[end:])
    assert page.size == Size(WIDTH, HEIGHT)
    assert np.array_equal((await page.pixels()).rgb, np.asarray(corners()))


@pytest.mark.parametrize("exif", [_exif(0), _exif(9), _exif(77), b"Exif\0\0MM\0*\xff\xff\xff\xff", b"junk"])
async def test_exif_that_makes_no_sense_is_ignored(exif: Image.Exif | bytes) -> None:
    rgb = await pixels_of(encoded(corners(), "PNG", exif=exif))
    assert np.array_equal(rgb, np.asarray(corners()))


@pytest.mark.parametrize(
    ("size", "longest_side", "shape", "scale"),
    [
        ((400, 300), 100, (75, 100), 4.0),
        ((300, 400), 100, (100, 75), 4.0),
        ((400, 300), 399, (299, 399), 400 / 399),
        ((400, 300), 400, (300, 400), 1.0),
        ((400, 300), 5000, (300, 400), 1.0),
        ((400, 300), 1, (1, 1), 400.0),
        ((1, 1), 1024, (1, 1), 1.0),
        ((3000, 3), 100, (1, 100), 30.0),
        ((3, 3000), 100, (100, 1), 30.0),
    ],
)
@pytest.mark.parametrize("image_format", ["PNG", "JPEG"])
async def test_pages_are_shrunk_to_the_longest_side_and_never_enlarged(
    image_format: str, size: tuple[int, int], longest_side: int, shape: tuple[int, int], scale: float
) -> None:
    page = await _page(encoded(Image.new("RGB", size, "white"), image_format))
    pixels = await page.pixels(longest_side)
    assert page.size == Size(*size)
    assert pixels.rgb.shape == (*shape, 3)
    assert pixels.scale == scale


@pytest.mark.parametrize("image_format", ["PNG", "JPEG"])
@pytest.mark.parametrize("longest_side", [700, 300, 128, 100])
async def test_a_mark_is_where_the_scale_says(image_format: str, longest_side: int) -> None:
    image = Image.new("L", (1201, 807), 255)
    image.paste(0, (900, 200, 980, 260))
    pixels = await (await _page(encoded(image, image_format))).pixels(longest_side)
    darkness = 255.0 - pixels.rgb[..., 0]
    ys, xs = np.indices(darkness.shape)
    x, y = (((axis + 0.5) * darkness).sum() / darkness.sum() for axis in (xs, ys))
    assert abs(x - 940 / pixels.scale) < 0.5
    assert abs(y - 230 / pixels.scale) < 0.5


async def test_shrinking_averages_over_areas() -> None:
    lines = np.zeros((800, 800), np.uint8)
    lines[::2] = 255
    pixels = await (await _page(encoded(Image.fromarray(lines), "PNG"))).pixels(100)
    assert np.abs(pixels.rgb.astype(int) - 127).max() <= 1


async def test_a_jpeg_decoded_small_looks_as_one_decoded_whole() -> None:
    rng = np.random.default_rng(3)
    page = corners(1600, 1200)
    page.paste(
        Image.fromarray(rng.integers(0, 255, (30, 40), np.uint8)).resize((800, 600), Image.Resampling.BICUBIC),
        (400, 300),
    )
    data = encoded(page, "JPEG", quality=95)
    small = await (await _page(data)).pixels(200)
    whole = Image.open(io.BytesIO(data)).resize((200, 150), Image.Resampling.BOX)
    assert small.scale == 8.0
    assert np.abs(small.rgb.astype(int) - np.asarray(whole).astype(int)).mean() < 3


@pytest.mark.parametrize("size", [(30000, 30), (30, 30000)])
@pytest.mark.parametrize("image_format", ["PNG", "JPEG"])
async def test_long_strips_are_read(image_format: str, size: tuple[int, int]) -> None:
    page = await _page(encoded(Image.new("L", size, 200), image_format))
    assert (await page.pixels()).rgb.shape == (size[1], size[0], 3)
    shrunk = await page.pixels(1024)
    assert max(shrunk.rgb.shape) == 1024
    assert min(shrunk.rgb.shape[:2]) == 1
    assert abs(int(shrunk.rgb.mean()) - 200) <= 1


@pytest.mark.parametrize("image_format", ["GIF", "PNG", "WEBP"])
async def test_of_an_animation_the_first_picture_is_the_page(image_format: str) -> None:
    frames = [Image.new("RGB", (40, 30), colour) for colour in ("white", "red", "blue")]
    data = encoded(frames[0], image_format, save_all=True, append_images=frames[1:])
    document = await opened(data)
    assert document.page_count == 1
    assert (await (await document.page(0)).pixels()).rgb.min() > 250


async def test_of_a_multi_picture_jpeg_the_first_is_the_page() -> None:
    data = encoded(corners(), "MPO", save_all=True, append_images=[Image.new("RGB", (40, 30), "red")])
    document = await opened(data)
    assert document.page_count == 1
    assert (await document.page(0)).size == Size(WIDTH, HEIGHT)


@pytest.mark.parametrize(
    ("dpi", "expected"),
    [
        ((300, 300), 300),
        ((1, 1), None),
        ((100_000, 100_000), None),
        ((204, 98), 204),
        ((900, 98), None),
        ((200, 204), 200),
    ],
)
async def test_resolution_is_told_where_it_is_plausible(dpi: tuple[int, int], expected: float | None) -> None:
    page = await _page(encoded(corners(), "JPEG", dpi=dpi))
    assert page.dpi == expected


async def test_pixels_that_are_not_square_are_stretched_whichever_way_the_page_is_stored() -> None:
    wrong = []
    for image_format in ("JPEG", "PNG", "TIFF"):
        for across, down in ((204, 98), (98, 204), (204, 391), (200, 100), (408, 196)):
            dpi = max(across, down)
            shown = corners(round(300 * across / dpi), round(200 * down / dpi))
            for orientation in (1, *STORED):
                turned = orientation >= 5
                stored = shown if orientation == 1 else shown.transpose(STORED[orientation])
                axes = (down, across) if turned else (across, down)
                page = await _page(encoded(stored, image_format, dpi=axes, exif=_exif(orientation)))
                small = await page.pixels(150)
                whole = (await page.pixels()).rgb
                sides = (
                    *whole.shape[1::-1],
                    page.size.width,
                    page.size.height,
                    *(2 * each for each in small.rgb.shape[1::-1]),
                )
                right = np.abs(np.array(sides) - (300, 200) * 3).max() <= 2 and page.dpi == pytest.approx(dpi, abs=0.1)
                if not right or np.abs(corner_colours(whole) - CORNERS).max() > 60:
                    wrong.append((image_format, across, down, orientation, sides, page.dpi))
    assert wrong == []


async def test_resolution_that_makes_a_sheet_of_metres_is_not_believed() -> None:
    assert (await _page(encoded(Image.new("L", (4000, 10)), "JPEG", dpi=(72, 72)))).dpi is None


async def test_the_same_page_asked_twice_gives_the_same_pixels_of_its_own() -> None:
    page = await _page(encoded(corners(), "PNG"))
    first, second = (await page.pixels()).rgb, (await page.pixels()).rgb
    first[:] = 0
    assert np.array_equal(second, np.asarray(corners()))


async def test_the_pixel_limit_is_judged_by_the_header() -> None:
    # This file has no pixels: decoding it would report it as damaged.
    data = png_header(10_000, 10_000) + png_chunk(b"IDAT", b"") + png_chunk(b"IEND", b"")
    with pytest.raises(InputRejected) as caught:
        await opened(data, max_pixels=99_999_999)
    assert caught.value.code == "image_too_large"
    assert "10000×10000" in caught.value.detail
    assert (await (await opened(data, max_pixels=100_000_000)).page(0)).size == Size(10_000, 10_000)


@pytest.mark.parametrize("image_format", FORMATS)
async def test_every_format_keeps_the_pixel_limit(image_format: str) -> None:
    with pytest.raises(InputRejected, match="image_too_large"):
        await opened(_file(corners(), image_format), max_pixels=WIDTH * HEIGHT - 1)


@pytest.mark.parametrize(("width", "height"), [(2**31 - 1, 2**31 - 1), (100_000_000, 1), (1, 100_000_000)])
async def test_bombs_are_too_large(width: int, height: int) -> None:
    with pytest.raises(InputRejected, match="image_too_large"):
        await opened(png_header(width, height) + png_chunk(b"IDAT", b"") + png_chunk(b"IEND", b""))


async def test_a_gif_that_claims_gigapixels_is_too_large() -> None:
    data = bytearray(encoded(corners(), "GIF"))
    data[6:10] = b"\xff\xff\xff\xff"
    with pytest.raises(InputRejected, match="image_too_large"):
        await opened(bytes(data))


async def test_an_image_without_width_is_damaged() -> None:
    with pytest.raises(InputRejected, match="image_corrupt"):
        await opened(png_header(0, 10) + png_chunk(b"IDAT", b"") + png_chunk(b"IEND", b""))


async def test_a_jpeg_of_endless_scans_is_refused_before_it_is_decoded() -> None:
    data = encoded(corners(), "JPEG", progressive=True)
    start = data.index(b"\xff\xda")
    scan = data[start : data.index(b"\xff\xda", start + 2)]
    with pytest.raises(InputRejected, match=r"image_corrupt.*scans"):
        await opened(data[:start] + scan * 501 + data[start:])


@pytest.mark.parametrize("filler", [b"", b"\xff\xfe\0\2" * 10_001])
async def test_scans_are_counted_in_the_image_only(filler: bytes) -> None:
    data = encoded(corners(), "JPEG")
    assert (await pixels_of(data + filler + b"\xff\xda" * 600)).shape == (HEIGHT, WIDTH, 3)


async def test_a_jpeg_of_endless_segments_and_scans_is_refused() -> None:
    data = encoded(corners(), "JPEG")
    with pytest.raises(InputRejected, match=r"image_corrupt.*scans"):
        await opened(data[:2] + b"\xff\xfe\0\2" * 10_001 + data[2:] + b"\xff\xda" * 600)


async def test_an_animation_that_is_damaged_has_its_first_picture() -> None:
    # Pillow warns of it, which would fail this test if the warning got out.
    data = encoded(corners(), "PNG")
    after_header = 8 + 25
    data = data[:after_header] + png_chunk(b"acTL", b"\0" * 8) + data[after_header:]
    assert np.array_equal(await pixels_of(data), np.asarray(corners()))


@pytest.mark.parametrize("image_format", FORMATS)
async def test_half_a_file_is_damaged_not_half_a_page(image_format: str) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (300, 400, 3), np.uint8))
    data = _file(noise, image_format)
    with pytest.raises(InputRejected) as caught:
        await pixels_of(data[: len(data) // 2])
    assert caught.value.code == "image_corrupt"
    assert "0x" not in caught.value.detail


@pytest.mark.parametrize("image_format", ["JPEG", "PNG", "WEBP", "GIF", "BMP"])
async def test_junk_after_the_image_is_ignored(image_format: str) -> None:
    data = encoded(corners(), image_format) + b"\0\xff junk" * 50
    assert (await pixels_of(data)).shape == (HEIGHT, WIDTH, 3)


async def test_there_is_no_second_page() -> None:
    document = await opened(encoded(corners(), "PNG"))
    with pytest.raises(IndexError):
        await document.page(1)


async def test_pillow_is_left_as_it_was() -> None:
    Image.init()
    limit, known = Image.MAX_IMAGE_PIXELS, set(Image.OPEN)  # a test of OCRmyPDF, which adds HEIF, may have run before
    for image_format in FORMATS:
        await pixels_of(_file(corners(), image_format))
    assert (limit, known) == (Image.MAX_IMAGE_PIXELS, set(Image.OPEN))
