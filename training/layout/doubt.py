"""Fits the models of doubt in a page's structure, of `inkgate/layout/doubt_data.py`, on pages whose structure is known.

    python -m training.layout.doubt fit FOLDER=RESULTS ...
    python -m training.layout.doubt judge FOLDER=RESULTS ...

FOLDER: documents with NAME.structure.json; RESULTS: what `benchmarks.structure.score --read` kept of them. `fit` prints
coefficients: fit on tuning pages. `judge` prints how right the blocks and pages with each confidence are, and how many
pages with a fault are flagged: judge on pages that nothing was fitted on.

A block is right if its type is, and its lines follow each other, and the line before, as in the truth. Types are equal
if they are of one of GROUPS. Paragraphs that are joined or divided are no fault of order or type.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.structure.reading import place
from benchmarks.structure.score import TRUTH, documents
from inkgate.layout.doubt import (
    Measures,
    heading_measures,
    order_measures,
    page_doubt,
    structure_measures,
    table_measures,
)
from inkgate_client.codec import parse_document
from inkgate_client.types import BlockType, Box, PageResult, ReviewReason

Floats = NDArray[np.float64]
GROUPS = {
    **dict.fromkeys(("text", "list", "caption", "reference", "footnote", "formula"), "text"),
    **dict.fromkeys(("header", "footer", "page_number"), "marginal"),
    "title": "title",
    "table": "table",
    "figure": "figure",
}
NEAR = 0.6
"""A line's middle is in a true line, or within this share of its height above or below."""
STEPS = 60
RIDGE = 0.02
"""Penalty on the square of the weights, by example."""
BINS = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class TrueLine:
    """A line of the truth: its block's number and type, its own number in reading order, its box in page pixels."""

    block: int
    group: str
    number: int
    box: Box


@dataclass(frozen=True, slots=True)
class JudgedBlock:
    """A block with its place among the page's blocks, and what is right of it."""

    at: int
    type_right: bool
    order_right: bool

    @property
    def right(self) -> bool:
        return self.type_right and self.order_right


@dataclass(frozen=True, slots=True)
class JudgedPage:
    """A page with its judged blocks; blocks that are not in the truth are not judged."""

    name: str
    page: PageResult
    blocks: tuple[JudgedBlock, ...]

    @property
    def order_right(self) -> bool:
        return all(block.order_right for block in self.blocks)

    @property
    def right(self) -> bool:
        return all(block.right for block in self.blocks)


def true_lines(page: Mapping[str, Any], width: float) -> list[TrueLine]:
    """The lines of a page of the truth, in pixels of a page that is `width` wide."""
    scale = width / page["width"]
    found: list[TrueLine] = []
    for number, block in enumerate(page["blocks"]):
        group = GROUPS.get(block["type"])
        for line in block["lines"] if group else ():
            left, top, right, bottom = (edge * scale for edge in line["box"])
            found.append(TrueLine(number, str(group), len(found), (left, top, right, bottom)))
    return found


def judged_page(name: str, page: PageResult, lines: Sequence[TrueLine]) -> JudgedPage:
    """What is right of the page's blocks."""
    boxes = np.array([line.box for line in lines], dtype=np.float64).reshape(-1, 4)
    places = [_places(page, at, boxes) for at in range(len(page.lines))]
    judged = []
    last: int | None = None
    for at, block in enumerate(page.blocks or ()):
        found = [own for index in block.lines for own in places[index]]
        if not found:
            continue
        groups = [lines[number].group for number in found]
        group = GROUPS.get(block.type.value, "text")
        marginal = group == "marginal" or set(groups) == {"marginal"}
        kind = sum(_alike(each, group) for each in groups) > len(groups) / 2
        whole = group in {"table", "figure"}
        order = whole or _in_order(found, lines)
        if not marginal:
            order = order and (last is None or _follows(last, min(found) if whole else found[0], lines))
            last = max(found) if whole else found[-1]
        judged.append(JudgedBlock(at, kind, order))
    return JudgedPage(name, page, tuple(judged))


def _alike(group: str, other: str) -> bool:
    """Whether two groups are equal. A letterhead that is text, or the reverse, is no fault."""
    return group == other or {group, other} == {"marginal", "text"}


def _places(page: PageResult, at: int, boxes: Floats) -> list[int]:
    """Numbers of the true lines that the words of a line are in, in their order; each once in a row."""
    line = page.lines[at]
    found: list[int] = []
    for word in line.words or (line,):
        xs, ys = [x for x, _ in word.quad], [y for _, y in word.quad]
        x, y = sum(xs) / 4, sum(ys) / 4
        height = boxes[:, 3] - boxes[:, 1]
        away = np.abs(y - (boxes[:, 1] + boxes[:, 3]) / 2) / np.maximum(height, 1e-6)
        away = np.where((boxes[:, 0] - height / 2 <= x) & (x <= boxes[:, 2] + height / 2), away, np.inf)
        best = int(away.argmin()) if len(boxes) else -1
        if best >= 0 and away[best] <= NEAR and (not found or found[-1] != best):
            found.append(best)
    return found


def _in_order(found: Sequence[int], lines: Sequence[TrueLine]) -> bool:
    return all(_follows(first, second, lines) for first, second in pairwise(found))


def _follows(first: int, second: int, lines: Sequence[TrueLine]) -> bool:
    """Whether nothing that is read stands between: figures and lines of the margin may."""
    if second in (first, first + 1):
        return True
    between = lines[first + 1 : second]
    return second > first and all(line.group in {"marginal", "figure"} for line in between)


def pages_of(arguments: Sequence[str]) -> Iterator[JudgedPage]:
    """The judged pages of FOLDER=RESULTS arguments; turned pages and refused documents are left out."""
    for argument in arguments:
        folder, _, results = argument.partition("=")
        for entry in documents(Path(folder)):
            kept = place(Path(results), entry)
            if not kept.exists() or b'"refused"' in kept.read_bytes()[:12]:
                continue
            truth = json.loads(entry.file.with_name(f"{entry.file.stem}{TRUTH}").read_bytes())
            for page, true in zip(parse_document(kept.read_bytes()).pages, truth["pages"], strict=False):
                if page.rotation == 0 and page.blocks and page.lines:
                    yield judged_page(entry.path, page, true_lines(true, page.width))


def fit(examples: Sequence[tuple[Measures, bool]]) -> dict[str, float]:
    """Weights of a logistic model by name, and its intercept as `""`. No measure of doubt raises a probability."""
    names = sorted(examples[0][0])
    values = np.array([[1.0, *(measures[name] for name in names)] for measures, _ in examples])
    right = np.array([float(good) for _, good in examples])
    weights = np.zeros(len(names) + 1)
    free = np.ones(len(weights), dtype=np.bool_)
    while True:
        for _ in range(STEPS):
            odds = 1 / (1 + np.exp(-values[:, free] @ weights[free]))
            ridge = RIDGE * len(right) / 100 * np.diag([0.0, *[1.0] * (int(free.sum()) - 1)])
            slope = values[:, free].T @ (right - odds) - ridge @ weights[free]
            curve = (values[:, free] * (odds * (1 - odds))[:, None]).T @ values[:, free] + ridge
            weights[free] += np.linalg.solve(curve + 1e-9 * np.eye(len(curve)), slope)
        raised = free & (weights > 0)
        raised[0] = False
        if not raised.any():
            return {name: round(float(weight), 4) for name, weight in zip(["", *names], weights, strict=True)}
        free &= ~raised
        weights[:] = 0


def _fit(pages: Sequence[JudgedPage]) -> None:
    blocks, tables, headings, orders = [], [], [], []
    for judged in pages:
        page = judged.page
        every = page.blocks or ()
        doubt = page_doubt(every)
        for block in judged.blocks:
            found = every[block.at]
            blocks.append((structure_measures(block.at, every, doubt), block.right))
            if found.type is BlockType.TABLE:
                tables.append((table_measures(found), block.type_right))
            else:
                headings.append((heading_measures(found), block.type_right))
        orders.append((order_measures(page), judged.order_right))
    for name, examples in (
        ("STRUCTURE_RIGHT", blocks),
        ("TABLE_RIGHT", tables),
        ("HEADING_RIGHT", headings),
        ("PAGE_ORDER_RIGHT", orders),
    ):
        right = sum(good for _, good in examples)
        print(f"{name} = {json.dumps(fit(examples), indent=4)}  # {len(examples)} examples, {right} right")


def _judge(pages: Sequence[JudgedPage]) -> None:
    print("blocks by confidence in their structure: number, mean confidence, right")
    rows = []
    for judged in pages:
        for block in judged.blocks:
            found = (judged.page.blocks or ())[block.at]
            if found.confidence is not None:
                rows.append((found.confidence, block.right))
    for low, high in pairwise(BINS):
        inside = [(value, good) for value, good in rows if low <= value < high or value == high == 1.0]
        if inside:
            mean = sum(value for value, _ in inside) / len(inside)
            good = sum(right for _, right in inside) / len(inside)
            print(f"  {low:.2f} to {high:.2f}: {len(inside):6} {100 * mean:6.1f} {100 * good:6.1f}")
    sure = [good for value, good in rows if value > 0.9]
    print(f"above 0.9: {len(sure)}, right {100 * sum(sure) / max(len(sure), 1):.1f} %")
    reasons = {ReviewReason.UNCERTAIN_ORDER, ReviewReason.UNCERTAIN_TABLE, ReviewReason.UNCERTAIN_HEADINGS}
    faulty = [bool(reasons & set(judged.page.review)) for judged in pages if not judged.right]
    right = [bool(reasons & set(judged.page.review)) for judged in pages if judged.right]
    print(f"pages with a fault: {sum(faulty)} of {len(faulty)} flagged; right ones: {sum(right)} of {len(right)}")


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("fit", "judge"))
    parser.add_argument("pages", nargs="+", metavar="FOLDER=RESULTS")
    args = parser.parse_args()
    pages = list(pages_of(args.pages))
    (_fit if args.command == "fit" else _judge)(pages)


if __name__ == "__main__":
    main()
