"""Makes the true structure of a page by hand: shows its lines with numbers, and turns a list of blocks into truth.

    python -m benchmarks.structure.annotate show FILE FOLDER [--page 1]
    python -m benchmarks.structure.annotate build FOLDER/NAME.blocks FOLDER/NAME.structure.json
    python -m benchmarks.structure.annotate restore benchmarks/structure/pages/tuning.json FOLDER

`show` writes into FOLDER: NAME.png, the page; NAME.numbered.png, the page with the number of each line;
NAME.lines.json, the lines with their words. Geometry comes from the pixels, characters from the text layer
where there is one. `build` needs NAME.lines.json beside NAME.blocks, and fails if a line is missing or stands twice.

`restore` makes NAME.structure.json of each document NAME.pdf (or an image) in FOLDER that a list of pages/ has. These
lists have the places of blocks, lines and cells, and where each page comes from, but no text, since the documents are
of other people: the text is read from the document. A page of a long PDF must be a PDF of its own. Nobody may look at
pages of judging.json to make rules, thresholds or training data.

A .blocks file has one block a line, in reading order: `type[ level][+]: lines`. Types are those of inkgate's blocks,
and `ignore` for what is no text (marks of a scanner, parts of drawings). `+`: the block goes on with the paragraph of
the block before it, as across columns. Lines are numbers and ranges, `7 9-12`; `7.0-4` are the words 0 to 4 of line 7.
Below a table, `html: <table>...</table>` may give its cells. `#` begins a comment.

    header: 0
    title 1: 1-2
    text: 3-9 10.0-5
    text+: 11-20
    table: 21-60
    html: <table><tr><th>Year</th><th>Sum</th></tr><tr><td>2020</td><td>7</td></tr></table>
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from PIL import Image, ImageDraw, ImageFont

from inkgate.bootstrap import running
from inkgate.caller import NO_CALLER
from inkgate.documents.pages import parse_page_list
from inkgate.service.reader import CheckedOptions
from inkgate.settings import load_settings
from inkgate.settings.service import PdfText
from inkgate_client.coordinates import holds_middle
from inkgate_client.types import BlockType, Box, Document, Line, PageResult, Task, TaskKind, Word, box_of_quad

SHOWN = 1800
"""Longest side of the pictures, in pixels."""
TYPES = frozenset({*BlockType, "footnote", "page_number", "ignore"})
_BLOCK = re.compile(r"^([a-z_]+)(?: (\d))?(\+)?:\s*(.*)$")
_PART = re.compile(r"^(\d+)(?:-(\d+)|\.(\d+)(?:-(\d+))?)?$")


async def _read(file: Path, number: int) -> tuple[PageResult, PageResult, Image.Image]:
    """The page as read from its pixels, as read by default, and its picture."""
    data = await anyio.Path(file).read_bytes()
    document = Document(data, file.name)
    found = []
    async with running(load_settings()) as service:
        for pdf_text in (PdfText.NEVER, PdfText.AUTO):
            pages = parse_page_list([number], first=1)
            options = CheckedOptions(Task(kind=TaskKind.TEXT), pages=pages, pdf_text=pdf_text)
            admission = service.gateway.admit(NO_CALLER, len(data), wait_s=math.inf)
            async with admission as admitted, admitted.read(document, options) as reading:
                (page,) = (await reading.all()).pages
            found.append(page)
        admission = service.gateway.admit(NO_CALLER, len(data), wait_s=math.inf)
        async with admission as admitted:
            pixels = await admitted.picture(document, number, SHOWN)
    return found[0], found[1], Image.fromarray(pixels.rgb).rotate(-found[0].rotation, expand=True)


def _lines(seen: PageResult, read: PageResult) -> list[dict[str, Any]]:
    """The lines that the page shows, with the characters of the text layer; and those that only the layer has."""
    layer = [word for line in read.lines for word in line.words or (line,)] if read.source != "ocr" else []
    left = {number: box_of_quad(word.quad) for number, word in enumerate(layer)}
    lines = []
    for line in sorted(seen.lines, key=lambda line: (line.box[1], line.box[0])):
        words = []
        for word in line.words or (line,):
            box = box_of_quad(word.quad)
            inside = [number for number, other in left.items() if holds_middle(box, other)]
            for number in inside:
                del left[number]
            text = " ".join(layer[number].text for number in inside) if layer and inside else word.text
            words.append({"text": text, "box": _rounded(box)})
        lines.append({"text": " ".join(str(word["text"]) for word in words), "box": _rounded(line.box), "words": words})
    taken = set(range(len(layer))) - set(left)
    for line in read.lines if layer else ():
        lost = [word for word in line.words if not _is_taken(word, layer, taken)]
        if lost and len(lost) == len(line.words):
            words = [{"text": word.text, "box": _rounded(box_of_quad(word.quad))} for word in lost]
            lines.append({"text": line.text, "box": _rounded(line.box), "words": words})
    return lines


def _is_taken(word: Word, layer: list[Word | Line], taken: set[int]) -> bool:
    return any(layer[number] is word for number in taken)


def _rounded(box: Box) -> list[float]:
    return [round(edge, 1) for edge in box]


def show(file: Path, folder: Path, number: int) -> None:
    """Writes the page's picture, the picture with numbers, and the lines."""
    seen, read, image = anyio.run(partial(_read, file, number))
    name = file.stem if number == 1 else f"{file.stem}-{number}"
    lines = _lines(seen, read)
    scale = image.width / seen.width
    folder.mkdir(parents=True, exist_ok=True)
    image.save(folder / f"{name}.png")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(13)
    for at, line in enumerate(lines):
        left, top, right, bottom = (edge * scale for edge in line["box"])
        draw.rectangle((left, top, right, bottom), outline=(255, 0, 0))
        text = str(at)
        width = draw.textlength(text, font=font)
        draw.rectangle((left - width - 1, top, left, top + 14), fill=(255, 255, 160))
        draw.text((left - width - 1, top), text, fill=(0, 0, 200), font=font)
    image.save(folder / f"{name}.numbered.png")
    page = {"file": file.name, "page": number, "width": seen.width, "height": seen.height, "lines": lines}
    (folder / f"{name}.lines.json").write_text(json.dumps(page, ensure_ascii=False), "utf-8")
    for at, line in enumerate(lines):
        print(at, line["text"])


@dataclass(slots=True)
class _Block:
    type: str
    level: int
    goes_on: bool
    lines: list[dict[str, Any]] = field(default_factory=list)
    html: str = ""


def build(blocks_file: Path, target: Path) -> list[str]:
    """Writes the truth; returns what is wrong with the list of blocks."""
    name = blocks_file.name.removesuffix(".blocks")
    page = json.loads((blocks_file.parent / f"{name}.lines.json").read_text("utf-8"))
    used: set[tuple[int, int]] = set()
    wrong: list[str] = []
    blocks: list[_Block] = []
    for text in blocks_file.read_text("utf-8").splitlines():
        row = text.strip()
        if not row or row.startswith("#"):
            continue
        if row.startswith("html:"):
            blocks[-1].html = row.removeprefix("html:").strip()
            continue
        found = _BLOCK.match(row)
        if found is None or found[1] not in TYPES:
            wrong.append(f"not a block: {row}")
            continue
        block = _Block(found[1], int(found[2] or 0), bool(found[3]))
        for line, words in _parts(found[4], page["lines"], wrong):
            doubled = [(line, word) for word in words if (line, word) in used]
            if doubled:
                wrong.append(f"{row}: words that stand twice, of line {line}: {doubled}")
            used |= {(line, word) for word in words}
            block.lines.append(_line(page["lines"][line]["words"], words))
        blocks.append(block)
    for number, line in enumerate(page["lines"]):
        missing = [word for word in range(len(line["words"])) if (number, word) not in used]
        if missing:
            wrong.append(f"line {number}, words {missing} missing: {line['text'][:60]}")
    truth = [_as_json(block) for block in blocks if block.type != "ignore"]
    size = {"width": page["width"], "height": page["height"]}
    target.write_text(json.dumps({"pages": [{**size, "blocks": truth}]}, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return wrong


def _parts(listed: str, lines: list[dict[str, Any]], wrong: list[str]) -> Iterator[tuple[int, list[int]]]:
    for part in listed.split():
        found = _PART.match(part)
        if found is None or int(found[2] or found[1]) >= len(lines):
            wrong.append(f"no such lines: {part}")
            continue
        first = int(found[1])
        for line in range(first, int(found[2] or first) + 1):
            count = len(lines[line]["words"])
            words = range(count) if found[3] is None else range(int(found[3]), int(found[4] or found[3]) + 1)
            chosen = [word for word in words if word < count]
            if chosen:
                yield line, chosen
            else:
                wrong.append(f"no such words: {part}")


def _line(words: list[dict[str, Any]], chosen: list[int]) -> dict[str, Any]:
    own = [words[at] for at in chosen]
    boxes = [word["box"] for word in own]
    box = [min(b[0] for b in boxes), min(b[1] for b in boxes), max(b[2] for b in boxes), max(b[3] for b in boxes)]
    return {"text": " ".join(word["text"] for word in own), "box": box}


def _as_json(block: _Block) -> dict[str, Any]:
    boxes = [line["box"] for line in block.lines]
    shown: dict[str, Any] = {"type": block.type, "lines": block.lines}
    if boxes:
        shown["box"] = [
            min(b[0] for b in boxes),
            min(b[1] for b in boxes),
            max(b[2] for b in boxes),
            max(b[3] for b in boxes),
        ]
    if block.level:
        shown["level"] = block.level
    if block.goes_on:
        shown["goes_on"] = True
    if block.html:
        shown["html"] = block.html
    return shown


def restore(pages: Path, folder: Path) -> None:
    """Writes the truth of the documents that the folder has."""
    for page in json.loads(pages.read_text("utf-8")):
        file = next(
            (path for path in sorted(folder.glob(f"{page['name']}.*")) if path.suffix in {".pdf", ".png", ".jpg"}), None
        )
        if file is None:
            print(f"missing: {page['name']}, page {page['page']} of {page['source_path']} in {page['repo']}")
            continue
        seen, read, _ = anyio.run(partial(_read, file, 1))
        words = [word for line in _lines(seen, read) for word in line["words"]]
        blocks = [_with_text(block, words) for block in page["blocks"]]
        truth = {"pages": [{"width": page["width"], "height": page["height"], "blocks": blocks}]}
        target = folder / f"{page['name']}.structure.json"
        target.write_text(json.dumps(truth, ensure_ascii=False, indent=1) + "\n", "utf-8")


def _with_text(block: dict[str, Any], words: list[dict[str, Any]]) -> dict[str, Any]:
    """The block with the words in the boxes of its lines and cells."""
    lines = [{"text": _text_in([box], words), "box": box} for box in block["lines"]]
    shown = {**block, "lines": lines}
    if "cells" in block:
        shown["cells"] = [{**cell, "text": _text_in(cell.get("boxes", []), words)} for cell in block["cells"]]
    return shown


def _text_in(boxes: list[Any], words: list[dict[str, Any]]) -> str:
    return " ".join(str(word["text"]) for box in boxes for word in words if holds_middle(box, word["box"]))


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    shown = commands.add_parser("show")
    shown.add_argument("file", type=Path)
    shown.add_argument("folder", type=Path)
    shown.add_argument("--page", type=int, default=1)
    built = commands.add_parser("build")
    built.add_argument("blocks", type=Path)
    built.add_argument("target", type=Path)
    restored = commands.add_parser("restore")
    restored.add_argument("pages", type=Path)
    restored.add_argument("folder", type=Path)
    args = parser.parse_args()
    if args.command == "show":
        show(args.file, args.folder, args.page)
        return
    if args.command == "restore":
        restore(args.pages, args.folder)
        return
    wrong = build(args.blocks, args.target)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
