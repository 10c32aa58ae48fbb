"""DocTags, the markup of Granite-Docling and SmolDocling: blocks with places, tables in OTSL.

Source: Nassar et al. 2025, "SmolDocling", and `docling_core.types.doc.tokens`. A page is
`<doctag><text><loc_57><loc_31><loc_440><loc_37>A line</text>...</doctag>`; places are on a grid of 0 to 500. Output
that was cut off gives what came before the cut; tags that are left open are closed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from inkgate.engines.vlm.parsers.answer import ParsedAnswer, PlacedBlock, rectangle
from inkgate.engines.vlm.parsers.blocks import MAX_BLOCKS, block_of, blocks_answer
from inkgate.engines.vlm.parsers.markdown import markdown
from inkgate_client.types import BlockType, Size

GRID = 500
_TAG = re.compile(r"<(/?)([A-Za-z_][A-Za-z0-9_+#.-]{0,40})>")
_LOCATION = re.compile(r"loc_(\d{1,4})")
_LEVEL = re.compile(r"section_header_level_([1-6])")
_KINDS = {
    "text": BlockType.TEXT,
    "paragraph": BlockType.TEXT,
    "footnote": BlockType.TEXT,
    "code": BlockType.TEXT,
    "checkbox_selected": BlockType.TEXT,
    "checkbox_unselected": BlockType.TEXT,
    "list_item": BlockType.LIST,
    "title": BlockType.TITLE,
    "section_header": BlockType.TITLE,
    "page_header": BlockType.HEADER,
    "page_footer": BlockType.FOOTER,
    "caption": BlockType.CAPTION,
    "formula": BlockType.FORMULA,
    "otsl": BlockType.TABLE,
    "document_index": BlockType.TABLE,
    "picture": BlockType.FIGURE,
    "chart": BlockType.FIGURE,
}
_LISTS = {"ordered_list", "unordered_list"}
_AROUND = {"doctag", "group", "inline", "key_value_region", "form", "page_break", "section", *_LISTS}
"""Tags without text of their own."""
_CELLS = frozenset({"fcel", "ecel", "lcel", "ucel", "xcel", "ched", "rhed", "srow", "nl"})
_INSIDE = frozenset({"caption"})
"""Blocks that may be inside a table or a figure."""
_MAX_OPEN = 8


@dataclass(slots=True)
class _Open:
    """A block whose end was not read yet. `item`: its number in an ordered list; 0: none."""

    name: str
    item: int = 0
    places: list[int] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)

    def block(self, size: Size) -> tuple[PlacedBlock | None, str]:
        """The block; or, where it has no usable place, its Markdown."""
        level = _LEVEL.fullmatch(self.name)
        kind = BlockType.TITLE if level else _KINDS[self.name]
        box = rectangle(self.places, size, GRID)
        text = "".join(self.parts).strip()
        if kind is BlockType.TITLE:
            text = f"{'#' * (int(level[1]) + 1 if level and level[1] != '6' else 1)} {text}" if text else ""
        elif kind is BlockType.LIST and text:
            text = f"{self.item}. {text}" if self.item else f"- {text.removeprefix('·').removeprefix('•').strip()}"
        elif self.name == "code" and text:
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", text)), default=0))
            text = f"{fence}\n{text}\n{fence}"
        elif self.name.startswith("checkbox"):
            text = f"{'☑' if self.name.endswith('_selected') else '☐'} {text}"
        return (None, text) if box is None else (block_of(kind, box, text, size, self.name), "")


class _Reader:
    """Reads the tags one after the other; time grows with the length of the output only."""

    def __init__(self, size: Size) -> None:
        self._size = size
        self._open: list[_Open] = []
        self._blocks: list[PlacedBlock] = []
        self._loose: list[str] = []
        self._items: list[int] = []

    def text(self, text: str) -> None:
        if self._open:
            self._open[-1].parts.append(text)
        elif text.strip():
            self._loose.append(text)

    def tag(self, name: str, *, closes: bool) -> None:
        if self._open and (place := _LOCATION.fullmatch(name)):
            if len(self._open[-1].places) < 4:
                self._open[-1].places.append(int(place[1]))
        elif name in _AROUND or name.startswith("loc_"):
            self._list(name, closes=closes)
        elif name in _KINDS or _LEVEL.fullmatch(name):
            if closes:
                self._close(name)
            else:
                self._begin(name)
        elif self._open and self._open[-1].name in {"otsl", "document_index"} and name in _CELLS:
            self._open[-1].parts.append(f"<{name}>")
        elif self._open and self._open[-1].name in {"picture", "chart", "code"}:
            pass  # the class of a picture, the language of code
        else:
            self.text(f"<{'/' if closes else ''}{name}>")

    def finished(self) -> ParsedAnswer:
        while self._open:
            self._end()
        return blocks_answer(self._blocks, self._loose, self._size)

    def _list(self, name: str, *, closes: bool) -> None:
        if name not in _LISTS:
            return
        if not closes:
            self._items = [*self._items[-_MAX_OPEN:], 0 if name == "ordered_list" else -1]
        elif self._items:
            self._items.pop()

    def _begin(self, name: str) -> None:
        outside = self._open and self._open[-1].name in {"otsl", "document_index", "picture", "chart"}
        while self._open and not (name in _INSIDE and outside and len(self._open) < _MAX_OPEN):
            self._end()
            outside = False
        item = 0
        if name == "list_item" and self._items and self._items[-1] >= 0:
            self._items[-1] += 1
            item = self._items[-1]
        self._open.append(_Open(name, item))

    def _close(self, name: str) -> None:
        if any(each.name == name for each in self._open):
            while self._open:
                last = self._open[-1].name
                self._end()
                if last == name:
                    return

    def _end(self) -> None:
        block, loose = self._open.pop().block(self._size)
        if len(self._blocks) + len(self._loose) >= MAX_BLOCKS:
            return
        if block is None:
            self._loose.append(loose)
        else:
            self._blocks.append(block)


def doctags(output: str, size: Size) -> ParsedAnswer:
    """The page's blocks. Output without any tag of DocTags is treated as Markdown."""
    pieces = _TAG.split(output.replace("<|end_of_text|>", ""))
    if not any(name in _KINDS or name in _AROUND or _LEVEL.fullmatch(name) for name in pieces[2::3]):
        return markdown(output, size)
    reader = _Reader(size)
    reader.text(pieces[0])
    for slash, name, text in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        reader.tag(name, closes=bool(slash))
        reader.text(text)
    return reader.finished()
