"""Images of the figures of a page, whichever engine read it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from time import perf_counter
from typing import Final

import cv2
import numpy as np
import structlog

from inkgate.caller import Caller
from inkgate.errors import InkgateError
from inkgate.layout.regions.figure_links import with_images
from inkgate.page import Pixels, RgbArray
from inkgate.service.remembered_page import LONGEST_SIDE, RememberedPage
from inkgate.serving.limits import FixedLimit
from inkgate.serving.order import Work
from inkgate.serving.queue import WorkQueue
from inkgate.serving.threads import FairThreads
from inkgate.settings import SchedulingSettings
from inkgate_client.block_image import BlockImage
from inkgate_client.coordinates import before_rotation, quad_of
from inkgate_client.types import PICTURE_TYPES, Box, PageResult

log = structlog.get_logger(__name__)

MAX_IMAGES: Final = 50
MAX_BYTES: Final = 4 * 1024 * 1024
"""Images of a page, and bytes of their files. Figures beyond that have none."""
_MAX_AREA: Final = 2.0
"""Pixels of all images of a page, as a share of the page's. Boxes of a layout model may lie on each other."""
_MIN_SIDE: Final = 8
"""Pixels of an image's shorter side. Narrower boxes show nothing."""
_JPEG_QUALITY: Final = 88
_DRAWN_COLOURS: Final = 256
_SAMPLES: Final = 20_000
"""A picture that has at most this number of colours in a sample of its pixels is a drawing, or grey: it is written as
PNG if that is smaller than JPEG. Photographs and scans in colour have thousands.
"""
PAGES_AT_ONCE: Final = 16
"""Pages whose pixels wait for a thread: 17 MB each. Pages that the cache answers are not held up by an engine."""
_CUT_MS: Final = 50
"""Estimate for a page, until its time is known."""
_SMALLER: Final = 0.5
"""An image that is too large for what the page has left is tried again with sides of this share."""


class Figures:
    """Cuts figures out of pages that were read. The page cache holds no images: all callers share what was read, and
    the images of a page that was read before are cut out of its pixels again.
    """

    def __init__(self, threads: FairThreads, scheduling: SchedulingSettings | None = None) -> None:
        """`scheduling`: how callers share the room for pixels."""
        self._threads = threads
        self._room = WorkQueue(FixedLimit(PAGES_AT_ONCE), scheduling or SchedulingSettings(), timed=True)

    async def add(self, page: RememberedPage, result: PageResult, caller: Caller) -> PageResult:
        """The page whose blocks of PICTURE_TYPES have `image`. `timings_ms` has `images` if there are any. Images that
        can't be cut out cost the page nothing else.
        """
        if not any(block.type in PICTURE_TYPES for block in result.blocks or ()):
            return result
        started = perf_counter()
        try:
            async with self._room.turn(Work.for_caller(caller, _CUT_MS)):
                pixels = await page.enough_pixels()
                shown = await self._threads.run(caller, _CUT_MS, _with_cut_images, result, pixels)
        except Exception as error:  # noqa: BLE001 - of one page, which was read
            reason = error.code if isinstance(error, InkgateError) else type(error).__name__
            log.warning("images_not_cut", reason=reason)
            return result
        return replace(shown, timings_ms={**result.timings_ms, "images": (perf_counter() - started) * 1000})


def _with_cut_images(page: PageResult, pixels: Pixels) -> PageResult:
    """Blocking: also the links take seconds in long Markdown that a model wrote."""
    return with_images(page, cut_images(page, pixels))


def cut_images(page: PageResult, pixels: Pixels) -> Mapping[int, BlockImage]:
    """The images of the page's figures by the number of the block. `pixels`: of the page before its rotation. Blocking,
    some 20 ms for each million pixels.
    """
    rgb, scale = _shrunk(pixels)
    left_bytes, left_area = MAX_BYTES, _MAX_AREA * rgb.shape[0] * rgb.shape[1]
    images: dict[int, BlockImage] = {}
    for number, block in enumerate(page.blocks or ()):
        possible = block.type in PICTURE_TYPES and all(map(isfinite, block.box))
        if not possible or len(images) == MAX_IMAGES:
            continue
        rows, columns = _place(rgb, scale, block.box, page)
        height, width = rows.stop - rows.start, columns.stop - columns.start
        if min(height, width) < _MIN_SIDE or height * width > left_area:
            continue
        left_area -= height * width
        cut: RgbArray = np.ascontiguousarray(np.rot90(rgb[rows, columns], -page.rotation // 90))
        suffix, data, cut = _encoded(cut, left_bytes)
        if data:
            left_bytes -= len(data)
            name = f"page-{page.index + 1}-{len(images) + 1}.{suffix}"
            kind = "image/png" if suffix == "png" else "image/jpeg"
            images[number] = BlockImage(name, kind, cut.shape[1], cut.shape[0], b64encode(data).decode())
    return images


def _shrunk(pixels: Pixels) -> tuple[RgbArray, float]:
    """The pixels with no side over LONGEST_SIDE, and page pixels per pixel: engines may have used more."""
    height, width = pixels.rgb.shape[:2]
    share = LONGEST_SIDE / max(height, width)
    if share >= 1:
        return pixels.rgb, pixels.scale
    size = (max(1, round(width * share)), max(1, round(height * share)))
    smaller = cv2.resize(pixels.rgb, size, interpolation=cv2.INTER_AREA)
    return np.asarray(smaller, np.uint8), pixels.scale / share


def _place(rgb: RgbArray, scale: float, box: Box, page: PageResult) -> tuple[slice, slice]:
    """Rows and columns of a box of the upright page; empty ones if it is outside of the page."""
    sent = before_rotation(quad_of(box), page.rotation, page.width, page.height)
    height, width = rgb.shape[:2]
    xs = [min(max(x / scale, 0.0), width) for x, _ in sent]
    ys = [min(max(y / scale, 0.0), height) for _, y in sent]
    # rounded outwards: half a pixel of the page's background is better than a frame without its edge
    rows = slice(int(np.floor(min(ys))), int(np.ceil(max(ys))))
    columns = slice(int(np.floor(min(xs))), int(np.ceil(max(xs))))
    return rows, columns


def _encoded(rgb: RgbArray, most: int) -> tuple[str, bytes, RgbArray]:
    """Suffix and bytes of a file of at most `most` bytes, and its pixels; no bytes if even a smaller one is larger."""
    for _ in range(2):
        suffix, data = _file(rgb)
        if len(data) <= most:
            return suffix, data, rgb
        height, width = rgb.shape[:2]
        size = (max(1, round(width * _SMALLER)), max(1, round(height * _SMALLER)))
        rgb = np.asarray(cv2.resize(rgb, size, interpolation=cv2.INTER_AREA), np.uint8)
    return "", b"", rgb


def _file(rgb: RgbArray) -> tuple[str, bytes]:
    """Suffix and bytes: PNG for drawings if it is smaller, else JPEG."""
    bgr = cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR)
    _, jpeg = cv2.imencode(".jpg", bgr, [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY])
    if _is_drawing(rgb):
        _, png = cv2.imencode(".png", bgr)
        if png.size < jpeg.size:
            return "png", png.tobytes()
    return "jpg", jpeg.tobytes()


def _is_drawing(rgb: RgbArray) -> bool:
    flat = rgb.reshape(-1, 3)
    sample = flat[:: max(1, len(flat) // _SAMPLES)].astype(np.uint32)
    colours = sample[:, 0] << 16 | sample[:, 1] << 8 | sample[:, 2]
    return len(np.unique(colours)) <= _DRAWN_COLOURS
