"""TIFF files as documents of several pages."""

import struct
from itertools import pairwise

import numpy as np
import pytest
from PIL import Image

from inkgate.documents.tiff import MAX_FRAMES, file_at, frame_offsets
from inkgate.errors import InputRejected
from inkgate_client.types import Size
from support.images import corners, encoded, opened

pytestmark = pytest.mark.anyio

SHADES = (10, 90, 170, 250)


def _pages(**options: object) -> bytes:
    """Four pages, each with a size and a shade of its own."""
    pages = [Image.new("L", (20 + number, 30), shade) for number, shade in enumerate(SHADES)]
    return encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:], **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "tiff_lzw"},
        {"compression": "jpeg"},
        {"big_tiff": True},
        {"compression": "tiff_adobe_deflate"},
    ],
    ids=str,
)
async def test_each_image_of_a_tiff_is_a_page(options: dict[str, object]) -> None:
    document = await opened(_pages(**options))
    assert document.page_count == 4
    for index in (3, 0, 2, 1):
        page = await document.page(index)
        assert page.index == index
        assert page.size == Size(20 + index, 30)
        assert np.abs((await page.pixels()).rgb.astype(int) - SHADES[index]).max() <= 2


async def test_pages_may_have_modes_and_orientations_of_their_own() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = corners().transpose(Image.Transpose.ROTATE_90)
    turned.encoderinfo = {"exif": exif}
    data = encoded(Image.new("1", (50, 40), 1), "TIFF", save_all=True, append_images=[turned])
    document = await opened(data)
    assert (await document.page(0)).size == Size(50, 40)
    second = await document.page(1)
    assert second.size == Size(*corners().size)
    assert np.array_equal((await second.pixels()).rgb, np.asarray(corners()))


async def test_a_page_that_is_damaged_costs_no_other() -> None:
    data = bytearray(_pages())
    second = frame_offsets(bytes(data))[1]
    data[second + 2 : second + 14] = b"\xff" * 12
    document = await opened(bytes(data))
    with pytest.raises(InputRejected, match="image_corrupt"):
        await document.page(1)
    assert (await (await document.page(2)).pixels()).rgb[0, 0, 0] == SHADES[2]


async def test_a_file_cut_short_has_a_page_that_says_so() -> None:
    data = _pages()
    document = await opened(data[: frame_offsets(data)[2] + 5])
    assert document.page_count == 3
    assert (await (await document.page(0)).pixels()).rgb[0, 0, 0] == SHADES[0]
    with pytest.raises(InputRejected, match="image_corrupt"):
        await document.page(2)


async def test_the_pixel_limit_holds_for_each_page() -> None:
    document = await opened(_pages(), max_pixels=21 * 30)
    assert (await document.page(1)).size == Size(21, 30)
    with pytest.raises(InputRejected, match="image_too_large"):
        await document.page(2)


def _chain(offsets: list[int], order: str = "<", first_entry: bytes = b"") -> bytes:
    """Directories of one entry at most, each pointing at the next offset; the last one's next is the list's last."""
    data = bytearray((b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "I", offsets[0]))
    for at, following in pairwise(offsets):
        body = struct.pack(order + "H", bool(first_entry)) + first_entry + struct.pack(order + "I", following)
        data[len(data) : at] = b"\0" * (at - len(data))
        data[at : at + len(body)] = body
    return bytes(data)


def test_a_chain_that_bites_its_tail_ends_there() -> None:
    assert frame_offsets(_chain([8, 20, 32, 20])) == (8, 20, 32)
    assert frame_offsets(_chain([8, 8])) == (8,)


def test_more_pages_than_any_reader_follows_are_too_many() -> None:
    step = 6
    chain = [8 + step * number for number in range(MAX_FRAMES + 1)]
    assert len(frame_offsets(_chain([*chain[:-1], 0]))) == MAX_FRAMES
    with pytest.raises(InputRejected, match="too_many_pages"):
        frame_offsets(_chain([*chain, 0]))


@pytest.mark.parametrize("order", ["<", ">"])
def test_thumbnails_and_masks_are_no_pages(order: str) -> None:
    def offsets(kind: int) -> tuple[int, ...]:
        entry = struct.pack(order + "HHII", 254, 4, 1, kind)
        return frame_offsets(_chain([8, 40, 0], order, entry))

    assert offsets(2) == (8, 40)
    assert offsets(0) == (8, 40)
    # A file of nothing else is read for what it has.
    assert offsets(1) == (8,)
    assert offsets(4) == (8,)


@pytest.mark.parametrize("data", [b"II*\0", b"II*\0\0\0", b"II*\0\0\0\0\0", b"II+\0\x08\0\0\0\0\0"])
async def test_a_file_without_pages_is_damaged(data: bytes) -> None:
    with pytest.raises(InputRejected, match="image_corrupt"):
        await opened(data)


def test_a_file_is_pointed_at_any_of_its_pages() -> None:
    data = _pages()
    first, second, *_ = frame_offsets(data)
    assert file_at(data, first).getvalue() == data
    assert frame_offsets(file_at(data, second).getvalue())[0] == second
