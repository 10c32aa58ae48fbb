"""TEDS, the similarity of tables by tree edit distance. Pure.

X. Zhong, E. ShafieiBavani, A. Jimeno Yepes, "Image-based table recognition: data, model, and evaluation", ECCV 2020:
1 - (edits from one table's tree to the other's) / (nodes of the larger one). The tree is table, thead and tbody, rows,
cells. To insert or delete a node costs 1; to change a cell costs 1 if its spans differ, else the normalized edit
distance of the texts. The distance is K. Zhang's and D. Shasha's (SIAM Journal on Computing 18, 1989).
Here texts are compared in NFKC with one space for white space, without emphasis; `th` is `td`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from rapidfuzz.distance import Levenshtein

from inkgate_bench.accuracy.bench_tests import MarkdownCell, MarkdownTable, plain, tables_of

MAX_STEPS = 4_000_000
"""Pairs of nodes compared at most: seconds. Of larger trees, the last rows count as wrong."""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class TableSimilarity:
    """Shares of 1: `teds` of structure and text, `structure` of structure alone."""

    teds: float
    structure: float


@dataclass(frozen=True, slots=True)
class TableNode:
    """A node of a table's tree. `text` and `spans` of cells only."""

    tag: str
    children: list[TableNode] = field(default_factory=list)
    text: str = ""
    spans: tuple[int, int] = (1, 1)


def table_similarity(truth_html: str, markdown: str) -> TableSimilarity | None:
    """Mean over the tables of the truth; None where the truth has no table."""
    found = match_tables(tables_of(truth_html), tables_of(markdown))
    if not found:
        return None
    return TableSimilarity(
        sum(each.teds for each in found) / len(found), sum(each.structure for each in found) / len(found)
    )


def match_tables(truth: Sequence[MarkdownTable], read: Sequence[MarkdownTable]) -> tuple[TableSimilarity, ...]:
    """Compares each table of the truth with one of the page's tables, so that their similarities are highest in total.

    Each of the page's tables is taken once at most. A table that was not found counts as 0.
    """
    true, got = list(map(_tree, truth)), list(map(_tree, read))
    scores = [[similarity(tree, other) for other in got] for tree in true]
    return tuple(
        TableSimilarity(0.0, 0.0)
        if number is None
        else TableSimilarity(scores[i][number], similarity(true[i], got[number], text=False))
        for i, number in enumerate(best_pairs(scores))
    )


def best_pairs(scores: Sequence[Sequence[float]]) -> list[int | None]:
    """For each row of scores its column, or None: the pairs with the highest total.

    The Hungarian method (H. W. Kuhn, Naval Research Logistics Quarterly 2, 1955) with a column of 0 for each row.
    """
    count = len(scores)
    gains = [[*row, *[0.0] * count] for row in scores]
    width = len(gains[0]) if gains else 0
    owners: list[int | None] = [None] * width
    of_rows, of_columns = [0.0] * count, [0.0] * width
    for new in range(count):
        row: int | None = new
        column, reached = -1, [False] * width
        losses, before = [inf] * width, [-1] * width
        while row is not None:
            for j in range(width):
                loss = of_rows[row] + of_columns[j] - gains[row][j]
                if not reached[j] and loss < losses[j]:
                    losses[j], before[j] = loss, column
            column = min((j for j in range(width) if not reached[j]), key=lambda j: losses[j])
            step = losses[column]
            of_rows[new] -= step
            for j in range(width):
                owner = owners[j]
                if reached[j] and owner is not None:
                    of_rows[owner] -= step
                    of_columns[j] += step
                elif not reached[j]:
                    losses[j] -= step
            reached[column] = True
            row = owners[column]
        while column >= 0:
            earlier = before[column]
            owners[column] = new if earlier < 0 else owners[earlier]
            column = earlier
    real = width - count
    columns = {owner: column for column, owner in enumerate(owners) if column < real}
    return [columns.get(row) for row in range(count)]


def similarity(first: TableNode, second: TableNode, *, text: bool = True) -> float:
    """TEDS of two trees, in [0, 1]."""
    ones, others = _postorder(first), _postorder(second)
    larger = max(len(ones), len(others))
    cut = 0
    if len(ones) * len(others) > MAX_STEPS:
        most = max(1, int(MAX_STEPS**0.5))
        first, second = _first_nodes(first, most), _first_nodes(second, most)
        kept, kept_others = _postorder(first), _postorder(second)
        cut = max(len(ones) - len(kept), len(others) - len(kept_others))
        ones, others = kept, kept_others
    return max(0.0, 1 - (_distance(ones, others, text=text) + cut) / larger)


def _tree(table: MarkdownTable) -> TableNode:
    """Rows at the top whose cells are all headings are the head; a cell stands where it begins."""
    met: set[int] = set()
    rows: list[tuple[bool, list[MarkdownCell]]] = []
    for row in table.grid:
        new = [cell for cell in dict.fromkeys(row) if cell is not None and id(cell) not in met]
        met |= set(map(id, new))
        rows.append((bool(new) and all(cell.heading for cell in new), new))
    headings = next((i for i, (heading, _) in enumerate(rows) if not heading), len(rows))
    parts = (("thead", rows[:headings]), ("tbody", rows[headings:]))
    return TableNode("table", [TableNode(tag, [_row(cells) for _, cells in part]) for tag, part in parts if part])


def _row(cells: Sequence[MarkdownCell]) -> TableNode:
    return TableNode("tr", [TableNode("td", text=_text(cell), spans=(cell.rows, cell.columns)) for cell in cells])


def _text(cell: MarkdownCell) -> str:
    return " ".join(plain(_ESCAPED.sub(r"\1", cell.text)).split())


def _first_nodes(tree: TableNode, most: int) -> TableNode:
    """The table with as many of its first rows as have at most so many nodes."""
    count, parts = 1, []
    for part in tree.children:
        rows = []
        for row in part.children:
            count += 1 + len(row.children)
            if count <= most:
                rows.append(row)
        parts.append(TableNode(part.tag, rows))
    return TableNode(tree.tag, parts)


def _postorder(tree: TableNode) -> list[tuple[TableNode, int]]:
    """Nodes, children before parents, each with the number of its leftmost leaf."""
    nodes: list[tuple[TableNode, int]] = []

    def visit(node: TableNode) -> int:
        lefts = [visit(child) for child in node.children]
        nodes.append((node, lefts[0] if lefts else len(nodes)))
        return nodes[-1][1]

    visit(tree)
    return nodes


def _distance(first: Sequence[tuple[TableNode, int]], second: Sequence[tuple[TableNode, int]], *, text: bool) -> float:
    trees = [[0.0] * len(second) for _ in first]
    for i in _keyroots(first):
        for j in _keyroots(second):
            _forests(first, second, (i, j), trees, text=text)
    return trees[-1][-1]


def _keyroots(nodes: Sequence[tuple[TableNode, int]]) -> list[int]:
    """The last node of each leftmost leaf, ascending."""
    return sorted({left: number for number, (_, left) in enumerate(nodes)}.values())


def _forests(
    first: Sequence[tuple[TableNode, int]],
    second: Sequence[tuple[TableNode, int]],
    roots: tuple[int, int],
    trees: list[list[float]],
    *,
    text: bool,
) -> None:
    """Fill in `trees` for the pairs of subtrees that end on the paths of these two roots."""
    (i, j), top, start = roots, first[roots[0]][1], second[roots[1]][1]
    width = j - start + 2
    rows = [[float(column) for column in range(width)]]
    for a in range(top, i + 1):
        node, left = first[a]
        row = [rows[-1][0] + 1.0] + [0.0] * (width - 1)
        above = rows[-1]
        for b in range(start, j + 1):
            other, other_left = second[b]
            column = b - start + 1
            best = min(above[column], row[column - 1]) + 1.0
            if left == top and other_left == start:
                best = min(best, above[column - 1] + _change(node, other, text=text))
                trees[a][b] = best
            else:
                best = min(best, rows[left - top][other_left - start] + trees[a][b])
            row[column] = best
        rows.append(row)


def _change(node: TableNode, other: TableNode, *, text: bool) -> float:
    if node.tag != other.tag or node.spans != other.spans:
        return 1.0
    return Levenshtein.normalized_distance(node.text, other.text) if text and node.tag == "td" else 0.0
