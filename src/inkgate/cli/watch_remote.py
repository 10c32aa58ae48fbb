"""Has a running service read the documents of a watched folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from inkgate.cli.extract_remote import fields_by_service
from inkgate.cli.read_command import task_of
from inkgate.cli.read_remote import is_about_document, service_problem
from inkgate.cli.result_names import FIELDS_SUFFIX
from inkgate.cli.watching import DocumentNotRead, ReaderAway, WatchCommand, fields_file
from inkgate.client import AsyncInkgateClient, FieldsAsked, ReadAs, ServiceError
from inkgate.client.many import RETRY_S
from inkgate.concurrency import Threads
from inkgate.documents.files import FileFormat
from inkgate.documents.formats import render
from inkgate.errors import Draining, error_class
from inkgate.types import Document, DocumentStatus


class ServiceReader:
    """Reads by an open `client`."""

    def __init__(self, client: AsyncInkgateClient) -> None:
        self._client = client
        self._threads = Threads("watch_formats", 4)

    async def results(self, document: Document, order: WatchCommand) -> dict[str, bytes]:
        """See WatchReader."""
        try:
            return await self._results(document, order)
        except ServiceError as error:
            if not is_about_document(error) or error_class(error.code) is Draining or _is_of_proxy(error):
                raise ReaderAway(str(error)) from error
            again = error.status is None or error.status == 429 or error.status >= 500
            raise DocumentNotRead(service_problem(document.name, error), again=again) from error

    async def _results(self, document: Document, order: WatchCommand) -> dict[str, bytes]:
        """Raises ServiceError, DocumentNotRead."""
        files: dict[str, bytes] = {}
        name = PurePath(document.name).name
        if order.fields is not None:
            found = await fields_by_service(self._client, FieldsAsked(order.fields), ReadAs(), document.data, name)
            about = {**found.answer.get("document", {}), "name": document.name}
            files[FIELDS_SUFFIX] = fields_file({**found.answer, "document": about})
        read_as = ReadAs(task=task_of(order.formats).value)
        read = await self._client.read(document.data, read_as, name, retry_s=RETRY_S)
        if read.status is DocumentStatus.FAILED:
            raise DocumentNotRead(f"{document.name}: no page could be read.", again=True)
        result = replace(read, name=document.name)
        for wanted in order.formats:
            if isinstance(wanted, FileFormat):
                files[wanted.suffix] = await read.file(wanted)
            else:
                files[wanted.suffix] = await self._threads.run(render, result, wanted)
        return files


def _is_of_proxy(error: ServiceError) -> bool:
    """Whether a proxy answers instead of the service, whose own errors have codes."""
    return error.status in {502, 503, 504} and not error.code
