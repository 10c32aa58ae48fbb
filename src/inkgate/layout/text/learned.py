"""Drafts of blocks from what the layout network made of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby, pairwise

from inkgate.layout.order.columns import flows_of
from inkgate.layout.order.decode import LearnedBlock
from inkgate.layout.order.frame import LayoutPiece, Row, rows_of
from inkgate.layout.order.network import CLASSES, Prediction
from inkgate.layout.order.tokens import PageTokens
from inkgate.layout.pieces import PagePieces
from inkgate.layout.tables.grid import Grid
from inkgate.layout.text.blocks import BlockDraft, draft_of
from inkgate.layout.text.markdown import RUNNING
from inkgate.layout.text.paragraphs import Paragraph, edges_of_column, with_lists
from inkgate.layout.text.titles import may_be_title
from inkgate_client.types import BlockType

SAME_ROW = 0.5
"""A piece stands in the row of the one before it if they share this part of the lower one's height."""
TYPES = {
    "title": BlockType.TITLE,
    "caption": BlockType.CAPTION,
    "reference": BlockType.REFERENCE,
    "formula": BlockType.FORMULA,
}
"""Types of blocks by the network's; all others are text. Lists are text whose paragraphs begin with marks."""


_OTHERS = tuple(name for name in CLASSES if name not in {"title", "table", "figure"})
NAMES = {
    BlockType.TITLE: ("title",),
    BlockType.TABLE: ("table",),
    BlockType.FIGURE: ("figure",),
}
"""The network's types for those of blocks; for all others, _OTHERS: which of these it is changes little."""
_RUNNING = frozenset({"header", "footer", "page_number"})
"""Types of running heads and feet, which are called so only if the layout model does, too: a document without them is
better than one without its first line. Page numbers are found by their text."""


def learned_drafts(page: PagePieces, blocks: Sequence[LearnedBlock]) -> list[BlockDraft]:
    """Drafts of the blocks, in their order, and of the page's turned text behind them."""
    grids = page.grids_as_read()
    unit = page.frame.unit
    rows = [rows_in_order(block.pieces) for block in blocks]
    columns = _columns(rows, unit)
    drafts: list[BlockDraft] = []
    for kind, group in groupby(range(len(blocks)), key=lambda number: _type_of(blocks[number], page)):
        numbers = list(group)
        paragraphs = [Paragraph(rows[n], blocks[n].pieces[0].zone, column=columns[n]) for n in numbers]
        if kind is BlockType.TEXT:
            drafts += [draft_of(paragraph, None, None) for paragraph in with_lists(paragraphs, frozenset())]
        else:
            drafts += [_draft(kind, paragraph, page, grids) for paragraph in paragraphs]
    for part in page.turned():
        for flow in flows_of(part, unit):
            drafts += [BlockDraft(BlockType.TEXT, Paragraph(rows_of(flow)))]
    return drafts


def rated(drafts: Sequence[BlockDraft], tokens: PageTokens, seen: Prediction) -> list[BlockDraft]:
    """The drafts with the network's probabilities that their types, and their places in the order, are right.

    `order_right` is the lowest probability that a piece of the block is to be read after the one before it, the last
    one of the block before among them.
    """
    numbers = {(piece.index, piece.zone): at for at, piece in enumerate(tokens.pieces)}
    found: list[BlockDraft] = []
    last: int | None = None
    for draft in drafts:
        own = [numbers[key] for piece in draft.paragraph.pieces if (key := (piece.index, piece.zone)) in numbers]
        if not own:
            found.append(draft)
            continue
        steps = [float(seen.before[first, second]) for first, second in pairwise(own)]
        if draft.type not in RUNNING:
            steps += [] if last is None else [float(seen.before[last, own[0]])]
            last = own[-1]
        classes = [CLASSES.index(name) for name in NAMES.get(draft.type, _OTHERS)]
        share = float(seen.classes[own][:, classes].sum(axis=1).mean())
        found.append(replace(draft, type_right=share, order_right=min(steps, default=1.0)))
    return found


def _draft(kind: BlockType, paragraph: Paragraph, page: PagePieces, grids: Mapping[int, Grid]) -> BlockDraft:
    if paragraph.zone >= 0:
        return BlockDraft(kind, paragraph, page.zones[paragraph.zone], grids.get(paragraph.zone))
    draft = BlockDraft(kind, paragraph)
    return replace(draft, type=BlockType.TEXT) if kind is BlockType.TITLE and not may_be_title(draft) else draft


def _type_of(block: LearnedBlock, page: PagePieces) -> BlockType:
    """The block's type; that of its region for tables and figures."""
    if block.pieces[0].zone >= 0:
        return page.zones[block.pieces[0].zone].type
    if block.type in _RUNNING:
        found = [page.zones[n].type for piece in block.pieces if (n := page.zone_of(piece)) >= 0]
        return next((kind for kind in found if kind in RUNNING), BlockType.TEXT)
    return TYPES.get(block.type, BlockType.TEXT)


def rows_in_order(pieces: Sequence[LayoutPiece]) -> list[Row]:
    """The pieces, in their order, as rows: a row ends where the next piece stands lower or further left."""
    rows: list[Row] = []
    for piece in pieces:
        if rows and _beside(rows[-1][-1], piece):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return rows


def _beside(piece: LayoutPiece, other: LayoutPiece) -> bool:
    shared = min(piece.bottom, other.bottom) - max(piece.top, other.top)
    return shared > SAME_ROW * min(piece.height, other.height) and other.left > piece.left


def _columns(rows: Sequence[list[Row]], unit: float) -> list[tuple[float, float] | None]:
    """For each block the edges of its column: of the blocks that are read around it, one below the other."""
    flows: list[int] = []
    for number, own in enumerate(rows):
        new = number == 0 or own[0][0].top < rows[number - 1][-1][0].top
        flows.append((flows[-1] + new) if flows else 0)
    found: list[tuple[float, float] | None] = []
    for _, group in groupby(range(len(rows)), key=lambda number: flows[number]):
        numbers = list(group)
        edges = edges_of_column([row for number in numbers for row in rows[number]], unit)
        found += [edges] * len(numbers)
    return found
