"""Finds the fields of `inkgate extract --server` by a running service. Imports no engine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from inkgate.cli.extract_outputs import FieldsFound
from inkgate.cli.inputs import InputDocument
from inkgate.cli.read_remote import ServiceAddress, result_or_problem
from inkgate.client import AsyncInkgateClient, ExtractedFields, FieldsAsked, ReadAs, ServiceError
from inkgate.client.many import RETRY_S, ReadPatience
from inkgate.codec import encodable


@asynccontextmanager
async def finding_by_service(
    address: ServiceAddress, asked: FieldsAsked, pages: str
) -> AsyncIterator[Callable[[InputDocument], Awaitable[FieldsFound | str]]]:
    """Yields a function that returns the fields of a document, or why there are none. Documents that the service
    refuses for load are sent again.

    Raises:
        ServiceError: the service can't be reached, or refuses the key.
    """
    async with AsyncInkgateClient(address.url, address.key) as client:
        await client.models()  # says at once that the service is gone or wants another key

        async def find(source: InputDocument) -> FieldsFound | str:
            found = await result_or_problem(source, _find(client, asked, ReadAs(pages=pages), source))
            if isinstance(found, str):
                return found
            document = {**found.answer.get("document", {}), "name": encodable(source.name)}
            return FieldsFound(found.extraction, {**found.answer, "document": document})

        yield find


async def _find(
    client: AsyncInkgateClient, asked: FieldsAsked, read_as: ReadAs, source: InputDocument
) -> ExtractedFields[dict[str, Any]]:
    file = source.path if source.path is not None else source.data()
    return await fields_by_service(client, asked, read_as, file, source.relative.name)


async def fields_by_service(
    client: AsyncInkgateClient, asked: FieldsAsked, read_as: ReadAs, file: Path | bytes, name: str
) -> ExtractedFields[dict[str, Any]]:
    """The fields of a file, which is sent again while the service refuses it for load. Raises ServiceError."""
    patience = ReadPatience(RETRY_S)
    while True:
        try:
            return await client.find_fields(file, asked, name, read_as)
        except ServiceError as error:
            refused = error
        await patience.pause_awaited(refused)
