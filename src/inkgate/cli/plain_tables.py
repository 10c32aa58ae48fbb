"""Tables on standard output, for people and for pipes."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table
from rich.text import Text

from inkgate_client.codec import encodable

PIPED_WIDTH = 240
_WHOLE = frozenset({"ID", "STATE", "PAGES", "AGE", "FILE", "DATE", "FROM", "TO", "AMOUNT", "TOTAL", "PAGE", "FIELD"})
"""Columns whose cells are not broken into lines."""


def plain_table(*columns: str) -> Table:
    """An empty table without lines."""
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=column in _WHOLE, overflow="fold")
    return table


def terminal_text(text: str) -> Text:
    """A text of a client or document as it can be printed: no markup of rich, and nothing that steers a terminal."""
    return Text("".join(c if c.isprintable() else "\ufffd" for c in encodable(text)))


def add_row(table: Table, *cells: str) -> None:
    """Adds a row of texts of clients and documents."""
    table.add_row(*map(terminal_text, cells))


def wide_console() -> Console:
    """Standard output; in a pipe, as wide as most tables are."""
    console = Console(highlight=False)
    if not sys.stdout.isatty():
        console.width = PIPED_WIDTH
    return console
