"""Images as they are embedded in a PDF: JPEG and most PNG data unchanged, other images without loss. Pure, blocking.

Files are parsed here because Pillow gives a PNG's pixels, not its compressed rows, and not a JPEG's coding.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from inkgate.documents.decode import FrameSource, Header, read_pixels
from inkgate.documents.sniff import FileType
from inkgate.page import RgbArray

_A4_LONG_SIDE_INCHES = 11.69
"""Long side of the page of an image without a resolution."""
_POINTS_PER_INCH = 72.0
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_JPEG_START = b"\xff\xd8"
_FRAME_MARKERS = frozenset({*range(0xC0, 0xC3)})
"""Baseline, extended and progressive JPEG, which PDF has (ISO 32000-1, 7.4.8)."""
_COLOURS = {1: "/DeviceGray", 3: "/DeviceRGB", 4: "/DeviceCMYK"}
_GREY, _RGB, _PALETTE = 0, 2, 3


@dataclass(frozen=True, slots=True)
class EmbeddedImage:
    """One image as the only content of a page.

    Attributes:
        width, height: as stored.
        colours: a name of a colour space.
        bits: of a component.
        filter: of `data`.
        data: the stream.
        predictor_colours: components of PNG's predictor; 0 for none.
        palette: RGB entries of an indexed image.
        inverted: whether 0 is full ink, as in Adobe's CMYK.
        page_width, page_height: in points.
        matrix: from the unit square of the image to points of the page.
    """

    width: int
    height: int
    colours: str
    bits: int
    filter: str
    data: bytes
    predictor_colours: int
    palette: bytes
    inverted: bool
    page_width: float
    page_height: float
    matrix: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Stored:
    """An image's data as a PDF stores it, of which an `EmbeddedImage` is made."""

    width: int
    height: int
    colours: str
    bits: int
    filter: str
    data: bytes
    predictor_colours: int = 0
    palette: bytes = b""
    inverted: bool = False


def embed(frame: FrameSource, header: Header) -> EmbeddedImage:
    """The frame as an embedded image, upright on its page.

    Raises:
        InputRejected: `image_corrupt`, `image_too_large`.
    """
    stored = _jpeg(frame.data) if frame.file_type is FileType.JPEG else None
    stored = _png(frame.data) if frame.file_type is FileType.PNG else stored
    orientation = header.orientation
    pixels = header.decoded or header.size  # not stretched: the page's proportions stretch it
    if stored is not None and (stored.width, stored.height) != header.stored(pixels):
        stored = None
    if stored is None:
        stored, orientation = _decoded(read_pixels(frame, replace(header, size=pixels, decoded=None)).rgb), 1
    size = header.size
    dpi = header.dpi or max(size.width, size.height) / _A4_LONG_SIDE_INCHES
    width, height = (side * _POINTS_PER_INCH / dpi for side in (size.width, size.height))
    return EmbeddedImage(
        stored.width,
        stored.height,
        stored.colours,
        stored.bits,
        stored.filter,
        stored.data,
        stored.predictor_colours,
        stored.palette,
        stored.inverted,
        width,
        height,
        _upright(orientation, width, height),
    )


def _upright(orientation: int, w: float, h: float) -> tuple[float, ...]:
    """The matrix that shows an image of this EXIF orientation upright on a page of `w` x `h` points."""
    return {
        2: (-w, 0, 0, h, w, 0),
        3: (-w, 0, 0, -h, w, h),
        4: (w, 0, 0, -h, 0, h),
        5: (0, -h, -w, 0, w, h),
        6: (0, -h, w, 0, 0, h),
        7: (0, h, w, 0, 0, 0),
        8: (0, h, -w, 0, w, 0),
    }.get(orientation, (w, 0, 0, h, 0, 0))


def _jpeg(data: bytes) -> _Stored | None:
    """The file as it is; None if a PDF can't have it, as one with junk before its start."""
    if not data.startswith(_JPEG_START):
        return None
    adobe = False
    for marker, content in _jpeg_segments(data):
        if marker == 0xEE and content.startswith(b"Adobe"):
            adobe = True
        if marker in _FRAME_MARKERS and len(content) >= 6:
            bits, height, width, components = struct.unpack_from(">BHHB", content)
            colours = _COLOURS.get(components)
            if colours is None or bits != 8 or not (width and height):
                return None
            # Programs of Adobe store CMYK inverted, and all others that write it follow them.
            inverted = components == 4 and adobe
            return _Stored(width, height, colours, bits, "/DCTDecode", data, inverted=inverted)
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            return None  # lossless, arithmetic or hierarchical
    return None


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Markers with their contents, up to the pixels or the first irregularity."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # filler
            at += 1
            continue
        (length,) = struct.unpack_from(">H", data, at + 2)
        if marker in {0xD9, 0xDA} or length < 2:
            return
        yield marker, data[at + 4 : at + 2 + length]
        at += 2 + length


def _png(data: bytes) -> _Stored | None:
    """The compressed rows of the file; None if it is interlaced, has transparency or is damaged."""
    if not data.startswith(_PNG_SIGNATURE):
        return None
    head, palette, parts, ended = b"", b"", [], False
    for kind, content in _png_chunks(data):
        match kind:
            case b"IHDR":
                head = content
            case b"PLTE":
                palette = content
            case b"tRNS" | b"acTL":
                return None
            case b"IDAT":
                parts.append(content)
            case b"IEND":
                ended = True
    if len(head) != 13 or not parts or not ended:
        return None
    width, height, bits, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    if interlaced or bits > 8 or colour not in {_GREY, _RGB, _PALETTE} or (colour == _PALETTE and not palette):
        return None
    rows = b"".join(parts)
    components = 3 if colour == _RGB else 1
    if not _whole(rows, height * ((width * bits * components + 7) // 8 + 1)):
        return None
    colours = {_GREY: "/DeviceGray", _RGB: "/DeviceRGB", _PALETTE: "/Indexed"}[colour]
    palette = palette if colour == _PALETTE else b""
    return _Stored(width, height, colours, bits, "/FlateDecode", rows, components, palette)


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_PNG_SIGNATURE)
    while at + 12 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8 : at + 8 + length]
        if zlib.crc32(data[at + 4 : at + 8 + length]) != int.from_bytes(
            data[at + 8 + length : at + 12 + length], "big"
        ):
            return
        yield kind, content
        at += 12 + length


def _whole(rows: bytes, expected: int) -> bool:
    """Whether `rows` decompress to the `expected` number of bytes. Uses little memory."""
    decoder, found, left = zlib.decompressobj(), 0, rows
    while left and found <= expected:
        try:
            found += len(decoder.decompress(left, 2**20))
        except zlib.error:
            return False
        left = decoder.unconsumed_tail
    return found == expected


def _decoded(rgb: RgbArray) -> _Stored:
    """Pixels without loss: black and white in one bit, grey in eight."""
    height, width = rgb.shape[:2]
    grey = rgb[:, :, 0]
    if not (np.array_equal(grey, rgb[:, :, 1]) and np.array_equal(grey, rgb[:, :, 2])):
        return _Stored(width, height, "/DeviceRGB", 8, "/FlateDecode", zlib.compress(rgb.tobytes()))
    if bool(((grey == 0) | (grey == 255)).all()):
        packed = np.packbits(grey > 0, axis=1)
        return _Stored(width, height, "/DeviceGray", 1, "/FlateDecode", zlib.compress(packed.tobytes()))
    return _Stored(width, height, "/DeviceGray", 8, "/FlateDecode", zlib.compress(grey.tobytes()))
