"""Takes the truth of pages from the tags of PDFs that word processors wrote.

    PYTHONPATH=src:. python training/layout/tagged.py FOLDER OUT [--pages 3] [--words 30]

For each page with tags of the PDFs in FOLDER, OUT gets NAME-PAGE.pdf, without tags, and its NAME-PAGE.structure.json.
Text that no tag holds, such as running heads, is not in the truth. At most `--pages` pages are taken of a document.

Writers end lines as paragraphs, and make titles of bold paragraphs. So of a paragraph of one line the type is not told
unless it ends as sentences do, and of one that stands close above another, not whether it goes on (`open`).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

from inkgate_client.coordinates import around
from inkgate_client.types import Box

TYPES = {
    "H": ("title", 1),
    "Title": ("title", 1),
    "Caption": ("caption", 0),
    "Note": ("footnote", 0),
    "Footnote": ("footnote", 0),
    "BibEntry": ("reference", 0),
    "TOCI": ("list", 0),
    "L": ("list", 0),
    "Table": ("table", 0),
    "P": ("text", 0),
}
"""Type and level by tag. A paragraph within a list or a table is part of it."""
WHOLE = {"table", "list"}
TAGGED = 0.7
"""Pages are taken if this part of their words has tags."""
CLOSE = 0.7
"""A line stands close above another with at most this gap, in its heights."""
MOST_TABLE = 0.5
"""A page of which tables hold more has a table as its frame."""
OVER, MOST_REVERSED = 0.3, 0.03
"""Lines stand above each other if they share this part of the first one's width. The tags of a page in which more of
such pairs are reversed are in no reading order.
"""
SCALE = 2.0
"""Pixels of the truth's page in a point."""


@dataclass(slots=True)
class Block:
    """A tagged block; `items` by the numbers of marked content."""

    type: str
    level: int
    items: dict[int, int] = field(default_factory=dict)
    count: int = -1


def blocks_of(page: pdfium.PdfPage) -> list[Block]:
    """The blocks of the page's structure tree, in its order."""
    tree = raw.FPDF_StructTree_GetForPage(page.raw)
    if not tree:
        return []
    found: list[Block] = []
    for number in range(raw.FPDF_StructTree_CountChildren(tree)):
        _collect(raw.FPDF_StructTree_GetChildAtIndex(tree, number), None, found)
    raw.FPDF_StructTree_Close(tree)
    return [block for block in found if block.items]


def _collect(element: object, within: Block | None, found: list[Block]) -> None:
    if not element:
        return
    name = _tag(element)
    level = re.fullmatch(r"H([1-6])", name)
    kind = ("title", int(level[1])) if level else TYPES.get(name)
    if kind is not None and (within is None or within.type not in WHOLE):
        within = Block(*kind)
        found.append(within)
    if within is not None and name in {"LI", "TOCI", "TR"}:
        within.count += 1
    for number in range(max(raw.FPDF_StructElement_CountChildren(element), 0)):
        content = raw.FPDF_StructElement_GetChildMarkedContentID(element, number)
        if content >= 0:
            if within is None:
                within = Block("text", 0)
                found.append(within)
            within.items[content] = max(within.count, 0)
        else:
            _collect(raw.FPDF_StructElement_GetChildAtIndex(element, number), within, found)


def _tag(element: object) -> str:
    size = raw.FPDF_StructElement_GetType(element, None, 0)
    text = ctypes.create_string_buffer(size)
    raw.FPDF_StructElement_GetType(element, text, size)
    return text.raw.decode("utf-16-le", "replace").rstrip("\0")


def words_of(page: pdfium.PdfPage) -> Iterator[tuple[int, str, Box]]:
    """Marked content, text and box of the page's words, in the order of its content; -1 for content without a mark."""
    text = page.get_textpage()
    high = page.get_height()
    made: list[str] = []
    box: Box | None = None
    own = -1
    for number in range(text.count_chars()):
        char = chr(raw.FPDFText_GetUnicode(text.raw, number))
        thing = raw.FPDFText_GetTextObject(text.raw, number)
        mark = raw.FPDFPageObj_GetMarkedContentID(thing) if thing else -1
        left, bottom, right, top = text.get_charbox(number)
        place = (left * SCALE, (high - top) * SCALE, right * SCALE, (high - bottom) * SCALE)
        blank = char.isspace() or char in "\0\u00a0" or not char.isprintable()
        if made and box is not None and (blank or mark != own or _is_apart(box, place)):
            yield own, "".join(made), box
            made, box = [], None
        if not blank and place[2] > place[0]:
            made.append(char)
            own, box = mark, place if box is None else around((box, place))
    if made and box is not None:
        yield own, "".join(made), box


def _is_apart(box: Box, place: Box) -> bool:
    """Whether a character begins a word by its place alone: on another line, or far away."""
    middle, height = (place[1] + place[3]) / 2, max(box[3] - box[1], place[3] - place[1], 1e-3)
    return not box[1] - height / 4 <= middle <= box[3] + height / 4 or abs(place[0] - box[2]) > 2 * height


def truth_of(page: pdfium.PdfPage) -> tuple[dict[str, Any], float]:
    """The page's truth, and which part of its words has tags."""
    tagged = blocks_of(page)
    at = {mark: (number, item) for number, block in enumerate(tagged) for mark, item in block.items.items()}
    lines: dict[int, list[dict[str, Any]]] = {number: [] for number in range(len(tagged))}
    count = known = 0
    last: tuple[int, int] | None = None
    for mark, text, box in words_of(page):
        count += 1
        place = at.get(mark)
        if place is None:
            continue
        known += 1
        own = lines[place[0]]
        word = {"text": text, "box": [round(edge, 1) for edge in box]}
        previous = own[-1]["words"][-1]["box"] if own else None
        if previous is not None and place == last and _same_line(previous, box):
            own[-1]["words"].append(word)
        else:
            own.append({"words": [word], "item": place != last and place[1] > 0})
        last = place
    size = {"width": page.get_width() * SCALE, "height": page.get_height() * SCALE}
    blocks: list[dict[str, Any]] = []
    for number, tag in enumerate(tagged):
        if lines[number]:
            box = around(word["box"] for line in lines[number] for word in line["words"])
            made: dict[str, Any] = {"type": tag.type, "box": box, "lines": lines[number]}
            blocks.append(made | ({"level": tag.level} if tag.type == "title" else {}))
    for block, after in pairwise(blocks):
        height, gap = block["box"][3] - block["box"][1], after["box"][1] - block["box"][3]
        block["open"] = -height < gap < CLOSE * height and _is_line(block) and _is_line(after)
    for block in blocks:
        words = [word["text"] for line in block["lines"] for word in line["words"]]
        if _is_line(block) and not words[-1].endswith((".", ",", ";", "。")):
            block["type"] = "unknown"
    return {**size, "blocks": blocks}, known / max(count, 1)


def _is_line(block: dict[str, Any]) -> bool:
    return block["type"] == "text" and len(block["lines"]) == 1


def _same_line(previous: list[float], box: Box) -> bool:
    shared = min(previous[3], box[3]) - max(previous[1], box[1])
    return shared > 0.4 * min(previous[3] - previous[1], box[3] - box[1]) and box[0] >= previous[0]


def _reversed(truth: dict[str, Any]) -> float:
    """Of the pairs of lines of which one stands above the other, the part whose upper line comes second."""
    boxes = [around(word["box"] for word in line["words"]) for block in truth["blocks"] for line in block["lines"]]
    pairs = wrong = 0
    for number, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[number + 1 :]:
            if min(right, other[2]) - max(left, other[0]) > OVER * (right - left):
                pairs += 1
                wrong += other[3] <= top + OVER * (bottom - top)
    return wrong / max(pairs, 1)


def take(file: Path, out: Path, pages: int, words: int) -> int:
    """Writes the pages of a document; returns their number."""
    made = 0
    with pdfium.PdfDocument(file) as document:
        for number, page in enumerate(document):
            if made >= pages or page.get_rotation():
                break
            truth, share = truth_of(page)
            count = Counter[str]()
            for block in truth["blocks"]:
                count[block["type"]] += sum(len(line["words"]) for line in block["lines"])
            if count.total() < words or share < TAGGED or count["table"] > MOST_TABLE * count.total():
                continue
            if _reversed(truth) > MOST_REVERSED:
                continue
            name = f"{file.stem}-{number}"
            with pdfium.PdfDocument.new() as single:
                single.import_pages(document, [number])
                single.save(out / f"{name}.pdf")
            (out / f"{name}.structure.json").write_text(json.dumps({"pages": [truth]}, ensure_ascii=False), "utf-8")
            made += 1
    return made


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--pages", type=int, default=3)
    parser.add_argument("--words", type=int, default=30)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    total = 0
    for file in sorted(args.folder.glob("*.pdf")):
        try:
            total += take(file, args.out, args.pages, args.words)
        except (pdfium.PdfiumError, ValueError, OSError) as error:
            print(f"{file.name}: {error}")
    print(f"{total} pages")


if __name__ == "__main__":
    main()
