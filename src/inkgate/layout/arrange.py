"""The reading order of a page, and its text, blocks and Markdown: pure geometry, combined with a layout model's
regions.

The order is made in four steps, one module each: the page is measured and its skew undone (frame), split where it is to
be read in columns (columns), read across in rows (rows), and rows are joined to paragraphs (paragraphs). Regions give
the paragraphs their types (zones, blocks) and keep tables and figures together; they change the order only if the
layout model ranks them (ranks).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from inkgate.layout.base import Region
from inkgate.layout.blocks import BlockDraft, block_of, draft_of, levels_of
from inkgate.layout.columns import Flow, flows_of
from inkgate.layout.frame import Frame, LayoutPiece, Row, measure, rows_of
from inkgate.layout.markdown import document
from inkgate.layout.order import ranked_groups
from inkgate.layout.paragraphs import Paragraph, paragraphs_of
from inkgate.layout.ruled import RuledTable, ruled_tables
from inkgate.layout.running import is_omitted, mark_running_lines
from inkgate.layout.tables import Grid, continuing_pieces, grid_of, with_stubs
from inkgate.layout.zones import WHOLE, text_in, zones_of
from inkgate.types import Block, BlockType, Box, Line, Size

SOLID = frozenset({BlockType.TITLE, BlockType.CAPTION, BlockType.FORMULA, BlockType.HEADER, BlockType.FOOTER}) | WHOLE
"""Types whose regions are one block each."""
MOST_OF_TABLE = 0.6
"""A ruled table with fewer than this share of the lines of the layout model's table is a part of that."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """A page in reading order.

    Attributes:
        lines: the input lines, each once.
        blocks: in reading order; `Block.lines` index `lines`. Every line is in one block.
        text: the whole page, including running headers and footers; one line per row, an empty line between paragraphs.
        markdown: without page numbers, stamps along the page's side and text inside figures.
        header, footer: the text of the blocks of these types; None if there are none.
    """

    lines: tuple[Line, ...]
    blocks: tuple[Block, ...]
    text: str
    markdown: str
    header: str | None
    footer: str | None


def arrange(
    lines: Sequence[Line], size: Size, regions: Sequence[Region] | None = None, cells: Sequence[Box] = ()
) -> Arrangement:
    """The page in reading order. Pure; the result does not depend on the order of the input lines.

    Args:
        lines: with quads in pixels of the upright page, in any direction.
        size: of that page.
        regions: of a layout model, in pixels of that page; None: geometry decides alone.
        cells: of ruled tables, as from `find_cells`, in pixels of that page: the lines of a cell stay together.
    """
    lines = sorted(lines, key=lambda line: (line.quad, line.text, line.confidence))
    frame = measure(lines)
    zones, members = zones_of(regions or (), lines, size)
    zones, ruled = _ruled(zones, members, ruled_tables(frame, cells))
    zones, grids = _gridded(zones, members, frame, ruled)
    drafts: list[BlockDraft] = []
    flows = [
        _without_stubs(flow, zones, members, grids) for flow in flows_of(_loose(frame, zones, members), frame.unit)
    ]
    for flow in _ranked(flows, zones, members):
        for paragraph in _paragraphs(rows_of(flow), frame.unit, zones, members):
            zone = zones[paragraph.zone] if paragraph.zone >= 0 else None
            drafts.append(draft_of(paragraph, zone, grids.get(paragraph.zone), parse=regions is not None))
    if regions is not None:
        drafts = mark_running_lines(drafts, lines, size, frame.unit)
    return _arranged(drafts, lines, frame.unit)


def _ruled(
    zones: list[Region], members: list[int], tables: Sequence[RuledTable]
) -> tuple[list[Region], dict[int, Grid]]:
    """The zones and one for each ruled table, and the grids of these, by zone. Moves their lines to them in `members`.

    Omits ruled tables that are part of a larger table of the layout model.
    """
    grids: dict[int, Grid] = {}
    for table in tables:
        taken = [piece.index for piece in table.grid.pieces]
        larger = [
            i
            for i in {members[index] for index in taken}
            if i >= 0 and zones[i].type is BlockType.TABLE and len(taken) < MOST_OF_TABLE * members.count(i)
        ]
        if larger:
            continue
        taken_from = {members[index] for index in taken}
        for index in taken:
            members[index] = len(zones)
        grids[len(zones)] = table.grid
        zones = [*zones, Region(BlockType.TABLE, table.box, 1.0, _rank_of(taken_from, zones))]
    return zones, grids


def _rank_of(numbers: Collection[int], zones: Sequence[Region]) -> int | None:
    """The first rank of the zones with these numbers; -1 means no zone."""
    return min((rank for i in numbers if i >= 0 and (rank := zones[i].rank) is not None), default=None)


def _gridded(
    zones: list[Region], members: list[int], frame: Frame, ruled: dict[int, Grid]
) -> tuple[list[Region], dict[int, Grid]]:
    """Grids of the zones that stay together, by zone, including those of ruled tables.

    Tables that turn out not to be tables become text, and text in figures is moved out of them: `members` is changed.
    """
    grids = dict(ruled)
    held: dict[int, list[LayoutPiece]] = {}
    for piece in frame.pieces:
        held.setdefault(members[piece.index], []).append(piece)
    for i, zone in enumerate(zones):
        if zone.type not in WHOLE or i not in held or i in ruled:
            continue
        if zone.type is BlockType.FIGURE:
            for piece in text_in(rows_of(held[i]), zone.box[2] - zone.box[0]):
                members[piece.index] = -1
            held[i] = [piece for piece in held[i] if members[piece.index] == i]
        if not held[i]:
            continue
        grids[i] = grid_of(held[i])
        if zone.type is BlockType.TABLE and not grids[i].is_table:
            del grids[i]
            zones = [*zones[:i], replace(zone, type=BlockType.TEXT), *zones[i + 1 :]]
    return zones, grids


def _loose(frame: Frame, zones: Sequence[Region], members: Sequence[int]) -> list[LayoutPiece]:
    """The pieces to be ordered: each line outside tables and figures, and one for each table and figure."""
    loose = [
        piece for piece in frame.pieces if members[piece.index] < 0 or zones[members[piece.index]].type not in WHOLE
    ]
    for i, zone in enumerate(zones):
        if zone.type in WHOLE and (zone.type is BlockType.FIGURE or i in members):
            loose.append(LayoutPiece(-1, "", *frame.place(zone.box), zone=i))
    return loose


def _without_stubs(
    flow: Flow, zones: Sequence[Region], members: Sequence[int], grids: dict[int, Grid]
) -> list[LayoutPiece]:
    """The flow without the pieces that belong to tables beside them; these are added to the tables' grids."""
    for table in [piece for piece in flow if piece.zone >= 0 and zones[piece.zone].type is BlockType.TABLE]:
        beside = [piece for piece in flow if piece.zone < 0 and members[piece.index] < 0]
        stubs = continuing_pieces(grids[table.zone], beside)
        if stubs:
            grids[table.zone] = with_stubs(grids[table.zone], stubs)
            flow = [piece for piece in flow if piece not in stubs]
    return flow


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


def _arranged(drafts: Sequence[BlockDraft], lines: Sequence[Line], unit: float) -> Arrangement:
    levels = levels_of(drafts, unit)
    ordered: list[Line] = []
    blocks: list[Block] = []
    left_out = [is_omitted(draft) for draft in drafts]
    for i, draft in enumerate(drafts):
        blocks.append(block_of(draft, lines, len(ordered), levels.get(i)))
        ordered += [lines[member] for member in draft.members]
    return Arrangement(
        lines=tuple(ordered),
        blocks=tuple(blocks),
        text="\n\n".join(block.text for block in blocks if block.text),
        markdown=document(
            [
                (block.markdown, block.type is BlockType.TEXT)
                for block, left in zip(blocks, left_out, strict=True)
                if block.markdown and not left
            ]
        ),
        header=_running(blocks, BlockType.HEADER),
        footer=_running(blocks, BlockType.FOOTER),
    )


def _running(blocks: Sequence[Block], kind: BlockType) -> str | None:
    return "\n".join(block.text for block in blocks if block.type is kind and block.text) or None
