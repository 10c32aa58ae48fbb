"""The zones of a page after its tables are known: which lines belong to tables, figures and other regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from inkgate.layout.evidence import Region
from inkgate.layout.order.frame import Frame, rows_of
from inkgate.layout.order.turned import upright
from inkgate.layout.regions.figure_text import text_grid
from inkgate.layout.regions.zones import text_in
from inkgate.layout.tables.choice import TableCandidate
from inkgate.layout.tables.grid import Grid
from inkgate_client.coordinates import around
from inkgate_client.types import BlockType, Line

MIN_FIGURE_SHARE = 0.5
"""A figure with this share of its lines in tables is no figure."""


@dataclass(slots=True)
class PageZones:
    """The zones of a page.

    Attributes:
        zones: regions without overlaps. The confidence of a table is the probability that its cells are right.
        members: for each line the index of its zone, -1 for none.
        grids: of tables and figures with text, by index of their zones.
    """

    zones: list[Region]
    members: list[int]
    grids: dict[int, Grid] = field(default_factory=dict)

    def add_tables(self, tables: Sequence[TableCandidate], lines: Sequence[Line]) -> None:
        """A zone for each table. What else is in the layout model's tables, or in figures that are tables, is text."""
        seen = len(self.zones)
        sizes = [self.members.count(number) for number in range(seen)]
        for table in tables:
            taken = sorted(table.key)
            ranks = [self.zones[i].rank for index in taken if (i := self.members[index]) >= 0]
            rank = min((rank for rank in ranks if rank is not None), default=None)
            for index in taken:
                self.members[index] = len(self.zones)
            self.grids[len(self.zones)] = table.grid
            drawn = [table.place.ruled.box] if table.source == "ruled" and table.place.ruled else []
            box = around([*drawn, *(lines[index].box for index in taken)])
            self.zones.append(Region(BlockType.TABLE, box, table.probability, rank))
        for number, zone in enumerate(self.zones[:seen]):
            rest = self.members.count(number)
            is_figure = zone.type is BlockType.FIGURE and rest > (1 - MIN_FIGURE_SHARE) * sizes[number]
            if zone.type is BlockType.TABLE or (zone.type is BlockType.FIGURE and sizes[number] and not is_figure):
                self.zones[number] = replace(zone, type=BlockType.TEXT)
                if rest < sizes[number]:
                    self.members = [-1 if member == number else member for member in self.members]

    def read_figures(self, frame: Frame) -> None:
        """The text of each figure; running text that is in its box by accident leaves it."""
        for number, zone in enumerate(self.zones):
            if zone.type is not BlockType.FIGURE:
                continue
            held = upright([piece for piece in frame.pieces if self.members[piece.index] == number])
            text = text_in(rows_of(held), zone.box[2] - zone.box[0])
            for piece in text:
                self.members[piece.index] = -1
            held = upright([piece for piece in frame.pieces if self.members[piece.index] == number])
            if held:
                self.grids[number] = text_grid(held, frame.unit)
