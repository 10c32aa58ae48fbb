"""Which lines stand in which cells of annotated tables, whose truth has the texts of cells but not their places."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

import numpy as np
from rapidfuzz import fuzz

from inkgate.layout.order.frame import FloatArray
from inkgate_bench.accuracy.bench_tests import MarkdownCell, tables_of
from inkgate_client.types import Line

ALIKE = 80.0
"""Lines that are less like a part of a cell's text (rapidfuzz's partial ratio, of 100) are not in it."""
Cell = tuple[int, int, int, int, frozenset[int]]
"""Row, column, and their ends, and the indexes of the lines in it."""


def cells_by_text(html: str, lines: Mapping[int, Line]) -> list[Cell]:
    """The cells of a table with the lines whose text they have; of equal texts, the one at the likeliest place."""
    tables = tables_of(html)
    if not tables:
        return []
    spots: dict[int, tuple[int, int, MarkdownCell]] = {}
    for i, row in enumerate(tables[0].grid):
        for j, cell in enumerate(row):
            if cell is not None:
                spots.setdefault(id(cell), (i, j, cell))
    cells = list(spots.values())
    matches = {index: _matching(line, cells) for index, line in lines.items()}
    certain = {index: found[0] for index, found in matches.items() if len(found) == 1}
    rows = _centres([(cells[n][0], _middle(lines[index])[1]) for index, n in certain.items() if cells[n][2].rows == 1])
    columns = _centres(
        [(cells[n][1], _middle(lines[index])[0]) for index, n in certain.items() if cells[n][2].columns == 1]
    )
    held: list[set[int]] = [set() for _ in cells]
    for index, found in matches.items():
        x, y = _middle(lines[index])
        near = [
            abs(np.interp(cells[n][0], *rows) - y) + 0.3 * abs(np.interp(cells[n][1], *columns) - x)
            if len(rows[0]) and len(columns[0])
            else 0.0
            for n in found
        ]
        if found:
            held[found[int(np.argmin(near))]].add(index)
    return [
        (i, j, i + cell.rows, j + cell.columns, frozenset(inside))
        for (i, j, cell), inside in zip(cells, held, strict=True)
    ]


def _matching(line: Line, cells: Sequence[tuple[int, int, MarkdownCell]]) -> list[int]:
    """The cells that may hold the line: those with its text alone, else those most like it in a part of theirs."""
    text = _plain(line.text)
    texts = [_plain(cell.text) for _, _, cell in cells]
    if same := [n for n, other in enumerate(texts) if other == text]:
        return same
    scores = [fuzz.partial_ratio(text, other) if len(other) * 1.1 >= len(text) and text else 0.0 for other in texts]
    best = max(scores, default=0.0)
    return [n for n, score in enumerate(scores) if score >= max(best, ALIKE)]


def _centres(places: Sequence[tuple[int, float]]) -> tuple[FloatArray, FloatArray]:
    numbers = sorted({number for number, _ in places})
    centres = [float(np.median([at for number, at in places if number == wanted])) for wanted in numbers]
    return np.array(numbers, dtype=np.float64), np.array(centres)


def _middle(line: Line) -> tuple[float, float]:
    left, top, right, bottom = line.box
    return (left + right) / 2, (top + bottom) / 2


def _plain(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())
