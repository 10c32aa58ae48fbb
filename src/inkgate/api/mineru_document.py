"""Pages as MinerU's own files have them: `content_list.json` (blocks in the order of reading, for programs) and
`middle.json` (blocks with lines and spans), in the form of MinerU 3, which MinerU 4 reads, too.

Boxes of the first are thousandths of the page, those of the second pixels of the upright page. Tables have no image.
"""

from __future__ import annotations

import re
from typing import Any

from inkgate_client.block_parts import captions_of, list_items, text_is_unplaced
from inkgate_client.codec import encodable
from inkgate_client.coordinates import around
from inkgate_client.image_links import IMAGE_FOLDER
from inkgate_client.table_html import html_of
from inkgate_client.types import MARK_TYPES, Block, BlockType, Box, LeftOutReason, PageResult, box_of_quad

Json = dict[str, Any]

_HEADING = re.compile(r"#{1,6}\s+")
_MAX_LEVEL = 4
"""MinerU's deepest heading."""
_OUTSIDE = {BlockType.HEADER: "header", BlockType.FOOTER: "footer"}
_LEFT_OUT = {
    LeftOutReason.PAGE_NUMBER: "page_number",
    LeftOutReason.RUNNING_HEADER: "header",
    LeftOutReason.RUNNING_FOOTER: "footer",
    LeftOutReason.SIDE_STAMP: "aside_text",
}


class MineruPage:
    """The blocks of a page.

    Attributes:
        content: entries of `content_list.json`.
        middle: the page's entry in `pdf_info` of `middle.json`.
    """

    def __init__(self, page: PageResult) -> None:
        self._page = page
        self.content: list[Json] = []
        self._inside: list[Json] = []
        self._outside: list[Json] = []
        self._add_blocks()
        size = [page.width, page.height]
        self.middle: Json = {
            "preproc_blocks": self._inside,  # MinerU's clients make the others of these
            "para_blocks": self._inside,
            "discarded_blocks": self._outside,
            "page_size": size,
            "page_idx": page.index,
        }

    def _add_blocks(self) -> None:
        page = self._page
        whole: Box = (0, 0, page.width, page.height)
        if text_is_unplaced(page):
            for part in filter(None, (part.strip() for part in page.text.split("\n\n"))):
                self._add_text("text", whole, part, ())
        blocks = page.blocks or ()
        captions = captions_of(blocks)
        described = set(captions.values())
        for index, block in enumerate(blocks):
            if block.type not in MARK_TYPES and block.type not in _OUTSIDE and index not in described:
                self._add_block(block, blocks[captions[index]] if index in captions else None)
        for block in blocks:
            if block.type in _OUTSIDE and block.text:
                self._add_text(_OUTSIDE[block.type], block.box, block.text, block.lines, outside=True)
        if page.error is not None:  # a program must not take the page for an empty one
            note = f"Page {page.index + 1} could not be read: {page.error.detail}"
            self._add_text("text", whole, note, ())
        shown = {line for block in blocks for line in block.lines}
        for left in page.left_out:
            if left.reason in _LEFT_OUT and left.lines and shown.isdisjoint(left.lines):
                box = around([box_of_quad(page.lines[line].quad) for line in left.lines])
                self._add_text(_LEFT_OUT[left.reason], box, left.text, left.lines, outside=True)

    def _add_block(self, block: Block, caption: Block | None) -> None:
        if block.table is not None:
            html = encodable(html_of(block.table))
            entry = {"img_path": "", "table_caption": _texts(caption), "table_footnote": [], "table_body": html}
            self._add_visual("table", block, {"type": "table", "html": html}, entry, caption)
        elif block.type is BlockType.FIGURE:
            text = encodable(block.text)
            name = "" if block.image is None else block.image.name
            path = f"{IMAGE_FOLDER}/{name}" if name else ""
            entry = {"img_path": path, "image_caption": _texts(caption), "image_footnote": [], "content": text}
            self._add_visual("image", block, {"type": "image", "image_path": name, "content": text}, entry, caption)
        elif block.type is BlockType.LIST:
            items = [encodable(f"{item.mark} {' '.join(item.lines)}".strip()) for item in list_items(block.text)]
            self._add("list", block.box, {"sub_type": "text", "list_items": items})
            inner = [_block("text", block.box, [_line(block.box, {"type": "text", "content": item})]) for item in items]
            self._inside.append({"type": "list", "sub_type": "text", "bbox": _box(block.box), "blocks": inner})
        elif block.type is BlockType.FORMULA and block.markdown.startswith("$"):  # without: text, not LaTeX
            formula = encodable(block.markdown.strip("$\n "))
            self._add("equation", block.box, {"text": f"$$\n{formula}\n$$", "text_format": "latex"})
            span = {"type": "interline_equation", "content": formula}
            self._inside.append(_block("interline_equation", block.box, [_line(block.box, span)]))
        elif block.type is BlockType.TITLE:
            level = min(block.level or 1, _MAX_LEVEL)
            text = encodable(_HEADING.sub("", block.markdown, count=1) or block.text)
            self._add("text", block.box, {"text": text, "text_level": level})
            self._inside.append(
                _block("title", block.box, self._lines(block.box, block.text, block.lines), level=level)
            )
        elif block.text:
            kind = "ref_text" if block.type is BlockType.REFERENCE else "text"
            self._add_text(kind, block.box, block.text, block.lines, block.markdown)

    def _add_visual(self, kind: str, block: Block, span: Json, entry: Json, caption: Block | None) -> None:
        """Adds a table or an image, whose parts are blocks inside of it."""
        self._add(kind, block.box, entry)
        inner = [_block(f"{kind}_body", block.box, [_line(block.box, span)])]
        if caption is not None:
            lines = self._lines(caption.box, caption.text, caption.lines)
            inner.append(_block(f"{kind}_caption", caption.box, lines))
        box = around([part["bbox"] for part in inner])
        self._inside.append({"type": kind, "bbox": _box(box), "blocks": inner})

    def _add_text(
        self, kind: str, box: Box, text: str, lines: tuple[int, ...], markdown: str = "", *, outside: bool = False
    ) -> None:
        self._add(kind, box, {"text": encodable(markdown or " ".join(text.split("\n")))})
        (self._outside if outside else self._inside).append(_block(kind, box, self._lines(box, text, lines)))

    def _add(self, kind: str, box: Box, entry: Json) -> None:
        width, height = self._page.width or 1, self._page.height or 1
        scale = (1000 / width, 1000 / height, 1000 / width, 1000 / height)
        place = [int(value * factor) for value, factor in zip(box, scale, strict=True)]
        self.content.append({"type": kind} | entry | {"bbox": place, "page_idx": self._page.index})

    def _lines(self, box: Box, text: str, lines: tuple[int, ...]) -> list[Json]:
        """The lines of a text: with their own places if these are known."""
        if not lines:
            return [_line(box, {"type": "text", "content": encodable(" ".join(text.split("\n")))})]
        found = [self._page.lines[line] for line in lines]
        return [_line(line.box, {"type": "text", "content": encodable(line.text)}) for line in found]


def _texts(caption: Block | None) -> list[str]:
    return [] if caption is None else [encodable(caption.markdown or caption.text)]


def _block(kind: str, box: Box, lines: list[Json], **more: object) -> Json:
    return {"type": kind, "bbox": _box(box), "lines": lines} | more


def _line(box: Box, span: Json) -> Json:
    return {"bbox": _box(box), "spans": [{"bbox": _box(box)} | span]}


def _box(box: Box) -> list[float]:
    return [round(float(value), 2) for value in box]
