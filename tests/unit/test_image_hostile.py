"""Whatever bytes are sent: an image is read, or refused with a reason."""

import asyncio
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from inkgate.errors import InputRejected
from inkgate_client.types import Size
from support.images import corners, encoded, heic, opened, pixels_of

DATA = Path(__file__).parent.parent / "data" / "images"
SEEDS = [
    *(encoded(corners(), image_format) for image_format in ("JPEG", "PNG", "WEBP", "TIFF", "BMP", "GIF", "AVIF")),
    encoded(corners(), "JPEG", progressive=True),
    encoded(corners().convert("P"), "PNG", transparency=0),
    encoded(corners().convert("CMYK"), "TIFF", compression="tiff_lzw"),
    encoded(corners().convert("1"), "TIFF", compression="group4"),
    heic(corners()),
    *(path.read_bytes() for path in sorted(DATA.iterdir())),
]


async def _read(data: bytes) -> None:
    # A limit of a megapixel: what a changed header claims is not worth the time to decode it.
    document = await opened(data, max_pixels=1_000_000)
    for index in range(min(document.page_count, 3)):
        page = await document.page(index)
        pixels = await page.pixels(40)
        height, width, channels = pixels.rgb.shape
        assert channels == 3
        assert pixels.rgb.dtype == np.uint8
        assert max(width, height) == min(40, max(page.size.width, page.size.height))


def _refusal(data: bytes) -> InputRejected | None:
    try:
        asyncio.run(_read(data))
    except InputRejected as rejected:
        return rejected
    return None


def _read_or_refused(data: bytes) -> None:
    refusal = _refusal(data)
    if refusal is not None:
        assert "0x" not in refusal.detail
        assert len(refusal.detail) < 200


@st.composite
def changed_files(draw: st.DrawFn) -> bytes:
    """A file of some format, cut off, overwritten or grown in some places."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        change = draw(st.sampled_from(["overwrite", "overwrite", "cut", "insert", "delete"]))
        if change == "cut":
            del data[at:]
        elif change == "delete":
            del data[at : at + draw(st.integers(1, 16))]
        else:
            new = draw(st.binary(min_size=1, max_size=8))
            data[at : at + (len(new) if change == "overwrite" else 0)] = new
    return bytes(data)


@settings(max_examples=300, deadline=None)
@given(changed_files())
def test_changed_files_are_read_or_refused(data: bytes) -> None:
    _read_or_refused(data)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(SEEDS).map(lambda seed: seed[:16]), st.binary(max_size=200))
def test_junk_behind_a_good_beginning_is_refused(beginning: bytes, junk: bytes) -> None:
    _read_or_refused(beginning + junk)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    _read_or_refused(data)


REFUSED = {
    "broken.png": "image_corrupt",
    "crash-86214e58da443d2b80820cff9677a38a33dcbbca.tif": "image_corrupt",
    "decompression_bomb.gif": "image_too_large",
    "seek_too_large.tif": "image_corrupt",
    "zero_width.gif": "image_corrupt",
}
SIZES = {
    "apng_mode_16bit.png": Size(128, 64),
    "g4_orientation_6.tif": Size(590, 88),
    "hopper_orientation_8.webp": Size(128, 128),
    "l_trns.png": Size(64, 64),
    "multipage_multiple_frame_loop.tiff": Size(10, 10),
    "orientation_rectangle.jpg": Size(1, 2),
    "p_trns_single.png": Size(64, 64),
    "uint16_1_4660.tif": Size(10, 10),
}


def test_every_file_of_the_folder_is_expected_to_do_something() -> None:
    assert {path.name for path in DATA.iterdir()} == {*REFUSED, *SIZES}


@pytest.mark.anyio
@pytest.mark.parametrize("name", REFUSED)
async def test_files_known_to_break_readers_are_refused(name: str) -> None:
    with pytest.raises(InputRejected) as caught:
        await pixels_of((DATA / name).read_bytes())
    assert caught.value.code == REFUSED[name]


@pytest.mark.anyio
@pytest.mark.parametrize("name", SIZES)
async def test_unusual_files_are_read(name: str) -> None:
    page = await (await opened((DATA / name).read_bytes())).page(0)
    assert page.size == SIZES[name]
    assert (await page.pixels()).rgb.shape == (SIZES[name].height, SIZES[name].width, 3)


@pytest.mark.anyio
async def test_a_turned_fax_page_stands_upright() -> None:
    # "This is a test file" stands at the left of the page and ends well before its right edge.
    rgb = await pixels_of((DATA / "g4_orientation_6.tif").read_bytes())
    ink_by_column = np.count_nonzero(rgb[..., 0] < 128, axis=0)
    assert ink_by_column[:450].sum() > 500
    assert ink_by_column[480:].sum() == 0


@pytest.mark.anyio
async def test_a_loop_of_pages_is_read_once() -> None:
    assert (await opened((DATA / "multipage_multiple_frame_loop.tiff").read_bytes())).page_count == 2


@pytest.mark.anyio
async def test_libtiff_writes_nothing_between_the_log_lines(capfd: pytest.CaptureFixture[str]) -> None:
    noise = np.random.default_rng(1).integers(0, 2, (200, 200), np.uint8) * 255
    faulty = bytearray(encoded(Image.fromarray(noise).convert("1"), "TIFF", compression="group4"))
    faulty[40:-200] = bytes((7 * value + 13) % 256 for value in faulty[40:-200])
    with suppress(InputRejected):
        await pixels_of(bytes(faulty))
    assert capfd.readouterr() == ("", "")
