"""Conversions of results that several wire formats need: text to lines, pipe tables to HTML."""

from __future__ import annotations

import re
from dataclasses import replace
from html import escape

from inkgate_client.types import Line, PageResult, Quad


def with_lines(page: PageResult) -> PageResult:
    """`page` with lines. If it has none: each line of its text, with the whole page as its quad.

    Their confidence is the mean of their words, weighted by length; 1 if the engine gave none.
    """
    if page.lines or not page.text:
        return page
    right, bottom = float(page.width), float(page.height)
    whole: Quad = ((0.0, 0.0), (right, 0.0), (right, bottom), (0.0, bottom))
    lines = []
    start = 0
    for text in page.text.split("\n"):
        end = start + len(text)
        if text.strip():
            lines.append(Line(text, whole, _confidence(page, start, end)))
        start = end + 1
    return replace(page, lines=tuple(lines))


def _confidence(page: PageResult, start: int, end: int) -> float:
    words = [word for word in page.words if start <= word.start < end]
    length = sum(len(word.text) for word in words)
    return sum(word.confidence * len(word.text) for word in words) / length if length else 1.0


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
