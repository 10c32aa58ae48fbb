"""Unit tests of a page's Markdown, in the form of olmOCR-bench (https://github.com/allenai/olmocr). Pure.

    {"id": ..., "type": "present", "text": ...}      also "absent"; first_n, last_n, case_sensitive, max_diffs
    {"id": ..., "type": "order", "before": ..., "after": ...}                                      max_diffs
    {"id": ..., "type": "table", "cell": ..., "up" | "down" | "left" | "right" |
                                              "top_heading" | "left_heading": ...}                 max_diffs
    {"id": ..., "type": "math", "math": "LaTeX"}

Verdicts agree with the bench's but for `math`: it renders both formulas in a browser and compares what is seen, here
their LaTeX is compared token by token, without what doesn't show. So the pass rate of `math` is a lower bound.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from html.parser import HTMLParser
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from inkgate_bench.accuracy.manifest import ManifestInvalid

_MAX_SPAN = 100
"""Columns or rows that one cell can span: more is a slip of the writer, and would take memory for nothing."""


class Direction(Enum):
    """Rows and columns that one step goes."""

    UP = (-1, 0)
    DOWN = (1, 0)
    LEFT = (0, -1)
    RIGHT = (0, 1)


@dataclass(eq=False, slots=True)
class MarkdownCell:
    """One cell; one object however many rows and columns it spans."""

    text: str
    heading: bool
    rows: int = 1
    columns: int = 1


@dataclass(slots=True)
class MarkdownTable:
    """A grid of cells; a cell that spans several places stands in each of them, None stands where no cell is."""

    grid: list[list[MarkdownCell | None]] = field(default_factory=list)

    @property
    def cells(self) -> list[MarkdownCell]:
        """Every cell once, row by row."""
        return list(dict.fromkeys(cell for row in self.grid for cell in row if cell is not None))

    def beside(self, cell: MarkdownCell, direction: Direction) -> list[MarkdownCell]:
        """The nearest other cells in a direction: several where the cell spans several rows or columns."""
        found: dict[MarkdownCell, None] = {}
        for row, column in self._places(cell):
            neighbour = self._nearest(cell, row, column, direction)
            if neighbour is not None:
                found[neighbour] = None
        return list(found)

    def headings(self, cell: MarkdownCell, direction: Direction) -> list[MarkdownCell]:
        """The headings met on the way to the edge; where none is marked as one, the cells at the edge."""
        met: dict[MarkdownCell, None] = {}
        edge: dict[MarkdownCell, None] = {}
        ahead = [cell]
        while ahead:
            current = ahead.pop()
            further = self.beside(current, direction)
            if not further and current is not cell:
                edge[current] = None
            ahead += [other for other in further if other not in met]
            met |= dict.fromkeys(further)
        return [other for other in met if other.heading and other is not cell] or list(edge)

    def _places(self, cell: MarkdownCell) -> Iterator[tuple[int, int]]:
        for row, cells in enumerate(self.grid):
            for column, other in enumerate(cells):
                if other is cell:
                    yield row, column

    def _nearest(self, cell: MarkdownCell, row: int, column: int, direction: Direction) -> MarkdownCell | None:
        down, right = direction.value
        row, column = row + down, column + right
        while 0 <= row < len(self.grid) and 0 <= column < max(map(len, self.grid)):
            other = self.grid[row][column] if column < len(self.grid[row]) else None
            if other is not None and other is not cell:
                return other
            row, column = row + down, column + right
        return None


def tables_of(markdown: str) -> list[MarkdownTable]:
    """Every table of a page: pipe tables, then HTML tables, each kind in the order of the page."""
    return [*_pipe_tables(markdown), *_html_tables(markdown)]


def _pipe_tables(markdown: str) -> Iterator[MarkdownTable]:
    """Runs of two lines or more that have a pipe; the first row and the first column are taken for headings."""
    rows: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        if "|" in line:
            rows.append(line)
            continue
        if len(rows) > 1:
            yield _pipe_table(rows)
        rows = []


def _pipe_table(rows: list[str]) -> MarkdownTable:
    table = MarkdownTable()
    for row in rows:
        if not set(row) - set(" |:-"):
            continue
        texts = [text.replace("\\|", "|").strip() for text in re.split(r"(?<!\\)\|", row.strip())]
        texts = texts[texts[0] == "" :]
        texts = texts[: len(texts) - (texts[-1:] == [""])]
        first = not table.grid
        table.grid.append([MarkdownCell(text, heading=first or column == 0) for column, text in enumerate(texts)])
    return table


def _html_tables(markdown: str) -> list[MarkdownTable]:
    parser = _TableParser()
    parser.feed(markdown)
    parser.close()
    return [_placed(rows) for rows in parser.tables if any(rows)]


class _TableParser(HTMLParser):
    """Collects the rows of every `<table>`; a table within a cell is text of that cell."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[MarkdownCell]]] = []
        self._depth = 0
        self._in_head = False
        self._cell: MarkdownCell | None = None

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
            self._cell = MarkdownCell("", tag == "th" or self._in_head, *spans)
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
    return min(max(1, int(value)), _MAX_SPAN) if value is not None and value.strip().isdecimal() else 1


def _placed(rows: list[list[MarkdownCell]]) -> MarkdownTable:
    """Rows of cells with spans as a grid, in the manner of HTML: a cell takes the next place that is free."""
    places: dict[tuple[int, int], MarkdownCell] = {}
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
    return MarkdownTable([[places.get((row, column)) for column in range(width)] for row in range(len(rows))])


_SAME = str.maketrans(
    dict.fromkeys("‘’‚", "'") | dict.fromkeys("“”„", '"') | dict.fromkeys("–—‑‒−", "-") | {"＿": "_", "µ": "μ"}
)
_EMPHASIS = (r"\*\*(.*?)\*\*", r"__(.*?)__", r"\*(.*?)\*|_(.*?)_")
"""Patterns of emphasis in the order in which they are removed: the marks of bold type would else be taken for those of
italics."""
_FORMULAS = re.compile(r"\\\((.+?)\\\)|\\\[(.+?)\\\]|\$\$(.+?)\$\$|\$(.+?)\$", re.DOTALL)
_LATEX_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[^\s]")
_INVISIBLE = {r"\left", r"\right", r"\,", r"\;", r"\:", r"\!", r"\ ", r"\quad", r"\qquad", r"\displaystyle", r"\limits"}
_MIN_CELL_RATIO = 0.5


@dataclass(frozen=True, slots=True)
class PageTestResult:
    """The result of one test. `passed` is None if its type is unknown here: such a test does not count."""

    id: str
    type: str
    passed: bool | None
    reason: str = ""


def run_tests(tests: Sequence[Mapping[str, Any]], markdown: str) -> tuple[PageTestResult, ...]:
    """The result of each test on the Markdown of its page, in order. Raises ManifestInvalid for an invalid test."""
    return tuple(_run(test, markdown) for test in tests)


def _run(test: Mapping[str, Any], markdown: str) -> PageTestResult:
    name, kind = str(test.get("id", "")), str(test["type"])
    check = _CHECKS.get(kind)
    if check is None:
        return PageTestResult(name, kind, None, "unknown type of test")
    try:
        reason = check(test, markdown)
    except (KeyError, TypeError, ValueError) as error:
        raise ManifestInvalid(f"test {name}: {error!r}") from error
    return PageTestResult(name, kind, not reason, reason)


def plain(markdown: str) -> str:
    """Text as it is compared: NFC, without marks of emphasis, with one space for any white space and one form of
    quotes and dashes.
    """
    text = re.sub(r"</?[bi]>", "", re.sub(r"<br ?/?>", " ", markdown))
    for marks in _EMPHASIS:
        text = re.sub(marks, lambda match: match[match.lastindex or 0], text)
    return unicodedata.normalize("NFC", re.sub(r"\s+", " ", text)).translate(_SAME)


def _present(test: Mapping[str, Any], markdown: str) -> str:
    best, least = _likeness(test, markdown)
    return "" if best >= least else f"not found: the best match has a similarity of {best:.2f}, {least:.2f} is needed"


def _absent(test: Mapping[str, Any], markdown: str) -> str:
    best, least = _likeness(test, markdown)
    return "" if best < least else "found"


def _likeness(test: Mapping[str, Any], markdown: str) -> tuple[float, float]:
    """How alike the best part of the page is to the text, and how alike it must be to count as it, in [0, 1]."""
    wanted, page = plain(test["text"]), plain(markdown)
    if not wanted.strip():
        raise ValueError("`text` is empty")
    if not test.get("case_sensitive", True):
        wanted, page = wanted.lower(), page.lower()
    first, last = test.get("first_n"), test.get("last_n")
    if first or last:
        page = (page[:first] if first else "") + (page[-last:] if last else "")
    return fuzz.partial_ratio(wanted, page) / 100, _least(wanted, test)


def _least(text: str, test: Mapping[str, Any]) -> float:
    return 1.0 - int(test.get("max_diffs") or 0) / max(1, len(text))


def _order(test: Mapping[str, Any], markdown: str) -> str:
    page, edits = plain(markdown), int(test.get("max_diffs") or 0)
    before = starts(plain(test["before"]), page, edits)
    after = starts(plain(test["after"]), page, edits)
    if not before or not after:
        return f"{'before' if not before else 'after'} was not found"
    return "" if before[0] < after[-1] else "in the opposite order"


def starts(wanted: str, page: str, edits: int) -> list[int]:
    """Returns where on the page `wanted` begins, give or take at most `edits` edits (Levenshtein), in ascending order.

    Of starts side by side that mean the same occurrence, the one with the fewest edits is given.
    """
    if not edits:
        return [match.start() for match in re.finditer(f"(?={re.escape(wanted)})", page)]
    distances = _edits_from(wanted, page)
    found: list[int] = []
    for start in np.flatnonzero(distances <= edits).tolist():
        if found and start - found[-1] <= 2 * edits:
            if distances[start] < distances[found[-1]]:
                found[-1] = start
        else:
            found.append(start)
    return found


def _edits_from(wanted: str, page: str) -> NDArray[np.int64]:
    """Returns for each start on the page the fewest edits that turn what begins there into `wanted`.

    Sellers' algorithm on both strings reversed, one row of its matrix at a time: the dependency within a row is a
    running minimum.
    """
    text = np.array([ord(letter) for letter in reversed(page)], np.int64)
    steps = np.arange(len(text) + 1)
    row = np.zeros(len(text) + 1, np.int64)
    for letter in reversed(wanted):
        reached = row + 1
        reached[1:] = np.minimum(reached[1:], row[:-1] + (text != ord(letter)))
        row = np.minimum.accumulate(reached - steps) + steps
    return row[::-1]


def _table(test: Mapping[str, Any], markdown: str) -> str:
    tables = tables_of(markdown)
    if not tables:
        return "the page has no table"
    wanted = plain(test["cell"])
    matching = [(table, cell) for table in tables for cell in table.cells if _same_cell(wanted, cell, test)]
    if not matching:
        return "no cell has this text"
    if any(_neighbours_fit(test, table, cell) for table, cell in matching):
        return ""
    return "the cell was found, but not with these neighbours"


def _neighbours_fit(test: Mapping[str, Any], table: MarkdownTable, cell: MarkdownCell) -> bool:
    return all(
        any(_same_cell(plain(test[key]), other, test) for other in find(table, cell))
        for key, find in _RELATIONS.items()
        if test.get(key)
    )


def _same_cell(wanted: str, cell: MarkdownCell, test: Mapping[str, Any]) -> bool:
    return fuzz.ratio(wanted, plain(cell.text)) / 100 >= max(_MIN_CELL_RATIO, _least(wanted, test))


_RELATIONS: dict[str, Callable[[MarkdownTable, MarkdownCell], list[MarkdownCell]]] = {
    "up": lambda table, cell: table.beside(cell, Direction.UP),
    "down": lambda table, cell: table.beside(cell, Direction.DOWN),
    "left": lambda table, cell: table.beside(cell, Direction.LEFT),
    "right": lambda table, cell: table.beside(cell, Direction.RIGHT),
    "top_heading": lambda table, cell: table.headings(cell, Direction.UP),
    "left_heading": lambda table, cell: table.headings(cell, Direction.LEFT),
}


def _math(test: Mapping[str, Any], markdown: str) -> str:
    wanted = _latex(test["math"])
    formulas = [next(filter(None, found)) for found in _FORMULAS.findall(markdown)]
    if not formulas:
        return "the page has no formula"
    return "" if any(wanted in _latex(formula) for formula in formulas) else "no formula on the page contains this one"


def _latex(formula: str) -> str:
    """The tokens of a formula, each between blanks; without spacing, and without braces around a single token."""
    tokens = [token for token in _LATEX_TOKEN.findall(formula) if token not in _INVISIBLE]
    kept = f" {' '.join(tokens)} "
    return re.sub(r" \{ (\S+) \}(?= )", r" \1", kept)


_CHECKS: dict[str, Callable[[Mapping[str, Any], str], str]] = {
    "present": _present,
    "absent": _absent,
    "order": _order,
    "table": _table,
    "math": _math,
}
