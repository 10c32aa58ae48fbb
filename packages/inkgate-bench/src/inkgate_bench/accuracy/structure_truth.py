"""The true structure of pages: blocks in reading order, with their lines, as NAME.structure.json has them.

    {"pages": [{"width": W, "height": H, "blocks": [{"type": "title", "level": 1, "lines": [{"text": ...}]}, ...]}]}

docs/guides/accuracy.md lists the keys of a block. Boxes are not needed here: tools are judged by their Markdown.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkgate_bench.accuracy.manifest import ManifestInvalid

RUNNING_TYPES = frozenset({"header", "footer", "page_number"})
"""Running heads and feet: a tool may give them or leave them out."""
OPTIONAL_TYPES = RUNNING_TYPES | {"figure", "formula", "barcode", "stamp", "checkbox"}
"""Blocks whose words a tool may leave out: it may give figures and marks as pictures and formulas as LaTeX."""
BLOCK_TYPES = OPTIONAL_TYPES | {"title", "text", "list", "table", "caption", "reference", "footnote"}


@dataclass(frozen=True, slots=True)
class StructureLine:
    """A line of the truth. `item`: a list item begins here."""

    text: str
    item: bool = False


@dataclass(frozen=True, slots=True)
class StructureBlock:
    """A block of the truth.

    Attributes:
        type: one of BLOCK_TYPES.
        level: of a title, from 1; 0 where it is not known.
        goes_on: it continues the paragraph of the text block before it.
        html: of a table whose cells are known; else empty.
    """

    type: str
    lines: tuple[StructureLine, ...]
    level: int = 0
    goes_on: bool = False
    html: str = ""

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def load_structure(path: Path) -> tuple[tuple[StructureBlock, ...], ...]:
    """The blocks of each page, in reading order. Raises ManifestInvalid."""
    try:
        parsed = json.loads(path.read_bytes())
        return tuple(tuple(map(_block, page["blocks"])) for page in parsed["pages"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ManifestInvalid(f"{path.name} is not of the form of docs/guides/accuracy.md: {error!r}") from error


def _block(block: Mapping[str, Any]) -> StructureBlock:
    kind = str(block["type"])
    if kind not in BLOCK_TYPES:
        raise ValueError(f"unknown type of block: {kind}")
    lines = tuple(StructureLine(str(line["text"]), bool(line.get("item"))) for line in block.get("lines") or ())
    table = ""
    if kind == "table":
        table = str(block.get("html") or "") or html_of_cells(block.get("cells") or ())
    return StructureBlock(kind, lines, int(block.get("level") or 0), bool(block.get("goes_on")), table)


def html_of_cells(cells: Sequence[Mapping[str, Any]]) -> str:
    """A table's HTML from its cells; empty without cells."""
    rows: dict[int, list[Mapping[str, Any]]] = {}
    for cell in sorted(cells, key=lambda cell: (cell["row"], cell["column"])):
        rows.setdefault(cell["row"], []).append(cell)
    last = max((int(cell["row"]) + int(cell.get("row_span") or 1) for cell in cells), default=0)
    return f"<table>{''.join(_row(rows.get(row, ())) for row in range(last))}</table>" if cells else ""


def _row(cells: Iterable[Mapping[str, Any]]) -> str:
    parts = []
    for cell in cells:
        tag = "th" if cell.get("header") else "td"
        spans = "".join(
            f' {name}="{cell[key]}"'
            for name, key in (("rowspan", "row_span"), ("colspan", "column_span"))
            if int(cell.get(key) or 1) > 1
        )
        parts.append(f"<{tag}{spans}>{html.escape(str(cell.get('text') or ''))}</{tag}>")
    return f"<tr>{''.join(parts)}</tr>"
