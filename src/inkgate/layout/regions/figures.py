"""Figures and their captions: which caption belongs to which figure, and their place in the reading order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.regions.figure_text import is_label_text
from inkgate.layout.text.blocks import BlockDraft
from inkgate.layout.text.markdown import plain
from inkgate_client.types import BlockType

NEAR = 3.0
"""A caption is at most this far above or below its figure, in line heights: more is a paragraph's distance away."""
BESIDE = 0.3
"""Minimum overlap of a caption and its figure, as a share of the narrower one's width."""
_OF_TABLE = re.compile(
    r"^\s*(?:table|tab\.|tabelle|tableau|tabla|tabella|tabel|exhibit|表)\W?\s*[\divxlc]", re.IGNORECASE
)
OF_FIGURE = re.compile(
    r"^\s*(?:(?i:fig(?:ure|uur|\.|ur[ae]?)?|abb(?:\.|ildung)|ill(?:\.|ustration)|plate|photo|image|map|scheme|chart|graph|diagram"
    r"|foto|imagen|рис(?:\.|унок)|rys\.|obr\.)|图|圖|図)\s*"
    r"(?:[A-Z]{1,2}[.-]?)?\d+(?:[.–-]\d+)*[a-z]?\s*(?:[.:：|–—-]|$|(?<=\s)(?![a-z]))",
    re.MULTILINE,
)
"""`Fig. 3: Sales`, `Figure S1`, `Abb. 2.1 Umsatz`; not the sentence `Figure 3 shows`."""
_CAPTIONS = frozenset({BlockType.CAPTION, BlockType.TEXT})


def with_captions(drafts: Sequence[BlockDraft], unit: float) -> list[BlockDraft]:
    """The drafts with each figure's caption right after it; the figure's `caption` is the caption's text.

    Captions are blocks of that type, and paragraphs that begin like one ("Figure 3:"). Captions of tables stay.
    """
    owners: dict[int, int] = {}
    captions: dict[int, int] = {}
    figures = [f for f, draft in enumerate(drafts) if draft.type is BlockType.FIGURE]
    distances = sorted(
        (distance, f, c)
        for c, caption in enumerate(drafts if figures else ())
        for f in _owners_of(c, caption, figures)
        if (distance := _distance(drafts[f], caption))[1] <= NEAR * unit
    )
    for _, f, c in distances:
        if c not in owners and f not in captions:
            owners[c], captions[f] = f, c
    ordered: list[BlockDraft] = []
    drafts = [_with_labels(draft, has_caption=i in captions) for i, draft in enumerate(drafts)]
    for i, draft in enumerate(drafts):
        if i in captions:
            caption = replace(drafts[captions[i]], type=BlockType.CAPTION, shown=False)
            ordered += [replace(draft, caption=caption.paragraph), caption]
        elif i not in owners:
            ordered.append(draft)
    return ordered


def _owners_of(number: int, caption: BlockDraft, figures: Sequence[int]) -> Sequence[int]:
    """The figures that the draft of this number may be the caption of, wherever they are."""
    if _is_caption(caption, follows=False):
        return figures
    return [number - 1] if number - 1 in figures and _is_caption(caption, follows=True) else []


def _with_labels(draft: BlockDraft, *, has_caption: bool) -> BlockDraft:
    """The draft; a figure whose text is labels does not show it."""
    if draft.type is not BlockType.FIGURE or draft.grid is None:
        return draft
    return replace(draft, shown=not is_label_text(draft.grid.pieces, draft.region, has_caption=has_caption))


def _is_caption(draft: BlockDraft, *, follows: bool) -> bool:
    """Whether the draft may be a figure's caption. The layout model alone is believed where the draft `follows` the
    figure: it takes headings and labels for captions, too.
    """
    if draft.type not in _CAPTIONS or not draft.members:
        return False
    text = plain(draft.paragraph)
    return bool(OF_FIGURE.match(text)) or (follows and draft.type is BlockType.CAPTION and not _OF_TABLE.match(text))


def _distance(figure: BlockDraft, caption: BlockDraft) -> tuple[bool, float]:
    """Whether the caption stands beside the figure, and the distance between them; infinite if they are apart both
    ways. Only captions with a number stand beside: other text there is the next column.
    """
    a, b = (_bounds(draft.paragraph.pieces) for draft in (figure, caption))
    across = min(a[2], b[2]) - max(a[0], b[0])
    down = min(a[3], b[3]) - max(a[1], b[1])
    if across >= BESIDE * max(min(a[2] - a[0], b[2] - b[0]), 1e-9):
        return False, max(0.0, -down)
    beside = down >= (b[3] - b[1]) / 2 and OF_FIGURE.match(plain(caption.paragraph))
    return True, max(0.0, -across) if beside else float("inf")


def _bounds(pieces: Sequence[LayoutPiece]) -> tuple[float, float, float, float]:
    return (
        min(piece.left for piece in pieces),
        min(piece.top for piece in pieces),
        max(piece.right for piece in pieces),
        max(piece.bottom for piece in pieces),
    )
