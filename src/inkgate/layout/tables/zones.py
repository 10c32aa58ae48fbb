"""The tables of a page: by drawn lines, by the layout model's regions, and by words that stand in columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from inkgate.layout.evidence import Region, TableGuess
from inkgate.layout.order.columns import flows_of
from inkgate.layout.order.frame import Frame, LayoutPiece, rows_of
from inkgate.layout.order.turned import upright
from inkgate.layout.regions.figure_text import text_grid
from inkgate.layout.regions.zones import WHOLE, text_in
from inkgate.layout.tables.aligned import aligned_tables
from inkgate.layout.tables.by_model import model_grid
from inkgate.layout.tables.choice import agrees, best_grid
from inkgate.layout.tables.evidence import is_believable
from inkgate.layout.tables.grid import Grid, without_empty_rows
from inkgate.layout.tables.ruled import RuledTable
from inkgate.layout.tables.words import grid_of
from inkgate_client.coordinates import around
from inkgate_client.types import BlockType, Box, Line

MIN_TABLE_SHARE = 0.6
"""A ruled table with fewer than this share of the lines of the layout model's table is a part of that."""
MIN_FIGURE_SHARE = 0.5
"""A figure with this share of its lines in a table is no figure."""


MIN_EXAMINED_SHARE = 0.9
"""The table model looked at a table if this share of its lines is in the part of the page that it was shown."""


FULL_LINE, LONG_LINE = 0.8, 20.0
"""Lines of a paragraph fill this share of the table's width and are as long as this, in their heights: 40 letters."""
MAX_LINES = 8
"""Maximum number of such lines; more are a column."""


@dataclass(slots=True)
class PageZones:
    """The zones of a page while its tables are found.

    Attributes:
        zones: regions without overlaps.
        members: for each line the index of its zone, -1 for none.
        grids: of tables and figures with text, by index of their zones.
    """

    zones: list[Region]
    members: list[int]
    grids: dict[int, Grid] = field(default_factory=dict)

    def add_table(self, box: Box, grid: Grid) -> None:
        """A new zone for a table, which takes its lines from where they were."""
        taken = [piece.index for piece in grid.pieces]
        ranks = [self.zones[i].rank for index in taken if (i := self.members[index]) >= 0]
        rank = min((rank for rank in ranks if rank is not None), default=None)
        for index in taken:
            self.members[index] = len(self.zones)
        self.grids[len(self.zones)] = grid
        self.zones.append(Region(BlockType.TABLE, box, 1.0, rank))

    def make_text(self, number: int) -> None:
        """The zone is not what the layout model took it for."""
        self.grids.pop(number, None)
        self.zones[number] = replace(self.zones[number], type=BlockType.TEXT)

    def pieces_of(self, frame: Frame, number: int) -> list[LayoutPiece]:
        """The lines in a zone, in a frame in which they are upright."""
        return upright([piece for piece in frame.pieces if self.members[piece.index] == number])


def add_ruled(page: PageZones, frame: Frame, tables: Sequence[RuledTable], guesses: Sequence[TableGuess]) -> None:
    """A zone for each ruled table, except those that are a part of a larger table of the layout model.

    `guesses`: of the table model, whose cells are taken where those between the lines contradict the words.
    """
    for table in tables:
        taken = [piece.index for piece in table.grid.pieces]
        if not any(
            i >= 0 and page.zones[i].type is BlockType.TABLE and len(taken) < MIN_TABLE_SHARE * page.members.count(i)
            for i in {page.members[index] for index in taken}
        ):
            page.add_table(table.box, _better(table.grid, _guessed(frame, table.grid.pieces, guesses)))


def _better(ruled: Grid, guessed: Grid | None) -> Grid:
    return guessed if guessed is not None and not agrees(ruled) and _is_sound(guessed) else ruled


def _is_sound(guessed: Grid) -> bool:
    return guessed.is_table and agrees(guessed)


def _guessed(frame: Frame, pieces: Sequence[LayoutPiece], guesses: Sequence[TableGuess]) -> Grid | None:
    """The pieces in the cells of the table model, if it looked at them."""
    for guess in guesses:
        left, top, right, bottom = frame.place(guess.box)
        inside = sum(
            left <= (piece.left + piece.right) / 2 <= right and top <= piece.middle <= bottom for piece in pieces
        )
        if guess.cells and inside >= MIN_EXAMINED_SHARE * len(pieces):
            return without_empty_rows(model_grid(frame, guess, pieces))
    return None


def judge_regions(page: PageZones, frame: Frame, guesses: Sequence[TableGuess]) -> None:
    """Grids for the layout model's tables and figures: the table model's if it agrees with the words, else by words.

    Tables that are none become text; text leaves figures.
    """
    for i, zone in enumerate(page.zones):
        if zone.type not in WHOLE or i in page.grids:
            continue
        held = page.pieces_of(frame, i)
        if zone.type is BlockType.FIGURE:
            for piece in text_in(rows_of(held), zone.box[2] - zone.box[0]):
                page.members[piece.index] = -1
            held = page.pieces_of(frame, i)
        if not held:
            continue
        if zone.type is BlockType.FIGURE:
            page.grids[i] = text_grid(held, frame.unit)
            continue
        if frame.turn == 0:
            held = _without_paragraph(page, i, held)
        guessed = _guessed(frame, held, guesses)
        grids = [*([guessed] if guessed is not None and _is_sound(guessed) else []), grid_of(held)]
        grid = best_grid([grid for grid in grids if is_believable(grid, frame.unit)])
        if grid is not None:
            page.grids[i] = grid
        else:
            page.make_text(i)


def _without_paragraph(page: PageZones, number: int, held: list[LayoutPiece]) -> list[LayoutPiece]:
    """The pieces of a table without the paragraph above it, which leaves its zone."""
    above = _paragraph_above(held)
    if not above:
        return held
    for piece in above:
        page.members[piece.index] = -1
    left, top, right, bottom = page.zones[number].box
    top += max(piece.bottom for piece in above) - min(piece.top for piece in held)
    page.zones[number] = replace(page.zones[number], box=(left, top, right, bottom))
    return [piece for piece in held if piece not in above]


def _paragraph_above(held: Sequence[LayoutPiece]) -> list[LayoutPiece]:
    """The paragraph that the layout model took into a table: first rows of one long line each, the last may be short.

    A single row is not taken: it may be a title over all columns.
    """
    wide = max(piece.right for piece in held) - min(piece.left for piece in held)
    found: list[LayoutPiece] = []
    for row in rows_of(held):
        if len(row) > 1 or (found and abs(row[0].left - found[0].left) > row[0].height):
            break
        found += row
        if row[0].width < max(FULL_LINE * wide, LONG_LINE * row[0].height):
            break
    return found if MAX_LINES > len(found) > 1 and len(found) < len(held) / 2 else []


def add_aligned(page: PageZones, frame: Frame, lines: Sequence[Line]) -> None:
    """Zones for the tables that the layout model missed, or took for figures, headings or text."""
    tables = [i for i, zone in enumerate(page.zones) if zone.type is BlockType.TABLE and i in page.grids]
    pictured = [i for i, zone in enumerate(page.zones) if zone.type is BlockType.FIGURE]
    in_figures = {piece.index for piece in frame.pieces if page.members[piece.index] in pictured}
    pieces = [piece for piece in frame.pieces if page.members[piece.index] not in tables]
    pieces += [LayoutPiece(-1, "", *frame.place(page.zones[i].box), zone=i) for i in tables]
    for flow in flows_of(pieces, frame.unit):
        for table in aligned_tables(flow, frame.unit, in_figures):
            touched = {page.members[index] for index in table.indexes} & set(pictured)
            if _has_most(page, table.indexes, touched):
                page.add_table(_around([lines[index] for index in table.indexes]), table.grid)
                for i in touched:
                    _dissolve(page, i)


def _has_most(page: PageZones, taken: Collection[int], figures: Collection[int]) -> bool:
    """Whether a table has most of the lines in each of the figures."""
    counts = {i: sum(page.members[index] == i for index in taken) for i in figures}
    return all(count >= MIN_FIGURE_SHARE * page.members.count(i) for i, count in counts.items())


def _dissolve(page: PageZones, number: int) -> None:
    """The rest of a figure's lines are in no zone."""
    page.make_text(number)
    for index, member in enumerate(page.members):
        if member == number:
            page.members[index] = -1


def _around(lines: Sequence[Line]) -> Box:
    return around(line.box for line in lines)
