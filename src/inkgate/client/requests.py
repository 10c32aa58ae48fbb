"""What is sent, and how answers are understood: the same for the client that blocks and the one that is awaited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
from pydantic import TypeAdapter, ValidationError

from inkgate.client.errors import UNSENDABLE, ServiceError, not_understood
from inkgate.telemetry.state import State
from inkgate.types import DocumentResult, PageResult

ResultT = TypeVar("ResultT")

CONNECT_S = 10.0
READ_S = 660.0
"""Beyond the service's own bound for a document (`limits.time_s`), which answers in words."""


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """What is used of `/health`."""

    engine: str


@dataclass(frozen=True, slots=True)
class IdAnswer:
    """What is used of an uploaded file, and of a model."""

    id: str


@dataclass(frozen=True, slots=True)
class ModelsAnswer:
    """What `/v1/models` lists."""

    data: tuple[IdAnswer, ...]


HEALTH: TypeAdapter[HealthAnswer] = TypeAdapter(HealthAnswer)
UPLOADED: TypeAdapter[IdAnswer] = TypeAdapter(IdAnswer)
MODELS: TypeAdapter[ModelsAnswer] = TypeAdapter(ModelsAnswer)
STATE: TypeAdapter[State] = TypeAdapter(State)
PAGE: TypeAdapter[PageResult] = TypeAdapter(PageResult)
DOCUMENT: TypeAdapter[DocumentResult] = TypeAdapter(DocumentResult)


@dataclass(frozen=True, slots=True)
class ReadAs:
    """What to read of a document, and how; docs/reference/http.md, "Options", says what the values are.

    Attributes:
        pages: from 1, such as `1-3,7`; empty for all.
        fields: for the task `extract`; language: for `translate`.
        pdf_text: `auto`, `never` or `always`; empty: as the service's settings say.
        password: of a PDF that needs one.
        priority: `interactive`, `normal` or `batch`; empty: as the service finds.
        timeout_s: after which nobody waits for the answer.
    """

    task: str = "text"
    pages: str = ""
    pdf_text: str = ""
    fields: tuple[str, ...] = ()
    language: str = ""
    priority: str = ""
    timeout_s: float | None = None
    password: str = field(default="", repr=False)


TEXT = ReadAs()
"""All pages, as lines of text."""


def with_key(key: str, headers: Mapping[str, str] | None) -> dict[str, str]:
    """What is sent with every request. `key`: empty where the service asks for none.

    Raises:
        ServiceError: `key` holds a character that HTTP does not allow.
    """
    if not (key.isascii() and key.isprintable()):
        raise ServiceError(UNSENDABLE)
    own = {"Authorization": f"Bearer {key}"} if key else {}
    return {**(headers or {}), **own}


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request. `wait_s`: how long its answer may take; None: as the client was told."""

    method: str
    path: str
    params: Mapping[str, str | int] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    file: tuple[str, bytes] | None = None
    wait_s: float | None = None

    def build(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request as `http` sends it."""
        options: dict[str, Any] = {}
        if self.wait_s is not None:
            options["timeout"] = httpx.Timeout(self.wait_s, connect=CONNECT_S)
        if self.file is not None:
            options["files"] = {"file": self.file}
        return http.build_request(
            self.method,
            self.path,
            params=dict(self.params),
            headers=dict(self.headers),
            data=dict(self.data),
            **options,
        )


def reading(file: tuple[str, bytes], read_as: ReadAs, shape: str, wait_s: float) -> ClientRequest:
    """The request that has `file` (its name, and its bytes) read and answered in the format `shape`."""
    options = {"task": read_as.task, "pages": read_as.pages, "pdf_text": read_as.pdf_text, "format": shape}
    options |= {"fields": ",".join(read_as.fields), "language": read_as.language, "password": read_as.password}
    headers = {}
    if read_as.priority:
        headers["X-Inkgate-Priority"] = read_as.priority
    if read_as.timeout_s is not None:
        headers["X-Inkgate-Timeout"] = str(read_as.timeout_s)
    given = {option: value for option, value in options.items() if value}
    return ClientRequest("POST", "/ocr", headers=headers, data=given, file=file, wait_s=wait_s)


def preview(file_id: str, page: int, turn: int, side: int) -> ClientRequest:
    """The request for the picture of a page, from 1."""
    return ClientRequest("GET", f"/v1/files/{file_id}/pages/{page}", params={"turn": turn, "side": side}, wait_s=60.0)


def understood(kind: TypeAdapter[ResultT], answer: httpx.Response, url: str, body: bytes | None = None) -> ResultT:
    """The answer's body, or a line of it, as a `kind`. Raises ServiceError where it is none."""
    try:
        return kind.validate_json(answer.content if body is None else body)
    except ValidationError as error:
        raise not_understood(url, answer) from error


def content(answer: httpx.Response, url: str) -> bytes:
    """The answer's body, a file that is not HTML. Raises ServiceError where it is: the page of a proxy, say."""
    if answer.headers.get("content-type", "").startswith("text/html"):
        raise not_understood(url, answer)
    return answer.content
