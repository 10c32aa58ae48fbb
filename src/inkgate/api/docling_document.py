"""Documents as docling's own document (`DoclingDocument` of docling-core): texts, tables and pictures in the order of
reading, with their pages and boxes.

Lengths are pixels of the upright page, from its top left corner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import orjson

from inkgate_client.block_parts import captions_of, list_items, text_is_unplaced
from inkgate_client.codec import encodable
from inkgate_client.types import MARK_TYPES, Block, BlockType, Box, DocumentResult, PageResult, Table

Json = dict[str, Any]

ARRAYS = ("texts", "groups", "pictures", "tables")
"""The arrays of a document that have its items."""
PAGES = "pages"
"""The object that has its pages."""
_VERSION = "1.1.0"
"""Of the schema: docling-core refuses documents of a later one than its own."""
_LABELS = {
    BlockType.CAPTION: "caption",
    BlockType.FOOTER: "page_footer",
    BlockType.FORMULA: "formula",
    BlockType.HEADER: "page_header",
    BlockType.REFERENCE: "reference",
}
_RUNNING = frozenset({BlockType.HEADER, BlockType.FOOTER})
_BODY = "#/body"


@dataclass(slots=True)
class _Document:
    """What the items of a page must know of the pages before it: the numbers of items by array, and whether there was a
    title.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(ARRAYS, 0))
    titled: bool = False


class PageItems:
    """The items of a page by array, and the references of its outermost items in the order of reading. `references`: of
    the items of each block.
    """

    def __init__(self, page: PageResult, document: _Document) -> None:
        self.items: dict[str, list[Json]] = {name: [] for name in ARRAYS}
        self.children: list[Json] = []
        self.references: dict[int, list[str]] = {}
        self._added: list[str] = []
        self._page = page
        self._document = document
        if text_is_unplaced(page):
            for part in filter(None, (part.strip() for part in page.text.split("\n\n"))):
                self._text((0, 0, page.width, page.height), part, label="text")
        blocks = page.blocks or ()
        captions = captions_of(blocks)
        described = set(captions.values())
        for index, block in enumerate(blocks):
            if block.type not in MARK_TYPES and index not in described:
                self._added = self.references.setdefault(index, [])
                self._block(block, blocks[captions[index]] if index in captions else None)

    def _block(self, block: Block, caption: Block | None) -> None:
        if block.type is BlockType.TABLE and block.table is not None:
            self._add_captioned("tables", block, {"label": "table", "data": _table_data(block.table)}, caption)
        elif block.type is BlockType.FIGURE:
            self._add_captioned("pictures", block, {"label": "picture"} | _image(block, self._page), caption)
            if block.text:
                self._text(block.box, block.text, label="text")
        elif block.type is BlockType.LIST:
            group = self._add("groups", None, {"label": "list", "name": "list"})
            for item in list_items(block.text):
                mark = {"enumerated": item.numbered, "marker": item.mark or "-"}
                self._text(block.box, " ".join(item.lines), group, label="list_item", **mark)
        elif block.type is BlockType.TITLE:
            level = block.level or 1
            if level == 1 and not self._document.titled:
                self._document.titled = True
                self._text(block.box, block.text, label="title")
            else:
                self._text(block.box, block.text, label="section_header", level=max(1, level - 1))
        elif block.text:
            layer = "furniture" if block.type in _RUNNING else "body"
            self._text(block.box, block.text, label=_LABELS.get(block.type, "text"), content_layer=layer)

    def _add_captioned(self, array: str, block: Block, item: Json, caption: Block | None) -> None:
        """Adds a table or a picture with its caption, which is inside of it."""
        added = self._add(array, block.box, item)
        if caption is not None:
            self._text(caption.box, caption.text, added, label="caption")
            added["captions"] = list(added["children"])

    def _text(self, box: Box, text: str, parent: Json | None = None, **more: object) -> None:
        text = encodable(text)
        self._add("texts", box, {"orig": text, "text": text} | more, parent)

    def _add(self, array: str, box: Box | None, item: Json, parent: Json | None = None) -> Json:
        """Adds an item, which has its place if it has a box, to the document's body or to another item."""
        counts = self._document.counts
        reference = {"$ref": f"#/{array}/{counts[array]}"}
        counts[array] += 1
        self._added.append(reference["$ref"])
        place = {} if box is None else {"prov": [_place(self._page, box, len(item.get("text", "")))]}
        above = _BODY if parent is None else parent["self_ref"]
        own = {"self_ref": reference["$ref"], "parent": {"$ref": above}, "content_layer": "body", "children": []}
        added = own | item | place
        self.items[array].append(added)
        (self.children if parent is None else parent["children"]).append(reference)
        return added


class ItemReferences:
    """The references of the items of blocks, of pages that come in their order."""

    def __init__(self) -> None:
        self._document = _Document()
        self._pages: dict[int, dict[int, list[str]]] = {}

    def add(self, page: PageResult) -> None:
        self._pages[page.index + 1] = PageItems(page, self._document).references

    def of(self, page: int, block: int) -> list[str]:
        """Those of a block. `page`: its number, from 1. A caption's are those of what it describes."""
        return self._pages.get(page, {}).get(block, [])

    def forget_before(self, page: int) -> None:
        """Frees what is kept of pages before this one."""
        for number in [number for number in self._pages if number < page]:
            del self._pages[number]


def docling_document(name: str, result: DocumentResult) -> Json:
    """The whole document. Its items are JSON already, page by page: as objects, those of many pages would take about
    five times the memory.
    """
    document, children = _Document(), list[bytes]()
    arrays: dict[str, list[bytes]] = {array: [] for array in ARRAYS}
    for page in result.pages:
        found = PageItems(page, document)
        children.append(_elements_of(found.children))
        for array, parts in arrays.items():
            parts.append(_elements_of(found.items[array]))
    body = _root([]) | {"children": _array(children)}
    return (
        _head(name, result.mime_type, result.byte_count)
        | {"body": body}
        | {array: _array(parts) for array, parts in arrays.items()}
        | {"pages": {str(page.index + 1): _page(page) for page in result.pages}}
    )


def _elements_of(items: list[Json]) -> bytes:
    """An array's JSON without its brackets."""
    return orjson.dumps(items)[1:-1]


def _array(parts: list[bytes]) -> orjson.Fragment:
    return orjson.Fragment(b"[%b]" % b",".join(filter(None, parts)))


def pagewise_docling(
    name: str, mime_type: str, byte_count: int
) -> tuple[Json, dict[str, Callable[[PageResult], bytes]]]:
    """The document with strings in place of `children`, the arrays and `pages`, and by these strings, in their order,
    what makes the elements or members that a page adds.
    """
    tokens = {part: token_hex(16) for part in ("children", *ARRAYS, PAGES)}
    shown = _head(name, mime_type, byte_count) | {"body": _root([]) | {"children": tokens["children"]}}
    shown |= {part: tokens[part] for part in (*ARRAYS, PAGES)}
    return shown, {token: _part(part) for part, token in tokens.items()}


def _part(name: str) -> Callable[[PageResult], bytes]:
    """Makes one part of the document of its pages, which it gets in their order."""
    document = _Document()

    def elements(page: PageResult) -> bytes:
        found = PageItems(page, document)
        return _elements_of(found.children if name == "children" else found.items[name])

    return _member if name == PAGES else elements


def _member(page: PageResult) -> bytes:
    return b'"%d":%b' % (page.index + 1, orjson.dumps(_page(page)))


def _head(name: str, mime_type: str, byte_count: int) -> Json:
    """A document without items and pages. Its hash is of the name and the size: the bytes are not there any more."""
    number = int.from_bytes(hashlib.sha256(f"{name}:{byte_count}".encode(errors="replace")).digest()[:8])
    return {
        "schema_name": "DoclingDocument",
        "version": _VERSION,
        "name": encodable(name.rpartition(".")[0] or name),
        "origin": {"mimetype": mime_type, "binary_hash": number, "filename": encodable(name)},
    }


def _root(children: list[Any]) -> Json:
    return {"self_ref": _BODY, "name": "_root_", "label": "unspecified", "content_layer": "body", "children": children}


def _page(page: PageResult) -> Json:
    return {"page_no": page.index + 1, "size": {"width": page.width, "height": page.height}}


def _place(page: PageResult, box: Box, length: int) -> Json:
    return {"page_no": page.index + 1, "bbox": _box(box), "charspan": [0, length]}


def _table_data(table: Table) -> Json:
    cells = [
        {
            "text": encodable(cell.text),
            "row_span": cell.row_span,
            "col_span": cell.column_span,
            "start_row_offset_idx": cell.row,
            "end_row_offset_idx": cell.row + cell.row_span,
            "start_col_offset_idx": cell.column,
            "end_col_offset_idx": cell.column + cell.column_span,
            "column_header": cell.header and cell.row == 0,
            "row_header": cell.header and cell.row > 0,
            "row_section": False,
        }
        | ({} if cell.box is None else {"bbox": _box(cell.box)})
        for cell in table.cells
    ]
    return {"num_rows": table.rows, "num_cols": table.columns, "table_cells": cells}


def _box(box: Box) -> Json:
    left, top, right, bottom = (round(float(value), 2) for value in box)
    return {"l": left, "t": top, "r": right, "b": bottom, "coord_origin": "TOPLEFT"}


def _image(block: Block, page: PageResult) -> Json:
    if block.image is None:
        return {}
    size = {"width": block.image.width, "height": block.image.height}
    dpi = round(page.dpi) if page.dpi else 72
    return {"image": {"mimetype": block.image.mime_type, "dpi": dpi, "size": size, "uri": block.image.data_url}}
