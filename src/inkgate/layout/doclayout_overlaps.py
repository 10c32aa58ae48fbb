"""Removes duplicate boxes of PP-DocLayout.

The rules are those of PaddleX's PaddleOCR-VL pipeline (`configs/pipelines/PaddleOCR-VL.yaml`, and
`LayoutAnalysisProcess` and `filter_boxes` in `layout_analysis/processors.py`), in the same order: non-maximum
suppression, pictures of the whole page, containment in boxes of some classes, and overlap of any two. Unlike there, a
list of references is kept if its entries were not found one by one.

Rows are as in the model's first output: class, confidence, left, top, right, bottom, order.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.doclayout_classes import CLASSES, PICTURES
from inkgate.runtimes.base import FloatArray

SAME_CLASS, OTHER_CLASS = 0.6, 0.98
"""Intersection over union from which the less confident of two boxes is dropped."""
LANDSCAPE_PAGE, PORTRAIT_PAGE = 0.82, 0.93
"""An image with more than this share of the page is the page."""
CONTAINED = 0.8
"""A box with at least this share inside a box of LARGE is part of it."""
LARGE: Final = frozenset({"chart", "display_formula", "doc_title", "inline_formula", "paragraph_title"})
MOST_SHARED, MOST_INLINE = 0.7, 0.5
"""If two boxes share this part of the smaller one, that one, or a formula within a line of text, is dropped."""
LEAST_SIDE = 6
"""Boxes with a shorter side, in pixels, are dropped."""


def remove_duplicates(rows: FloatArray, width: int, height: int) -> FloatArray:
    """The rows worth keeping, best first; `width` and `height` of the page, in pixels. Boxes lie inside it."""
    rows = rows[np.argsort(-rows[:, 1], kind="stable")]
    rows = rows[(rows[:, 4:6] - rows[:, 2:4]).min(axis=1, initial=np.inf) >= LEAST_SIDE]
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
            if inline and shares[i, j] > MOST_INLINE:
                dropped |= inline
            elif shares[i, j] > MOST_SHARED and not _may_share(labels[i], labels[j]):
                dropped.add(j if areas[i] >= areas[j] else i)
    return rows[[i for i in range(len(rows)) if i not in dropped]]


def _has_entries(number: int, labels: list[str], shares: FloatArray) -> bool:
    return any(label == "reference_content" and shares[number, j] > MOST_INLINE for j, label in enumerate(labels))


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
