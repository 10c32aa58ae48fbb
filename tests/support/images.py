"""Images for tests: a page with a different colour in each corner, and files of every format made from it."""

import io
import struct
import zlib

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from inkgate.documents.images import DecodeThreads, ImageDocument, open_image
from inkgate.documents.sniff import sniff
from inkgate.serving.threads import FairThreads

WIDTH, HEIGHT = 96, 64
RED, GREEN, BLUE, GREY = (200, 30, 30), (30, 180, 30), (30, 30, 200), (120, 120, 120)
CORNERS = (RED, GREEN, BLUE, GREY)
"""Top left, top right, bottom left, bottom right of `corners`."""


def corners(width: int = WIDTH, height: int = HEIGHT) -> Image.Image:
    """A white page whose corners are squares of four colours."""
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    side = min(width, height) // 3
    for corner, (x, y) in zip(
        CORNERS, ((0, 0), (width - side, 0), (0, height - side), (width - side, height - side)), strict=True
    ):
        draw.rectangle((x, y, x + side - 1, y + side - 1), fill=corner)
    return image


def encoded(image: Image.Image, image_format: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, image_format, **options)
    return file.getvalue()


def heic(image: Image.Image, **options: object) -> bytes:
    from pillow_heif import from_pillow

    file = io.BytesIO()
    from_pillow(image).save(file, quality=95, **options)
    return file.getvalue()


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_header(width: int, height: int, bits: int = 8, colour: int = 2) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0))


def png(pixels: NDArray[np.generic], bits: int, colour: int, *chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG of any depth: `pixels` (H, W) or (H, W, C), big-endian, are written unfiltered."""
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    body = b"".join(png_chunk(kind, data) for kind, data in chunks) + png_chunk(b"IDAT", zlib.compress(rows))
    return png_header(pixels.shape[1], pixels.shape[0], bits, colour) + body + png_chunk(b"IEND", b"")


def tiff(pixels: NDArray[np.generic], **tags: int) -> bytes:
    """A little-endian TIFF of one grey strip, with the type of `pixels`, which Pillow can't write."""
    kind = {"u": 1, "i": 2, "f": 3}[pixels.dtype.kind]
    data = pixels.astype(pixels.dtype.newbyteorder("<")).tobytes()
    entries = {
        256: pixels.shape[1],
        257: pixels.shape[0],
        258: pixels.dtype.itemsize * 8,
        259: 1,
        262: tags.get("photometric", 1),
        273: 8,
        277: 1,
        278: pixels.shape[0],
        279: len(data),
        339: kind,
    }
    directory = struct.pack("<H", len(entries)) + b"".join(
        struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries.items()
    )
    return b"II*\0" + struct.pack("<I", 8 + len(data)) + data + directory + struct.pack("<I", 0)


async def opened(data: bytes, max_pixels: int = 120_000_000) -> ImageDocument:
    threads = DecodeThreads(FairThreads(2), FairThreads(1))
    return await open_image(data, sniff(data), max_pixels, threads)


async def pixels_of(data: bytes, index: int = 0, longest_side: int | None = None) -> NDArray[np.uint8]:
    """Pixels (H, W, 3) of one page of the file."""
    page = await (await opened(data)).page(index)
    return (await page.pixels(longest_side)).rgb


def corner_colours(rgb: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The colours (4, 3) near the corners, in the order of `CORNERS`."""
    inset = max(1, min(rgb.shape[:2]) // 8)
    return rgb[[inset, inset, -inset, -inset], [inset, -inset, inset, -inset]].astype(np.int64)
