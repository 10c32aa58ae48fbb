"""The tables of a page: of all places and grids, those that do not overlap and are most probable together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from inkgate.layout.evidence import PageEvidence
from inkgate.layout.order.frame import FloatArray, Frame, measure, rows_of
from inkgate.layout.tables.by_model import model_grid
from inkgate.layout.tables.features import NAMES, measures_of
from inkgate.layout.tables.grid import Grid, without_empty_rows
from inkgate.layout.tables.places import TablePlace, places_of
from inkgate.layout.tables.ruled import ruled_tables
from inkgate.layout.tables.scorer import table_scorer
from inkgate.layout.tables.view import PageView, guess_for, view_of
from inkgate.layout.tables.words import grid_of, with_continued_rows, with_joined_rows
from inkgate_client.coordinates import around, holds_middle
from inkgate_client.types import BlockType, Box, Line

MIN_PROBABILITY = 0.15
"""Less probable tables are text. 0.2 in place of 0.15, and PROMISING of 0.1: TEDS 47.6 in place of 52.7 on the tuning
pages, with 9 in place of 11 false tables, by a scorer that had not seen them."""
PROMISING = 0.05
"""The edges of a place are moved if a grid of it is at least so probable."""
AGREED, SURE, MAX_ROWS = 0.9, 0.9, math.log(8)
"""Least probability where drawn lines, or both models, agree with the words: the scorer was trained on few tables of
words only, and took 2 of 10 images of PubTabNet for text."""
LIKELY, DOUBTFUL, UNLIKELY = 0.4, 0.5, 0.05
"""Least probability where the layout model, at least so confident, sees a table, and the scorer finds it at least as
probable as the third: without this bound a page of a newspaper was a table, and 15 % of successors on the tuning pages
were wrong in place of 10 %.
"""
MIN_PART = 0.6
"""Drawn cells with a smaller share of a table that the layout model sees are a part of it."""
TICK_STEP = 3.0
"""Rows of plots' labels are further apart than this, in line heights, from middle to middle."""
CERTAIN = 0.8
"""The table model is not asked for the cells of more probable tables."""
MAX_ASKED = 12
"""Maximum tables of a page that the model is asked for; it takes about as long as half a page of text for each."""
MARGIN_X, MARGIN_Y = 0.3, 0.6
"""The model sees this much around the lines, in their heights: it was trained on tables that are cut out with the rules
above and below. Of 40 drawn tables it gets 98 % right so, and 88 % with a margin of 1."""
MOVES = ((1, 0), (2, 0), (-1, 0), (-2, 0), (0, 1), (0, -1), (0, -2))
"""Rows by which a place grows at its top and at its bottom; header rows and footers are one or two."""
ROUNDS = 2
"""Maximum moves of a place."""
MAX_COMPARED = 14
"""Maximum candidates of which each combination is tried; 2 to this power takes 20 ms."""


@dataclass(frozen=True, slots=True)
class TableCandidate:
    """A place with cells. `source`: see `measures_of`."""

    place: TablePlace
    grid: Grid
    source: str
    probability: float = 0.0

    @property
    def key(self) -> frozenset[int]:
        return frozenset(piece.index for piece in self.grid.pieces)

    @property
    def score(self) -> float:
        """What the page gains if this is a table. Large tables count more, but not in proportion to their lines."""
        return math.sqrt(len(self.key)) * (self.probability - MIN_PROBABILITY)


def tables_of(frame: Frame, evidence: PageEvidence, *, by_words: bool = True) -> list[TableCandidate]:
    """The tables of a page, none overlapping.

    `by_words`: also those that no drawn lines show, which receipts have not.
    """
    found = candidates_of(frame, evidence if by_words else replace(evidence, tables=()))
    return selected(found if by_words else [each for each in found if each.source == "ruled"])


def boxes_to_ask(lines: Sequence[Line], evidence: PageEvidence) -> list[Box]:
    """Where the table model may know more, in pixels of the page: around likely tables whose cells are uncertain, and
    where the layout model alone sees a table.
    """
    found = [each for each in candidates_of(measure(lines), evidence, rounds=0) if each.score > 0]
    found.sort(key=lambda each: -len(each.key) * each.probability)
    taken: set[int] = set()
    boxes = []
    for each in found:
        if not taken & each.key:
            taken |= each.key
            if each.probability < CERTAIN:
                boxes.append(_with_margin([lines[index].box for index in each.key]))
    for region in (region for region in evidence.regions or () if region.type is BlockType.TABLE):
        inside = [index for index, line in enumerate(lines) if holds_middle(region.box, line.box)]
        if inside and not taken.intersection(inside):
            taken.update(inside)
            boxes.append(_with_margin([lines[index].box for index in inside]))
    return boxes[:MAX_ASKED]


def _with_margin(boxes: Sequence[Box]) -> Box:
    left, top, right, bottom = around(boxes)
    height = float(np.median([box[3] - box[1] for box in boxes]))
    x, y = MARGIN_X * height, MARGIN_Y * height
    return (max(left - x, 0.0), max(top - y, 0.0), right + x, bottom + y)


def candidates_of(frame: Frame, evidence: PageEvidence, rounds: int = ROUNDS) -> list[TableCandidate]:
    """The best grid of each place, as it was found and after its edges were moved, so many times at most."""
    page, places = page_places(frame, evidence)
    best = [found for found in _best(page, [grids_of(page, place) for place in places]) if found is not None]
    seen = {found.key: found for found in best}
    moving = [found for found in best if found.probability >= PROMISING]
    for _ in range(rounds):
        groups = [_moved(page, found, seen.keys()) for found in moving]
        better = [
            found
            for before, found in zip(moving, _best(page, groups), strict=True)
            if found is not None and found.probability > before.probability
        ]
        moving = list({found.key: found for found in better}.values())
        seen.update((found.key, found) for found in moving)
    return list(seen.values())


def page_places(frame: Frame, evidence: PageEvidence) -> tuple[PageView, list[TablePlace]]:
    """What is known of the page's lines, and the places where it may show tables."""
    page = view_of(frame, evidence)
    if frame.vertical or not frame.pieces:
        return page, []
    rows = rows_of([piece for piece in frame.pieces if piece.turn == 0])
    places = places_of(frame, rows, page.regions, ruled_tables(frame, evidence.cells), evidence.tables)
    trimmed = [place.trimmed(page.captions) for place in places if not (place.ruled and _is_part(page, place))]
    return page, list({place.key: place for place in trimmed if place is not None}.values())


def _is_part(page: PageView, place: TablePlace) -> bool:
    """Whether a place is a small part of a table that the layout model is sure of."""
    own = [piece.index for piece in place.pieces]
    sure = [i for i, r in enumerate(page.regions) if r.type is BlockType.TABLE and r.confidence >= SURE]
    return any(page.inside[own, i].all() and len(own) < MIN_PART * page.inside[:, i].sum() for i in sure)


def grids_of(page: PageView, place: TablePlace) -> list[TableCandidate]:
    """The place with each of its possible grids."""
    found = [TableCandidate(place, place.ruled.grid, "ruled")] if place.ruled else []
    guess = guess_for(page, place)
    if guess is not None:
        found.append(TableCandidate(place, without_empty_rows(model_grid(page.frame, guess, place.pieces)), "model"))
    return [candidate for candidate in found if candidate.grid.is_table] + grids_by_words(place)


def grids_by_words(place: TablePlace) -> list[TableCandidate]:
    """The place with each grid that its words make."""
    plain = grid_of(place.rows[place.start : place.stop])
    filled = [[bool(cell.pieces) for cell in row] for row in plain.by_row]
    if not plain.is_table or sum(sum(row) > 1 for row in filled) < 2 or _is_of_goods(filled):
        return []
    joined = [grid for grid in (with_joined_rows(plain), with_continued_rows(plain)) if grid is not None]
    return [
        TableCandidate(place, plain, "words"),
        *(TableCandidate(place, grid, "joined") for grid in joined if grid.is_table),
    ]


def _is_of_goods(filled: Sequence[Sequence[bool]]) -> bool:
    """Whether names of goods stand above their numbers: every second row has the first cell alone, the others not.
    `filled`: by row, whether each cell is.
    """
    firsts = [row[0] for row in filled]
    alone = [row[0] and not any(row[1:]) for row in filled]
    return len(firsts) > 2 and firsts == alone and all(a != b for a, b in pairwise(firsts))


def _moved(page: PageView, found: TableCandidate, seen: AbstractSet[frozenset[int]]) -> list[TableCandidate]:
    """The candidates with moved edges whose pieces are not in `seen`."""
    moved = (place for move in MOVES if (place := found.place.moved(*move)) is not None)
    places = [place for place in moved if place.key not in seen and place.trimmed(page.captions) == place]
    return [candidate for place in places for candidate in grids_by_words(place)]


def _best(page: PageView, groups: Sequence[Sequence[TableCandidate]]) -> list[TableCandidate | None]:
    """The most probable candidate of each group; None for an empty one."""
    every = [candidate for group in groups for candidate in group]
    if not every:
        return [None] * len(groups)
    measures = measures_of(page, [(each.place, each.grid, each.source) for each in every])
    found = table_scorer().probabilities(measures)
    found = np.maximum(found, _agreement(measures, found))
    found[_are_ticks(measures) | _are_blocks(measures)] = 0.0
    scored = iter(
        TableCandidate(each.place, each.grid, each.source, probability)
        for each, probability in zip(every, found.tolist(), strict=True)
    )
    return [max((next(scored) for _ in group), key=lambda each: each.probability, default=None) for group in groups]


def _agreement(measures: FloatArray, scored: FloatArray) -> FloatArray:
    """The least probability of each candidate: AGREED where hardly any word contradicts drawn cells around all lines,
    or cells that both models see; LIKELY where the layout model sees a table, and has doubts or words contradict,
    unless the scorer finds it UNLIKELY. `scored`: the scorer's probabilities.
    """
    ruled, model, wrong, drawn, same, part, confidence, rows = _columns(
        measures,
        *("ruled", "model", "contradictions", "in_drawn", "region_same", "of_region", "region_confidence", "cell_rows"),
    )
    fits = wrong <= 1 - SURE
    both = (model > 0) & (same >= SURE) & fits
    seen_same = (same >= SURE) & (confidence >= SURE)
    alone = (ruled > 0) & (drawn >= SURE) & ((rows <= MAX_ROWS) | seen_same) & ((part == 0) | (part >= MIN_PART)) & fits
    seen = (ruled > 0) & (drawn >= SURE) & (part >= MIN_PART) & (confidence >= SURE)
    agreed = alone | (both & (confidence >= SURE))
    likely = (seen | (both & (confidence >= DOUBTFUL))) & (scored >= UNLIKELY)
    found: FloatArray = np.where(agreed, AGREED, np.where(likely, LIKELY, 0.0))
    return found


def _are_ticks(measures: FloatArray) -> NDArray[np.bool_]:
    """Whether a table would be the labels of a plot: in a figure, without drawn cells, and far apart."""
    ruled, pictured, step = _columns(measures, "ruled", "in_figure", "largest_step")
    found: NDArray[np.bool_] = (ruled == 0) & (pictured >= SURE) & (step > TICK_STEP)
    return found


def _are_blocks(measures: FloatArray) -> NDArray[np.bool_]:
    """Whether nearly all lines reach over blocks that the layout model reads one after the other."""
    (apart,) = _columns(measures, "apart")
    found: NDArray[np.bool_] = apart >= SURE
    return found


def _columns(measures: FloatArray, *names: str) -> list[FloatArray]:
    return [measures[:, NAMES.index(name)] for name in names]


def selected(candidates: Sequence[TableCandidate]) -> list[TableCandidate]:
    """Candidates that share no line, with the highest total score."""
    found = []
    rest = sorted((each for each in candidates if each.score > 0), key=lambda each: -each.score)
    while rest:
        together = _touching(rest)
        rest = [each for each in rest if each not in together]
        found += _combined(together[:MAX_COMPARED])[1]
    return found


def _touching(candidates: Sequence[TableCandidate]) -> list[TableCandidate]:
    """The first candidate, and those that share lines with it, directly or through others."""
    lines = candidates[0].key
    while (wider := lines.union(*(each.key for each in candidates if each.key & lines))) != lines:
        lines = wider
    return [each for each in candidates if each.key & lines]


def _combined(ranked: Sequence[TableCandidate]) -> tuple[float, list[TableCandidate]]:
    if not ranked:
        return 0.0, []
    first, rest = ranked[0], ranked[1:]
    apart = [other for other in rest if not other.key & first.key]
    score, found = _combined(apart)
    taken = (score + first.score, [first, *found])
    if len(apart) == len(rest):
        return taken
    left = _combined(rest)
    return left if left[0] > taken[0] else taken
