"""When the table model is asked, and what a page's evidence says of its tables."""

from __future__ import annotations

import numpy as np
from structlog.testing import capture_logs

from inkgate.layout.analysis import PageAnalysis
from inkgate.layout.evidence import CellGuess, Region, TableGuess
from inkgate.page import RgbArray
from inkgate_client.types import BlockType, Line
from support.layouts import column, line, prose, region

WHITE: RgbArray = np.full((200, 310, 3), 255, dtype=np.uint8)


class KnownLayout:
    """A Layout that always finds the same."""

    def __init__(self, *regions: Region) -> None:
        self._regions = regions

    def find(self, pixels: RgbArray) -> list[Region]:
        del pixels
        return list(self._regions)


class FourCells:
    """A TableModel that divides what it sees into four. `seen`: sizes of the images."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []

    def find(self, pixels: RgbArray) -> TableGuess | None:
        self.seen.append(pixels.shape[:2])
        high, wide = pixels.shape[0] / 2, pixels.shape[1] / 2
        cells = tuple(
            CellGuess(i, j, 1, 1, (j * wide, i * high, (j + 1) * wide, (i + 1) * high))
            for i in range(2)
            for j in range(2)
        )
        return TableGuess((0, 0, 2 * wide, 2 * high), cells, 0.9)


def cells(left: float, top: float, right: float, bottom: float) -> list[Line]:
    """Two rows of two lines each, which fill a box."""
    return [line("ab", x, y, 50) for y in (top, bottom - 20) for x in (left, right - 50)]


def test_tables_are_in_pixels_of_the_page() -> None:
    model = FourCells()
    analysis = PageAnalysis(KnownLayout(region(BlockType.TABLE, 50, 50, 250, 150)), model)
    found = analysis.look(WHITE, 2.0, cells(110, 110, 490, 290), parse=True)
    (table,) = found.tables
    assert [table.box, table.cells[3].box] == [(106, 102, 494, 298), (300, 200, 494, 298)]
    assert model.seen == [(98, 194)]
    assert "tables" in found.timings_ms


def test_pages_without_tables_are_not_shown_to_the_model() -> None:
    model = FourCells()
    found = PageAnalysis(KnownLayout(), model).look(WHITE, 1.0, column(prose("a", 6), 10, 10), parse=True)
    assert model.seen == []
    assert found.tables == []


def test_no_table_is_sought_for_text() -> None:
    model = FourCells()
    analysis = PageAnalysis(KnownLayout(region(BlockType.TABLE, 0, 0, 310, 200)), model)
    assert analysis.look(WHITE, 1.0, cells(5, 5, 300, 190), parse=False).tables == []
    assert model.seen == []


def test_without_a_table_model_there_are_no_tables() -> None:
    analysis = PageAnalysis(KnownLayout(region(BlockType.TABLE, 0, 0, 310, 200)))
    found = analysis.look(WHITE, 1.0, cells(5, 5, 300, 190), parse=True)
    assert found.tables == []
    assert "tables" not in found.timings_ms


class BrokenTables:
    """A TableModel whose runtime fails."""

    def find(self, pixels: RgbArray) -> TableGuess | None:
        raise RuntimeError(f"no memory for {pixels.shape}")


def test_a_table_model_that_fails_costs_the_table_and_not_the_page() -> None:
    analysis = PageAnalysis(KnownLayout(region(BlockType.TABLE, 50, 50, 250, 150)), BrokenTables())
    with capture_logs() as logs:
        found = analysis.look(WHITE, 2.0, cells(110, 110, 490, 290), parse=True)
    assert found.tables == []
    assert found.regions is not None
    assert [(entry["event"], entry["reason"]) for entry in logs] == [("table_model_failed", "RuntimeError")]
