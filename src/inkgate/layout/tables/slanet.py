"""The embedded TableModel: SLANet-plus (PaddleOCR's SLANet, trained further by PaddleX), which writes a table as HTML
tokens with a box for each cell.

It runs on ONNX Runtime whatever the runtime of the other models is: OpenVINO 2026 can't convert the loop of its decoder
("loop body graph canonical inputs size"), and the loop's steps are too small for a GPU.
"""

from __future__ import annotations

from threading import Lock
from typing import Final

import cv2
import numpy as np

from inkgate.layout.evidence import TableGuess
from inkgate.layout.regions.cdla import DEVIATION, MEAN
from inkgate.layout.tables.tokens import OPENED_CELL, WHOLE_CELL, TableToken, cells_of
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray
from inkgate.runtimes.models import table_structure
from inkgate.runtimes.onnx import OnnxGraph
from inkgate_client.types import Box

SIDE: Final = 488
"""Side of the square that the model was trained on: the image in its top left corner, the rest zeros."""
MIN_SIDE = 10
"""Images with a side below this many pixels hold no legible table."""


class SlanetTables:
    """A TableModel. Safe from many threads; blocking.

    The model is loaded when the first table is seen: that takes 0.15 s, and the 35 MB (130 MB in use) are saved where
    nobody asks for Markdown of pages with tables.
    """

    def __init__(self, threads: int) -> None:
        """`threads`: for one call; 0: one per core. Does not load the model."""
        self._threads = threads
        self._model: OnnxGraph | None = None
        self._loading = Lock()

    def find(self, pixels: RgbArray) -> TableGuess | None:
        """Finds the cells of a table. `pixels`: RGB (H, W, 3) uint8."""
        height, width = pixels.shape[:2]
        if min(height, width) < MIN_SIDE:
            return None
        model = self._loaded()
        (name,) = model.inputs
        boxes, scores = model.run({name: _prepared(pixels)}, list(model.outputs))
        alphabet = model.metadata["character"].splitlines()
        tokens, confidence = tokens_of(scores[0], boxes[0], alphabet, (height, width))
        cells = cells_of(tokens)
        return TableGuess((0.0, 0.0, float(width), float(height)), cells, confidence) if cells else None

    def _loaded(self) -> OnnxGraph:
        with self._loading:
            if self._model is None:
                self._model = OnnxGraph(table_structure(), self._threads)
            return self._model


def _prepared(pixels: RgbArray) -> FloatArray:
    """(1, 3, 488, 488) float32, red first."""
    height, width = pixels.shape[:2]
    ratio = SIDE / max(height, width)
    size = (max(1, int(width * ratio)), max(1, int(height * ratio)))
    # Averaged where it shrinks: of 40 drawn tables 2 to 6 % more were right than with its training's linear filter.
    resized = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if ratio < 1 else cv2.INTER_LINEAR)
    square = np.zeros((SIDE, SIDE, 3), dtype=np.float32)
    square[: size[1], : size[0]] = (resized.astype(np.float32) / 255.0 - MEAN) / DEVIATION
    return np.ascontiguousarray(square.transpose(2, 0, 1)[None])


def tokens_of(
    scores: FloatArray, boxes: FloatArray, alphabet: list[str], shape: tuple[int, int]
) -> tuple[list[TableToken], float]:
    """The tokens up to the end, with boxes in pixels of the image, and their mean probability; none if the model found
    no end: the table has more cells than it can write, and the rest would be missing.

    Args:
        scores: (T, classes): the begin of the sequence, the alphabet, its end.
        boxes: (T, 8) or (T, 4): corners as shares of the model's square, which may be NaN.
        alphabet: of the model.
        shape: height and width of the image.
    """
    best, probability = scores.argmax(axis=1), scores.max(axis=1)
    ends = np.flatnonzero(best[1:] == len(alphabet) + 1)
    count = int(ends[0]) + 1 if len(ends) else 0
    tokens: list[TableToken] = []
    for number, corners in zip(best[:count].tolist(), boxes[:count], strict=True):
        if 1 <= number <= len(alphabet):
            text = alphabet[number - 1]
            begins = text == WHOLE_CELL or text in OPENED_CELL
            tokens.append(TableToken(text, _box(corners, shape) if begins else None))
    mean = float(np.nan_to_num(probability[:count]).mean()) if count else 0.0
    return tokens, min(max(mean, 0.0), 1.0)


def _box(corners: FloatArray, shape: tuple[int, int]) -> Box:
    height, width = shape
    points = np.nan_to_num(corners.reshape(-1, 2).astype(np.float64), posinf=1.0, neginf=0.0) * max(height, width)
    (left, top), (right, bottom) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    return (
        min(max(left, 0.0), float(width)),
        min(max(top, 0.0), float(height)),
        min(max(right, 0.0), float(width)),
        min(max(bottom, 0.0), float(height)),
    )
