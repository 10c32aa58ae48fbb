"""Of the blocking client. Written by scripts/write_blocking_client.py from awaited.py: change it there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self, overload

import httpx

from inkgate.client import requests
from inkgate.client.blocking_calls import Calls
from inkgate.client.blocking_jobs import Jobs
from inkgate.client.errors import service_errors
from inkgate.client.fields import ExtractedFields, extracting, fitted, parse_document_types, parse_fields
from inkgate.client.files import File
from inkgate.client.requests import READ_S, TEXT, ClientRequest, ReadAs
from inkgate.client.streams import PageStream, Summary, count_pages
from inkgate.codec import parse_document, parse_page
from inkgate.fields.asked import FieldsAsked, ModelT, Schema
from inkgate.telemetry.state import State
from inkgate.types import DocumentResult, PageResult


class Pages:
    """The pages of a document as they are read; iterate once with `for`. `count`: their number, None if unknown.
    `summary` is available after the last page.
    """

    def __init__(self, answer: httpx.Response, url: str) -> None:
        self.count = count_pages(answer)
        self._answer = answer
        self._url = url
        self._stream = PageStream(url)

    @property
    def summary(self) -> Summary:
        return self._stream.summary

    def __iter__(self) -> Iterator[PageResult]:
        for line in self.lines():
            yield requests.parse(parse_page, self._answer, self._url, line)

    def lines(self) -> Iterator[bytes]:
        """The pages as JSON. Raises ServiceError if the document failed or the stream broke off."""
        with service_errors(self._url):
            for chunk in self._answer.iter_bytes():
                yield from self._stream.cut(chunk)
        _ = self.summary


class InkgateClient:
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
        transport: httpx.BaseTransport | None = None,
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
            http = httpx.Client(
                base_url=self.url,
                headers=requests.with_key(key, headers),
                timeout=timeout_s,
                transport=transport,
                trust_env=False,
            )
        self._calls = Calls(self.url, http)
        self.jobs = Jobs(self._calls)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._calls.close()

    def read(self, file: File, read_as: ReadAs = TEXT, name: str = "") -> DocumentResult:
        """Reads `file`: a path, bytes, or a file open in binary mode. `name`: of bytes, for messages.

        Raises:
            ServiceError: nothing could be read. If only some pages failed, they have an `error` instead.
        """
        ask = requests.reading(self._calls.loaded(file, name), read_as, "json", self._read_timeout_s)
        return self._calls.parsed(parse_document, ask)

    def read_in(self, file: File, format: str, read_as: ReadAs = TEXT, name: str = "") -> bytes:  # noqa: A002 - the option's name
        """As `read`, as a file in `format`: `text`, `markdown`, `json`, `hocr`, `alto`, `csv`, `pdf`, `docx` or `xlsx`.
        Raises ServiceError.
        """
        ask = requests.reading(self._calls.loaded(file, name), read_as, format, self._read_timeout_s)
        answer = self._calls.answer(ask)
        return answer.content if format == "hocr" else requests.content(answer, self.url)

    @contextmanager
    def stream(self, file: File, read_as: ReadAs = TEXT, name: str = "") -> Iterator[Pages]:
        """The pages of `file` as they are read. Leaving the block early cancels the request. Raises ServiceError."""
        ask = requests.reading(self._calls.loaded(file, name), read_as, "ndjson", self._read_timeout_s)
        answer = self._calls.open(ask)
        try:
            yield Pages(answer, self.url)
        finally:
            answer.close()

    @overload
    def extract(
        self,
        file: File,
        *,
        schema: type[ModelT],
        fields: Sequence[str] = (),
        read_as: ReadAs = TEXT,
        name: str = "",
    ) -> ExtractedFields[ModelT | None]: ...

    @overload
    def extract(
        self,
        file: File,
        *,
        type: str = "",
        schema: Mapping[str, Any] | str | None = None,
        fields: Sequence[str] = (),
        read_as: ReadAs = TEXT,
        name: str = "",
    ) -> ExtractedFields[dict[str, Any]]: ...

    def extract(
        self,
        file: File,
        *,
        type: str = "",  # noqa: A002 - the option's name
        schema: Any = None,
        fields: Sequence[str] = (),
        read_as: ReadAs = TEXT,
        name: str = "",
    ) -> ExtractedFields[Any]:
        """Finds fields of `file`: those of a document type, of a JSON Schema, of a pydantic model class, which gives an
        instance, or with the names `fields`. Without any, the type is found. The task of `read_as` is ignored.

        Raises:
            ServiceError: nothing could be read, or what is asked for can't be used.
        """
        found = self.find_fields(file, FieldsAsked(type, schema, fields), name, read_as)
        return found if schema is None or isinstance(schema, str | Mapping) else fitted(found, schema)

    def verify(
        self,
        file: File,
        data: Mapping[str, Any],
        *,
        type: str = "",  # noqa: A002 - the option's name
        schema: Schema | None = None,
        read_as: ReadAs = TEXT,
        name: str = "",
    ) -> ExtractedFields[dict[str, Any]]:
        """Looks up values that somebody else found: those that stand in the document are kept, others are None. Without
        `type` and `schema`, the names of `data` are the fields. Raises ServiceError.
        """
        names = () if type or schema is not None else tuple(data)
        return self.find_fields(file, FieldsAsked(type, schema, names, data), name, read_as)

    def find_fields(
        self, file: File, asked: FieldsAsked, name: str = "", read_as: ReadAs = TEXT
    ) -> ExtractedFields[dict[str, Any]]:
        """As `extract` or `verify`, for what is asked for in one object. Raises ServiceError."""
        ask = extracting(self._calls.loaded(file, name), asked, read_as, self._read_timeout_s)
        return self._calls.parsed(parse_fields, ask)

    def document_types(self) -> dict[str, tuple[str, ...]]:
        """The paths of the fields of each document type. Raises ServiceError."""
        return self._calls.parsed(parse_document_types, ClientRequest("GET", "/document-types"))

    def upload(self, file: File, name: str = "") -> str:
        """Uploads a file, which the service keeps for an hour. Returns its ID. Raises ServiceError."""
        loaded = self._calls.loaded(file, name)
        ask = ClientRequest("POST", "/v1/files", data={"purpose": "ocr"}, file=loaded, wait_s=self._read_timeout_s)
        return self._calls.parsed(requests.parse_uploaded, ask).id

    def file(self, file_id: str) -> bytes:
        """The bytes of an uploaded file. Raises ServiceError."""
        return requests.content(self._calls.answer(ClientRequest("GET", f"/v1/files/{file_id}/content")), self.url)

    def delete_file(self, file_id: str) -> None:
        """Deletes an uploaded file. Raises ServiceError."""
        self._calls.answer(ClientRequest("DELETE", f"/v1/files/{file_id}"))

    def picture(self, file_id: str, page: int = 1, turn: int = 0, side: int = 1400) -> bytes:
        """Renders a page of an uploaded file, from 1, as JPEG, turned by `turn` degrees clockwise, with no side longer
        than `side`. Raises ServiceError.
        """
        return requests.content(self._calls.answer(requests.preview(file_id, page, turn, side)), self.url)

    def engine(self) -> str:
        """The name of the service's engine. Raises ServiceError."""
        return self._calls.parsed(requests.parse_health, ClientRequest("GET", "/health")).engine

    def models(self) -> tuple[str, ...]:
        """The models of the model servers, else the engine's name. Raises ServiceError."""
        answer = self._calls.parsed(requests.parse_models, ClientRequest("GET", "/v1/models"))
        return tuple(model.id for model in answer.data)

    def state(self) -> State:
        """The service's current state.

        Raises:
            ServiceError: the service can't be reached, refuses the key, or is not an inkgate of this version.
        """
        return self._calls.parsed(requests.parse_state, ClientRequest("GET", "/state"))
