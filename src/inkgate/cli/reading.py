"""Reads the documents of `inkgate read` with the engine in this process, with pages in parallel."""

from __future__ import annotations

from contextlib import AsyncExitStack

from inkgate.cli.inputs import InputDocument
from inkgate.cli.read_command import DocumentRead, ReadCommand, ReadTally, os_problem, problem_line
from inkgate.cli.read_progress import Advance, read_each, status
from inkgate.codec import encodable
from inkgate.errors import InkgateError
from inkgate.library import AsyncOcr
from inkgate.settings import Settings
from inkgate.types import Document, DocumentStatus


async def read_documents(settings: Settings, order: ReadCommand) -> ReadTally:
    """Reads every document and writes its results.

    Raises:
        InputRejected: the settings name an unknown engine.
        EngineFailed: the engine did not start.
        BrokenPipeError: the reader of standard output has closed it.
    """
    async with AsyncExitStack() as stack:
        with status("Loading the models"):
            ocr = await stack.enter_async_context(AsyncOcr(settings))

        async def read_one(source: InputDocument, advance: Advance) -> DocumentRead | str:
            try:
                return await _read(ocr, order, source, advance)
            except InkgateError as error:
                return problem_line(source.name, error.as_page_error(), error.title)
            except OSError as error:
                return os_problem(source, error)

        return await read_each(order, read_one)


async def _read(ocr: AsyncOcr, order: ReadCommand, source: InputDocument, advance: Advance) -> DocumentRead:
    document = Document(source.data(), encodable(source.name))
    async with ocr.stream(document, **order.arguments) as reading:
        pages = []
        advance(0, len(reading.selected))
        async for page in reading:
            pages.append(page)
            advance(len(pages), len(reading.selected))
        result = reading.result(pages)
    if result.status is DocumentStatus.FAILED:
        return DocumentRead(result, {})
    files = {kind: await ocr.file(document, result, kind, password=order.password) for kind in order.file_formats}
    return DocumentRead(result, files)
