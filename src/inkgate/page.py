"""A page as engines get it: its size, its pixels, and the text inside a PDF."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol, TypeAlias

from inkgate_client.types import Box, Line, ReviewNote, Size

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RgbArray: TypeAlias = "NDArray[np.uint8]"
"""Pixels, (H, W, 3) uint8 in the order red, green, blue."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """An image of a page. `scale` is page pixels per pixel of `rgb` (1.0 or more)."""

    rgb: RgbArray
    scale: float = 1.0


class TagKind(StrEnum):
    """Types of the blocks that the tags of a PDF tell apart; most are also named so by the layout network."""

    TITLE = "title"
    TEXT = "text"
    LIST = "list"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    REFERENCE = "reference"
    TABLE = "table"
    ARTIFACT = "artifact"


@dataclass(frozen=True, slots=True)
class LineTag:
    """The tagged block that a line of a PDF belongs to. `block`: its number in the order of the tags; -1 for none."""

    block: int
    kind: TagKind


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How a line is set, and how the file tags it. `size`: of its font, in pixels of the page."""

    size: float
    bold: bool = False
    italic: bool = False
    tag: LineTag | None = None


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Words of a line that are set in another way than the rest, or that are a link. `address`: of the link."""

    box: Box
    bold: bool = False
    italic: bool = False
    address: str = ""


@dataclass(frozen=True, slots=True)
class TextLayer:
    """What the text layer of a PDF page says; coordinates as in `PageResult`.

    Attributes:
        lines: the trusted ones. Their confidence is 1.0, which no line that was read from pixels has.
        styles: of the lines, in their order; empty if unknown.
        doubtful: lines whose font may map its characters wrongly: they are to be compared with the page's pixels.
        suspects: for each of these, the characters that may be others; empty: all.
        unread: parts of the page whose text the layer lacks: they are to be read from pixels.
        pictures: parts of the page with other ink, which may be writing.
        hidden: lines that the page does not show.
        notes: what a person should look at.
        attachments: names of files that are pinned to the page.
        links: addresses that the page's links lead to, each once.
        spans: what is bold or italic by its font, and where the links are.
    """

    lines: tuple[Line, ...]
    styles: tuple[LineStyle, ...] = ()
    doubtful: tuple[Line, ...] = ()
    suspects: tuple[str, ...] = ()
    unread: tuple[Box, ...] = ()
    pictures: tuple[Box, ...] = ()
    hidden: tuple[Line, ...] = ()
    notes: tuple[ReviewNote, ...] = ()
    attachments: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    spans: tuple[TextSpan, ...] = ()


class Page(Protocol):
    """One page, opened lazily: its size is known, its pixels are rendered on request.

    `size` is before the page's rotation is detected. `text_layer` is None if only the pixels tell of the page.
    `content_key` is equal for pages with the same pixels and text, in any document; empty if unknown, and such a page
    equals no other.
    """

    @property
    def index(self) -> int: ...

    @property
    def size(self) -> Size: ...

    @property
    def dpi(self) -> float | None: ...

    @property
    def text_layer(self) -> TextLayer | None: ...

    @property
    def content_key(self) -> bytes: ...

    def retain(self) -> AbstractContextManager[None]:
        """Keeps the source of the pixels open inside the block, even if the page's document is closed meanwhile.

        For work shared by several callers, which must survive the caller whose page it uses. Enter it while the
        document is open, on the event loop.
        """
        ...

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """Pixels of the page, shrunk so that no side exceeds `longest_side`; never enlarged.

        Raises:
            InputRejected: the page is broken, too large, or takes too long to render.
        """
        ...
