"""The border to Pillow: headers and pixels of one frame, and every way in which that can fail as InputRejected.

Pillow's state of the process is left alone but for one filter (`_quiet`): plugins are called by the type that was
sniffed, so nothing is registered, and the pixel limit is the caller's. Pillow's own `MAX_IMAGE_PIXELS` stays: it
refuses TIFF and WebP files of more than 178,956,970 pixels, whatever `limits.max_pixels` says.
"""

from __future__ import annotations

import ctypes
import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
    _imaging,
)

from inkgate.documents.metadata import has_many_scans, orientation_of, resolution_of, white_is_zero
from inkgate.documents.modes import GreyOrRgb, to_array
from inkgate.documents.sniff import FileType
from inkgate.documents.tiff import file_at
from inkgate.errors import InputRejected
from inkgate.types import Pixels, RgbArray, Size

_MAX_JPEG_SCANS = 500
"""As libjpeg-turbo's own fuzzing: each scan of a progressive JPEG costs a pass over the image for a few bytes."""
_TRANSPOSED = frozenset({5, 6, 7, 8})


@dataclass(frozen=True, slots=True)
class FrameSource:
    """Where the pixels of one page are: `offset` is that of a TIFF's directory, None for all other types."""

    data: bytes
    file_type: FileType
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """What is known of a frame before its pixels are decoded.

    Attributes:
        size: upright, after `orientation`.
        orientation: EXIF orientation (1 to 8) that the decoded pixels still have.
        dpi: None where the file says none, or one that no sheet of paper has.
    """

    size: Size
    orientation: int
    dpi: float | None

    def stored(self, size: Size) -> tuple[int, int]:
        """Width and height of the upright `size` as the file has them."""
        return (size.height, size.width) if self.orientation in _TRANSPOSED else (size.width, size.height)


def read_header(frame: FrameSource) -> Header:
    """The frame's header. No pixels are decoded. Blocking.

    Raises:
        InputRejected: `image_corrupt`, `image_too_large`.
    """
    if frame.file_type is FileType.JPEG and has_many_scans(frame.data, _MAX_JPEG_SCANS):
        raise InputRejected("image_corrupt", f"The JPEG image has more than {_MAX_JPEG_SCANS} scans.")
    with _rejecting(frame.file_type, "header"), _open(frame) as image:
        orientation = orientation_of(image, frame.data)
        width, height = image.size
        if isinstance(image, TiffImagePlugin.TiffImageFile):
            # Pillow turns TIFF pixels itself as it decodes them, but the size only where a TIFF tag says so.
            width, height = image.tag_v2[TiffImagePlugin.IMAGEWIDTH], image.tag_v2[TiffImagePlugin.IMAGELENGTH]
        if orientation in _TRANSPOSED:
            width, height = height, width
        if width < 1 or height < 1:
            raise InputRejected("image_corrupt", f"The {frame.file_type.label} image is {width}×{height} pixels.")
        remaining = 1 if frame.file_type is FileType.TIFF else orientation
        return Header(Size(width, height), remaining, resolution_of(image, max(width, height)))


def read_pixels(frame: FrameSource, header: Header, longest_side: int | None = None) -> Pixels:
    """The frame's pixels, upright, shrunk to `longest_side` at most. Blocking.

    Shrinking averages over areas; a JPEG is first decoded at 1/2, 1/4 or 1/8 where that is still large enough.

    Raises:
        InputRejected: `image_corrupt`, `image_too_large`.
    """
    target = shrunk(header.size, longest_side)
    with _rejecting(frame.file_type, "pixels"), _open(frame) as image:
        expected = covered = header.stored(header.size)
        if target != header.size and isinstance(image, JpegImagePlugin.JpegImageFile):
            expected, covered = _decode_smaller(image, header.stored(target))
        image.load()
        if image.size != expected:
            raise InputRejected(
                "image_corrupt",
                f"The {frame.file_type.label} image's pixels do not have the size that its header gives.",
            )
        pixels = to_array(image, white_is_zero=white_is_zero(image))
    if target != header.size:
        within = pixels[: covered[1], : covered[0]]
        pixels = _u8(cv2.resize(within, header.stored(target), interpolation=cv2.INTER_AREA))
    upright = _TURNS[header.orientation](pixels)
    scale = max(header.size.width, header.size.height) / max(target.width, target.height)
    return Pixels(_rgb(upright), scale)


def shrunk(size: Size, longest_side: int | None) -> Size:
    """`size` with its longest side at most `longest_side`, its proportions kept, and no side below 1."""
    longest = max(size.width, size.height)
    if longest_side is None or longest <= longest_side:
        return size
    ratio = longest_side / longest
    return Size(max(1, round(size.width * ratio)), max(1, round(size.height * ratio)))


def _decode_smaller(
    image: JpegImagePlugin.JpegImageFile, target: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Has `image` decoded at the least size that `target` fits in. Returns that size, and what of it is covered.

    A JPEG is decoded in blocks: the last column and row may lie mostly beyond the image, and are then left out.
    """
    drafted = image.draft(None, target)
    if drafted is None:
        return image.size, image.size
    _, (_, _, right, bottom) = drafted
    return image.size, (round(right), round(bottom))


def _rgb(pixels: GreyOrRgb) -> RgbArray:
    if pixels.ndim == 2:
        return _u8(cv2.cvtColor(pixels, cv2.COLOR_GRAY2RGB))
    return np.ascontiguousarray(pixels)


# What undoes each EXIF orientation.
_TURNS: dict[int, Callable[[GreyOrRgb], GreyOrRgb]] = {
    1: lambda a: a,
    2: lambda a: _u8(cv2.flip(a, 1)),
    3: lambda a: _u8(cv2.rotate(a, cv2.ROTATE_180)),
    4: lambda a: _u8(cv2.flip(a, 0)),
    5: lambda a: _u8(cv2.transpose(a)),
    6: lambda a: _u8(cv2.rotate(a, cv2.ROTATE_90_CLOCKWISE)),
    7: lambda a: _u8(cv2.flip(cv2.transpose(a), -1)),
    8: lambda a: _u8(cv2.rotate(a, cv2.ROTATE_90_COUNTERCLOCKWISE)),
}


def _u8(array: cv2.typing.MatLike) -> GreyOrRgb:
    return np.asarray(array, np.uint8)


def _heif(file: io.BytesIO) -> ImageFile.ImageFile:
    """The primary image of a HEIF file, upright: libheif applies its transformations itself."""
    from pillow_heif import HeifImageFile

    image: ImageFile.ImageFile = HeifImageFile(file)  # type: ignore[no-untyped-call] # pillow-heif has no annotations
    return image


# Called directly and not through Image.open, which would try other plugins too, and warn of sizes below our limit.
# A JPEG that holds several pictures (MPO), an animation or a collection is read as its first or primary picture.
_OPENERS: dict[FileType, Callable[[io.BytesIO], ImageFile.ImageFile]] = {
    FileType.JPEG: JpegImagePlugin.JpegImageFile,
    FileType.PNG: PngImagePlugin.PngImageFile,
    FileType.WEBP: WebPImagePlugin.WebPImageFile,
    FileType.TIFF: TiffImagePlugin.TiffImageFile,
    FileType.BMP: BmpImagePlugin.BmpImageFile,
    FileType.GIF: GifImagePlugin.GifImageFile,
    FileType.AVIF: AvifImagePlugin.AvifImageFile,
    FileType.HEIC: _heif,
}


def _open(frame: FrameSource) -> ImageFile.ImageFile:
    file = io.BytesIO(frame.data) if frame.offset is None else file_at(frame.data, frame.offset)
    return _OPENERS[frame.file_type](file)


@contextmanager
def _rejecting(file_type: FileType, part: str) -> Iterator[None]:
    """Turns whatever fails inside into InputRejected."""
    _quiet()
    try:
        yield
    except InputRejected:
        raise
    except (Image.DecompressionBombError, MemoryError) as error:
        raise InputRejected("image_too_large", f"The {file_type.label} image is too large to be decoded.") from error
    except Exception as error:
        # The border of one item. On hostile bytes Pillow and its codecs raise OSError, SyntaxError, ValueError,
        # TypeError, KeyError, IndexError, EOFError, OverflowError, struct.error, zlib.error, RuntimeError and more,
        # none of them documented: a list would always be one short, and what is missing would be a 500.
        why = "ends early" if "truncated" in str(error).lower() else "can't be decoded"
        raise InputRejected("image_corrupt", f"The {file_type.label} image {why}: error in its {part}.") from error


def _silence_libtiff() -> None:
    """Has libtiff write nothing to standard error, where log lines are. It is a library that Pillow brings with it."""
    libraries = ctypes.CDLL(_imaging.__file__)  # in which, and in what it was linked with, names are looked up
    for name in ("TIFFSetErrorHandler", "TIFFSetWarningHandler"):
        with suppress(AttributeError):  # linked in a way that shows no names: the lines stay
            libraries[name](None)


_silence_libtiff()


def _quiet() -> None:
    """Silences Pillow's warnings about odd files: what matters of them is in the answer.

    The list of filters is the process's (`catch_warnings` is not safe among threads); setting the same filter again
    moves it to the front and adds nothing.
    """
    warnings.filterwarnings("ignore", module=r"PIL\.|pillow_heif")
