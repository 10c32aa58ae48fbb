"""PP-DocLayoutV2 and V3 as a Layout, from an ONNX file that the operator names: 25 classes and the reading order.

Both find boxes as RT-DETR does (Zhao et al., 2023, "DETRs Beat YOLOs") and order them by a pointer network, inside V3's
decoder. Inputs and outputs of the exported graph are as in PaddleX (`models/object_detection/predictor.py` and
`models/layout_analysis/{predictor,processors}.py`) and in transformers (`pp_doclayout_v2`, `pp_doclayout_v3`):

- `image` (1, 3, 800, 800): RGB, stretched to 800 x 800 by a bicubic filter, divided by 255, without mean or deviation;
- `im_shape` (1, 2): 800, 800, the size of that input; `scale_factor` (1, 2): 800 / height and 800 / width of the page;
- the first output (N, 7) of V3, (N, 8) of V2: class, confidence, left, top, right and bottom in pixels of the page, and
  position in the order, in V2 in two columns, the second counting backwards; the second output: how many of the rows
  are boxes; V3's third output, masks, is not requested.

Duplicate boxes are removed by the rules of PaddleX's PaddleOCR-VL pipeline (`configs/pipelines/PaddleOCR-VL.yaml`, and
`LayoutAnalysisProcess` and `filter_boxes` in `layout_analysis/processors.py`), in the same order: non-maximum
suppression, pictures of the whole page, containment in boxes of some classes, and overlap of any two. Unlike there, a
list of references is kept if its entries were not found one by one.

The classes and their order are those of both models' configuration (`label_list`); exports of RapidLayout store them in
the model's metadata as `character`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import cv2
import numpy as np
from numpy.typing import NDArray

from inkgate.errors import EngineFailed
from inkgate.layout.evidence import Region
from inkgate.page import RgbArray
from inkgate.runtimes.base import FloatArray
from inkgate.runtimes.onnx import OnnxGraph
from inkgate_client.types import BlockType

BLOCK_TYPES: Final = {
    "abstract": BlockType.TEXT,
    "algorithm": BlockType.TEXT,
    "aside_text": BlockType.TEXT,
    "chart": BlockType.FIGURE,
    "content": BlockType.TEXT,
    "display_formula": BlockType.FORMULA,
    "doc_title": BlockType.TITLE,
    "figure_title": BlockType.CAPTION,
    "footer": BlockType.FOOTER,
    "footer_image": BlockType.FIGURE,
    "footnote": BlockType.TEXT,
    "formula_number": BlockType.TEXT,
    "header": BlockType.HEADER,
    "header_image": BlockType.FIGURE,
    "image": BlockType.FIGURE,
    "inline_formula": BlockType.FORMULA,
    "number": BlockType.FOOTER,
    "paragraph_title": BlockType.TITLE,
    "reference": BlockType.REFERENCE,
    "reference_content": BlockType.REFERENCE,
    "seal": BlockType.FIGURE,
    "table": BlockType.TABLE,
    "text": BlockType.TEXT,
    "vertical_text": BlockType.TEXT,
    "vision_footnote": BlockType.CAPTION,
}
"""All 25, in the order of the model's output. `number` is the page number, a header if it is in the upper half."""
CLASSES: Final = tuple(BLOCK_TYPES)
PICTURES: Final = frozenset({"image", "table", "seal", "chart"})
"""Classes that may contain blocks of other classes, or be contained in them, without being duplicates."""
SAME_CLASS, OTHER_CLASS = 0.6, 0.98
"""Intersection over union from which the less confident of two boxes is dropped."""
LANDSCAPE_PAGE, PORTRAIT_PAGE = 0.82, 0.93
"""An image with more than this share of the page is the page."""
CONTAINED = 0.8
"""A box with at least this share inside a box of LARGE is part of it."""
LARGE: Final = frozenset({"chart", "display_formula", "doc_title", "inline_formula", "paragraph_title"})
MAX_SHARED, MAX_INLINE = 0.7, 0.5
"""Part of the smaller of two boxes that both share, from which that one, or a formula within a line of text, is
dropped.
"""
MIN_SIDE = 6
"""Boxes with a shorter side, in pixels, are dropped."""
SIDE = 800
"""Size of the model's input, in pixels."""
INPUTS: Final = {"image": (1, 3, SIDE, SIDE), "im_shape": (1, 2), "scale_factor": (1, 2)}
COLUMNS: Final = {7: "V3", 8: "V2"}
"""The models by the number of columns of their first output."""
BACKWARDS = 7
"""V2's second order column, which breaks ties between boxes."""
MODEL_CLASSES = "character"
"""Key of the model's metadata that lists its classes, one per line, in some exports."""


def remove_duplicates(rows: FloatArray, width: int, height: int) -> FloatArray:
    """The rows worth keeping, best first; `width` and `height` of the page, in pixels. Boxes lie inside it.

    `rows`: as in the model's first output: class, confidence, left, top, right, bottom, order.
    """
    rows = rows[np.argsort(-rows[:, 1], kind="stable")]
    rows = rows[(rows[:, 4:6] - rows[:, 2:4]).min(axis=1, initial=np.inf) >= MIN_SIDE]
    rows = _suppressed(rows)
    rows = _without_page(rows, width, height)
    rows = rows[~_contained(rows)]
    return _parted(rows)


def _suppressed(rows: FloatArray) -> FloatArray:
    """Non-maximum suppression over all classes. `rows`: best first."""
    picked: list[int] = []
    shared = _shared(rows)
    areas = _areas(rows)
    for i in range(len(rows)):
        union = areas[i] + areas[picked] - shared[i, picked]
        most = np.where(rows[picked, 0] == rows[i, 0], SAME_CLASS, OTHER_CLASS)
        if not (shared[i, picked] >= most * union).any():
            picked.append(i)
    return rows[picked]


def _without_page(rows: FloatArray, width: int, height: int) -> FloatArray:
    """Removes images that are the page, unless there is nothing else on it."""
    most = LANDSCAPE_PAGE if width > height else PORTRAIT_PAGE
    whole = _of(rows, {"image"}) & (_areas(rows) > most * width * height)
    return rows if len(rows) < 2 or whole.all() else rows[~whole]


def _contained(rows: FloatArray) -> NDArray[np.bool_]:
    """Whether each box lies in another one of the classes that are read as a whole.

    If two lie in each other the first is kept; PaddleX drops both.
    """
    inside = (_shared(rows) >= CONTAINED * _areas(rows)[:, None]) & _of(rows, LARGE)[None, :]
    np.fill_diagonal(inside, val=False)
    first_of_two = np.triu(inside & inside.T)
    return np.asarray((inside & ~first_of_two).any(axis=1))


def _parted(rows: FloatArray) -> FloatArray:
    """Removes the smaller of any two boxes that share most of it. Pictures may contain other boxes, tables may not."""
    areas = _areas(rows)
    smaller = np.maximum(np.minimum(areas[:, None], areas[None, :]), 1e-9)
    shares = np.asarray(_shared(rows) / smaller, dtype=np.float32)
    labels = [CLASSES[int(label)] for label in rows[:, 0]]
    lists = {i for i, label in enumerate(labels) if label == "reference"}
    dropped = {i for i in lists if _has_entries(i, labels, shares)}
    for i in range(len(rows)):
        for j in range(i + 1, len(rows)):
            if {i, j} & (dropped | lists):
                continue
            inline = {k for k in (i, j) if labels[k] == "inline_formula"}
            if inline and shares[i, j] > MAX_INLINE:
                dropped |= inline
            elif shares[i, j] > MAX_SHARED and not _may_share(labels[i], labels[j]):
                dropped.add(j if areas[i] >= areas[j] else i)
    return rows[[i for i in range(len(rows)) if i not in dropped]]


def _has_entries(number: int, labels: list[str], shares: FloatArray) -> bool:
    return any(label == "reference_content" and shares[number, j] > MAX_INLINE for j, label in enumerate(labels))


def _may_share(label: str, other: str) -> bool:
    labels = {label, other}
    return len(labels) > 1 and bool(labels & PICTURES) and ("table" not in labels or labels <= PICTURES)


def _of(rows: FloatArray, labels: set[str] | frozenset[str]) -> NDArray[np.bool_]:
    return np.isin(rows[:, 0].astype(np.int64), [CLASSES.index(label) for label in labels])


def _areas(rows: FloatArray) -> FloatArray:
    return np.asarray((rows[:, 4] - rows[:, 2]) * (rows[:, 5] - rows[:, 3]), dtype=np.float32)


def _shared(rows: FloatArray) -> FloatArray:
    """Intersection area of each two boxes, (N, N)."""
    low = np.maximum(rows[:, None, 2:4], rows[None, :, 2:4])
    high = np.minimum(rows[:, None, 4:6], rows[None, :, 4:6])
    return np.asarray(np.clip(high - low, 0, None).prod(axis=2), dtype=np.float32)


class DocLayout:
    """A Layout on one ONNX session. Safe from many threads; blocking."""

    def __init__(self, path: Path, threads: int, min_confidence: float) -> None:
        """Loads the model and runs it on an empty page.

        Args:
            path: of the ONNX file.
            threads: for one page; 0 lets the runtime use every core.
            min_confidence: regions with less are dropped.

        Raises:
            EngineFailed: "layout_model_unusable": there is no such file, or it is not a PP-DocLayoutV2 or V3.
        """
        self._path = path
        self._min_confidence = min_confidence
        self._model = _opened(path, threads)
        self._outputs = tuple(self._model.outputs)[:2]
        self._check_classes()
        self._check_run()

    def find(self, pixels: RgbArray) -> list[Region]:
        """Regions of an upright page, best first, with their ranks. `pixels`: RGB (H, W, 3) uint8. Boxes lie inside."""
        height, width = pixels.shape[:2]
        if not height or not width:
            return []
        rows = self._rows(pixels)
        known = (rows[:, 0] >= 0) & (rows[:, 0] < len(CLASSES)) & np.isfinite(rows[:, :6]).all(axis=1)
        rows = rows[known & (rows[:, 1] > self._min_confidence)]
        rows[:, 2:6] = np.clip(rows[:, 2:6], 0.0, (width, height, width, height))
        rows = remove_duplicates(rows, width, height)
        ranks = _ranks(rows)
        regions = [_region(row, int(ranks[i]), height) for i, row in enumerate(rows)]
        return sorted(regions, key=lambda region: -region.confidence)

    def _rows(self, pixels: RgbArray) -> FloatArray:
        """The boxes of the model's first output: as many as its second output says."""
        height, width = pixels.shape[:2]
        resized = cv2.resize(pixels, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC)
        tensor = resized.astype(np.float32).transpose(2, 0, 1)[None] / np.float32(255.0)
        tensors = {
            "image": np.ascontiguousarray(tensor),
            "im_shape": np.array([[SIDE, SIDE]], dtype=np.float32),
            "scale_factor": np.array([[SIDE / height, SIDE / width]], dtype=np.float32),
        }
        outputs = self._model.run(tensors, self._outputs)
        rows = np.array(outputs[0], dtype=np.float32)
        return rows[: int(outputs[1].reshape(-1)[0])]

    def _check_classes(self) -> None:
        listed = self._model.metadata.get(MODEL_CLASSES, "").split()
        if listed and tuple(listed) != CLASSES:
            raise _unusable(self._path, f"it knows other classes: {len(listed)}, from {listed[0]} to {listed[-1]}")

    def _check_run(self) -> None:
        """Checks the outputs by running the model: their shapes may be variable."""
        try:
            rows = self._rows(np.full((SIDE, SIDE, 3), 255, dtype=np.uint8))
        except Exception as error:  # ONNX Runtime raises any exception, and so does numpy for an output it can't read
            raise _unusable(self._path, "it fails on an empty page") from error
        if rows.ndim != 2 or rows.shape[1] not in COLUMNS:
            detail = f"its first output is {_shape(rows.shape)}; expected N x 7 or N x 8"
            raise _unusable(self._path, detail)
        if len(rows) and rows[:, 0].max() >= len(CLASSES):
            raise _unusable(self._path, f"it gives class {int(rows[:, 0].max())}, and there are {len(CLASSES)}")


def _opened(path: Path, threads: int) -> OnnxGraph:
    if not path.is_file():
        raise _unusable(path, "there is no such file")
    try:
        model = OnnxGraph(path, threads)
    except Exception as error:  # ONNX Runtime raises any exception for a broken file
        raise _unusable(path, "it is not a valid ONNX model") from error
    if set(model.inputs) != set(INPUTS):
        detail = f"its inputs are {', '.join(model.inputs)}; expected {', '.join(INPUTS)}"
        raise _unusable(path, detail)
    for name, expected in INPUTS.items():
        found = model.inputs[name]
        fits = len(found) == len(expected) and all(
            not isinstance(a, int) or a in (b, -1) for a, b in zip(found, expected, strict=True)
        )
        if not fits:
            raise _unusable(path, f"its input {name} is {_shape(found)}; expected {_shape(expected)}")
    if len(model.outputs) < 2:
        raise _unusable(path, f"it has {len(model.outputs)} output; expected boxes and their number")
    return model


def _region(row: FloatArray, rank: int, height: int) -> Region:
    label = CLASSES[int(row[0])]
    left, top, right, bottom = (float(value) for value in row[2:6])
    block_type = BLOCK_TYPES[label]
    if label == "number" and (top + bottom) / 2 < height / 2:
        block_type = BlockType.HEADER
    return Region(block_type, (left, top, right, bottom), min(1.0, float(row[1])), rank, label)


def _ranks(rows: FloatArray) -> NDArray[np.intp]:
    """Returns for each row its position among the rows, from 0."""
    backwards = -rows[:, BACKWARDS] if rows.shape[1] > BACKWARDS else np.zeros(len(rows))
    order = np.lexsort((backwards, rows[:, 6]))
    ranks = np.empty(len(rows), dtype=np.intp)
    ranks[order] = np.arange(len(rows))
    return ranks


def _unusable(path: Path, detail: str) -> EngineFailed:
    return EngineFailed("layout_model_unusable", f"`engine.layout.model`, {path}: {detail}.")


def _shape(shape: Sequence[int | str | None]) -> str:
    return " x ".join("?" if side is None else str(side) for side in shape)
