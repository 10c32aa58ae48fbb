"""Options of all request forms, from the query or the body, and content negotiation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from fastapi.routing import APIRoute
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    FailFast,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
)
from pydantic.json_schema import SkipJsonSchema
from starlette.requests import Request

from inkgate.api.http.errors import describe
from inkgate.documents.files import AnyFormat, FileFormat, format_named, names_of_formats
from inkgate.documents.pages import PageSelection, select
from inkgate.errors import InputRejected
from inkgate.service.reader import CheckedOptions
from inkgate.settings import PdfText
from inkgate_client.coordinates import Coordinates
from inkgate_client.formats import Format
from inkgate_client.formats.chunks import ChunkOptions
from inkgate_client.types import Task, TaskKind


class Native(StrEnum):
    """Responses that are not document formats."""

    FORM = "form"
    """The JSON of the request's form."""
    NDJSON = "ndjson"
    """One line of JSON per page, as soon as it is read."""


Shape = Native | AnyFormat

_MAX_ACCEPT_LENGTH = 4000
"""Maximum characters of the Accept header; clients send less than a tenth."""
NDJSON_TYPE = "application/x-ndjson"

_BY_MEDIA_TYPE: dict[str, Shape] = {
    "*/*": Native.FORM,
    "application/*": Native.FORM,
    "application/json": Native.FORM,
    "application/problem+json": Native.FORM,
    NDJSON_TYPE: Native.NDJSON,
    "application/ndjson": Native.NDJSON,
    "application/jsonl": Native.NDJSON,
    "text/*": Format.TEXT,
    "text/plain": Format.TEXT,
    "text/markdown": Format.MARKDOWN,
    "text/vnd.hocr+html": Format.HOCR,
    "application/vnd.hocr+html": Format.HOCR,
    "application/alto+xml": Format.ALTO,
    "text/csv": Format.CSV,
    "text/vnd.mermaid": Format.MERMAID,
    **{kind.media_type: kind for kind in FileFormat},
}
_BY_PLAIN_TYPE: dict[str, Shape] = {"text/html": Format.HOCR, "application/xml": Format.ALTO}
"""Media types that select a format only without `*/*`. Browsers send them together with `*/*` and don't mean hOCR or
ALTO.
"""


def choose(format: str | None, accept: str | None) -> Shape:  # noqa: A002 - the option's name
    """The response's format: `format` if given, else the best match for `accept`.

    Raises:
        InputRejected: "not_acceptable".
    """
    return _by_accept(accept) if format is None else _named(format)


def _by_accept(accept: str | None) -> Shape:
    if not accept or not accept.strip():
        return Native.FORM
    if len(accept) > _MAX_ACCEPT_LENGTH:
        raise InputRejected("not_acceptable", f"The Accept header is longer than {_MAX_ACCEPT_LENGTH} characters.")
    ranges = _ranges(accept)
    types = _BY_MEDIA_TYPE if any(name == "*/*" for name, _ in ranges) else _BY_MEDIA_TYPE | _BY_PLAIN_TYPE
    known = [(weight, types[name]) for name, weight in ranges if name in types]
    best = max(known, key=lambda pair: pair[0], default=(0.0, Native.FORM))
    if best[0] <= 0:
        raise InputRejected("not_acceptable", "The Accept header names no media type that this endpoint offers.")
    return best[1]


def _named(format: str) -> Shape:  # noqa: A002 - the option's name
    name = format.strip()
    if name.lower() == Native.NDJSON:
        return Native.NDJSON
    try:
        return format_named(name)
    except ValueError:
        raise InputRejected("not_acceptable", "`format` does not name a known format.") from None


def _ranges(accept: str) -> list[tuple[str, float]]:
    """Media ranges and their weights, in the given order (RFC 9110, 12.5.1); an invalid weight counts as 0."""
    ranges = []
    for part in accept.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                digits = parameter[2:]
                weight = float(digits) if digits.replace(".", "", 1).isdecimal() else 0.0
        ranges.append((name, weight))
    return ranges


ModelT = TypeVar("ModelT", bound=BaseModel)

MAX_FIELDS = 100
LONGEST_PASSWORD = 500
BODY_ONLY = frozenset({"password", "extract"})
"""Options that the query may not have: proxies log URLs."""
MAX_FIELD_LENGTH = 200
"""Maximum characters of a name in `fields`. The names become part of the prompt."""


WITH_IMAGES: frozenset[AnyFormat] = frozenset({Format.JSON, Format.MARKDOWN, FileFormat.DOCX})
"""Formats that show the images of figures."""


class StopAtFirst(FailFast):
    """Reports only the first invalid item of a list, which may have 200,000. Pydantic's own marker is not hashable, as
    a union requires.
    """

    __hash__ = object.__hash__


_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def flag(value: object) -> object:
    """Converts a form's or query's boolean text to bool; returns anything else unchanged."""
    return _FLAGS.get(value.strip().lower(), value) if isinstance(value, str) else value


Flag = Annotated[StrictBool, BeforeValidator(flag)]
"""A boolean of a form: `true` or `false`, `1` or `0`. In JSON, numbers are not accepted."""
Pages = StrictStr | Annotated[list[StrictInt], StopAtFirst()] | StrictInt
Word = Annotated[str, Field(max_length=100)]


def _separated(value: object) -> object:
    """The parts of a text with commas; anything else unchanged."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) and "," in value else value


Include = Literal["images", "invisible"]
"""What a response has only on request."""


ChunkTokens = Annotated[int, Field(description="Largest chunk in tokens, which are estimated. Default: 512.")]
ChunkCharacters = Annotated[int, Field(description="Largest chunk in characters, in place of tokens.")]
ChunkOverlap = Annotated[int, Field(description="How much of a chunk the next one has, too, in the same unit.")]
ChunkHeadings = Annotated[Flag, Field(description="`true`: the headings above a chunk stand in front of its text.")]


def chunk_options(
    tokens: int | None = None, characters: int | None = None, overlap: int | None = None, *, headings: bool = False
) -> ChunkOptions:
    """The options of chunks. Raises InputRejected("options_invalid")."""
    try:
        return ChunkOptions(tokens, characters, overlap or 0, headings)
    except ValueError as error:
        raise InputRejected("options_invalid", str(error)) from error


class OcrOptions(BaseModel):
    """Options common to all request forms. Null and the empty string mean: not given."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    pages: Annotated[Pages | None, Field(description="Pages from 1: `1-3,7`, or a list of numbers.")] = None
    pdf_text: Annotated[
        PdfText | None, Field(description="When to use the text layer of PDF pages instead of OCR.")
    ] = None
    password: Annotated[
        Annotated[StrictStr, Field(max_length=LONGEST_PASSWORD, pattern=r"^[^\x00]*$")] | None,
        Field(repr=False, description="Password of an encrypted PDF. Only in the body, because URLs are logged."),
    ] = None
    format: Annotated[
        Word | None, Field(description=f"{', '.join(names_of_formats())} or ndjson; overrides the Accept header.")
    ] = None
    task: Annotated[
        Literal["text", "parse", "table", "formula", "chart", "spot", "extract", "translate"] | None,
        Field(
            description="`text`: lines. `parse`: also blocks and Markdown. Other tasks need an engine that has them."
        ),
    ] = None
    fields: Annotated[
        str | Annotated[list[str], StopAtFirst()] | None,
        Field(description="For `extract`: field names, as a list or separated by commas."),
    ] = None
    language: Annotated[
        Word | None, Field(description="For `translate`: the language to translate into, such as `en` or `zh`.")
    ] = None
    blocks: Annotated[Flag | None, Field(description="`true`: blocks and Markdown too; the same as `task=parse`.")] = (
        None
    )

    include: Annotated[
        # As one of several values, it may come in a list; generators of C# fail at a choice of a text and texts.
        Include | SkipJsonSchema[Annotated[list[Include], Field(max_length=10)]] | None,
        BeforeValidator(_separated),
        Field(
            description="`images`: figures as images too, with `task=parse`. `invisible`: also the text that a PDF "
            "contains but does not show, in `left_out`. Both: `images,invisible`, or a list."
        ),
    ] = None

    coordinates: Annotated[
        Coordinates | None,
        Field(
            description="`sent`: coordinates of the image as sent; `upright`: of the page after rotation. Default: "
            "`sent` for hOCR and ALTO, `upright` for JSON."
        ),
    ] = None

    marks: Annotated[
        Flag | None, Field(description="`true`: doubtful words are `<mark>`ed in the Markdown, doubtful blocks noted.")
    ] = None

    chunk_tokens: ChunkTokens | None = None
    chunk_characters: ChunkCharacters | None = None
    chunk_overlap: ChunkOverlap | None = None
    chunk_headings: ChunkHeadings | None = None

    def chunks(self) -> ChunkOptions:
        """The options of chunks. Raises InputRejected("options_invalid")."""
        headings = bool(self.chunk_headings)
        return chunk_options(self.chunk_tokens, self.chunk_characters, self.chunk_overlap, headings=headings)

    def shape(self, accept: str | None) -> Shape:
        """The response's format. Raises InputRejected("not_acceptable")."""
        return choose(self.format, accept)

    def task_kind(self, shape: Shape) -> TaskKind:
        """The task kind that yields what was requested and what `shape` shows."""
        kind = TaskKind(self.task) if self.task else TaskKind.TEXT
        needed = TaskKind.TEXT if isinstance(shape, Native) else shape.task_kind
        if kind is not TaskKind.TEXT:
            return kind
        return TaskKind.PARSE if self.blocks or self.images(shape) else needed

    def images(self, shape: Shape) -> bool:
        """Whether figures are requested as images, and `shape` shows them."""
        return "images" in self._included and (isinstance(shape, Native) or shape in WITH_IMAGES)

    @property
    def invisible(self) -> bool:
        """Whether the text that a PDF does not show is requested."""
        return "invisible" in self._included

    @property
    def _included(self) -> Sequence[str]:
        return [self.include] if isinstance(self.include, str) else self.include or []

    def field_names(self) -> tuple[str, ...]:
        """The non-empty names in `fields`.

        Raises:
            InputRejected: "options_invalid": too many names, or one is too long.
        """
        given = self.fields.split(",", MAX_FIELDS) if isinstance(self.fields, str) else self.fields or []
        if len(given) > MAX_FIELDS or any(len(name) > MAX_FIELD_LENGTH for name in given):
            detail = f"`fields` may have up to {MAX_FIELDS} names of up to {MAX_FIELD_LENGTH} characters."
            raise InputRejected("options_invalid", detail)
        return tuple(name for name in (" ".join(name.split()) for name in given) if name)

    def read_options(self, task: Task) -> CheckedOptions:
        """The options for the Reader. Raises InputRejected("pages_invalid")."""
        return CheckedOptions(task, self.selection(), self.pdf_text, self.password or "")

    def selection(self) -> PageSelection | None:
        """The requested pages; None for all. Raises InputRejected("pages_invalid")."""
        return select(self.pages, first=1)


_SHOWN_NAME = 40
"""Maximum characters of a name that an error repeats; a longer one may be a document that was sent in its place."""


def check_names(
    model: type[BaseModel],
    body: Collection[str],
    query: Collection[str],
    document: Collection[str] = (),
    body_only: Collection[str] = BODY_ONLY,
) -> None:
    """Refuses names that are no options of `model`, so that a misspelled option is not ignored. For inkgate's own
    request forms only: clients of other protocols send options that inkgate does not have.

    `body`, `query`: the names that were sent; `document`: those that hold the document in the body.

    Raises:
        InputRejected: "options_invalid": it names the option that was meant, if one is like it.
    """
    options = {field.alias or name: field.description or "" for name, field in model.model_fields.items()}
    for name in query:
        if name in body_only and name in options:
            raise InputRejected("options_invalid", f"`{name}` must be in the body, because URLs are logged.")
    unknown = [name for name in body if name not in options and name not in document]
    for name in unknown or [name for name in query if name not in options]:
        raise InputRejected("options_invalid", _unknown(name, options))


async def check_query(request: Request) -> None:
    """Refuses query parameters that a route does not have, as `check_names` does: a dependency of routes that declare
    theirs.
    """
    route: APIRoute = request.scope["route"]
    options = {field.alias: field.field_info.description or "" for field in route.dependant.query_params}
    for name in request.query_params:
        if options and name not in options:
            raise InputRejected("options_invalid", _unknown(name, options))


def _unknown(name: str, options: Mapping[str, str]) -> str:
    shown = f" `{name}`" if len(name) <= _SHOWN_NAME and name.isprintable() else " of this name"
    if meant := get_close_matches(name[:_SHOWN_NAME].lower(), options, n=1):
        return f"There is no option{shown}. Did you mean `{meant[0]}`? {options[meant[0]]}".rstrip()
    return f"There is no option{shown}. Options: {', '.join(options)}."


def parse(model: type[ModelT], fields: Mapping[str, Any], query: Mapping[str, str] | None = None) -> ModelT:
    """Validates the body's fields, completed by the query's, as a `model`.

    Raises:
        InputRejected: "options_invalid", with every invalid value.
    """
    taken = model.model_fields.keys() - BODY_ONLY
    given = {**{key: value for key, value in (query or {}).items() if key in taken}, **fields}
    # A form sends all of its fields; an empty one was not filled in.
    given = {key: value for key, value in given.items() if value != ""}
    try:
        return model.model_validate(given)
    except ValidationError as error:
        found = [dict(detail) for detail in error.errors(include_url=False, include_input=False)]
        raise InputRejected("options_invalid", describe(found)) from error
