"""Metadata of image files: orientation and resolution."""

from __future__ import annotations

import math
import re
import zlib

from PIL import ExifTags, Image, PngImagePlugin, TiffImagePlugin

_PLAUSIBLE_DPI = (50.0, 2400.0)
_LARGEST_SHEET_INCHES = 50.0
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


def resolution_of(image: Image.Image, longest: int) -> float | None:
    """The file's pixels per inch; None if the axes differ or it is implausible for paper."""
    try:
        horizontal, vertical = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    if not (math.isfinite(horizontal) and math.isfinite(vertical)) or abs(horizontal - vertical) > 0.1 * vertical:
        return None
    low, high = _PLAUSIBLE_DPI
    return horizontal if low <= horizontal <= high and longest <= horizontal * _LARGEST_SHEET_INCHES else None


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
