"""Encodes a page's pixels as the data URL of a chat request: shrunk once, encoded once. Blocking."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
import pybase64

from inkgate.errors import EngineFailed
from inkgate.types import RgbArray, Size

_PROBE_SQUARES = 8
_PROBE_SIDE = 64
"""Pixels. The smallest size that all models accept: their image processors round to multiples of 28 or 32 pixels."""
_NOISE = 8
"""Maximum difference between the darkest and the brightest value of a blank page, of 255."""


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """An image as a data URL, of `size`, made for `target`."""

    url: str
    size: Size
    target: Size


def encode(rgb: RgbArray, target: Size, jpeg_quality: int, *, enlarge: float = 1.0) -> EncodedImage:
    """`rgb` (H, W, 3) shrunk to fit `target`, or enlarged by `enlarge` at most, as JPEG; as PNG for quality 0.

    The server resizes to its own grid: enlarging only for that is left to it, which saves bandwidth.
    """
    height, width = rgb.shape[:2]
    factor = min(enlarge, target.width / width, target.height / height)
    size = Size(max(1, round(width * factor)), max(1, round(height * factor)))
    if size != Size(width, height):
        kernel = cv2.INTER_AREA if factor < 1.0 else cv2.INTER_CUBIC
        rgb = np.asarray(cv2.resize(rgb, (size.width, size.height), interpolation=kernel), np.uint8)
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
    if jpeg_quality:
        kind, done, data = "jpeg", *cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, jpeg_quality])
    else:
        kind, done, data = "png", *cv2.imencode(".png", bgr, [cv2.IMWRITE_PNG_COMPRESSION, 1])
    if not done:
        raise EngineFailed("engine_failed", "The page could not be encoded for the model server.")
    return EncodedImage(f"data:image/{kind};base64,{pybase64.b64encode_as_string(data.data)}", size, target)


def probe_image() -> str:
    """The data URL of a small PNG of grey squares, different each time: a server that has seen an image answers from
    its caches without running the image encoder.
    """
    squares = np.random.default_rng().integers(0, 256, (_PROBE_SQUARES, _PROBE_SQUARES, 1), np.uint8)
    side = _PROBE_SIDE // _PROBE_SQUARES
    rgb = squares.repeat(side, axis=0).repeat(side, axis=1).repeat(3, axis=2)
    return encode(rgb, Size(_PROBE_SIDE, _PROBE_SIDE), 0).url


def is_blank(rgb: RgbArray) -> bool:
    """Whether all pixels are nearly the same. Models invent text on blank pages."""
    # Every eighth pixel first: finds most pages that are not blank at 1/64 of the cost.
    return all(int(sample.max()) - int(sample.min()) <= _NOISE for sample in (rgb[::8, ::8], rgb))
