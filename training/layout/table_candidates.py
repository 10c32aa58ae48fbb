"""Measures table candidates of observed pages whose tables are known, for fit_tables.py.

    PYTHONPATH=src:. python training/layout/table_candidates.py CANDIDATES.npz OBSERVED=TRUTHS ...

OBSERVED: what observe.py wrote; TRUTHS: a folder with NAME.structure.json. The target of a candidate comes from the F1
of its neighbouring cells (ICDAR 2013 table competition).
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from training.layout.annotated_tables import Cell, cells_by_text

from inkgate.layout.evidence import PageEvidence
from inkgate.layout.order.frame import Frame
from inkgate.layout.order.frame import measure as frame_of
from inkgate.layout.tables.choice import MOVES, TableCandidate, grids_by_words, grids_of, page_places
from inkgate.layout.tables.features import NAMES, measures_of
from inkgate.layout.tables.grid import Grid
from inkgate.page import LineStyle
from inkgate_client.coordinates import holds_middle, quad_of
from inkgate_client.types import Line, Size

SHARPNESS, WRONG_ROW, MOST_WRONG = 2, 0.75, 3
"""A table with another's rows is far from right, though most of its neighbours are. More wrong rows than the last count
no more: a table of 36 rows of which eight are wrong is a table."""
MARGIN = 0.2
"""A line's middle is in a true cell that is larger by this, in heights of the line."""
SCANNED, CROPPED, THINNED, HEADLESS, STRIPS = 0.4, 0.2, 0.2, 0.1, 0.25
"""Shares of the pages whose lines become like those of scans, that become one table, whose tables lose rows, or their
first one, and of which a strip of up to MAX_STRIP lines is left."""
MAX_STRIP = 40
WORDED = 0.4
"""Share of the pages whose tables hold words instead of numbers."""
_LETTERS = str.maketrans("0123456789", "abcdefghij")


def true_tables(page: Mapping[str, Any], lines: Sequence[Line], size: Size) -> list[list[Cell]]:
    """The cells of each true table, with the lines in them."""
    scale = (size.width / page["width"], size.height / page["height"])
    found = []
    for block in page["blocks"]:
        if block["type"] != "table":
            continue
        if not block.get("cells"):
            left, top, right, bottom = (float(edge) for edge in np.array(block["box"]) * (*scale, *scale))
            box = (left, top, right, bottom)
            inside = {index: line for index, line in enumerate(lines) if holds_middle(box, line.box)}
            if cells := cells_by_text(block.get("html") or "", inside):
                found.append(cells)
            continue
        boxes = np.array([cell["box"] for cell in block["cells"]], dtype=float) * (*scale, *scale)
        held: list[set[int]] = [set() for _ in boxes]
        for index, line in enumerate(lines):
            left, top, right, bottom = line.box
            x, y, near = (left + right) / 2, (top + bottom) / 2, MARGIN * (bottom - top)
            here = (
                (boxes[:, 0] - near <= x)
                & (x <= boxes[:, 2] + near)
                & (boxes[:, 1] - near <= y)
                & (y <= boxes[:, 3] + near)
            )
            if here.any():
                held[int(np.flatnonzero(here)[0])].add(index)
        found.append(
            [
                (
                    c["row"],
                    c["column"],
                    c["row"] + c.get("row_span", 1),
                    c["column"] + c.get("column_span", 1),
                    frozenset(inside),
                )
                for c, inside in zip(block["cells"], held, strict=True)
            ]
        )
    return found


def neighbours(cells: Sequence[Cell]) -> set[tuple[frozenset[int], frozenset[int], bool]]:
    """Pairs of filled cells, each beside (True) or below the other, with nothing but empty cells between."""
    filled = [cell for cell in cells if cell[4]]
    owners: dict[tuple[int, int], Cell] = {
        (row, column): cell for cell in filled for row in range(cell[0], cell[2]) for column in range(cell[1], cell[3])
    }
    rows, columns = max((c[2] for c in filled), default=0), max((c[3] for c in filled), default=0)
    pairs = set()
    for cell in filled:
        beside = next((o for x in range(cell[3], columns) if (o := owners.get((cell[0], x)))), None)
        below = next((o for y in range(cell[2], rows) if (o := owners.get((y, cell[1])))), None)
        pairs |= {(cell[4], other[4], across) for other, across in ((beside, True), (below, False)) if other}
    return pairs


def likeness(cells: Sequence[Cell], truths: Sequence[Sequence[Cell]]) -> float:
    """How right the cells are, in [0, 1]: F1 of their neighbours, and less for up to MOST_WRONG rows too many or missing."""
    mine, rows = neighbours(cells), _rows(cells)
    held = {index for cell in cells for index in cell[4]}
    best = 0.0
    for truth in truths:
        true = neighbours(truth)
        f1 = 2 * len(mine & true) / max(len(mine) + len(true), 1)
        if f1:
            inside = {index for cell in truth for index in cell[4]}
            wrong = sum(not row & inside for row in rows) + sum(not row & held for row in _rows(truth))
            best = max(best, f1**SHARPNESS * WRONG_ROW ** min(wrong, MOST_WRONG))
    return best


def _rows(cells: Sequence[Cell]) -> list[set[int]]:
    """The lines of each row, of rows with any."""
    found: dict[int, set[int]] = {}
    for cell in cells:
        found.setdefault(cell[0], set()).update(cell[4])
    return [row for row in found.values() if row]


def cells_of(grid: Grid) -> list[Cell]:
    return [
        (c.row, c.column, c.row + c.row_span, c.column + c.column_span, frozenset(piece.index for piece in c.pieces))
        for c in grid.cells
    ]


def pages_of(sources: Sequence[str]) -> Iterator[tuple[str, Sequence[Line], Size, PageEvidence, Mapping[str, Any]]]:
    """Name, lines, size, evidence and truth of each page whose tables are known."""
    for source in sources:
        observed, truths = map(Path, source.split("="))
        known = {file.name.removesuffix(".structure.json"): file for file in truths.rglob("*.structure.json")}
        for file in sorted(observed.glob("*.pickle")):
            name = file.stem.removesuffix(".pdf")
            if name not in known:
                continue
            seen = pickle.loads(file.read_bytes())  # noqa: S301 - written by observe.py
            truth = json.loads(known[name].read_text("utf-8"))
            parsed = [page for page in seen if page[2].regions is not None][-len(truth["pages"]) :]
            pages = zip(parsed, truth["pages"], strict=False)
            yield from ((name, *page, true) for page, true in pages if page[0] and _has_cells(true))


def _has_cells(page: Mapping[str, Any]) -> bool:
    """Whether the cells of all tables are known; tags of PDFs don't tell them."""
    return all(block.get("cells") or block.get("html") for block in page["blocks"] if block["type"] == "table")


def measure(sources: Sequence[str], target: Path, rounds: int) -> None:
    """Writes measures and F1 of every candidate of the pages, varied so many times at random."""
    rng = random.Random(1)
    kept: list[list[float]] = []
    likenesses: list[float] = []
    pages: list[str] = []

    seen = list(pages_of(sources))
    for turn, (name, observed, size, evidence, truth) in product(range(rounds), seen):
        placed = evidence.placed(observed)
        worded = _worded(placed, truth, size, rng) if rng.random() < WORDED else placed
        lines, styles = _varied(worded, evidence.styles, truth, size, rng)
        frame = frame_of(lines, styles)
        if rng.random() < SCANNED:
            frame = _as_scanned(frame, rng)
        truths = true_tables(truth, lines, size)
        kept_share = 0.95 if rng.random() < 0.75 else 0.0
        known = replace(
            evidence,
            regions=[region for region in evidence.regions or () if rng.random() < kept_share],
            tables=evidence.tables if rng.random() < 0.7 else (),
            rules=evidence.rules if rng.random() < 0.9 else (),
        )
        for candidate, measures in _examined(frame, known, rng):
            kept.append(measures)
            likenesses.append(likeness(cells_of(candidate.grid), truths))
            pages.append(f"{name} {turn}")
    np.savez_compressed(
        target,
        measures=np.array(kept, dtype=np.float32),
        likeness=np.array(likenesses),
        pages=np.array(pages),
        names=np.array(NAMES),
    )
    print(f"{len(kept)} candidates of {len(set(pages))} pages")


def _worded(lines: Sequence[Line], truth: Mapping[str, Any], size: Size, rng: random.Random) -> list[Line]:
    """The lines; those alone in a cell of a table begin at its edge, are as long as words are, and have no digits."""
    found = list(lines)
    scale = (size.width / truth["width"], size.height / truth["height"]) * 2
    tables = [block for block in truth["blocks"] if block["type"] == "table"]
    if not all(block.get("cells") for block in tables):
        return found
    boxes = [cell["box"] for block in tables for cell in block["cells"]]
    cells = [cell for table in true_tables(truth, lines, size) for cell in table]
    for box, cell in zip(boxes, cells, strict=False):
        left, _, right, _ = (edge * factor for edge, factor in zip(box, scale, strict=True))
        for index in cell[4]:
            line = lines[index]
            _, top, _, bottom = line.box
            pad = 0.2 * (bottom - top)
            width = max(bottom - top, (right - left - 2 * pad) * rng.uniform(0.4, 1.0))
            found[index] = replace(
                line,
                text=line.text.translate(_LETTERS),
                quad=quad_of((left + pad, top, left + pad + width, bottom)),
                words=(),
            )
    return found


def _varied(
    lines: Sequence[Line],
    styles: Sequence[LineStyle | None],
    truth: Mapping[str, Any],
    size: Size,
    rng: random.Random,
) -> tuple[list[Line], list[LineStyle | None]]:
    """The lines; of some pages, tables lack most of their rows, or one table is the whole page."""
    kept = set(range(len(lines)))
    tables = true_tables(truth, lines, size)
    choice = rng.random()
    if tables and choice < CROPPED:
        kept = set().union(*(cell[4] for cell in rng.choice(tables))) or kept
    elif choice < CROPPED + THINNED:
        for cells in tables:
            rows = max(cell[2] for cell in cells)
            dropped = {row for row in range(1, rows) if rng.random() < 0.7}
            kept -= set().union(*(cell[4] for cell in cells if cell[0] in dropped and cell[2] == cell[0] + 1))
    elif choice < CROPPED + THINNED + HEADLESS:
        kept -= {index for cells in tables for cell in cells if cell[0] == 0 for index in cell[4]}
    elif choice < CROPPED + THINNED + HEADLESS + STRIPS:
        down = sorted(kept, key=lambda index: lines[index].box[1])
        shown = sorted(set().union(*(cell[4] for cell in rng.choice(tables)))) if tables else down
        middle = rng.choice(shown or down)
        first = max(0, down.index(middle) - rng.randint(0, MAX_STRIP))
        kept = set(down[first : first + rng.randint(6, MAX_STRIP)])
    order = sorted(kept)
    return [lines[i] for i in order], [styles[i] for i in order] if styles else []


def _as_scanned(frame: Frame, rng: random.Random) -> Frame:
    """The frame with boxes as a detector draws them: a little larger, and nowhere exact; without known styles."""
    grown, noise = rng.uniform(0.0, 0.2), rng.uniform(0.0, 0.1)
    pieces = []
    for piece in frame.pieces:
        edges = [side * grown * piece.height + rng.gauss(0, noise) * piece.height for side in (-1, -1, 1, 1)]
        left, top, right, bottom = (
            piece.left + edges[0],
            piece.top + edges[1],
            piece.right + edges[2],
            piece.bottom + edges[3],
        )
        pieces.append(
            replace(piece, left=left, top=top, right=max(right, left + 1), bottom=max(bottom, top + 1), bold=False)
        )
    return replace(frame, pieces=tuple(pieces), unit=frame.unit * (1 + 2 * grown))


def _examined(frame: Frame, evidence: PageEvidence, rng: random.Random) -> Iterator[tuple[TableCandidate, list[float]]]:
    """Every grid of the page's places, and of places whose edges are moved at random, with its measures."""
    page, places = page_places(frame, evidence)
    found = []
    for place in places:
        found += grids_of(page, place)
        moves = [move for move in MOVES if rng.random() < 0.4]
        moves += [(round(rng.gauss(0, 3)), round(rng.gauss(0, 3))) for _ in range(4)]
        moved = [other for move in moves if any(move) and (other := place.moved(*move)) is not None]
        found += [each for other in moved for each in grids_by_words(other)]
    if found:
        measures = measures_of(page, [(each.place, each.grid, each.source) for each in found])
        yield from zip(found, measures.tolist(), strict=True)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("candidates", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("sources", nargs="+", metavar="OBSERVED=TRUTHS")
    args = parser.parse_args()
    measure(args.sources, args.candidates, args.rounds)


if __name__ == "__main__":
    main()
