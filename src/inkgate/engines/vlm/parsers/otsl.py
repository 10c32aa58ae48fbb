"""Converts OTSL, a token format for tables, to HTML.

One token per cell: `<fcel>` a cell with text, `<ecel>` an empty one, `<lcel>` continues the left cell, `<ucel>` the one
above, `<xcel>` both, `<nl>` ends the row. Source: Lysak et al. 2023, "Optimized Table Tokenization for Table Structure
Recognition"; the names are those of PaddleOCR-VL and docling, which adds `<ched>`, `<rhed>` and `<srow>` for heads.
"""

from __future__ import annotations

import re
from html import escape, unescape

from inkgate.engines.vlm.parsers.answer import ParsedAnswer
from inkgate.engines.vlm.parsers.markdown import markdown
from inkgate.engines.vlm.parsers.markup import table_text
from inkgate_client.types import Size

_TOKEN = re.compile(r"<(fcel|ecel|lcel|ucel|xcel|ched|rhed|srow|nl)>")
_ROW_END = frozenset({"nl"})
_HEADS = frozenset({"ched", "rhed", "srow"})
_MERGED = frozenset({"lcel", "ucel", "xcel"})

Cell = tuple[str, str]
"""A token's name and the text after it."""


def otsl_table(output: str, size: Size) -> ParsedAnswer:
    """The table as HTML, in the answer's Markdown. Output without any OTSL token is treated as Markdown or HTML."""
    if not _TOKEN.search(output):
        return markdown(output, size)
    html = otsl_to_html(output)
    return ParsedAnswer(text=table_text(html), markdown=html)


def otsl_to_html(otsl: str) -> str:
    """A `<table>` with `rowspan` and `colspan`; empty if there is no cell.

    Spans are always rectangles: a merged cell that continues no neighbour becomes an empty cell. Output that was cut
    off gives the cells before the cut.
    """
    rows = _rows(otsl)
    covered: set[tuple[int, int]] = set()
    parts: list[str] = []
    for r, row in enumerate(rows):
        cells: list[str] = []
        for c, (token, text) in enumerate(row):
            if (r, c) in covered:
                continue
            wide, high = (1, 1) if token in _MERGED else _span(rows, r, c)
            covered |= {(r + i, c + j) for i in range(high) for j in range(wide)}
            spans = "".join(f' {name}="{n}"' for name, n in (("colspan", wide), ("rowspan", high)) if n > 1)
            tag = "th" if token in _HEADS else "td"
            cells.append(f"<{tag}{spans}>{text}</{tag}>")
        parts.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(parts)}</table>" if parts else ""


def _rows(otsl: str) -> list[list[Cell]]:
    """Cells by row, with their text as HTML. Text before the first token is a cell; rows without cells are dropped."""
    first, *rest = _TOKEN.split(otsl)
    rows: list[list[Cell]] = [[("fcel", _html(first))]] if first.strip() else [[]]
    for token, text in zip(rest[::2], rest[1::2], strict=True):
        if token in _ROW_END:
            rows.append([("fcel", _html(text))] if text.strip() else [])
        else:
            rows[-1].append((token, _html(text)))
    return [row for row in rows if row]


def _html(text: str) -> str:
    return "<br>".join(escape(unescape(line.strip()), quote=False) for line in text.strip().splitlines())


def _span(rows: list[list[Cell]], r: int, c: int) -> tuple[int, int]:
    """Columns and rows of the rectangle that begins at a cell: merged cells to its right, and rows that continue it."""
    row = rows[r]
    wide = 1
    while c + wide < len(row) and row[c + wide][0] == "lcel":
        wide += 1
    high = 1
    while r + high < len(rows) and _goes_on(rows[r + high], c, wide):
        high += 1
    return wide, high


def _goes_on(row: list[Cell], c: int, wide: int) -> bool:
    """Whether a row continues the rectangle above: `<ucel>` at its left edge, and merged cells for the rest of it."""
    part = [token for token, _ in row[c : c + wide]]
    return len(part) == wide and part[0] == "ucel" and all(token in _MERGED for token in part[1:])
