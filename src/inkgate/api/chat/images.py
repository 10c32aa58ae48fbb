"""Token counts of images in chat requests, from their size in pixels and the model's limits.

Sizes are parsed here from the first 64 KB of base64, on the event loop: a PNG or WebP in 1 us, a JPEG in 16. Pillow
12.3 takes 22 and 72 us. It needs a WebP's whole file: 0.5 to 1.4 ms for 1 to 4 MB, after decoding all its base64.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pybase64

from inkgate.engines.vlm.images import ImageLimits
from inkgate.engines.vlm.presets import preset_of
from inkgate.errors import InputRejected
from inkgate.settings import EngineSettings
from inkgate_client.types import Size

_MAX_TOKENS = 4096
"""Models scale images down to a limit; no OCR model uses more for one page."""
UNKNOWN_MODEL = ImageLimits(patch=14, merge=2, min_pixels=28 * 28, max_pixels=_MAX_TOKENS * 28 * 28)
_MEASURED = 16
"""Maximum number of images that are measured, on the event loop; the others count as the largest."""
_BEGINNING = 65_536 * 4 // 3 // 4 * 4
"""Characters of base64 that are searched for an image's size."""
_HEAD = 256
_SEGMENTS = 100
_SIZE_SEGMENTS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}


def image_limits(engine: EngineSettings) -> ImageLimits:
    """Limits of the largest images of a request: the preset's, or those of any model."""
    preset = preset_of(engine)
    limits = preset.largest_images if preset else UNKNOWN_MODEL
    return limits.within(engine.vllm.max_pixels) if engine.vllm.max_pixels else limits


def image_tokens(urls: Sequence[bytes | memoryview], limits: ImageLimits, sent: Mapping[str, int]) -> int:
    """Tokens of the images with these data: URLs. `sent`: the request's bounded `mm_processor_kwargs`.

    An image of unknown size counts as the largest that the model accepts.
    """
    # Without a limit in the request, the server's own applies, which may be above the preset's.
    own = _MAX_TOKENS * limits.factor**2 if limits.sent else limits.max_pixels
    max_pixels = max(sent.get("max_pixels", own), limits.factor**2)
    min_pixels = min(sent.get("min_pixels", limits.min_pixels), max_pixels)
    taken = replace(limits, min_pixels=max(1, min_pixels), max_pixels=max_pixels)
    largest = max(1, max_pixels // limits.factor**2)
    return sum(_tokens(url, taken, largest) for url in urls[:_MEASURED]) + largest * len(urls[_MEASURED:])


def _tokens(url: bytes | memoryview, limits: ImageLimits, largest: int) -> int:
    size = size_of(url)
    if size is None:
        return largest
    try:
        return limits.tokens(size)
    except InputRejected:
        return largest


def size_of(url: bytes | memoryview) -> Size | None:
    """The size of the JPEG, PNG or WebP image at a data: URL, with or without its scheme; None if it is not in the
    first 64 KiB.
    """
    beginning = bytes(url[: _HEAD + _BEGINNING])
    comma = beginning.find(b",", 0, _HEAD)
    if comma < 0 or not beginning[:comma].endswith(b";base64"):
        return None
    text = beginning[comma + 1 :].replace(b"\\/", b"/")
    try:
        data = pybase64.b64decode(text if len(beginning) == len(url) else text[: len(text) // 4 * 4])
    except binascii.Error:
        return None
    width, height = _png(data) or _jpeg(data) or _webp(data) or (0, 0)
    return Size(width, height) if width > 0 and height > 0 else None


def _png(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(b"\x89PNG\r\n\x1a\n") or data[12:16] != b"IHDR":
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The size from the first frame header, after segments with their lengths."""
    at = 2 if data.startswith(b"\xff\xd8") else len(data)
    for _ in range(_SEGMENTS):
        if data[at : at + 1] != b"\xff" or len(data) < at + 9:
            return None
        if data[at + 1] in _SIZE_SEGMENTS:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 1 if data[at + 1] == 0xFF else 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    """The size from the first chunk (RFC 9649)."""
    if data[:4] != b"RIFF" or data[8:12] != b"WEBP" or len(data) < 30:
        return None
    match data[12:16]:
        case b"VP8X":
            return int.from_bytes(data[24:27], "little") + 1, int.from_bytes(data[27:30], "little") + 1
        case b"VP8L":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            return (int.from_bytes(data[26:28], "little") & 0x3FFF, int.from_bytes(data[28:30], "little") & 0x3FFF)
    return None
