"""Searchable PDFs: the pages of a document with its recognised text, invisible, on top."""

from __future__ import annotations

from collections.abc import Sequence

from inkgate.caller import NO_CALLER, Caller
from inkgate.documents.files.embedded_image import EmbeddedImage
from inkgate.documents.files.glyphless import CharacterCodes
from inkgate.documents.files.text_content import PageContent, page_content
from inkgate.documents.files.wire import WritePlan
from inkgate.documents.files.writers import Writers
from inkgate.documents.images import DecodeThreads, open_image
from inkgate.documents.sniff import FileType, sniff
from inkgate.errors import InputRejected
from inkgate_client.types import Document, PageResult


class SearchablePdfs:
    """Makes searchable PDFs. A PDF keeps its pages and their images byte by byte, and its other pages; images become
    pages, with the file's own bytes where PDF has the format. Used from one event loop.
    """

    def __init__(self, writers: Writers, decoding: DecodeThreads, max_pixels: int, max_bytes: int) -> None:
        """`max_bytes`: of all images of a document as a PDF has them, which are in memory at once."""
        self._max_bytes = max_bytes
        self._writers = writers
        self._decoding = decoding
        self._max_pixels = max_pixels

    async def make(
        self, document: Document, pages: Sequence[PageResult], password: str = "", caller: Caller = NO_CALLER
    ) -> bytes:
        """`document` as a PDF with the text of `pages`. Pages that have a text layer of their own stay as they are.

        Raises:
            InputRejected: "page_memory": its images are too large; or the document can't be opened or
                written: see Writers.add_text.
            EngineFailed: "page_timeout".
        """
        file_type = sniff(document.data)
        codes = CharacterCodes()
        threads, cost_ms = self._decoding.usual, len(pages)
        contents = await threads.run(caller, cost_ms, _contents, pages, codes)
        if file_type is FileType.PDF:
            if not contents:
                return document.data
            plan = await threads.run(caller, cost_ms, _text_plan, contents, codes)
            return await self._writers.add_text(document.data, plan, len(contents), password, caller)
        frames = await self._images(document.data, file_type, caller)
        plan = await threads.run(caller, cost_ms, _image_plan, frames, contents, codes)
        return await self._writers.new_pdf(plan, len(frames), caller)

    async def _images(self, data: bytes, file_type: FileType, caller: Caller) -> list[EmbeddedImage]:
        """All images of the file. One is decoded at a time."""
        opened = await open_image(data, file_type, self._max_pixels, self._decoding, caller)
        images: list[EmbeddedImage] = []
        size = 0
        for index in range(opened.page_count):
            images.append(await (await opened.page(index, caller)).embedded())
            size += len(images[-1].data)
            if size > self._max_bytes:  # the frames of a TIFF may all have the same bytes of a small file
                most = f"{self._max_bytes / 2**20:,.0f}"
                raise InputRejected("page_memory", f"The images have more than {most} MB as a PDF has them.")
        return images


def _contents(pages: Sequence[PageResult], codes: CharacterCodes) -> list[PageContent]:
    return [content for page in pages if (content := page_content(page, codes)) is not None]


def _text_plan(contents: Sequence[PageContent], codes: CharacterCodes) -> bytes:
    plan = WritePlan(codes.to_unicode())
    for content in contents:
        plan.add(content)
    return plan.encoded()


def _image_plan(images: Sequence[EmbeddedImage], contents: Sequence[PageContent], codes: CharacterCodes) -> bytes:
    plan = WritePlan(codes.to_unicode())
    texts = {content.index: content for content in contents}
    for index, image in enumerate(images):
        plan.add(texts.get(index), image)
    return plan.encoded()
