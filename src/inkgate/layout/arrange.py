"""The reading order of a page, and its text, blocks and Markdown, from its lines and what its pixels show.

The page is measured and its skew undone, and its tables and figures are found (pieces). The layout network puts what is
left in order, joins it to paragraphs and tells their types (order/network, order/decode, text/learned). Of pages that
it does not know, rules do: they split the page where it is read in columns (order/columns), read across in rows, join
rows to paragraphs (text/paragraphs), and take types from regions, and the order if these are ranked (order/ranks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from inkgate.layout.evidence import NO_EVIDENCE, PageEvidence, Region
from inkgate.layout.order.columns import MAX_DEPTH, Flow, flows_of
from inkgate.layout.order.decode import learned_blocks
from inkgate.layout.order.frame import Frame, LayoutPiece, Row, mirrored, rows_of
from inkgate.layout.order.network import Prediction, predict
from inkgate.layout.order.ranks import ranked_groups
from inkgate.layout.order.receipts import as_printed
from inkgate.layout.order.tagged import is_tagged, with_tags
from inkgate.layout.order.tokens import PageTokens
from inkgate.layout.pieces import PagePieces, pieces_of
from inkgate.layout.regions.check_marks import check_blocks
from inkgate.layout.regions.figures import with_captions
from inkgate.layout.regions.zones import WHOLE
from inkgate.layout.tables.grid import Grid
from inkgate.layout.tables.words import continuing_pieces, with_stubs
from inkgate.layout.text.blocks import BlockDraft, block_of, draft_of, levels_of
from inkgate.layout.text.hyphenation import Vocabulary
from inkgate.layout.text.learned import learned_drafts, rated
from inkgate.layout.text.markdown import page_markdown, running_text
from inkgate.layout.text.paragraphs import Paragraph, paragraphs_of
from inkgate.layout.text.running import mark_running_lines, omission, watermarks
from inkgate.layout.text.titles import with_titles, without_false_titles
from inkgate_client.escape import of_text
from inkgate_client.types import Block, BlockType, Box, LeftOut, Line, PageResult, ReviewReason, Size

SOLID = frozenset({BlockType.TITLE, BlockType.CAPTION, BlockType.FORMULA, BlockType.HEADER, BlockType.FOOTER}) | WHOLE
"""Types whose regions are one block each."""


MIN_PIECES = 12
"""Pages without tags and with fewer pieces are arranged by rules: of 30 such pages of word processors that nothing was
trained on, rules have 0.5 % of the successors wrong, and the network 1.5 %."""
MAX_PIECES = 500
"""Pages with more pieces are arranged by rules: the network's time grows with the square of their number."""
MARKED = 0.6
"""A region that overlaps a watermark's box by this much (intersection over union) is the watermark."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A page in reading order.

    Attributes:
        lines: the input lines, each once.
        blocks: in reading order, then check boxes; `Block.lines` index `lines`. Every line is in one block.
        text: the whole page, including running headers and footers; one line per row, an empty line between paragraphs.
        markdown: without page numbers, stamps along the page's side and text inside figures.
        header, footer: the text of the blocks of these types; None if there are none.
        left_out: lines that `markdown` does not contain. Every other line with text is in it once.
        review: why a person should look at the page.
    """

    lines: tuple[Line, ...]
    blocks: tuple[Block, ...]
    text: str
    markdown: str
    header: str | None
    footer: str | None
    left_out: tuple[LeftOut, ...] = ()
    review: tuple[ReviewReason, ...] = ()

    def put_into(self, page: PageResult, *, parse: bool) -> PageResult:
        """The page with this content; without blocks and Markdown unless `parse`."""
        page = replace(page, lines=self.lines, text=self.text)
        if not parse:
            return page
        return replace(
            page,
            blocks=self.blocks,
            markdown=self.markdown,
            header=self.header,
            footer=self.footer,
            left_out=self.left_out,
            review=self.review,
        )


def arrange(lines: Sequence[Line], size: Size, evidence: PageEvidence = NO_EVIDENCE) -> Arrangement:
    """The page in reading order. Pure; the result does not depend on the order of the input lines.

    Args:
        lines: with quads in pixels of the upright page, in any direction.
        size: of that page.
        evidence: in pixels of that page. Without regions of a layout model, geometry decides alone.
    """
    own = lines
    lines = evidence.placed(lines)
    across = watermarks(lines)
    if across:
        return _with_watermarks(own, across, size, evidence)
    checks = check_blocks(lines, evidence.check_boxes)
    page = _with_table_columns(pieces_of(lines, size, evidence, own))
    tokens = page.tokens() if evidence.regions is not None and _is_learnable(page) else None
    seen = _seen(page, tokens) if tokens is not None and tokens.pieces else None
    if tokens is not None and seen is not None:
        drafts = rated(with_captions(_learned(page, tokens, seen), page.frame.unit), tokens, seen)
    else:
        drafts = with_captions(_by_rules(page, evidence), page.frame.unit)
    shown = [replace(line, quad=quad) for line, quad in zip(page.lines, page.quads, strict=True)]
    arranged = _arranged(drafts, shown, page.frame)
    return replace(arranged, blocks=(*arranged.blocks, *checks))


def _with_table_columns(page: PagePieces) -> PagePieces:
    """The page, with the pieces beside drawn tables that continue their rows in these."""
    if page.mirror or not any(_is_drawn(page.grids, piece.zone) for piece in page.loose):
        return page
    flows = flows_of(page.loose, page.frame.unit, max_depth=0 if page.receipt else MAX_DEPTH)
    kept = [piece for flow in flows for piece in _without_stubs(flow, page.members, page.grids)]
    names = {(piece.index, piece.zone) for piece in kept}
    return replace(page, loose=[piece for piece in page.loose if (piece.index, piece.zone) in names])


def _is_learnable(page: PagePieces) -> bool:
    """Whether the network knows pages of this kind, and the page is not too large for it. Layout models that rank their
    regions know the order better.
    """
    ranked = any(zone.rank is not None for zone in page.zones)
    return not (page.receipt or page.frame.vertical or ranked) and len(page.loose) <= MAX_PIECES


def _seen(page: PagePieces, tokens: PageTokens) -> Prediction | None:
    """What the network and the PDF's tags tell of the pieces; None for small pages without tags."""
    tagged = is_tagged(page.frame.pieces, page.loose)
    if not tagged and len(page.loose) < MIN_PIECES:
        return None
    seen = predict(tokens)
    return with_tags(tokens, seen) if tagged else seen


def _learned(page: PagePieces, tokens: PageTokens, seen: Prediction) -> list[BlockDraft]:
    """Drafts by the network."""
    drafts = learned_drafts(page, learned_blocks(tokens, seen))
    return mark_running_lines(drafts, page.lines, page.size, page.frame.unit)


def _by_rules(page: PagePieces, evidence: PageEvidence) -> list[BlockDraft]:
    """Drafts by geometry, and the layout model's ranks if it has them."""
    frame, zones, members, grids = page.frame, page.zones, page.members, page.grids_as_read()
    drafts: list[BlockDraft] = []
    loose = page.loose
    flows = flows_of(mirrored(loose) if page.mirror else loose, frame.unit, max_depth=0 if page.receipt else MAX_DEPTH)
    for flow in _ranked(_titles_first(flows, frame) if frame.vertical else flows, zones, members):
        for paragraph in _paragraphs(rows_of(flow), frame.unit, zones, members):
            zone = zones[paragraph.zone] if paragraph.zone >= 0 else None
            read = as_printed(paragraph) if page.receipt else paragraph
            drafts.append(draft_of(read, zone, grids.get(paragraph.zone)))
    if evidence.regions is not None and not page.receipt:
        return with_titles(mark_running_lines(drafts, page.lines, page.size, frame.unit))
    return without_false_titles(drafts) if page.receipt else drafts


def _with_watermarks(lines: Sequence[Line], across: Sequence[int], size: Size, evidence: PageEvidence) -> Arrangement:
    """The page as it reads without its watermarks, which follow as blocks of text."""
    styles = evidence.styles or [None] * len(lines)
    quads = evidence.quads or [line.quad for line in lines]
    rest = [i for i in range(len(lines)) if i not in set(across)]
    marks = sorted((lines[i] for i in across), key=lambda line: (line.box[1], line.box[0], line.text))
    regions = evidence.regions
    if regions is not None:
        regions = [region for region in regions if not any(_is_around(region.box, mark.box) for mark in marks)]
    others = replace(evidence, regions=regions, styles=[styles[i] for i in rest], quads=[quads[i] for i in rest])
    page = arrange([lines[i] for i in rest], size, others)
    blocks = tuple(
        Block(
            BlockType.TEXT, mark.box, (len(page.lines) + n,), mark.text, of_text(mark.text), confidence=mark.confidence
        )
        for n, mark in enumerate(marks)
    )
    end = next((n for n, block in enumerate(page.blocks) if block.checkbox is not None), len(page.blocks))
    every = (*page.blocks[:end], *blocks, *page.blocks[end:])
    return replace(
        page,
        lines=(*page.lines, *marks),
        blocks=every,
        text="\n\n".join(block.text for block in every if block.text),
        markdown=page_markdown(every, page.left_out),
    )


def _is_around(box: Box, mark: Box) -> bool:
    width = min(box[2], mark[2]) - max(box[0], mark[0])
    height = min(box[3], mark[3]) - max(box[1], mark[1])
    both = max(width, 0.0) * max(height, 0.0)
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in (box, mark)]
    return both >= MARKED * (sum(areas) - both)


def _is_drawn(grids: Mapping[int, Grid], zone: int) -> bool:
    """Whether a zone is a table with drawn lines."""
    return zone in grids and grids[zone].ruled


def _without_stubs(flow: Flow, members: Sequence[int], grids: dict[int, Grid]) -> list[LayoutPiece]:
    """The flow without the pieces that belong to drawn tables beside them; these are added to the tables' grids."""
    for table in [piece for piece in flow if _is_drawn(grids, piece.zone)]:
        beside = [piece for piece in flow if piece.zone < 0 and members[piece.index] < 0]
        stubs = continuing_pieces(grids[table.zone], beside)
        if stubs:
            grids[table.zone] = with_stubs(grids[table.zone], stubs)
            flow = [piece for piece in flow if piece not in stubs]
    return flow


def _titles_first(flows: Sequence[Flow], frame: Frame) -> list[Flow]:
    """The flows of a page with vertical columns: those of level text above all columns, such as titles, come first."""
    top = min((piece.left for piece in frame.pieces if not piece.turned), default=0.0)

    def is_below(flow: Flow) -> bool:
        placed = [frame.pieces[piece.index] for piece in flow if piece.index >= 0]
        return not placed or not all(piece.turned and piece.right <= top + frame.unit / 2 for piece in placed)

    return sorted(flows, key=is_below)


def _ranked(flows: list[Flow], zones: Sequence[Region], members: Sequence[int]) -> list[Flow]:
    """The flows unchanged, or one per zone in the zones' order if the layout model ranks them."""
    if all(zone.rank is None for zone in zones):
        return flows

    def rank_of(piece: LayoutPiece) -> int | None:
        zone = piece.zone if piece.zone >= 0 else members[piece.index]
        return zones[zone].rank if zone >= 0 else None

    read = [[piece for row in rows_of(flow) for piece in row] for flow in flows]
    return ranked_groups(read, rank_of)


def _paragraphs(rows: list[Row], unit: float, zones: Sequence[Region], members: Sequence[int]) -> list[Paragraph]:
    solid = frozenset(i for i, zone in enumerate(zones) if zone.type in SOLID)
    return paragraphs_of(rows, unit, [_zone(row, members) for row in rows], solid)


def _zone(row: Row, members: Sequence[int]) -> int:
    """The zone that holds most of the row."""
    shares: dict[int, float] = {}
    for piece in row:
        zone = piece.zone if piece.zone >= 0 else members[piece.index]
        shares[zone] = shares.get(zone, 0.0) + piece.width
    return max(shares, key=lambda zone: (shares[zone], zone))


def _arranged(drafts: Sequence[BlockDraft], lines: Sequence[Line], frame: Frame) -> Arrangement:
    levels = levels_of(drafts, lines, vertical=frame.vertical)
    ordered: list[Line] = []
    blocks: list[Block] = []
    known = Vocabulary.of(line.text for line in lines)
    left_out: list[LeftOut] = []
    for i, draft in enumerate(drafts):
        blocks.append(block_of(draft, lines, len(ordered), levels.get(i), known))
        ordered += [lines[member] for member in draft.members]
        reason = omission(draft, vertical=frame.vertical)
        if reason is not None and blocks[-1].text:
            left_out.append(LeftOut(blocks[-1].text, reason, blocks[-1].lines))
    return Arrangement(
        lines=tuple(ordered),
        blocks=tuple(blocks),
        text="\n\n".join(block.text for block in blocks if block.text),
        markdown=page_markdown(blocks, left_out),
        header=running_text(blocks, BlockType.HEADER),
        footer=running_text(blocks, BlockType.FOOTER),
        left_out=tuple(left_out),
    )
