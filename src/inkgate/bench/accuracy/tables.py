"""The tables in a page's Markdown, pipe tables and HTML alike, as grids whose cells know their neighbours. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from html.parser import HTMLParser

_MOST_SPAN = 100
"""Columns or rows that one cell can span: more is a slip of the writer, and would take memory for nothing."""


class Direction(Enum):
    """Rows and columns that one step goes."""

    UP = (-1, 0)
    DOWN = (1, 0)
    LEFT = (0, -1)
    RIGHT = (0, 1)


@dataclass(eq=False, slots=True)
class Cell:
    """One cell; one object however many rows and columns it spans."""

    text: str
    heading: bool
    rows: int = 1
    columns: int = 1


@dataclass(slots=True)
class Table:
    """A grid of cells; a cell that spans several places stands in each of them, None stands where no cell is."""

    grid: list[list[Cell | None]] = field(default_factory=list)

    @property
    def cells(self) -> list[Cell]:
        """Every cell once, row by row."""
        return list(dict.fromkeys(cell for row in self.grid for cell in row if cell is not None))

    def beside(self, cell: Cell, direction: Direction) -> list[Cell]:
        """The nearest other cells in a direction: several where the cell spans several rows or columns."""
        found: dict[Cell, None] = {}
        for row, column in self._places(cell):
            neighbour = self._nearest(cell, row, column, direction)
            if neighbour is not None:
                found[neighbour] = None
        return list(found)

    def headings(self, cell: Cell, direction: Direction) -> list[Cell]:
        """The headings met on the way to the edge; where none is marked as one, the cells at the edge."""
        met: dict[Cell, None] = {}
        edge: dict[Cell, None] = {}
        ahead = [cell]
        while ahead:
            current = ahead.pop()
            further = self.beside(current, direction)
            if not further and current is not cell:
                edge[current] = None
            ahead += [other for other in further if other not in met]
            met |= dict.fromkeys(further)
        return [other for other in met if other.heading and other is not cell] or list(edge)

    def _places(self, cell: Cell) -> Iterator[tuple[int, int]]:
        for row, cells in enumerate(self.grid):
            for column, other in enumerate(cells):
                if other is cell:
                    yield row, column

    def _nearest(self, cell: Cell, row: int, column: int, direction: Direction) -> Cell | None:
        down, right = direction.value
        row, column = row + down, column + right
        while 0 <= row < len(self.grid) and 0 <= column < max(map(len, self.grid)):
            other = self.grid[row][column] if column < len(self.grid[row]) else None
            if other is not None and other is not cell:
                return other
            row, column = row + down, column + right
        return None


def tables_of(markdown: str) -> list[Table]:
    """Every table of a page: pipe tables, then HTML tables, each kind in the order of the page."""
    return [*_pipe_tables(markdown), *_html_tables(markdown)]


def _pipe_tables(markdown: str) -> Iterator[Table]:
    """Runs of two lines or more that have a pipe; the first row and the first column are taken for headings."""
    rows: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        if "|" in line:
            rows.append(line)
            continue
        if len(rows) > 1:
            yield _pipe_table(rows)
        rows = []


def _pipe_table(rows: list[str]) -> Table:
    table = Table()
    for row in rows:
        if not set(row) - set(" |:-"):
            continue
        texts = [text.replace("\\|", "|").strip() for text in re.split(r"(?<!\\)\|", row.strip())]
        texts = texts[texts[0] == "" :]
        texts = texts[: len(texts) - (texts[-1:] == [""])]
        first = not table.grid
        table.grid.append([Cell(text, heading=first or column == 0) for column, text in enumerate(texts)])
    return table


def _html_tables(markdown: str) -> list[Table]:
    parser = _TableParser()
    parser.feed(markdown)
    parser.close()
    return [_placed(rows) for rows in parser.tables if any(rows)]


class _TableParser(HTMLParser):
    """Collects the rows of every `<table>`; a table within a cell is text of that cell."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[Cell]]] = []
        self._depth = 0
        self._in_head = False
        self._cell: Cell | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self._depth += 1
            if self._depth == 1:
                self.tables.append([])
        elif self._depth == 1:
            self._start(tag, dict(attrs))
        if tag == "br" and self._cell is not None:
            self._cell.text += "\n"

    def _start(self, tag: str, attributes: dict[str, str | None]) -> None:
        rows = self.tables[-1]
        if tag in {"thead", "tbody"}:
            self._in_head = tag == "thead"
        elif tag == "tr":
            self._cell = None
            rows.append([])
        elif tag in {"td", "th"}:
            rows = rows or [[]]
            self.tables[-1] = rows
            spans = (_span(attributes.get(name)) for name in ("rowspan", "colspan"))
            self._cell = Cell("", tag == "th" or self._in_head, *spans)
            rows[-1].append(self._cell)

    def handle_endtag(self, tag: str) -> None:
        if tag == "table" and self._depth:
            self._depth -= 1
        if self._depth <= 1 and tag in {"td", "th", "tr", "table"}:
            self._cell = None
        if tag in {"thead", "table"}:
            self._in_head = False

    def handle_data(self, data: str) -> None:
        if self._cell is not None:
            self._cell.text += data


def _span(value: str | None) -> int:
    return min(max(1, int(value)), _MOST_SPAN) if value is not None and value.strip().isdecimal() else 1


def _placed(rows: list[list[Cell]]) -> Table:
    """Rows of cells with spans as a grid, in the manner of HTML: a cell takes the next place that is free."""
    places: dict[tuple[int, int], Cell] = {}
    for row, cells in enumerate(rows):
        column = 0
        for cell in cells:
            while (row, column) in places:
                column += 1
            cell.text = cell.text.strip()
            for down in range(min(cell.rows, len(rows) - row)):
                for right in range(cell.columns):
                    places.setdefault((row + down, column + right), cell)
            column += cell.columns
    width = 1 + max((column for _, column in places), default=-1)
    return Table([[places.get((row, column)) for column in range(width)] for row in range(len(rows))])
