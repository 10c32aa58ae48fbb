"""The client that blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import httpx

from inkgate.client import requests
from inkgate.client.errors import refused, told
from inkgate.client.files import File, loaded
from inkgate.client.requests import READ_S, TEXT, ClientRequest, ReadAs
from inkgate.client.streams import Pages
from inkgate.telemetry.state import State
from inkgate.types import DocumentResult


class InkgateClient:
    """Speaks to the service at `url`. Blocking; to be closed, or used as a context manager."""

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
        """`key`: an API key; empty where the service asks for none. `timeout_s`: for all but reading, which has
        `read_timeout_s`. `headers`: sent with every request. `transport`: instead of the network.

        Raises:
            ServiceError: `url` is not a URL, or `key` holds a character that HTTP does not allow.
        """
        self.url = url.rstrip("/")
        self._read_timeout_s = read_timeout_s
        # trust_env: a proxy of the environment is the way to the internet, not to a service of one's own.
        with told(self.url):
            self._http = httpx.Client(
                base_url=self.url,
                headers=requests.with_key(key, headers),
                timeout=timeout_s,
                transport=transport,
                trust_env=False,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def read(self, file: File, read_as: ReadAs = TEXT, name: str = "") -> DocumentResult:
        """What is in `file`, whole: a path, bytes, or a file open in binary mode. `name`: of bytes, for messages.

        Raises:
            ServiceError: nothing of it could be read. Pages that failed alone say so in their `error`.
        """
        ask = requests.reading(loaded(file, name), read_as, "json", self._read_timeout_s)
        return requests.understood(requests.DOCUMENT, self._answer(ask), self.url)

    def read_in(self, file: File, format: str, read_as: ReadAs = TEXT, name: str = "") -> bytes:  # noqa: A002 - the option's name
        """The same as a file in `format`: `text`, `markdown`, `json`, `hocr` or `alto`. Raises ServiceError."""
        ask = requests.reading(loaded(file, name), read_as, format, self._read_timeout_s)
        answer = self._answer(ask)
        return answer.content if format == "hocr" else requests.content(answer, self.url)

    @contextmanager
    def stream(self, file: File, read_as: ReadAs = TEXT, name: str = "") -> Iterator[Pages]:
        """The pages of `file` as they are read. Leaving the block early stops the reading. Raises ServiceError."""
        ask = requests.reading(loaded(file, name), read_as, "ndjson", self._read_timeout_s)
        with told(self.url):
            answer = self._http.send(ask.build(self._http), stream=True)
        try:
            if not answer.is_success:
                with told(self.url):
                    answer.read()
                raise refused(self.url, ask.path, answer)
            yield Pages(answer, self.url)
        finally:
            answer.close()

    def upload(self, file: File, name: str = "") -> str:
        """Keeps a file in the service for an hour; its ID. Raises ServiceError."""
        ask = ClientRequest(
            "POST", "/v1/files", data={"purpose": "ocr"}, file=loaded(file, name), wait_s=self._read_timeout_s
        )
        return requests.understood(requests.UPLOADED, self._answer(ask), self.url).id

    def file(self, file_id: str) -> bytes:
        """The bytes of an uploaded file. Raises ServiceError."""
        return requests.content(self._answer(ClientRequest("GET", f"/v1/files/{file_id}/content")), self.url)

    def delete_file(self, file_id: str) -> None:
        """Forgets an uploaded file. Raises ServiceError."""
        self._answer(ClientRequest("DELETE", f"/v1/files/{file_id}"))

    def picture(self, file_id: str, page: int = 1, turn: int = 0, side: int = 1400) -> bytes:
        """A page of an uploaded file, from 1, as JPEG, turned by `turn` degrees clockwise; no side is longer than
        `side`. Raises ServiceError.
        """
        return requests.content(self._answer(requests.preview(file_id, page, turn, side)), self.url)

    def engine(self) -> str:
        """The name of the engine that reads. Raises ServiceError."""
        return requests.understood(requests.HEALTH, self._answer(ClientRequest("GET", "/health")), self.url).engine

    def models(self) -> tuple[str, ...]:
        """The models that read: those of the model servers, else the engine. Raises ServiceError."""
        answer = requests.understood(requests.MODELS, self._answer(ClientRequest("GET", "/v1/models")), self.url)
        return tuple(model.id for model in answer.data)

    def state(self) -> State:
        """What the service says of itself now.

        Raises:
            ServiceError: it can't be reached, asks for another key, or is no inkgate (of this version).
        """
        return requests.understood(requests.STATE, self._answer(ClientRequest("GET", "/state")), self.url)

    def _answer(self, ask: ClientRequest) -> httpx.Response:
        with told(self.url):
            answer = self._http.send(ask.build(self._http))
        if not answer.is_success:
            raise refused(self.url, ask.path, answer)
        return answer
