"""Reads the documents of a watched folder with the engine in this process."""

from __future__ import annotations

from inkgate.cli.read_command import problem_line, task_of
from inkgate.cli.result_names import FIELDS_SUFFIX
from inkgate.cli.watching import DocumentNotRead, WatchCommand, fields_file
from inkgate.concurrency import Threads
from inkgate.documents.files import FileFormat
from inkgate.documents.formats import render
from inkgate.errors import InkgateError, InputRejected
from inkgate.fields.as_json import document_fields_to_dict
from inkgate.library import AsyncOcr
from inkgate.types import Document, DocumentResult


class EngineReader:
    """Reads with an open `ocr`."""

    def __init__(self, ocr: AsyncOcr) -> None:
        self._ocr = ocr
        self._threads = Threads("watch_formats", 4)

    async def results(self, document: Document, order: WatchCommand) -> dict[str, bytes]:
        """See WatchReader."""
        try:
            return await self._results(document, order)
        except InkgateError as error:
            problem = problem_line(document.name, error.as_page_error(), error.title)
            raise DocumentNotRead(problem, again=not isinstance(error, InputRejected)) from error

    async def _results(self, document: Document, order: WatchCommand) -> dict[str, bytes]:
        """Raises InkgateError."""
        files: dict[str, bytes] = {}
        result: DocumentResult | None = None
        if order.fields is not None:
            found = await self._ocr.extract(document, type=order.fields)
            result = found.document
            files[FIELDS_SUFFIX] = fields_file(document_fields_to_dict(found.extraction, result))
        if result is None:
            result = await self._ocr.read(document, task=task_of(order.formats))
        for wanted in order.formats:
            if isinstance(wanted, FileFormat):
                files[wanted.suffix] = await self._ocr.file(document, result, wanted)
            else:
                files[wanted.suffix] = await self._threads.run(render, result, wanted)
        return files
