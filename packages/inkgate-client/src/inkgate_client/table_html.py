"""A table as HTML, with its spans."""

from __future__ import annotations

from html import escape
from itertools import groupby

from inkgate_client.text_direction import runs_from_right
from inkgate_client.types import Table, TableCell


def html_of(table: Table) -> str:
    """The table as one line of HTML. Leading rows of headers are the head; line breaks in cells are `<br>`. The first
    column of a table in Arabic or Hebrew is at the right.
    """
    rows = {number: list(cells) for number, cells in groupby(table.cells, key=lambda cell: cell.row)}
    head = 0
    while head < table.rows and rows.get(head) and all(cell.header for cell in rows[head]):
        head += 1
    parts = [
        f"<{name}>{''.join(_row(rows.get(number, [])) for number in numbers)}</{name}>"
        for name, numbers in (("thead", range(head)), ("tbody", range(head, table.rows)))
        if numbers
    ]
    direction = ' dir="rtl"' if runs_from_right("".join(cell.text for cell in table.cells)) else ""
    return f"<table{direction}>{''.join(parts)}</table>"


def _row(cells: list[TableCell]) -> str:
    return f"<tr>{''.join(map(_cell, cells))}</tr>"


def _cell(cell: TableCell) -> str:
    name = "th" if cell.header else "td"
    spans = f' rowspan="{cell.row_span}"' if cell.row_span > 1 else ""
    spans += f' colspan="{cell.column_span}"' if cell.column_span > 1 else ""
    text = "<br>".join(escape(line, quote=False) for line in cell.text.split("\n"))
    return f"<{name}{spans}>{text}</{name}>"
