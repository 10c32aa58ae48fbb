"""A page as engines get it: its size, its pixels, and the text inside a PDF."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from inkgate.types import Line, Size

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


@dataclass(frozen=True, slots=True)
class LineStyle:
    """How a line is set. `size`: of its font, in pixels of the page."""

    size: float
    bold: bool = False
    italic: bool = False


@dataclass(frozen=True, slots=True)
class TextLayer:
    """Trusted text inside a PDF page; coordinates as in `PageResult`. `styles`: of the lines, in their order; empty if
    unknown.
    """

    lines: tuple[Line, ...]
    styles: tuple[LineStyle, ...] = ()


class Page(Protocol):
    """One page, opened lazily: its size is known, its pixels are rendered on request.

    `size` is before the page's rotation is detected. `text_layer` is set only if it is to be used. `content_key` is
    equal for pages with the same pixels and text, in any document; empty if unknown, and such a page equals no other.
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

    def hold(self) -> AbstractContextManager[None]:
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
