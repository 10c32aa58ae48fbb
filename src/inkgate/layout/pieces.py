"""The pieces of a page that are to be put in order: its lines outside tables and figures, and these as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inkgate.layout.evidence import PageEvidence, Region
from inkgate.layout.order.drop_caps import with_drop_caps
from inkgate.layout.order.frame import Frame, LayoutPiece, measure, mirrored, rows_of
from inkgate.layout.order.receipts import is_receipt, receipt_regions
from inkgate.layout.order.tokens import PageTokens
from inkgate.layout.order.turned import turned_parts
from inkgate.layout.regions.check_marks import with_marks
from inkgate.layout.regions.zones import WHOLE, zones_of
from inkgate.layout.tables.choice import tables_of
from inkgate.layout.tables.grid import Grid, from_right
from inkgate.layout.tables.places import is_tabular
from inkgate.layout.tables.zones import PageZones
from inkgate.page import LineStyle
from inkgate_client.text_direction import runs_from_right
from inkgate_client.types import BlockType, Box, Line, Quad, Size


@dataclass(frozen=True, slots=True)
class PagePieces:
    """A page before it is put in order.

    Attributes:
        lines: in an order that only depends on the lines and their styles.
        quads: those that the lines are published with.
        zones, members: the layout's regions without overlaps, and for each line the number of its zone or -1.
        grids: of tables and figures with text, by number of their zones.
        loose: the pieces to be ordered.
        rules: lines drawn on the page, in its pixels.
        receipt: the page is one.
        mirror: its text runs from right to left.
    """

    lines: list[Line]
    quads: list[Quad]
    size: Size
    frame: Frame
    zones: list[Region]
    members: list[int]
    grids: dict[int, Grid]
    loose: list[LayoutPiece]
    rules: Sequence[Box]
    receipt: bool
    mirror: bool

    def zone_of(self, piece: LayoutPiece) -> int:
        """The number of the piece's zone; -1 for none."""
        return piece.zone if piece.zone >= 0 else self.members[piece.index]

    def grids_as_read(self) -> dict[int, Grid]:
        """The grids; those whose text runs from right to left have their first column at the right."""
        return {number: from_right(grid) if _is_from_right(grid) else grid for number, grid in self.grids.items()}

    def turned(self) -> list[list[LayoutPiece]]:
        """The parts of the page with turned text, each in its own frame."""
        return turned_parts([piece for piece in self.loose if piece.turn], self.frame.unit)

    def tokens(self) -> PageTokens:
        """The upright pieces as the network sees them; as in a mirror if the text runs from right to left."""
        apart = {piece.index for part in self.turned() for piece in part}
        pieces = [piece for piece in self.loose if piece.zone >= 0 or piece.index not in apart]
        if self.mirror:
            pieces = mirrored(pieces)
        pieces.sort(key=lambda piece: (piece.top, piece.left, piece.bottom, piece.right, piece.text, piece.zone))
        boxes = [self._placed(zone.box) for zone in self.zones]
        numbers = [self.zone_of(piece) for piece in pieces]
        return PageTokens(
            pieces,
            [self.zones[number] if number >= 0 else None for number in numbers],
            [boxes[number] if number >= 0 else (0.0, 0.0, 0.0, 0.0) for number in numbers],
            self._placed((0.0, 0.0, float(self.size.width), float(self.size.height))),
            self.frame.unit,
            [self._placed(rule) for rule in self.rules],
        )

    def _placed(self, box: Box) -> Box:
        left, top, right, bottom = self.frame.place(box)
        return (-right, top, -left, bottom) if self.mirror else (left, top, right, bottom)


def pieces_of(
    lines: Sequence[Line], size: Size, evidence: PageEvidence, own: Sequence[Line], *, with_tables: bool = True
) -> PagePieces:
    """The pieces of a page without watermarks. `lines`: as the pixels show them; `own`: the same as published. Without
    `with_tables` no table is looked for, and their lines are pieces.
    """
    ordered, styles, quads = _sorted(with_marks(lines, evidence.check_boxes), evidence.styles, own)
    regions = evidence.regions
    frame = measure(ordered, styles)
    receipt = is_receipt(frame) and not is_tabular(rows_of(frame.pieces))
    zones, members = zones_of(receipt_regions(regions or ()) if receipt else regions or (), ordered, size)
    page = PageZones(zones, members)
    by_words = regions is not None and not receipt
    tables = tables_of(frame, evidence, by_words=by_words) if with_tables else ()
    page.add_tables(tables, ordered)
    page.read_figures(frame)
    loose = with_drop_caps(_loose(frame, page.zones, page.members), frame.unit)
    mirror = not frame.vertical and runs_from_right("".join(line.text for line in ordered))
    found = (frame, page.zones, page.members, page.grids, loose, evidence.rules)
    return PagePieces(ordered, quads, size, *found, receipt, mirror)


def _is_from_right(grid: Grid) -> bool:
    return runs_from_right("".join(piece.text for piece in grid.pieces))


def _loose(frame: Frame, zones: Sequence[Region], members: Sequence[int]) -> list[LayoutPiece]:
    """The pieces to be ordered: each line outside tables and figures, and one for each table and figure."""
    loose = [
        piece for piece in frame.pieces if members[piece.index] < 0 or zones[members[piece.index]].type not in WHOLE
    ]
    for i, zone in enumerate(zones):
        if zone.type in WHOLE and (zone.type is BlockType.FIGURE or i in members):
            loose.append(LayoutPiece(-1, "", *frame.place(zone.box), zone=i))
    return loose


def _sorted(
    lines: Sequence[Line], styles: Sequence[LineStyle | None], own: Sequence[Line]
) -> tuple[list[Line], list[LineStyle | None], list[Quad]]:
    """The lines, their styles and the quads that they have in `own`, in an order that only depends on these."""
    styled = list(zip(lines, styles or [None] * len(lines), strict=True))
    order = sorted(range(len(styled)), key=lambda i: (_sort_key(styled[i]), own[i].quad))
    return [lines[i] for i in order], [styled[i][1] for i in order], [own[i].quad for i in order]


def _sort_key(styled: tuple[Line, LineStyle | None]) -> tuple[object, ...]:
    line, style = styled
    tag = (style.tag.block, style.tag.kind.value) if style and style.tag else (-1, "")
    return (line.quad, line.text, line.confidence, (style.size, style.bold, *tag) if style else (0.0, False, *tag))
