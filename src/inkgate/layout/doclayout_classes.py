"""The classes of PP-DocLayoutV2 and V3, and their types here.

The classes and their order are those of both models' configuration (`label_list`); exports of RapidLayout store them in
the model's metadata as `character`.
"""

from __future__ import annotations

from typing import Final

from inkgate.types import BlockType

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
