"""Image files as documents: pages whose sizes are known before any pixel is decoded.

A TIFF has one page per image. Every other file has one page: the first picture of an animation (GIF, WebP, APNG) or
multi-picture JPEG, the primary one of a HEIC or AVIF file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from hashlib import blake2b
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.decode import FrameSource, Header, read_header, read_pixels
from inkgate.documents.files.embedded_image import EmbeddedImage, embed
from inkgate.documents.sniff import FileType
from inkgate.documents.tiff import frame_offsets
from inkgate.errors import InputRejected
from inkgate.page import Pixels, TextLayer
from inkgate.serving.threads import FairThreads
from inkgate_client.types import Size

P = ParamSpec("P")
T = TypeVar("T")

_DIGEST_SIZE = 32


def digest(data: bytes) -> bytes:
    """BLAKE2b hash (32 bytes) of a document's bytes. Takes about 1 ms per MB: runs in a thread."""
    return blake2b(data, digest_size=_DIGEST_SIZE).digest()


def content_key_of(document: bytes, *parts: object) -> bytes:
    """Key (32 bytes) of a page of the document with the digest `document`.

    `parts`: the page, and everything else that determines its pixels and text; compared by their `repr`.
    """
    return blake2b(repr(parts).encode(), key=document, digest_size=_DIGEST_SIZE).digest()


_LARGE_PIXELS = 32_000_000
_PIXELS_PER_MS = 30_000
"""Estimate of what a thread decodes, until its time is known."""
_MAX_SIDE = 100_000
"""Maximum pixels of a side: codecs take time per row, and a strip 100 million high is within most pixel limits."""


@dataclass(frozen=True, slots=True)
class DecodeThreads:
    """Threads that decode images. `large` images have one of their own: each takes up to 7 bytes per pixel."""

    usual: FairThreads
    large: FairThreads

    async def run(self, caller: Caller, size: Size, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Returns `function(*args, **kwargs)`, which decodes an image of `size`."""
        threads = self.large if size.pixels > _LARGE_PIXELS else self.usual
        return await threads.run(caller, 1 + size.pixels // _PIXELS_PER_MS, function, *args, **kwargs)


class ImagePage:
    """A page of an image file. Implements Page. Each call decodes the pixels again; they are not cached."""

    def __init__(
        self,
        index: int,
        frame: FrameSource,
        header: Header,
        threads: DecodeThreads,
        content_key: bytes,
        caller: Caller,
    ) -> None:
        """`caller`: on whose behalf it is decoded."""
        self.content_key = content_key
        self._index = index
        self._frame = frame
        self._header = header
        self._threads = threads
        self._caller = caller

    @property
    def index(self) -> int:
        return self._index

    @property
    def size(self) -> Size:
        """Upright, after EXIF orientation."""
        return self._header.size

    @property
    def dpi(self) -> float | None:
        return self._header.dpi

    @property
    def text_layer(self) -> TextLayer | None:
        return None

    def retain(self) -> AbstractContextManager[None]:
        """The page itself holds the file's bytes."""
        return nullcontext()

    async def pixels(self, longest_side: int | None = None) -> Pixels:
        """Decodes the page. It needs the memory of the full decoded image for any `longest_side`, except for JPEG.

        Raises:
            InputRejected: `image_corrupt`, `image_too_large`.
        """
        return await self._threads.run(self._caller, self.size, read_pixels, self._frame, self._header, longest_side)

    async def embedded(self) -> EmbeddedImage:
        """The image as a PDF embeds it. Raises InputRejected as `pixels` does."""
        return await self._threads.run(self._caller, self.size, embed, self._frame, self._header)


class ImageDocument:
    """An open image file. Implements OpenDocument."""

    invoice: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self,
        file_type: FileType,
        frames: tuple[FrameSource, ...],
        max_pixels: int,
        threads: DecodeThreads,
        content: bytes,
    ) -> None:
        """`content`: the digest of the file's bytes."""
        self._file_type = file_type
        self._frames = frames
        self._max_pixels = max_pixels
        self._threads = threads
        self._content = content
        self._first: Header | None = None

    @property
    def mime_type(self) -> str:
        return self._file_type.value

    @property
    def page_count(self) -> int:
        return len(self._frames)

    async def page(self, index: int, caller: Caller = NO_CALLER) -> ImagePage:
        """The page, after reading its header.

        Raises:
            InputRejected: `image_corrupt`, `image_too_large`.
            IndexError: there is no such page.
        """
        if not 0 <= index < len(self._frames):
            raise IndexError(index)
        frame = self._frames[index]
        header = self._first if index == 0 and self._first is not None else await self._header(frame, caller)
        if index == 0:
            self._first = header  # that of a single page is read when the document is opened
        return ImagePage(index, frame, header, self._threads, self.content_key(index), caller)

    def notes(self, attachments: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - the port's; images have none
        return ()

    def retain(self) -> AbstractContextManager[None]:
        """The document itself holds the file's bytes."""
        return nullcontext()

    def content_key(self, index: int) -> bytes:
        return self._content if len(self._frames) == 1 else content_key_of(self._content, index)

    async def _header(self, frame: FrameSource, caller: Caller) -> Header:
        header = await self._threads.usual.run(caller, 1, read_header, frame)
        self._check(header.size)
        return header

    def _check(self, size: Size) -> None:
        is_large = f"The image is {size.width}×{size.height} pixels"
        if size.pixels > self._max_pixels:
            raise InputRejected("image_too_large", f"{is_large}; the limit is {self._max_pixels} in all.")
        if max(size.width, size.height) > _MAX_SIDE:
            raise InputRejected("image_too_large", f"{is_large}; the limit for a side is {_MAX_SIDE}.")


async def open_image(
    data: bytes, file_type: FileType, max_pixels: int, threads: DecodeThreads, caller: Caller = NO_CALLER
) -> ImageDocument:
    """Opens an image file on behalf of `caller`. The header of a single page is checked at once.

    Raises:
        InputRejected: `image_corrupt`, `image_too_large`, `too_many_pages`.
    """
    if file_type is FileType.TIFF:
        offsets = await threads.usual.run(caller, 1, frame_offsets, data)
        frames = tuple(FrameSource(data, file_type, offset) for offset in offsets)
    else:
        frames = (FrameSource(data, file_type),)
    content = await threads.usual.run_large(caller, len(data), digest, data)
    document = ImageDocument(file_type, frames, max_pixels, threads, content)
    if document.page_count == 1:
        await document.page(0, caller)
    return document
