"""Writes pages whose structure is known as a dataset of Omni Parse Bench, for `inkgate eval --format omni-parse-bench`.

    python -m benchmarks.structure.omni_parse FOLDER DATASET

FOLDER: documents of one page with NAME.structure.json beside them. DATASET gets gold/NAME.json and pages/NAME.pdf or
.png. Tests: lines that stand once on the page are present, and each before the next one of another block; cells stand
beside their neighbours; titles, text and tables are blocks of their kind.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image, ImageOps

from benchmarks.structure.score import TRUTH, documents
from inkgate_bench.accuracy.bench_tests import Direction, MarkdownTable, tables_of
from inkgate_bench.accuracy.line_accounts import reduced
from inkgate_bench.accuracy.structure_truth import OPTIONAL_TYPES, html_of_cells

MIN_LETTERS = 12
"""Letters and digits of a line that is sought."""
LETTERS_AN_EDIT = 20
"""A line of so many letters may have one edit, as a slip of a scan's reader."""
MAX_CELLS = 12
"""Cells of a table that are sought, those with the longest texts."""
KINDS = {"title": "heading", "text": "text", "table": "table"}
"""Kinds of layout that are asked for, by type of block."""


def tests_of(page: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The tests of a page."""
    blocks = [block for block in page["blocks"] if block["type"] not in OPTIONAL_TYPES]
    found = [*_texts(blocks), *_layout(blocks, page["width"], page["height"])]
    for block in blocks:
        found += _cells(tables_of(block.get("html") or html_of_cells(block.get("cells") or ())))
    common = {"derivation": "authored", "tags": []}
    return [{"id": f"{name}-{number}", **common, **test} for number, test in enumerate(found)]


def _texts(blocks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    lines = [
        (number, str(line["text"]))
        for number, block in enumerate(blocks)
        if block["type"] != "table"
        for line in block.get("lines") or ()
    ]
    times = Counter(reduced(text) for _, text in lines)
    known = [
        (number, text) for number, text in lines if len(reduced(text)) >= MIN_LETTERS and times[reduced(text)] == 1
    ]
    for _, text in known:
        yield _test("present", {"content": _arg(text, len(reduced(text)) // LETTERS_AN_EDIT)})
    for (block, text), (other, after) in pairwise(known):
        if block != other:
            edits = min(len(reduced(text)), len(reduced(after))) // LETTERS_AN_EDIT
            yield _test("order", {"before": _arg(text, edits), "after": _arg(after, edits)})


def _layout(blocks: Sequence[Mapping[str, Any]], width: float, height: float) -> Iterator[dict[str, Any]]:
    for block in blocks:
        lines = [line for line in block.get("lines") or () if reduced(str(line["text"])) and line.get("box")]
        kind = KINDS.get(block["type"])
        if kind is not None and lines:
            boxes = [[edge / side for edge, side in zip(lines[0]["box"], (width, height) * 2, strict=True)]]
            boxes = [[min(1.0, max(0.0, edge)) for edge in box] for box in boxes]
            content = {**_arg(str(lines[0]["text"]), 0), "place": boxes}
            yield _test("layout_kind", {"content": content}, kind=kind)


def _cells(tables: Sequence[MarkdownTable]) -> Iterator[dict[str, Any]]:
    for table in tables:
        times = Counter(cell.text for cell in table.cells)
        cells = [cell for cell in table.cells if reduced(cell.text) and times[cell.text] == 1]
        for cell in sorted(cells, key=lambda cell: -len(cell.text))[:MAX_CELLS]:
            arguments = {"cell": _arg(cell.text, 0)}
            for name, direction in (("left", Direction.LEFT), ("up", Direction.UP)):
                beside = [other for other in table.beside(cell, direction) if reduced(other.text)]
                if len(beside) == 1:
                    arguments[name] = _arg(beside[0].text, 0)
            if len(arguments) > 1:
                yield _test("table_cell", arguments)


def _test(test: str, arguments: Mapping[str, Any], **settings: str) -> dict[str, Any]:
    output = "blocks" if test == "layout_kind" else "html"
    return {"test_type": test, "output_type": output, "args": dict(arguments), "settings": settings}


def _arg(text: str, edits: int) -> dict[str, Any]:
    return {"text": " ".join(text.split()), "max_diffs": edits}


def write_dataset(folder: Path, dataset: Path) -> int:
    """Writes the dataset; returns the number of tests. Documents of several pages are left out."""
    count = 0
    for part in ("gold", "pages"):
        (dataset / part).mkdir(parents=True, exist_ok=True)
    for entry in documents(folder):
        name = entry.file.stem
        pages = json.loads(entry.file.with_name(f"{name}{TRUTH}").read_bytes())["pages"]
        tests = tests_of(pages[0], name) if len(pages) == 1 else []
        if not tests:
            continue
        count += len(tests)
        (dataset / "gold" / f"{name}.json").write_text(json.dumps({"tests": tests}, ensure_ascii=False), "utf-8")
        if entry.file.suffix in {".pdf", ".png"}:
            shutil.copyfile(entry.file, dataset / "pages" / entry.file.name)
        else:
            with Image.open(entry.file) as image:
                ImageOps.exif_transpose(image).save(dataset / "pages" / f"{name}.png")
    return count


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("dataset", type=Path)
    args = parser.parse_args()
    print(f"{write_dataset(args.folder, args.dataset)} tests")


if __name__ == "__main__":
    main()
