"""The classes of PP-DocLayoutV2 and V3, and what they are here.

The classes and their order are those of the models' configuration (`label_list`), which both have in common; exports
of RapidLayout carry them in the model's metadata as `character`.
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
"""All 25, in the order of the model's output. `number` is the page's, a header where it stands in the upper half."""
CLASSES: Final = tuple(BLOCK_TYPES)
PICTURES: Final = frozenset({"image", "table", "seal", "chart"})
"""Classes that may hold blocks of others, and lie in them, without being the same thing twice."""
