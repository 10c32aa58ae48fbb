"""Examples for the layout network: the pieces of observed pages, and what they truly are.

`observe.py` keeps what the product sees of a page; the truth is in NAME.structure.json beside the document. A piece is
what most of the true words in its box are.
"""

from __future__ import annotations

import json
import pickle
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from inkgate.layout.evidence import PageEvidence
from inkgate.layout.order.frame import LayoutPiece
from inkgate.layout.order.network import CLASSES
from inkgate.layout.order.tokens import PageTokens
from inkgate.layout.pieces import PagePieces, pieces_of
from inkgate.layout.regions.styles import size_of
from inkgate.layout.text.running import watermarks
from inkgate_client.coordinates import around
from inkgate_client.types import BlockType, Box, Line, Size

Labels = np.ndarray[Any, np.dtype[np.int64]]
Boxes = np.ndarray[Any, np.dtype[np.float64]]
BLOCK, ITEM, LINE, CLASS, LEVEL, OPEN = range(6)
"""Columns of labels; -1 where unknown. OPEN is 1 if it is not known whether the block goes on in the next one."""
MARGIN = 0.2
"""A true word's middle is in the box of a line that is this much larger, in heights of the line."""
MISSED = 3
"""Of one in so many pages with tables, an example is made in which they are missed."""
LARGE = 300
"""Larger pages, in pieces, are learned in strips: the time grows with the square of the number."""
NO_RULES = 0.1
"""The share of examples whose drawn lines are not seen."""
STRIPS = 0.15
"""The share of examples of which a strip is learned."""


@dataclass(slots=True)
class Example:
    """`labels`: a row for each piece."""

    name: str
    family: str
    tokens: PageTokens
    labels: Labels


def load(observed: Path, truths: Path, done: set[str], part: int = 0, parts: int = 1) -> Iterator[Example]:
    """The examples of a folder of observed documents that are not `done`, which then are; `truths` has their structure
    files, at any depth.
    """
    known = {file.name.removesuffix(".structure.json"): file for file in truths.rglob("*.structure.json")}
    for file in sorted(observed.glob("*.pickle")):
        if file.stem not in known or str(file) in done or zlib.crc32(file.name.encode()) % parts != part:
            continue
        done.add(str(file))
        truth = json.loads(known[file.stem].read_text("utf-8"))
        seen = pickle.loads(file.read_bytes())  # noqa: S301 - written by observe.py
        # A page of which parts were read by themselves was arranged more than once.
        pages = [page for page in seen if page[2].regions is not None][-len(truth["pages"]) :]
        for number, ((lines, size, evidence), page) in enumerate(zip(pages, truth["pages"], strict=False)):
            if watermarks(lines) or not lines:
                continue
            found = pieces_of(evidence.placed(lines), size, evidence, lines)
            if found.receipt or found.frame.vertical or found.frame.turn:
                continue
            family = page.get("family") or truth.get("family") or known[file.stem].parent.name
            seen_as = [found]
            if found.grids and zlib.crc32(file.name.encode()) % MISSED == 0:
                seen_as.append(_without_tables(lines, size, evidence))
            for way, each in enumerate(seen_as):
                tokens = each.tokens()
                if tokens.pieces:
                    yield Example(f"{file.stem}:{number}:{way}", family, tokens, _labels(each, tokens, page))


def _without_tables(lines: Sequence[Line], size: Size, evidence: PageEvidence) -> PagePieces:
    """The page as it is seen if its tables are missed: their lines are to be read, too."""
    regions = [region for region in evidence.regions or () if region.type is not BlockType.TABLE]
    bare = replace(evidence, regions=regions)
    return pieces_of(bare.placed(lines), size, bare, lines, with_tables=False)


def _labels(found: PagePieces, tokens: PageTokens, page: dict[str, Any]) -> Labels:
    across, down = found.size.width / page["width"], found.size.height / page["height"]
    boxes, places, letters = [], [], []
    for b, block in enumerate(page["blocks"]):
        item = 0
        for n, line in enumerate(block.get("lines", [])):
            item += bool(line.get("item")) and n > 0
            for word in line.get("words") or [line]:
                box = word["box"]
                boxes.append((box[0] * across, box[1] * down, box[2] * across, box[3] * down))
                places.append((b, item, n))
                letters.append(len(word["text"]))
    words = np.array(boxes, np.float64).reshape(-1, 4)
    labels = np.full((len(tokens.pieces), 6), -1, np.int64)
    for at, piece in enumerate(tokens.pieces):
        if piece.zone >= 0:
            place = _of_zone(found.zones[piece.zone].box, found.zones[piece.zone].type, page["blocks"], across, down)
        else:
            place = _of_line(found.lines[piece.index].box, words, places, letters)
        if place is None:
            continue
        block = page["blocks"][place[0]]
        kind = CLASSES.index(block["type"]) if block["type"] in CLASSES else -1
        level = min(block.get("level") or 1, 6) - 1 if block["type"] == "title" else -1
        labels[at] = (*place, kind, level, bool(block.get("open")))
    return labels


def _of_line(
    box: Box, boxes: Boxes, places: list[tuple[int, int, int]], letters: list[int]
) -> tuple[int, int, int] | None:
    left, top, right, bottom = box
    more = MARGIN * min(bottom - top, right - left)
    points = (boxes[:, :2] + boxes[:, 2:]) / 2
    inside = (points[:, 0] >= left - more) & (points[:, 0] <= right + more)
    inside &= (points[:, 1] >= top) & (points[:, 1] <= bottom)
    if not inside.any():  # a piece of a word
        middle = ((left + right) / 2, (top + bottom) / 2)
        inside = np.logical_and(boxes[:, :2] <= middle, boxes[:, 2:] >= middle).min(axis=1)
    votes: dict[tuple[int, int, int], int] = {}
    for n in np.flatnonzero(inside).tolist():
        votes[places[n]] = votes.get(places[n], 0) + letters[n]
    return max(votes, key=lambda place: (votes[place], [-part for part in place])) if votes else None


def _of_zone(
    box: Box, kind: BlockType, blocks: list[dict[str, Any]], across: float, down: float
) -> tuple[int, int, int] | None:
    """The true block that a table or figure overlaps most, of the same type if there is one."""
    best, most = None, 0.0
    for b, block in enumerate(blocks):
        if not block.get("box"):
            continue
        left, top, right, bottom = (edge * scale for edge, scale in zip(block["box"], (across, down) * 2, strict=True))
        shared = max(0.0, min(box[2], right) - max(box[0], left)) * max(0.0, min(box[3], bottom) - max(box[1], top))
        shared *= 1.5 if block["type"] == kind.value else 1.0
        if shared > most:
            best, most = b, shared
    area = (box[2] - box[0]) * (box[3] - box[1])
    return None if best is None or most < 0.3 * area else (best, 0, 0)


def targets(example: Example) -> tuple[Labels, Labels, Any]:
    """For each piece the number of the next one in its block and of the one before, N for none, -1 if unknown; and
    whether each is read before each: 1, 0, or -1 if unknown."""
    labels, count = example.labels, len(example.labels)
    known = labels[:, BLOCK] >= 0
    keys = [(*row[:3], piece.left) for row, piece in zip(labels.tolist(), example.tokens.pieces, strict=True)]
    order = sorted(np.flatnonzero(known).tolist(), key=lambda n: keys[n])
    after, ahead = np.where(known, count, -1), np.where(known, count, -1)
    zones = [piece.zone >= 0 for piece in example.tokens.pieces]
    for i, j in pairwise(order):
        if (labels[i, :2] == labels[j, :2]).all() and not (zones[i] or zones[j]):
            after[i], ahead[j] = j, i
        elif labels[i, OPEN] == 1:
            after[i] = ahead[j] = -1
    rank = np.full(count, -1)
    rank[order] = np.arange(len(order))
    before = np.where(known[:, None] & known[None], rank[:, None] < rank[None], -1).astype(np.int8)
    np.fill_diagonal(before, -1)
    return after, ahead, before


def varied(example: Example, rng: random.Random) -> Example:
    """The example as a scan or another detector might show it: other boxes, no styles, fewer regions, divided lines; of
    some, and of large ones, a strip across the page.
    """
    if len(example.labels) > LARGE or rng.random() < STRIPS:
        example = _strip(example, rng)
    tokens = example.tokens
    unit = tokens.unit
    scan = rng.random() < 0.5
    plain, taller, noise = (
        scan or rng.random() < 0.15,
        rng.uniform(0.95, 1.25) if scan else 1.0,
        rng.choice([0.0, 0.02, 0.06]),
    )
    no_zones, lost_zones = rng.random() < 0.2, rng.choice([0.0, 0.1, 0.3])
    lost = {
        id(zone) for zone in {id(z): z for z in tokens.zones if z}.values() if no_zones or rng.random() < lost_zones
    }
    change = _Change(plain, taller, noise)
    lost_rules = rng.choice([0.0, 0.0, 0.1, 0.4])
    split, drop = rng.choice([0.0, 0.01, 0.05]), rng.choice([0.0, 0.0, 0.03])
    made: list[tuple[LayoutPiece, int]] = []
    for at, piece in enumerate(tokens.pieces):
        if rng.random() < drop and len(tokens.pieces) > 8:
            continue
        parts = [piece]
        if piece.zone < 0 and " " in piece.text.strip() and rng.random() < split:
            parts = _divided(piece, rng)
        made += [(part if part.zone >= 0 else _redrawn(part, unit, change, rng), at) for part in parts]
    made.sort(key=lambda pair: (pair[0].top, pair[0].left, pair[0].bottom, pair[0].right, pair[0].text, pair[0].zone))
    kept = [at for _, at in made]
    pieces = [piece for piece, _ in made]

    def is_lost(at: int) -> bool:
        return id(tokens.zones[at]) in lost and tokens.pieces[at].zone < 0

    return Example(
        example.name,
        example.family,
        PageTokens(
            pieces,
            [None if is_lost(at) else tokens.zones[at] for at in kept],
            [(0.0, 0.0, 0.0, 0.0) if is_lost(at) else tokens.boxes[at] for at in kept],
            tokens.bounds,
            max(unit * taller, 1.0),
            [] if rng.random() < NO_RULES else [rule for rule in tokens.rules if rng.random() >= lost_rules],
        ),
        example.labels[kept],
    )


def _strip(example: Example, rng: random.Random) -> Example:
    """A strip of the page, from one height to another, as short pages and cut pictures are."""
    tokens = example.tokens
    middles = [piece.middle for piece in tokens.pieces]
    count = rng.randint(2, max(len(middles) // 2, 3))
    first = rng.randrange(max(len(middles) - count, 1))
    low, *_, high = sorted(middles)[first : first + count]
    kept = [at for at, middle in enumerate(middles) if low <= middle <= high]
    if len(kept) < 2:
        return example
    pieces = [tokens.pieces[at] for at in kept]
    bounds = tokens.bounds
    if rng.random() < 0.5:  # cut out, with margins of other widths
        margins = [rng.uniform(0, 4) * tokens.unit for _ in range(4)]
        left, top, right, bottom = around((piece.left, piece.top, piece.right, piece.bottom) for piece in pieces)
        bounds = (left - margins[0], top - margins[1], right + margins[2], bottom + margins[3])
    zones, boxes = [tokens.zones[at] for at in kept], [tokens.boxes[at] for at in kept]
    part = PageTokens(pieces, zones, boxes, bounds, tokens.unit, tokens.rules)
    return Example(example.name, example.family, part, example.labels[kept])


@dataclass(frozen=True, slots=True)
class _Change:
    """`plain`: nothing is known of fonts; `taller`: factor of the boxes' heights; `noise`: in line heights."""

    plain: bool
    taller: float
    noise: float


def _redrawn(piece: LayoutPiece, unit: float, change: _Change, rng: random.Random) -> LayoutPiece:
    grow = (change.taller - 1) * piece.height / 2
    left, top, right, bottom = (rng.gauss(0, change.noise * unit) for _ in range(4))
    moved = replace(
        piece,
        left=piece.left + left,
        top=piece.top - grow + top,
        right=max(piece.right + right, piece.left + left + 0.1 * unit),
        bottom=max(piece.bottom + grow + bottom, piece.top - grow + top + 0.2 * unit),
        bold=piece.bold and not change.plain,
    )
    return replace(moved, em=size_of(moved.height, None)) if change.plain else moved


def _divided(piece: LayoutPiece, rng: random.Random) -> list[LayoutPiece]:
    text = piece.text.strip()
    at = rng.choice([n for n, char in enumerate(text) if char == " "])
    middle = piece.left + piece.width * at / len(text)
    gap = 0.15 * piece.height
    return [
        replace(piece, text=text[:at], right=middle - gap / 2),
        replace(piece, text=text[at + 1 :], left=middle + gap / 2),
    ]
