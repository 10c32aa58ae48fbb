"""What reads documents for rows: the engine in this process, or a service."""

from __future__ import annotations

from typing import Any, Protocol

from inkgate.client import AsyncInkgateClient, ExtractedFields, FieldsAsked, ReadAs, ServiceError
from inkgate.client.many import RETRY_S, ReadPatience
from inkgate.concurrency import Threads
from inkgate.fields.as_json import document_fields_to_dict
from inkgate.integrations.notion.documents import NotionDocument, notion_document
from inkgate.library import AsyncOcr, ExtractArguments
from inkgate.types import Document


class RowReader(Protocol):
    """Reads documents, with their fields."""

    async def read(self, document: Document) -> NotionDocument:
        """What goes into its row. Raises InkgateError, ServiceError."""
        ...


class EngineRowReader:
    """Reads with the engine in this process."""

    def __init__(self, ocr: AsyncOcr, wanted: ExtractArguments) -> None:
        self._ocr = ocr
        self._wanted = wanted
        self._threads = Threads("notion_documents", 1)

    async def read(self, document: Document) -> NotionDocument:
        found = await self._ocr.extract(document, **self._wanted)
        fields = document_fields_to_dict(found.extraction, found.document)
        return await self._threads.run(notion_document, document, found.document, fields)


class ServiceRowReader:
    """Reads by a running service, which keeps the pages of the first request for the second one."""

    def __init__(self, client: AsyncInkgateClient, asked: FieldsAsked, pages: str) -> None:
        self._client = client
        self._asked = asked
        self._pages = pages
        self._threads = Threads("notion_documents", 1)

    async def read(self, document: Document) -> NotionDocument:
        read_as = ReadAs(task="parse", pages=self._pages)
        result = await self._client.read(document.data, read_as, document.name, retry_s=RETRY_S)
        found = await self._fields(document, read_as)
        return await self._threads.run(notion_document, document, result, found.answer)

    async def _fields(self, document: Document, read_as: ReadAs) -> ExtractedFields[dict[str, Any]]:
        patience = ReadPatience(RETRY_S)
        while True:
            try:
                return await self._client.find_fields(document.data, self._asked, document.name, read_as)
            except ServiceError as error:
                refused = error
            await patience.pause_awaited(refused)
