"""Reads headers and pixels with Pillow; every failure becomes InputRejected.

Pillow's global state is unchanged except for one warning filter (`_quiet`): plugins are called directly by the sniffed
type, so nothing is registered, and the caller checks the pixel limit. Pillow's own `MAX_IMAGE_PIXELS` stays: it
refuses TIFF and WebP files of more than 178,956,970 pixels, whatever `limits.max_pixels` is.
"""

from __future__ import annotations

import ctypes
import io
import math
import re
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import (
    AvifImagePlugin,
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    Image,
    ImageFile,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
    _imaging,
)

from inkgate.documents.modes import GreyOrRgb, to_array
from inkgate.documents.sniff import FileType
from inkgate.documents.tiff import file_at
from inkgate.errors import InputRejected
from inkgate.page import Pixels, RgbArray
from inkgate_client.types import Size

_PLAUSIBLE_DPI = (50.0, 2400.0)
_LARGEST_SHEET_INCHES = 50.0
_MAX_STRETCH = 4.5
"""Resolutions across and down that differ more than those of any fax (ITU-T T.4 has 204 x 98, 204 x 391 and 408 x 391)
are an error.
"""
_START_OF_SCAN = b"\xff\xda"
_END_OF_IMAGE = b"\xff\xd9"
# A JPEG marker. Within coded pixels, 00 or a restart marker follows FF; FF may be repeated as filler.
_JPEG_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")
_JPEG_SEGMENTS = 10_000


def orientation_of(image: Image.Image, data: bytes) -> int:
    """The EXIF orientation (1 to 8) of an image made from `data`; 1 (upright) if it is missing or unreadable."""
    try:
        # PngImageFile.getexif would decode the pixels to find a chunk after them.
        exif = Image.Image.getexif(image)
        if isinstance(image, PngImagePlugin.PngImageFile) and ExifTags.Base.Orientation not in exif:
            exif = _late_png_exif(data)
        orientation = exif.get(ExifTags.Base.Orientation, 1)
    except Exception:  # noqa: BLE001 - the border to a parser of hostile bytes; an image without EXIF is still one
        return 1
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1


def _late_png_exif(data: bytes) -> Image.Exif:
    """The content of a PNG's last eXIf chunk at any position; the checksum excludes chance matches."""
    exif = Image.Exif()
    at = data.rfind(b"eXIf")
    if at >= 4:
        end = at + 4 + int.from_bytes(data[at - 4 : at], "big")
        if zlib.crc32(data[at:end]).to_bytes(4, "big") == data[end : end + 4]:
            exif.load(data[at + 4 : end])
    return exif


def resolution_of(image: Image.Image, width: int, height: int) -> tuple[float, float] | None:
    """The file's pixels per inch across and down its `width` x `height` stored pixels; None if it is implausible for
    paper. Equal for square pixels; a fax has twice as many across as down.
    """
    try:
        across, down = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    if not (math.isfinite(across) and math.isfinite(down)) or min(across, down) <= 0:
        return None
    if abs(across - down) <= 0.1 * down:
        down = across
    elif max(across, down) > _MAX_STRETCH * min(across, down):
        return None
    low, high = _PLAUSIBLE_DPI
    fits = max(width / across, height / down) <= _LARGEST_SHEET_INCHES
    return (across, down) if low <= min(across, down) and max(across, down) <= high and fits else None


def white_is_zero(image: Image.Image) -> bool:
    """Whether 0 is white in a TIFF. Pillow inverts only values of up to 8 bits."""
    if not isinstance(image, TiffImagePlugin.TiffImageFile):
        return False
    return bool(image.tag_v2.get(TiffImagePlugin.PHOTOMETRIC_INTERPRETATION) == 0)


def has_many_scans(data: bytes, limit: int) -> bool:
    """Whether a JPEG has more than `limit` scans, or more segments than any real image."""
    # Data after the image (a motion photo's video) may contain the marker by chance, so only then parse segments.
    if data.count(_START_OF_SCAN) <= limit:
        return False
    at, scans = 2, 0
    for _ in range(_JPEG_SEGMENTS):
        found = _JPEG_MARKER.search(data, at)
        if found is None or found[0] == _END_OF_IMAGE:
            return False
        scans += found[0] == _START_OF_SCAN
        if scans > limit:
            return True
        at = found.end() + int.from_bytes(data[found.end() : found.end() + 2], "big")
    return True


_MAX_JPEG_SCANS = 500
"""Maximum scans of a JPEG, as in libjpeg-turbo's fuzzing: each scan of a progressive JPEG costs a pass over the image
for a few bytes."""
_TRANSPOSED = frozenset({5, 6, 7, 8})


@dataclass(frozen=True, slots=True)
class FrameSource:
    """Source of one page's pixels. `offset`: of a TIFF's directory, None for all other types."""

    data: bytes
    file_type: FileType
    offset: int | None = None


@dataclass(frozen=True, slots=True)
class Header:
    """Properties of a frame, known before its pixels are decoded.

    Attributes:
        size: upright, after `orientation`, in square pixels: if the file's are not, its shorter side of a pixel is
            stretched.
        orientation: EXIF orientation (1 to 8) that the decoded pixels still have.
        dpi: of `size`; None if the file has none, or one that is implausible for paper.
        decoded: width and height of the upright pixels before stretching; None if they have `size`.
    """

    size: Size
    orientation: int
    dpi: float | None
    decoded: Size | None = None

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
            # Pillow rotates TIFF pixels when decoding, but swaps the size only if a TIFF tag says so.
            width, height = image.tag_v2[TiffImagePlugin.IMAGEWIDTH], image.tag_v2[TiffImagePlugin.IMAGELENGTH]
        if orientation in _TRANSPOSED:
            width, height = height, width
        if width < 1 or height < 1:
            raise InputRejected("image_corrupt", f"The {frame.file_type.label} image is {width}×{height} pixels.")
        remaining = 1 if frame.file_type is FileType.TIFF else orientation
        return _square(Size(width, height), remaining, _upright_resolution(image, orientation, width, height))


def _upright_resolution(image: Image.Image, orientation: int, width: int, height: int) -> tuple[float, float] | None:
    """Pixels per inch across and down the upright image."""
    if orientation not in _TRANSPOSED:
        return resolution_of(image, width, height)
    found = resolution_of(image, height, width)
    return None if found is None else (found[1], found[0])


def _square(size: Size, orientation: int, resolution: tuple[float, float] | None) -> Header:
    """The header of an upright image of `size`, with pixels that are square at its finer resolution."""
    if resolution is None:
        return Header(size, orientation, None)
    across, down = resolution
    if across == down:
        return Header(size, orientation, across)
    dpi = max(across, down)
    stretched = Size(max(1, round(size.width * dpi / across)), max(1, round(size.height * dpi / down)))
    return Header(stretched, orientation, dpi, size)


def read_pixels(frame: FrameSource, header: Header, longest_side: int | None = None) -> Pixels:
    """The frame's pixels, upright, shrunk to `longest_side` at most. Blocking.

    Shrinking averages over areas. A JPEG is first decoded at 1/2, 1/4 or 1/8 if that is still large enough.

    Raises:
        InputRejected: `image_corrupt`, `image_too_large`.
    """
    target = shrunk(header.size, longest_side)
    upright = header.decoded or header.size
    with _rejecting(frame.file_type, "pixels"), _open(frame) as image:
        expected = covered = header.stored(upright)
        if target != header.size and isinstance(image, JpegImagePlugin.JpegImageFile):
            expected, covered = _decode_smaller(image, header.stored(target))
        image.load()
        if image.size != expected:
            raise InputRejected(
                "image_corrupt",
                f"The {frame.file_type.label} image's pixels do not have the size that its header gives.",
            )
        pixels = to_array(image, white_is_zero=white_is_zero(image))
    if target != upright:
        within = pixels[: covered[1], : covered[0]]
        smaller = target.pixels < upright.pixels
        how = cv2.INTER_AREA if smaller else cv2.INTER_LINEAR
        pixels = _u8(cv2.resize(within, header.stored(target), interpolation=how))
    turned = _TURNS[header.orientation](pixels)
    scale = max(header.size.width, header.size.height) / max(target.width, target.height)
    return Pixels(_rgb(turned), scale)


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
    """Sets `image` to decode at the smallest size that `target` fits in. Returns that size and the covered part.

    A JPEG is decoded in blocks. The last column and row may be mostly outside the image, and are then cut off.
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


# The inverse of each EXIF orientation.
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


# Called directly, because Image.open would also try other plugins, and warn about sizes below our limit.
# Of a JPEG with several pictures (MPO), an animation or a collection, only the first or primary picture is read.
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
    """Turns every failure inside into InputRejected."""
    _quiet()
    try:
        yield
    except InputRejected:
        raise
    except (Image.DecompressionBombError, MemoryError) as error:
        raise InputRejected("image_too_large", f"The {file_type.label} image is too large to be decoded.") from error
    except Exception as error:
        # Per-item border. On hostile bytes Pillow and its codecs raise OSError, SyntaxError, ValueError, TypeError,
        # KeyError, IndexError, EOFError, OverflowError, struct.error, zlib.error, RuntimeError and more, undocumented.
        # A list would be incomplete, and a missing exception would be a 500.
        why = "ends early" if "truncated" in str(error).lower() else "can't be decoded"
        raise InputRejected("image_corrupt", f"The {file_type.label} image {why}: error in its {part}.") from error


def _silence_libtiff() -> None:
    """Keeps libtiff, which Pillow bundles, from writing to standard error, where the log is."""
    libraries = ctypes.CDLL(_imaging.__file__)  # searches symbols in it and in the libraries it is linked with
    for name in ("TIFFSetErrorHandler", "TIFFSetWarningHandler"):
        with suppress(AttributeError):  # symbols are hidden: the lines stay
            libraries[name](None)


_silence_libtiff()


def _quiet() -> None:
    """Silences Pillow's warnings about odd files; the response reports what matters.

    Filters are global (`catch_warnings` is not thread-safe). Setting the same filter again only moves it to the front.
    """
    warnings.filterwarnings("ignore", module=r"PIL\.|pillow_heif")
