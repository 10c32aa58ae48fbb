"""Lines cut out of a page, and the corners of lines in the order in which they are read."""

from __future__ import annotations

import cv2
import numpy as np

from inkgate.runtimes.onnx import FloatArray
from inkgate.types import RgbArray

TALL = 1.5
"""Boxes this much taller than wide hold text that runs down the page (PaddleOCR's figure)."""


def side_lengths(quads: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Width (along the first side) and height of quads (N, 4, 2), each (N,) in pixels."""
    widths = np.linalg.norm(quads[:, 1] - quads[:, 0], axis=1)
    heights = np.linalg.norm(quads[:, 3] - quads[:, 0], axis=1)
    return widths, heights


def crop(rgb: RgbArray, quad: FloatArray) -> RgbArray:
    """The pixels of a quad (4, 2), made upright: its first side becomes the top. At least 1 x 1 pixel."""
    width = max(round(float(max(np.linalg.norm(quad[1] - quad[0]), np.linalg.norm(quad[2] - quad[3])))), 1)
    height = max(round(float(max(np.linalg.norm(quad[3] - quad[0]), np.linalg.norm(quad[2] - quad[1])))), 1)
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    # OpenCV counts from the middle of the first pixel, quads from its corner.
    matrix = cv2.getPerspectiveTransform(quad.astype(np.float32) - 0.5, target - 0.5)
    cut = cv2.warpPerspective(rgb, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE)
    return np.asarray(cut, np.uint8)
