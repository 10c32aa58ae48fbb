"""Which block of the document's structure each line of a page belongs to, by the tags of the PDF (PDF 1.7, 14.7 and
14.8), from pdfium. In worker processes only; whether the tags are believed is decided elsewhere (layout/order/tagged).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pypdfium2.raw as pdfium

from inkgate.documents.pdf.geometry import Transform
from inkgate.documents.pdf.objects import MAX_OBJECTS, bounds
from inkgate.documents.pdf.pdfium import Handle, PdfiumPage
from inkgate.page import LineStyle, LineTag, TagKind, TextLayer
from inkgate_client.types import Box

MAX_ELEMENTS = 20_000
"""Children of elements looked at per page (about 4 us each): a book without chapters has them all under one element."""
MAX_DEPTH, MAX_MARKS = 100, 8
MAX_PAGES = 300
"""Larger documents are read without tags: pdfium loads the whole tree, 37 MB for 50,000 paragraphs."""
MAX_COMPARED = 2_000_000
"""Maximum pairs of a page's lines and text objects that are compared: 0.4 s."""
MIN_SHARE = 0.25
"""Share of a line's box that the text of a tag covers at least."""
_KINDS = {
    "H": TagKind.TITLE,
    "Title": TagKind.TITLE,
    "P": TagKind.TEXT,
    "LI": TagKind.LIST,
    "TOCI": TagKind.LIST,
    "Caption": TagKind.CAPTION,
    "Note": TagKind.FOOTNOTE,
    "FENote": TagKind.FOOTNOTE,
    "BibEntry": TagKind.REFERENCE,
    "Table": TagKind.TABLE,
} | {f"H{level}": TagKind.TITLE for level in range(1, 7)}
_NESTED = frozenset({TagKind.LIST, TagKind.CAPTION, TagKind.FOOTNOTE})
"""These are blocks wherever they stand; all else inside a block is a part of it."""
_ARTIFACT = LineTag(-1, TagKind.ARTIFACT)
_ARTIFACT_NAME = "Artifact\0".encode("utf-16-le")
_NAME_BYTES = 64
_NAME = ctypes.create_string_buffer(_NAME_BYTES)


@dataclass(slots=True)
class _Blocks:
    """The blocks of a page.

    Attributes:
        tags: of marked content, by its number.
        count: number of blocks.
        twice: numbers that two blocks name.
        left: number of elements that may still be looked at; below 0: there are more.
    """

    tags: dict[int, LineTag] = field(default_factory=dict)
    count: int = 0
    twice: set[int] = field(default_factory=set)
    left: int = MAX_ELEMENTS

    def add(self, element: Handle, within: LineTag | None, depth: int = 0) -> None:
        """Adds what is below an element of the tree. `within`: the block that it is in."""
        kind = _KINDS.get(_name(element))
        if kind is not None and (within is None or (within.kind is not TagKind.TABLE and kind in _NESTED)):
            within = self._begin(kind)
        for number in range(pdfium.FPDF_StructElement_CountChildren(element)):
            self.left -= 1
            if self.left < 0 or depth > MAX_DEPTH:
                return
            content = pdfium.FPDF_StructElement_GetChildMarkedContentID(element, number)
            if content >= 0:
                within = within or self._begin(TagKind.TEXT)
                if self.tags.setdefault(content, within) != within:  # of a form, whose numbers are its own
                    self.twice.add(content)
            elif child := pdfium.FPDF_StructElement_GetChildAtIndex(element, number):
                self.add(child, within, depth + 1)

    def _begin(self, kind: TagKind) -> LineTag:
        self.count += 1
        return LineTag(self.count - 1, kind)


def with_tags(layer: TextLayer, page: PdfiumPage, to_pixels: Transform) -> TextLayer:
    """The layer, whose lines have the tags of the page in their styles if it has some."""
    tree = pdfium.FPDF_StructTree_GetForPage(page.handle)
    if not tree:
        return layer
    try:
        tags = tags_of(tree)
    finally:
        pdfium.FPDF_StructTree_Close(tree)
    return replace(layer, styles=_tagged(layer, page, to_pixels, tags)) if tags and layer.styles else layer


def tags_of(tree: Handle) -> dict[int, LineTag]:
    """The tags of a page's marked content, by its number; none if the tree is too large."""
    found = _Blocks()
    for number in range(max(pdfium.FPDF_StructTree_CountChildren(tree), 0)):
        found.left -= 1
        if found.left < 0:
            return {}
        if child := pdfium.FPDF_StructTree_GetChildAtIndex(tree, number):
            found.add(child, None)
    if found.left < 0:
        return {}
    return {content: tag for content, tag in found.tags.items() if content not in found.twice}


def _name(element: Handle) -> str:
    """The element's standard type."""
    size = pdfium.FPDF_StructElement_GetType(element, _NAME, _NAME_BYTES)
    return _NAME.raw[: size - 2].decode("utf-16-le", "replace") if 2 < size <= _NAME_BYTES else ""


def _tagged(
    layer: TextLayer, page: PdfiumPage, to_pixels: Transform, tags: dict[int, LineTag]
) -> tuple[LineStyle, ...]:
    """The styles with the tags of the text that covers most of each line."""
    texts = list(_texts(page, to_pixels, tags))
    if len(texts) * len(layer.lines) > MAX_COMPARED:
        return tuple(layer.styles)
    boxes = np.array([box for box, _ in texts], np.float64).reshape(-1, 4)
    numbers = {tag: at for at, tag in enumerate(dict.fromkeys(tag for _, tag in texts))}
    owners = np.array([numbers[tag] for _, tag in texts], np.int64)
    known = list(numbers)
    styles = []
    for line, style in zip(layer.lines, layer.styles, strict=True):
        left, top, right, bottom = line.box
        across = np.minimum(boxes[:, 2], right) - np.maximum(boxes[:, 0], left)
        down = np.minimum(boxes[:, 3], bottom) - np.maximum(boxes[:, 1], top)
        shares = np.bincount(owners, np.maximum(across, 0) * np.maximum(down, 0), len(known))
        best = int(shares.argmax()) if known else -1
        enough = best >= 0 and shares[best] > 0 and shares[best] >= MIN_SHARE * (right - left) * (bottom - top)
        styles.append(replace(style, tag=known[best] if enough else None))
    return tuple(styles)


def _texts(page: PdfiumPage, to_pixels: Transform, tags: dict[int, LineTag]) -> Iterator[tuple[Box, LineTag | None]]:
    """The boxes of the page's text objects and their tags. Marked content of forms has numbers of its own."""
    for number in range(min(pdfium.FPDFPage_CountObjects(page.handle), MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page.handle, number)
        if pdfium.FPDFPageObj_GetType(item) == pdfium.FPDF_PAGEOBJ_TEXT:
            content = pdfium.FPDFPageObj_GetMarkedContentID(item)
            tag = tags.get(content)
            yield bounds(item, to_pixels), _ARTIFACT if tag is None and _is_artifact(item) else tag


def _is_artifact(item: Handle) -> bool:
    """Whether a text object is a running head or foot, or a decoration."""
    length, name = ctypes.c_ulong(), (ctypes.c_ushort * (_NAME_BYTES // 2))()
    for number in range(min(pdfium.FPDFPageObj_CountMarks(item), MAX_MARKS)):
        mark = pdfium.FPDFPageObj_GetMark(item, number)
        if pdfium.FPDFPageObjMark_GetName(mark, name, _NAME_BYTES, length) and bytes(name).startswith(_ARTIFACT_NAME):
            return True
    return False
