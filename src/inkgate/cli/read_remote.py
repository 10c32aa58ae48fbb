"""Reads the documents of `inkgate read --server` by a running service. Imports no engine."""

from __future__ import annotations

import os
from collections.abc import Awaitable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import httpx

from inkgate.cli.inputs import InputDocument
from inkgate.cli.messages import misuse, remedy_here
from inkgate.cli.read_command import DocumentRead, ReadCommand, ReadTally, os_problem
from inkgate.cli.read_progress import Advance, read_each
from inkgate.client import AsyncInkgateClient, FileUnreadable, ServiceError
from inkgate.client.many import RETRY_S
from inkgate.client.requests import ReadAs
from inkgate.types import DocumentStatus

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceAddress:
    """A running service, and the caller's key."""

    url: str
    key: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str, key_file: Path | None) -> ServiceAddress:
        """With the key in the file, else in INKGATE_API_KEY. Raises typer.Exit: the file can't be read."""
        if key_file is None:
            return cls(url, os.environ.get("INKGATE_API_KEY", "").strip())  # noqa: TID251 - keys are no settings
        try:
            return cls(url, key_file.read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise misuse(f"{key_file}: {getattr(error, 'strerror', None) or 'not UTF-8'}.") from error


async def read_by_service(address: ServiceAddress, order: ReadCommand, tally: ReadTally) -> ReadTally:
    """Reads every document and writes its results. Documents that the service refuses for load are sent again.
    `tally`: counts them, also if an error ends all.

    Raises:
        ServiceError: the service can't be reached, or refuses the key.
        BrokenPipeError: the reader of standard output has closed it.
    """
    read_as = ReadAs(
        task=order.task.value,
        pages=order.page_text,
        pdf_text=order.pdf_text.value if order.pdf_text else "",
        password=order.password,
        images=order.images,
    )
    async with AsyncInkgateClient(address.url, address.key) as client:
        await client.models()  # says at once that the service is gone or wants another key

        async def read_one(source: InputDocument, _: Advance) -> DocumentRead | str:
            return await result_or_problem(source, _read(client, order, read_as, source))

        return await read_each(order, read_one, tally)


async def _read(client: AsyncInkgateClient, order: ReadCommand, read_as: ReadAs, source: InputDocument) -> DocumentRead:
    file = source.path if source.path is not None else source.data()
    document = await client.read(file, read_as, source.relative.name, retry_s=RETRY_S)
    result = replace(document, name=source.name)
    if result.status is DocumentStatus.FAILED:
        return DocumentRead(result, {})
    return DocumentRead(result, {kind: await document.file(kind) for kind in order.file_formats})


async def result_or_problem(source: InputDocument, result: Awaitable[T]) -> T | str:
    """The result, or what went wrong with the document.

    Raises:
        ServiceError: it is about the service.
    """
    try:
        return await result
    except ServiceError as error:
        if not is_about_document(error):
            raise
        return service_problem(source.name, error)
    except OSError as error:
        return os_problem(source, error)


def is_about_document(error: ServiceError) -> bool:
    """Whether it is about the one document, and not about the service, which would not read the next one either."""
    late = isinstance(error.__cause__, httpx.ReadTimeout)
    return late or isinstance(error, FileUnreadable) or error.status not in {None, 401, 403}


def service_problem(name: str, error: ServiceError) -> str:
    """What went wrong with a document, and what to do, as problem_line says it."""
    if not error.code:
        return f"{name}: {error}"
    return f"{name}: {error.title}. {error.detail} {remedy_here(error.code, error.remedy)} ({error.code})"
