"""Rows of tables as the items of an array: which column is which property, and where the items end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from inkgate.fields.folded import box_around, fold
from inkgate.fields.kinds import KINDS
from inkgate.fields.kinds.base import parse
from inkgate.fields.schema import FieldSchema, Leaf
from inkgate_client.fields.values import Match, Source
from inkgate_client.types import PageResult, Table, TableCell

MAX_ITEMS: Final = 1000
"""Maximum items of a document. More rows are left out."""
OF_TABLE: Final = "table"
"""Origin of values out of a table's cells."""
OF_CELL: Final = 0.95
"""Confidence of a cell's value besides that of its text: the cell may be of another column."""
_HEADER_ROWS: Final = 4
_MIN_LABELLED: Final = 2
"""Columns with a label that a table of items has."""
_SHORTEST_LABEL: Final = 3
"""Letters of a label that may be a part of a header."""
_MOSTLY: Final = 0.6
"""Share of a column's cells that are values of a kind, if the kind decides."""
_SUM = re.compile(
    r"^\W*(?:sub\W?)?(?:total|totale|totaal|summe|gesamt|somme|suma|importe)\b|^\W*(?:tax|vat|gst|mwst|btw|tva"
    r"|shipping|discount)\b"
    r"|^\W*(?:ust|umsatzsteuer|mehrwertsteuer|imposta|impuesto|subtota\w*|zwischensumme|sous[ -]total)\b"
    r"|^\W*(?:amount due|balance|net amount|netto(?:betrag|summe)|rechnungsbetrag|imponibile|base imponible)\b"
    r"|合\s*计|小\s*计|总\s*计",
    re.IGNORECASE,
)
"""How the rows behind the items begin."""
_OF_SUM: Final = 2
"""Properties that such a row has: its label and an amount."""


@dataclass(frozen=True, slots=True)
class ItemValue:
    """A property's text in a row, and the place of its cell. `score`: how sure it is that it is this property's."""

    text: str
    source: Source
    origin: str = OF_TABLE
    score: float = OF_CELL


Item = Mapping[str, ItemValue]
"""Values by the paths of the array's leaves."""


def array_of(leaf: Leaf) -> str:
    """The path of the array that the leaf's objects are in; empty if it is in none, in two, or an array of texts."""
    head, _, rest = leaf.path.partition("/-/")
    return head if rest and "/-" not in f"/{rest}" else ""


def arrays_of(schema: FieldSchema) -> Mapping[str, Sequence[Leaf]]:
    """The leaves of each array of objects, by the array's path."""
    arrays: dict[str, list[Leaf]] = {}
    for leaf in schema.leaves:
        if path := array_of(leaf):
            arrays.setdefault(path, []).append(leaf)
    return arrays


def items_of(pages: Sequence[PageResult], schema: FieldSchema) -> Mapping[str, Sequence[Item]]:
    """The items of each array of objects, by the array's path; out of the tables that have their columns."""
    return {path: _items(pages, leaves) for path, leaves in arrays_of(schema).items()}


def _items(pages: Sequence[PageResult], leaves: Sequence[Leaf]) -> list[Item]:
    found: list[dict[str, ItemValue]] = []
    columns: _Columns | None = None
    for page in pages:
        for block in page.blocks or ():
            if block.table is None:
                continue
            own = _columns(block.table, leaves)
            goes_on = columns is not None and block.table.continues and block.table.columns == columns.count
            if own is None and not goes_on:
                continue
            columns = own or columns
            assert columns is not None  # noqa: S101 - one of both is there
            rows = _Rows(page, block.table, columns, own.header + 1 if own else 0)
            rows.add_to(found)
            if len(found) >= MAX_ITEMS:
                break
    return list(found[:MAX_ITEMS])


@dataclass(frozen=True, slots=True)
class _Columns:
    """Which column is which leaf. `header`: the row of labels. `titles`: what they say, by column."""

    of_leaf: Mapping[str, int]
    header: int
    titles: Mapping[int, str]
    count: int
    described: str
    """Path of the leaf that tells what an item is; empty if there is none."""


def _columns(table: Table, leaves: Sequence[Leaf]) -> _Columns | None:
    """The columns of a table of items; None for other tables."""
    best: tuple[int, int, dict[str, int]] = (0, 0, {})
    for row in range(min(_HEADER_ROWS, table.rows)):
        matched = _labelled(table, row, leaves)
        if len(matched) > best[0]:
            best = (len(matched), row, matched)
    count, header, columns = best
    if count < min(_MIN_LABELLED, len(leaves)):
        return None
    cells = [cell for cell in table.cells if cell.row > header]
    for leaf in leaves:
        if leaf.path not in columns and leaf.kind == "money":
            taken = set(columns.values())
            free = [at for at in reversed(range(table.columns)) if at not in taken]
            column = next((at for at in free if _is_of_kind(cells, at, leaf.kind)), None)
            if column is not None:
                columns[leaf.path] = column
    titles = {cell.column: cell.text for cell in table.cells if cell.row == header}
    texts = [leaf.path for leaf in leaves if leaf.kind == "text" and leaf.path in columns]
    return _Columns(
        columns, header, titles, table.columns, max(texts, key=lambda path: _length(cells, columns[path]), default="")
    )


def _labelled(table: Table, row: int, leaves: Sequence[Leaf]) -> dict[str, int]:
    """Columns by the paths of the leaves whose labels stand in the row, the best pairs first."""
    scored = []
    for cell in table.cells:
        if cell.row == row and (title := fold(cell.text)):
            scored += [(score, cell.column, leaf.path) for leaf in leaves if (score := _likeness(title, leaf))]
    columns: dict[str, int] = {}
    for _, column, path in sorted(scored, key=lambda each: (-each[0], each[1])):
        if path not in columns and column not in columns.values():
            columns[path] = column
    return columns


def _likeness(title: str, leaf: Leaf) -> int:
    """3: a label is the title; 2: the title begins with it; 1: it is in the title."""
    labels = [folded for label in leaf.labels if (folded := fold(label))]
    if title in labels:
        return 3
    longer = [label for label in labels if len(label) >= _SHORTEST_LABEL or not label.isascii()]
    if any(title.startswith(label) for label in longer):
        return 2
    return 1 if any(label in title for label in longer) else 0


def _is_of_kind(cells: Sequence[TableCell], column: int, kind: str) -> bool:
    texts = [cell.text for cell in cells if cell.column == column and cell.text.strip()]
    values = sum(parse(KINDS[kind], text) is not None for text in texts)
    return bool(texts) and values >= _MOSTLY * len(texts)


def _length(cells: Sequence[TableCell], column: int) -> int:
    return sum(len(cell.text) for cell in cells if cell.column == column)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of items of one table. `first`: row behind the header."""

    page: PageResult
    table: Table
    columns: _Columns
    first: int

    def add_to(self, found: list[dict[str, ItemValue]]) -> None:
        """Adds the items of these rows; a row that only describes belongs to the item before it."""
        for cells in self._rows():
            texts = [cell.text for cell in cells if cell.text.strip()]
            item = {
                path: value
                for path, column in self.columns.of_leaf.items()
                for cell in cells
                if cell.column == column and (value := self._value(cell)) is not None
            }
            described = self.columns.described
            # `Shipping` alone with an amount ends the items; with a quantity or a price it is one.
            if texts and _SUM.search(texts[0]) and len(item) <= _OF_SUM:
                break
            if set(item) == {described} and found and described in found[-1]:
                found[-1][described] = _joined(found[-1][described], item[described])
            elif item:
                found.append(item)

    def _rows(self) -> Iterator[list[TableCell]]:
        by_row: dict[int, list[TableCell]] = {}
        for cell in self.table.cells:
            if cell.row >= self.first:
                by_row.setdefault(cell.row, []).append(cell)
        for row in sorted(by_row):
            yield sorted(by_row[row], key=lambda cell: cell.column)

    def _value(self, cell: TableCell) -> ItemValue | None:
        lines = [self.page.lines[index] for index in cell.lines if index < len(self.page.lines)]
        text = " ".join(cell.text.split())
        if not text or not lines:  # a cell without lines has no place
            return None
        box = cell.box or box_around([line.box for line in lines])
        title = self.columns.titles.get(cell.column, "")
        confidence = min(line.confidence for line in lines)
        return ItemValue(text, Source(self.page.index, cell.lines, box, text, Match.EXACT, confidence, title))


def _joined(first: ItemValue, second: ItemValue) -> ItemValue:
    """A text that goes on in the next row."""
    text = f"{first.text} {second.text}"
    source = replace(
        first.source,
        lines=(*first.source.lines, *second.source.lines),
        box=box_around([first.source.box, second.source.box]),
        text=text,
        confidence=min(first.source.confidence, second.source.confidence),
    )
    return ItemValue(text, source)
