"""Requests and the parsing of responses, shared by the blocking and the asynchronous client."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, TypedDict, TypeVar

import httpx
from pydantic import TypeAdapter

from inkgate_client.errors import UNSENDABLE, ServiceError, unexpected_error
from inkgate_client.fields.asked import Wanted, WantedFields
from inkgate_client.telemetry.state import State

ResultT = TypeVar("ResultT")

CONNECT_S = 10.0
READ_S = 660.0
"""Longer than the service's time limit (`limits.time_s`), whose error says more than a timeout here."""


@dataclass(frozen=True, slots=True)
class HealthAnswer:
    """The used part of `/health`."""

    engine: str


@dataclass(frozen=True, slots=True)
class IdAnswer:
    """The used part of an uploaded file or a model."""

    id: str


@dataclass(frozen=True, slots=True)
class ModelsAnswer:
    """The list of `/v1/models`."""

    data: tuple[IdAnswer, ...]


parse_health = TypeAdapter(HealthAnswer).validate_json
parse_uploaded = TypeAdapter(IdAnswer).validate_json
parse_models = TypeAdapter(ModelsAnswer).validate_json
parse_state = TypeAdapter(State).validate_json


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a document, here or by a service; docs/reference/http.md, "Options", explains the values.

    Attributes:
        pages: such as `1-3,7`, from 1; empty for all.
        fields: names for the task `extract`; language: for `translate`.
        pdf_text: `auto`, `never` or `always`; empty: the service's default.
        password: of an encrypted PDF.
        priority: in the service: `interactive`, `normal` or `batch`; empty: it chooses.
        timeout_s: after which the service cancels the request.
        marks: mark doubtful words and blocks in the Markdown that the service makes.
        images: keep figures as images (`Block.image`).
    """

    task: str = "text"
    pages: str = ""
    pdf_text: str = ""
    fields: tuple[str, ...] = ()
    language: str = ""
    priority: str = ""
    timeout_s: float | None = None
    password: str = field(default="", repr=False)
    marks: bool = False
    images: bool = False


TEXT = ReadOptions()
"""All pages, as lines of text."""

PARSE = ReadOptions(task="parse")
"""All pages, with blocks and Markdown."""


Pages = str | int | Sequence[int]
"""Pages from 1: such as `1-3,7`, a number, or a list of numbers."""


def pages_text(pages: Pages) -> str:
    """The pages as an option. Raises ValueError for an empty list, which would mean all pages."""
    if isinstance(pages, str):
        return pages
    numbers = [pages] if isinstance(pages, int) else pages
    if not numbers:
        raise ValueError("The list of pages is empty; leave it out to read all pages.")
    return ",".join(map(str, numbers))


class PageKeywords(TypedDict, total=False):
    """Options as arguments; see ReadOptions. `pages`: also a number, or a list of numbers, from 1."""

    pages: Pages
    pdf_text: str
    priority: str
    timeout_s: float | None
    password: str


class ExtractKeywords(PageKeywords, total=False):
    """What to find in a document, at most one of these, and options as arguments.

    Attributes:
        type: a document type, such as `receipt`.
        schema: a JSON Schema, as an object or as text.
        fields: names.
    """

    type: str
    schema: Mapping[str, Any] | str | None
    fields: Sequence[str]


class ReadKeywords(PageKeywords, total=False):
    """Options as arguments; see ReadOptions."""

    task: str
    fields: Sequence[str]
    language: str
    marks: bool
    images: bool


def check_arguments(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises TypeError for an argument that a public function does not have, with those that it has."""
    known = tuple(known)
    for name in given:
        if name not in known:
            hint = f" Did you mean {meant[0]!r}?" if (meant := get_close_matches(name, known, n=1)) else ""
            if name.lower().startswith("lang"):
                hint = " Text is read in all languages of the model, without naming one."
            raise TypeError(f"{function}() has no argument {name!r}.{hint} Options: {', '.join(known)}.")


def options_given(function: str, read_as: ReadOptions, given: ReadKeywords) -> ReadOptions:
    """`read_as` with the options that a public function was given as arguments. Raises TypeError for an unknown one."""
    check_arguments(function, given, ReadKeywords.__annotations__)
    return _changed(read_as, {**given})


def extract_arguments(
    wanted: Wanted, read_as: ReadOptions, named: Mapping[str, Any]
) -> tuple[WantedFields, ReadOptions]:
    """What `extract` finds, and how it reads. Raises TypeError for an unknown argument, ValueError if it is told twice
    what to find.
    """
    check_arguments("extract", named, ExtractKeywords.__annotations__)
    options = dict(named)
    schema = options.pop("schema", None)
    asked = WantedFields(options.pop("type", ""), schema, options.pop("fields", ())).or_wanted(wanted)
    return asked, _changed(read_as, options)


def _changed(read_as: ReadOptions, changes: dict[str, Any]) -> ReadOptions:
    if "pages" in changes:
        changes["pages"] = pages_text(changes["pages"])
    if "fields" in changes:
        changes["fields"] = tuple(changes["fields"])
    return replace(read_as, **changes)


def with_key(key: str, headers: Mapping[str, str] | None) -> dict[str, str]:
    """Headers of every request. `key`: empty if the service requires none.

    Raises:
        ServiceError: `key` contains a character that HTTP does not allow.
    """
    if not (key.isascii() and key.isprintable()):
        raise ServiceError(UNSENDABLE)
    own = {"Authorization": f"Bearer {key}"} if key else {}
    return {**(headers or {}), **own}


@dataclass(frozen=True, slots=True)
class ClientRequest:
    """A request. `content`: its body, instead of `data` and `file`. `wait_s`: time limit of its response; None: the
    client's default.
    """

    method: str
    path: str
    params: Mapping[str, str | int | Sequence[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    file: tuple[str, bytes] | None = None
    content: bytes = b""
    wait_s: float | None = None

    def build(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """The request for `http`."""
        options: dict[str, Any] = {}
        if self.wait_s is not None:
            options["timeout"] = httpx.Timeout(self.wait_s, connect=CONNECT_S)
        if self.file is not None:
            options["files"] = {"file": self.file}
        if self.content:
            options["content"] = self.content
        elif self.data:
            options["data"] = dict(self.data)
        return http.build_request(
            self.method,
            self.path,
            params=dict(self.params),
            headers=dict(self.headers),
            **options,
        )


def reading(file: tuple[str, bytes], read_as: ReadOptions, shape: str, wait_s: float) -> ClientRequest:
    """The request to read `file` (name and bytes) in the format `shape`."""
    options = options_of(read_as) | {"format": shape, "marks": "true" if read_as.marks else ""}
    given = {option: value for option, value in options.items() if value}
    return ClientRequest("POST", "/ocr", headers=read_headers(read_as), data=given, file=file, wait_s=wait_s)


def read_headers(read_as: ReadOptions) -> dict[str, str]:
    """The options that are headers."""
    headers = {"X-Inkgate-Priority": read_as.priority} if read_as.priority else {}
    if read_as.timeout_s is not None:
        headers["X-Inkgate-Timeout"] = str(read_as.timeout_s)
    return headers


def options_of(read_as: ReadOptions) -> dict[str, str]:
    """The options that forms have as fields; empty: not given."""
    options = {"task": read_as.task, "pages": read_as.pages, "pdf_text": read_as.pdf_text}
    options["include"] = "images" if read_as.images else ""
    return options | {"fields": ",".join(read_as.fields), "language": read_as.language, "password": read_as.password}


def preview(file_id: str, page: int, turn: int, side: int) -> ClientRequest:
    """The request for the image of a page, from 1."""
    return ClientRequest("GET", f"/v1/files/{file_id}/pages/{page}", params={"turn": turn, "side": side}, wait_s=60.0)


def parse(read: Callable[[bytes], ResultT], answer: httpx.Response, url: str, body: bytes | None = None) -> ResultT:
    """The response's body, or a line of it, as `read` parses it. Raises ServiceError if it is invalid."""
    try:
        return read(answer.content if body is None else body)
    except ValueError as error:
        raise unexpected_error(url, answer) from error


_FIRST_BYTES = {"pdf": b"%PDF-", "docx": b"PK", "xlsx": b"PK"}


def content(answer: httpx.Response, url: str, format: str = "") -> bytes:  # noqa: A002 - the option's name
    """The response's body, a file in `format` if one was requested.

    Raises:
        ServiceError: it is HTML, such as a proxy's page, or does not begin as such a file does.
    """
    html = format not in {"hocr", "html"} and answer.headers.get("content-type", "").startswith("text/html")
    if html or not answer.content.startswith(_FIRST_BYTES.get(format, b"")):
        raise unexpected_error(url, answer)
    return answer.content
