"""Check boxes: written into the lines beside them, as `[x]` and `[ ]`, and as blocks with their labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from inkgate.layout.evidence import CheckBox
from inkgate_client.types import Block, BlockType, Box, CheckMark, Line

MARK = {True: "[x]", False: "[ ]"}
NEAR = 3.5
"""A label is at most this far from its box, in sides of the box."""
FIRST = 1.5
"""A label at the right of its box may be this many times as far as one at the left: most forms print it there."""
SAME_ROW = 0.7
"""Middles of a label and its box differ by less, in heights of the higher of the two."""
MIN_LETTERS = 2
"""A label has as many letters, or one of a script without spaces: an amount is none."""
MAX_LETTERS = 1
"""What is read of a box alone: a tick, a cross, the box."""
_BOX = r"[□☐☑☒■▢口]"
_READ_AS_BOX = re.compile(rf"\s*(?:{_BOX}|(?<!\S)[OoDXxVv0✓√](?!\S))\s*")
_NO_SPACES = re.compile(r"[\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff]")


def check_blocks(lines: Sequence[Line], boxes: Sequence[CheckBox]) -> list[Block]:
    """A block for each box, with the label beside it. `lines`: as recognised, without marks. Boxes without a label are
    kept, too.
    """
    labels = [i for i, line in enumerate(lines) if _is_label(line.text)] if boxes else []
    marks = [_mark(lines, labels, box) for box in boxes]
    return [
        Block(
            BlockType.CHECKBOX,
            box.box,
            (),
            "",
            "",
            checkbox=CheckMark(box.checked, "" if mark is None else _label(lines, mark, marks), box.confidence),
        )
        for box, mark in zip(boxes, marks, strict=True)
    ]


def _label(lines: Sequence[Line], mark: _Mark, marks: Sequence[_Mark | None]) -> str:
    """The text of the mark's line behind it, up to the next mark; the text before it if there is none behind."""
    text = lines[mark.line].text
    others = [each for each in marks if each is not None and each.line == mark.line and each != mark]
    following = min((each.start for each in others if each.start >= mark.stop), default=len(text))
    ahead = max((each.stop for each in others if each.stop <= mark.start), default=0)
    return text[mark.stop : following].strip() or text[ahead : mark.start].strip()


@dataclass(frozen=True, slots=True)
class _Mark:
    """A mark in place of `start` to `stop` in a line's text."""

    line: int
    start: int
    stop: int
    text: str


def with_marks(lines: Sequence[Line], boxes: Sequence[CheckBox]) -> list[Line]:
    """The lines, in their order, with a mark at the place of each box; what was read of the box itself is replaced.

    A box goes with the line that it stands in, else the label at its right, its left (`Paid: [x]`), above or below it.
    Boxes without a label are omitted. Only texts change.
    """
    marked = list(lines)
    labels = [i for i, line in enumerate(lines) if _is_label(line.text)] if boxes else []
    marks = [mark for box in boxes if (mark := _mark(lines, labels, box)) is not None]
    last: _Mark | None = None
    for mark in sorted(marks, key=lambda mark: (mark.line, mark.start, mark.stop), reverse=True):
        if last is not None and last.line == mark.line and mark.stop > last.start:
            continue  # two boxes were found where one was read
        last, text = mark, marked[mark.line].text
        before, after = text[: mark.start].rstrip(), text[mark.stop :].lstrip()
        joined = " ".join(part for part in (before, mark.text, after) if part)
        marked[mark.line] = replace(marked[mark.line], text=joined)
    return marked


def _mark(lines: Sequence[Line], labels: Sequence[int], box: CheckBox) -> _Mark | None:
    text = MARK[box.checked]
    x, y = (box.box[0] + box.box[2]) / 2, (box.box[1] + box.box[3]) / 2
    holding = [i for i, line in enumerate(lines) if _holds(line.box, x, y)]
    for i in holding:
        if len(lines[i].text.strip()) <= MAX_LETTERS:
            return _Mark(i, 0, len(lines[i].text), text)
    for i in holding:
        if i in labels:
            return _within(lines[i], i, box.box, text)
    beside = _beside(lines, labels, box.box)
    return _Mark(*beside, text) if beside else None


def _holds(place: Box, x: float, y: float) -> bool:
    return place[0] <= x <= place[2] and place[1] <= y <= place[3]


def _is_label(text: str) -> bool:
    letters = sum(letter.isalpha() for letter in text)
    return letters >= MIN_LETTERS or _NO_SPACES.search(text) is not None


def _within(line: Line, number: int, box: Box, text: str) -> _Mark:
    """The mark in a line that the box stands in: instead of what it was read as, else between words."""
    left, _, right, _ = line.box
    side, width = box[2] - box[0], max(right - left, 1e-9)
    length = len(line.text)
    place = ((box[0] + box[2]) / 2 - left) / width * length
    span = max(2.0, 1.5 * side / width * length)
    read = [
        found for found in _READ_AS_BOX.finditer(line.text) if abs((found.start() + found.end()) / 2 - place) <= span
    ]
    if read:
        best = min(read, key=lambda found: abs((found.start() + found.end()) / 2 - place))
        return _Mark(number, best.start(), best.end(), text)
    gaps = [0, *(found.start() for found in re.finditer(r"\s+", line.text)), length]
    start = min(gaps, key=lambda gap: abs(gap - place))
    return _Mark(number, start, start, text)


def _beside(lines: Sequence[Line], labels: Sequence[int], box: Box) -> tuple[int, int, int] | None:
    """The label of a box outside of all lines, and the place of the mark in its text."""
    side = max(box[2] - box[0], box[3] - box[1])
    found: list[tuple[float, int, bool]] = []
    for i in labels:
        left, top, right, bottom = lines[i].box
        off = abs((top + bottom) / 2 - (box[1] + box[3]) / 2)
        if off > SAME_ROW * max(bottom - top, side):
            continue
        if left >= box[2] - side / 2:
            found.append((max(0.0, left - box[2]), i, True))
        elif right <= box[0] + side / 2:
            colon = lines[i].text.rstrip().endswith((":", "："))
            found.append((max(0.0, box[0] - right) * (1 if colon else FIRST), i, False))
    found = [label for label in found if label[0] <= NEAR * side]
    if found:
        _, i, ahead = min(found)
        place = 0 if ahead else len(lines[i].text)
        return (i, place, place)
    return _over(lines, labels, box, side)


def _over(lines: Sequence[Line], labels: Sequence[int], box: Box, side: float) -> tuple[int, int, int] | None:
    """The label right above or below the box."""
    x = (box[0] + box[2]) / 2
    found = []
    for i in labels:
        left, top, right, bottom = lines[i].box
        apart = max(box[1] - bottom, top - box[3])
        if left <= x <= right and apart <= NEAR / 2 * side:
            found.append((apart, i))
    if not found:
        return None
    _, i = min(found)
    text, (left, _, right, _) = lines[i].text, lines[i].box
    if right - left <= 2 * NEAR * side:
        return (i, len(text), len(text))
    gaps = [*(gap.start() for gap in re.finditer(r"\s+", text)), len(text)]
    at = (x + side - left) / max(right - left, 1e-9) * len(text)  # Behind the word above the box.
    place = next((gap for gap in gaps if gap >= at), len(text))
    return (i, place, place)
