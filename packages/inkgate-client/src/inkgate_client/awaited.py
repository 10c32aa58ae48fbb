"""The asynchronous client. scripts/write_blocking_client.py writes the blocking one from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields as fields_of
from hashlib import sha256
from types import TracebackType
from typing import Any, Self, Unpack, overload

import httpx

from inkgate_client import many, requests
from inkgate_client.awaited_calls import AsyncCalls
from inkgate_client.awaited_documents import AsyncClientDocument, AsyncSourceOf
from inkgate_client.awaited_jobs import AsyncJobs
from inkgate_client.codec import parse_document, parse_page
from inkgate_client.errors import service_errors
from inkgate_client.extracted import Fields, extracting, fitted, parse_answer, parse_document_types
from inkgate_client.fields.asked import ModelT, Schema, WantedFields
from inkgate_client.files import Source, is_url
from inkgate_client.many import Outcome
from inkgate_client.requests import (
    PARSE,
    READ_S,
    TEXT,
    ClientRequest,
    ExtractKeywords,
    PageKeywords,
    ReadKeywords,
    ReadOptions,
    options_given,
)
from inkgate_client.retries import RETRY_S, Retrier, RetryPolicy
from inkgate_client.streams import PageStream, Summary, count_of
from inkgate_client.telemetry.state import State
from inkgate_client.types import PageResult


class AsyncPages:
    """The pages of a document as they are read; iterate once with `async for`. `count`: their number, None if unknown;
    `page_count`: that of the whole document. `summary` is available after the last page.
    """

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self.count = count_of(answer, "x-inkgate-pages")
        self.page_count = count_of(answer, "x-inkgate-page-count")
        self._answer = answer
        self._url = url
        self._stream = PageStream(url)

    @property
    def summary(self) -> Summary:
        return self._stream.summary

    async def __aiter__(self) -> AsyncIterator[PageResult]:
        async for line in self.lines():
            yield requests.parse(parse_page, self._answer, self._url, line)

    async def lines(self) -> AsyncIterator[bytes]:
        """The pages as JSON. Raises ServiceError if the document failed or the stream broke off."""
        with service_errors(self._url):
            async for chunk in self._answer.aiter_bytes():
                for line in self._stream.cut(chunk):
                    yield line
        _ = self.summary


class AsyncInkgateClient:
    """Client of the service at `url`. Close it, or use it as a context manager.

    Attributes:
        jobs: documents that the service reads later.
    """

    def __init__(
        self,
        url: str,
        key: str = "",
        *,
        timeout_s: float = 10.0,
        read_timeout_s: float = READ_S,
        headers: Mapping[str, str] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`key`: an API key; empty if the service requires none. `timeout_s`: for all requests except reading, which
        has `read_timeout_s`. `headers`: sent with every request. `transport`: replaces the network.

        Raises:
            ServiceError: `url` is not a URL, or `key` contains a character that HTTP does not allow.
        """
        self.url = url.rstrip("/")
        self._read_timeout_s = read_timeout_s
        # trust_env=False: proxies of the environment are for the internet, not for one's own service.
        with service_errors(self.url):
            http = httpx.AsyncClient(
                base_url=self.url,
                headers=requests.with_key(key, headers),
                timeout=timeout_s,
                transport=transport,
                trust_env=False,
            )
        self._calls = AsyncCalls(self.url, http)
        self.jobs = AsyncJobs(self._calls)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._calls.close()

    async def read(
        self,
        file: Source,
        read_as: ReadOptions | None = None,
        name: str = "",
        *,
        retry_s: float = 0.0,
        **options: Unpack[ReadKeywords],
    ) -> AsyncClientDocument:
        """Reads `file`: a path, a URL, bytes, a file open in binary mode, a PIL image, or a NumPy array (see Pixels).

        `options`: `task` (default `parse`: text, blocks and Markdown), `pages`, `language` and others of ReadOptions;
        `read_as`: them in one object. `name`: of bytes, for messages. `retry_s`: how long to retry while the service
        refuses documents for load or can't be reached.

        Raises:
            ServiceError: nothing could be read. If only some pages failed, they have an `error` instead.
        """
        how, loaded = options_given("read", read_as or PARSE, options), await self._calls.loaded(file, name)

        async def read() -> AsyncClientDocument:
            return await self._read(file, loaded, how)

        return await Retrier(RetryPolicy(retry_s)).run_awaited(read)

    async def _read(self, file: Source, loaded: tuple[str, bytes], read_as: ReadOptions) -> AsyncClientDocument:
        result = await self._calls.parsed(
            parse_document, requests.reading(loaded, read_as, "json", self._read_timeout_s)
        )
        again = file if isinstance(file, str | os.PathLike) and not is_url(file) else loaded[1]
        source = AsyncSourceOf(self._calls, again, sha256(loaded[1]).digest(), read_as, self._read_timeout_s)
        return AsyncClientDocument(
            **{each.name: getattr(result, each.name) for each in fields_of(result)}, source=source
        )

    @asynccontextmanager
    async def read_many(
        self,
        files: Iterable[Source],
        read_as: ReadOptions | None = None,
        *,
        concurrency: int = 8,
        retry_s: float = RETRY_S,
        **options: Unpack[ReadKeywords],
    ) -> AsyncIterator[AsyncIterator[Outcome[Source, AsyncClientDocument]]]:
        """Reads many files, at most `concurrency` at once: iterate over what became of them, in the order in which they
        are done. A file that fails has an `error` and does not end the others. Documents that the service refuses for
        load are sent again after the seconds that it asks for, for at most `retry_s` each. `files` may be a generator:
        it is advanced as files are read. Leaving the block early begins no other file.

        Raises:
            ValueError: `concurrency` is less than 1.
        """
        how, retrier = options_given("read_many", read_as or PARSE, options), Retrier(RetryPolicy(retry_s))

        async def read_one(file: Source) -> AsyncClientDocument:
            loaded = await self._calls.loaded(file, "")

            async def read() -> AsyncClientDocument:
                return await self._read(file, loaded, how)

            return await retrier.run_awaited(read)

        async with many.read_many(read_one, files, concurrency, in_order=False) as outcomes:
            try:
                yield outcomes
            finally:
                retrier.stop()

    async def read_in(
        self,
        file: Source,
        format: str,  # noqa: A002 - the option's name
        read_as: ReadOptions = TEXT,
        name: str = "",
        **options: Unpack[ReadKeywords],
    ) -> bytes:
        """Reads a document like `read`, and returns a file in `format`, as the service makes it: `text`, `markdown`,
        `json`, `hocr`, `alto`, `csv`, `mermaid`, `chunks`, `pdf`, `docx` or `xlsx`. Raises ServiceError.
        """
        read_as = options_given("read_in", read_as, options)
        ask = requests.reading(await self._calls.loaded(file, name), read_as, format, self._read_timeout_s)
        answer = await self._calls.answer(ask)
        return requests.content(answer, self.url, format)

    @asynccontextmanager
    async def stream(
        self, file: Source, read_as: ReadOptions | None = None, name: str = "", **options: Unpack[ReadKeywords]
    ) -> AsyncIterator[AsyncPages]:
        """The pages of `file` as they are read, with the options of `read`. Leaving the block early cancels the
        request. Raises ServiceError.
        """
        read_as = options_given("stream", read_as or PARSE, options)
        ask = requests.reading(await self._calls.loaded(file, name), read_as, "ndjson", self._read_timeout_s)
        answer = await self._calls.open(ask)
        try:
            yield AsyncPages(answer, self.url)
        finally:
            await answer.aclose()

    @overload
    async def extract(
        self,
        file: Source,
        wanted: type[ModelT],
        *,
        read_as: ReadOptions = TEXT,
        name: str = "",
        **named: Unpack[PageKeywords],
    ) -> Fields[ModelT | None]: ...

    @overload
    async def extract(
        self,
        file: Source,
        wanted: None = None,
        *,
        schema: type[ModelT],
        read_as: ReadOptions = TEXT,
        name: str = "",
        **named: Unpack[PageKeywords],
    ) -> Fields[ModelT | None]: ...

    @overload
    async def extract(
        self,
        file: Source,
        wanted: str | Mapping[str, Any] | Sequence[str] | None = None,
        *,
        read_as: ReadOptions = TEXT,
        name: str = "",
        **named: Unpack[ExtractKeywords],
    ) -> Fields[dict[str, Any]]: ...

    async def extract(
        self,
        file: Source,
        wanted: Any = None,
        *,
        read_as: ReadOptions = TEXT,
        name: str = "",
        **named: Any,
    ) -> Fields[Any]:
        """Finds fields of `file`: those of a document type, of a JSON Schema, of a pydantic model class, which gives an
        instance, or a list of names, as `wanted` or as `type`, `schema` or `fields`. Without any, the type is found.
        `named`: also `pages` and others of ReadOptions, whose task is ignored.

        Raises:
            ServiceError: nothing could be read, or what is asked for can't be used.
            ValueError: it is given twice.
        """
        asked, how = requests.extract_arguments(wanted, read_as, named)
        found = await self.find_fields(file, asked, name, how)
        return found if asked.model is None else fitted(found, asked.model)

    async def verify(
        self,
        file: Source,
        data: Mapping[str, Any],
        *,
        type: str = "",  # noqa: A002 - the option's name
        schema: Schema | None = None,
        read_as: ReadOptions = TEXT,
        name: str = "",
    ) -> Fields[dict[str, Any]]:
        """Looks up values that somebody else found: those that stand in the document are kept, others are None. Without
        `type` and `schema`, the names of `data` are the fields. Raises ServiceError.
        """
        names = () if type or schema is not None else tuple(data)
        return await self.find_fields(file, WantedFields(type, schema, names, data), name, read_as)

    async def find_fields(
        self, file: Source, asked: WantedFields, name: str = "", read_as: ReadOptions = TEXT
    ) -> Fields[dict[str, Any]]:
        """Finds fields like `extract` or `verify`, with the request in one object. Raises ServiceError."""
        ask = extracting(await self._calls.loaded(file, name), asked, read_as, self._read_timeout_s)
        return await self._calls.parsed(parse_answer, ask)

    async def document_types(self) -> dict[str, tuple[str, ...]]:
        """The paths of the fields of each document type. Raises ServiceError."""
        return await self._calls.parsed(parse_document_types, ClientRequest("GET", "/document-types"))

    async def upload(self, file: Source, name: str = "") -> str:
        """Uploads a file, which the service keeps for an hour. Returns its ID. Raises ServiceError."""
        loaded = await self._calls.loaded(file, name)
        ask = ClientRequest("POST", "/v1/files", data={"purpose": "ocr"}, file=loaded, wait_s=self._read_timeout_s)
        return (await self._calls.parsed(requests.parse_uploaded, ask)).id

    async def file(self, file_id: str) -> bytes:
        """The bytes of an uploaded file. Raises ServiceError."""
        return requests.content(
            await self._calls.answer(ClientRequest("GET", f"/v1/files/{file_id}/content")), self.url
        )

    async def delete_file(self, file_id: str) -> None:
        """Deletes an uploaded file. Raises ServiceError."""
        await self._calls.answer(ClientRequest("DELETE", f"/v1/files/{file_id}"))

    async def picture(self, file_id: str, page: int = 1, turn: int = 0, side: int = 1400) -> bytes:
        """Renders a page of an uploaded file, from 1, as JPEG, turned by `turn` degrees clockwise, with no side longer
        than `side`. Raises ServiceError.
        """
        return requests.content(await self._calls.answer(requests.preview(file_id, page, turn, side)), self.url)

    async def engine(self) -> str:
        """The name of the service's engine. Raises ServiceError."""
        return (await self._calls.parsed(requests.parse_health, ClientRequest("GET", "/health"))).engine

    async def models(self) -> tuple[str, ...]:
        """The models of the model servers, else the engine's name. Raises ServiceError."""
        answer = await self._calls.parsed(requests.parse_models, ClientRequest("GET", "/v1/models"))
        return tuple(model.id for model in answer.data)

    async def state(self) -> State:
        """The service's current state.

        Raises:
            ServiceError: the service can't be reached, refuses the key, or is not an inkgate of this version.
        """
        return await self._calls.parsed(requests.parse_state, ClientRequest("GET", "/state"))
