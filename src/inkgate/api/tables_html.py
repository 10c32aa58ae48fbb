"""Converts pipe tables to HTML."""

from __future__ import annotations

import re
from html import escape

_CELL_BORDER = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*:?-+:?\s*")


def pipe_table_to_html(markdown: str) -> str:
    """A `<table>` with the cells of a pipe table; anything else (such as HTML) is returned unchanged."""
    rows = [_cells(line) for line in markdown.strip().splitlines() if line.strip().startswith("|")]
    if not rows:
        return markdown
    ruled = len(rows) > 1 and all(_RULE.fullmatch(cell) for cell in rows[1])
    head, body = ([rows[0]], rows[2:]) if ruled else ([], rows)
    parts = ["<table>"]
    if head:
        parts += ["<thead>", *(_row(row, "th") for row in head), "</thead>"]
    parts += ["<tbody>", *(_row(row, "td") for row in body), "</tbody>", "</table>"]
    return "".join(parts)


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELL_BORDER.split(line.strip())[1:-1]]


def _row(cells: list[str], tag: str) -> str:
    shown = (escape(cell).replace("&lt;br&gt;", "<br>") for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in shown) + "</tr>"
