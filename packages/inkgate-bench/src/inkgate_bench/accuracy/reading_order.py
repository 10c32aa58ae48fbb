"""How well the order of what was read agrees with the truth's: Kendall's tau over matched lines. Pure.

M. G. Kendall, "A New Measure of Rank Correlation", Biometrika 30 (1938): pairs of lines in the right order less pairs
in the wrong one, divided by all pairs. 1 is the truth's order, -1 its reverse, 0 what chance gives.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from rapidfuzz import fuzz, process

from inkgate_bench.accuracy.line_accounts import reduced
from inkgate_client.types import Box

ALIKE = 80
"""Similarity (rapidfuzz's ratio, of 100) from which a read line is a true one."""
MIN_ALIKE = 4
"""Letters and digits of a line from which it may be matched by likeness; shorter ones must be equal."""
MIN_WITHIN = 8
"""Letters and digits of a true line from which it is sought within and across read lines."""
MAX_COMPARED = 1_500
"""Lines compared with each other by likeness: bounds the time of a page to a second or two."""
MAX_WITHIN = 400
MAX_CROSSING = 0.25
"""Share of lines that may run across the gutter of a page in two columns, such as titles."""
MIN_COLUMN = 0.2
"""Share of the lines that each of two columns has at least."""


@dataclass(frozen=True, slots=True)
class OrderScore:
    """Kendall's tau of a page or document, with the number of its lines, and of those that were matched.

    Lines that stand twice in the truth or have no letter or digit are not among them. `tau` is 0 where fewer than two
    of several lines were matched.
    """

    tau: float
    matched: int
    lines: int


def order_score(truth: Sequence[str], read: Sequence[str]) -> OrderScore | None:
    """Tau of the true lines by their places in what was read; None where the truth has no two lines to order."""
    wanted = [reduced(line) for line in truth]
    times = Counter(wanted)
    unique = [line for line in wanted if line and times[line] == 1]
    if len(unique) < 2:
        return None
    places = match_lines(unique, [reduced(line) for line in read])
    known = [place for place in places if place is not None]
    return OrderScore(kendall_tau(known) or 0.0, len(known), len(unique))


def match_lines(truth: Sequence[str], read: Sequence[str]) -> list[float | None]:
    """Returns for each true line where it begins in the read ones joined to one text; None where it was not found.

    Both are `reduced`; the true lines are different. Each read line is taken once: first equal lines, then the most
    alike ones from ALIKE on, then true lines are sought in what is left, where they may be cut or joined.
    """
    starts = [0, *np.cumsum([len(line) for line in read]).tolist()]
    numbers: dict[str, list[int]] = {}
    for number, line in enumerate(read):
        numbers.setdefault(line, []).append(number)
    # A line that was read twice has no one place.
    taken = {line: numbers[line][0] for line in truth if len(numbers.get(line, [])) == 1}
    ambiguous = {line for line in truth if len(numbers.get(line, [])) > 1}
    left = [line for line in truth if line not in taken and line not in ambiguous]
    used = set(taken.values())
    free = [i for i, line in enumerate(read) if i not in used and len(line) >= MIN_ALIKE and line not in ambiguous]
    taken |= _alike([line for line in left if len(line) >= MIN_ALIKE], read, free)
    places: dict[str, float] = {line: float(starts[number]) for line, number in taken.items()}
    used = set(taken.values())
    rest = "".join("\0" * len(line) if i in used else line for i, line in enumerate(read))
    places |= _within([line for line in left if line not in taken], rest)
    return [places.get(line) for line in truth]


def _alike(wanted: Sequence[str], read: Sequence[str], free: Sequence[int]) -> dict[str, int]:
    """Pairs of lines that are alike, the most alike first, each line once."""
    wanted, free = wanted[:MAX_COMPARED], free[:MAX_COMPARED]
    if not wanted or not free:
        return {}
    scores = process.cdist(wanted, [read[i] for i in free], scorer=fuzz.ratio, score_cutoff=ALIKE, dtype=np.float32)
    found: dict[str, int] = {}
    used: set[int] = set()
    rows, columns = np.nonzero(scores)
    for pair in np.argsort(-scores[rows, columns], kind="stable").tolist():
        line, number = wanted[rows[pair]], free[columns[pair]]
        if line not in found and number not in used:
            found[line] = number
            used.add(number)
    return found


def _within(wanted: Sequence[str], rest: str) -> dict[str, float]:
    """Returns where lines begin in a text, the longest first, each part of it once."""
    found: dict[str, float] = {}
    candidates = sorted((line for line in wanted if len(line) >= MIN_WITHIN), key=len, reverse=True)
    for line in candidates[:MAX_WITHIN]:
        if len(line) > len(rest):
            continue
        place = fuzz.partial_ratio_alignment(line, rest, score_cutoff=ALIKE)
        if place is not None and place.dest_end > place.dest_start:
            found[line] = float(place.dest_start)
            start, end = place.dest_start, place.dest_end
            rest = rest[:start] + "\0" * (end - start) + rest[end:]
    return found


def kendall_tau(places: Sequence[float]) -> float | None:
    """Tau of a sequence with itself in ascending order; equal values are half right. None for fewer than two."""
    count = len(places)
    if count < 2:
        return None
    seen: list[float] = []
    agreeing = 0.0
    for number, place in enumerate(places):
        below = bisect_left(seen, place)
        equal = 0
        while below + equal < number and seen[below + equal] == place:
            equal += 1
        agreeing += below + equal / 2
        insort(seen, place)
    return 4 * agreeing / (count * (count - 1)) - 1


def column_order_tau(boxes: Sequence[Box]) -> float | None:
    """Tau of the boxes of read lines with the order of a page in two columns; None where it has no two columns.

    Made for pages whose true lines run across the columns. The gutter is the vertical line that the fewest boxes
    cross. Boxes across it divide the page into bands; in each, the left column comes before the right one, and rows
    from top to bottom.
    """
    gutter = _gutter(boxes)
    if gutter is None:
        return None
    expected = _by_columns(boxes, gutter)
    return kendall_tau([float(place) for place in np.argsort(expected)])


def _gutter(boxes: Sequence[Box]) -> float | None:
    if len(boxes) < 8:
        return None
    left, right = min(box[0] for box in boxes), max(box[2] for box in boxes)
    middle = np.linspace(left + 0.25 * (right - left), left + 0.75 * (right - left), 201)
    spans = np.array([(box[0], box[2]) for box in boxes])
    crossing = ((spans[:, :1] < middle) & (middle < spans[:, 1:])).sum(axis=0)
    fewest = np.flatnonzero(crossing == crossing.min())
    runs = np.split(fewest, np.flatnonzero(np.diff(fewest) > 1) + 1)
    widest = max(runs, key=len)
    gutter = float(middle[widest[len(widest) // 2]])
    sides = (int((spans[:, 1] <= gutter).sum()), int((spans[:, 0] >= gutter).sum()))
    fits = crossing.min() <= MAX_CROSSING * len(boxes) and min(sides) >= MIN_COLUMN * len(boxes)
    return gutter if fits else None


def _by_columns(boxes: Sequence[Box], gutter: float) -> list[int]:
    """Numbers of the boxes in the order of the page's columns."""
    rows = _rows(boxes)
    across = sorted(rows[i] for i, box in enumerate(boxes) if box[0] < gutter < box[2])

    def key(i: int) -> tuple[int, int, int, float]:
        left, _, right, _ = boxes[i]
        bands = 2 * bisect_left(across, rows[i])
        if left < gutter < right:
            return (bands + 1, 0, rows[i], left)
        return (bands, int(left >= gutter), rows[i], left)

    return sorted(range(len(boxes)), key=key)


def _rows(boxes: Sequence[Box]) -> list[int]:
    """Returns for each box the number of its row: those whose middles are within half a height of the row's
    first one.
    """
    rows = [0] * len(boxes)
    row, first = -1, float("-inf")
    for i in sorted(range(len(boxes)), key=lambda i: boxes[i][1] + boxes[i][3]):
        _, top, _, bottom = boxes[i]
        middle = (top + bottom) / 2
        if middle - first > (bottom - top) / 2:
            row, first = row + 1, middle
        rows[i] = row
    return rows
