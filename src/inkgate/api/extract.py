"""Fields out of documents: `POST /extract`, `POST /verify`, `GET /document-types`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inkgate.api.extract_openapi import TYPE_SHOWN, TYPES_LISTED, operation
from inkgate.api.http.context import context_of
from inkgate.api.http.document_response import DocumentResponse, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.options import Native, OcrOptions, parse
from inkgate.api.http.sources import document
from inkgate.api.http.uploads import UploadedBody
from inkgate.coordinates import Coordinates
from inkgate.documents.formats import Format
from inkgate.errors import InputRejected
from inkgate.fields.as_json import extraction_to_dict
from inkgate.fields.document_types import DocumentTypes
from inkgate.fields.extract import answer
from inkgate.fields.rules.extractor import propose
from inkgate.fields.schema import FieldSchema, Leaf, invalid
from inkgate.fields.values import Proposal
from inkgate.types import Document, DocumentResult, PageResult, Task, TaskKind

Json = dict[str, Any]
GIVEN = "given"
"""Origin of values that the caller sent to be verified."""
IN_BODY = frozenset({"data", "schema", "json_schema", "fields"})
"""Options that the query may not have: proxies log URLs."""


class ExtractOptions(OcrOptions):
    """One of `type`, `schema` and `fields` says what to find."""

    type: Annotated[str | None, Field(max_length=100, description="A document type, as GET /document-types lists.")] = (
        None
    )
    json_schema: Annotated[
        str | dict[str, Any] | None, Field(alias="schema", description="A JSON Schema of the object to find.")
    ] = None
    data: Annotated[
        str | dict[str, Any] | None, Field(description="For /verify: the values, as the schema has them.")
    ] = None


@lru_cache(maxsize=1)
def document_types() -> DocumentTypes:
    """The shipped types."""
    return DocumentTypes.load()


@dataclass(frozen=True, slots=True)
class ExtractForm:
    """A file as the part `file` or as base64 in `image`. `verify`: with values to look up instead of found ones."""

    verify: bool = False

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        """Raises InputRejected."""
        query = {name: value for name, value in received.query.items() if name not in IN_BODY}
        options = parse(ExtractOptions, _fields(received.body), query)
        if options.shape(received.accept) not in {Native.FORM, Format.JSON}:
            raise InputRejected("not_acceptable", "Fields are answered as JSON only.")
        if options.coordinates is Coordinates.SENT:
            raise InputRejected("options_invalid", "`coordinates`: fields have boxes of the upright page only.")
        wanted = await received.context.threads.run(_wanted, options, self.verify)

        def show(result: DocumentResult) -> Json:
            found = extraction_to_dict(answer(result.pages, wanted.schema, wanted.proposed(result.pages)))
            errors = {page.index: page.error.code for page in result.pages if page.error is not None}
            return {**found, "document": _about(result), "page_errors": {str(at): code for at, code in errors.items()}}

        task = Task(kind=TaskKind.TEXT)
        return ReadRequest(await _document(received), options.read_options(task), Native.FORM, show)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def _fields(body: UploadedBody) -> Json:
    """The fields, with `schema` and `data` as text if they were sent as files."""
    fields = dict(body.fields)
    for name in ("schema", "data"):
        if name in body.files:
            try:
                fields[name] = body.files[name].data.decode()
            except UnicodeDecodeError as error:
                raise invalid(f"`{name}` is not UTF-8") from error
    return fields


async def _document(received: ReceivedRequest) -> Document:
    file = received.body.files.get("file")
    if file is not None:
        return document(file.data, file.filename)
    image = received.body.fields.get("image") or received.body.fields.get("file")
    if not isinstance(image, str) or not image:
        raise InputRejected("file_missing", "There is neither a part `file` nor base64 in `image`.")
    return await received.context.sources.from_text(image, received.caller)


def _about(result: DocumentResult) -> Json:
    return {
        "name": result.name,
        "page_count": result.page_count,
        "engine": result.engine,
        "status": result.status.value,
        "needs_review": list(result.needs_review),
    }


def _schema(options: ExtractOptions) -> FieldSchema:
    given = [options.type, options.json_schema, options.fields]
    if sum(each is not None for each in given) != 1:
        raise InputRejected("options_invalid", "Send exactly one of `type`, `schema` and `fields`.")
    if options.type is not None:
        return document_types().named(options.type)
    if options.json_schema is not None:
        return FieldSchema.of(_object(options.json_schema))
    return FieldSchema.of_names(options.field_names())


def _object(value: str | Json, refused: str = "The schema can't be used: it is not JSON") -> object:
    """JSON that a form has as text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise InputRejected("options_invalid" if "data" in refused else "schema_invalid", f"{refused}.") from error


def _refuse(constant: str) -> object:
    """NaN and Infinity, which are not JSON."""
    raise ValueError(constant)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What to find, and the values to look up; None: those that rules find."""

    schema: FieldSchema
    given: Mapping[str, Sequence[Proposal]] | None = None

    def proposed(self, pages: Sequence[PageResult]) -> Mapping[str, Sequence[Proposal]]:
        """Proposals by the paths of the schema."""
        return propose(pages, self.schema) if self.given is None else self.given


def _wanted(options: ExtractOptions, verify: bool) -> _Wanted:
    """Blocking: schemas may be large. Raises InputRejected."""
    schema = _schema(options)
    if not verify:
        return _Wanted(schema)
    data = None if options.data is None else _object(options.data, "`data` is not JSON")
    if not isinstance(data, Mapping):
        raise InputRejected("options_invalid", "`data` must be an object with the values to verify.")
    texts = {leaf.path: _text_at(data, leaf) for leaf in schema.leaves if not leaf.in_array}
    return _Wanted(schema, {path: [Proposal(text, GIVEN, 1.0)] for path, text in texts.items() if text})


def _text_at(data: Mapping[str, Any], leaf: Leaf) -> str:
    """The value of a leaf as text; empty if it is missing, null or not a text or number."""
    value: object = data
    for name in leaf.names:
        value = value.get(name) if isinstance(value, Mapping) else None
    if isinstance(value, float):
        return f"{Decimal(repr(value)):f}" if isfinite(value) else repr(value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


router = APIRouter(tags=["fields"])


@router.post(
    "/extract",
    operation_id="extract_fields",
    response_class=Response,
    **operation(
        "Find fields in a document",
        "Sends `data` as the schema has it; values that are not on the page are null. `fields` has, by JSON Pointer, "
        "where each value stands and how sure it is.",
        verify=False,
    ),
)
async def extract(request: Request) -> Response:
    """The file with one of `type`, `schema` and `fields`."""
    return DocumentResponse(context_of(request), lambda _body: ExtractForm())


@router.post(
    "/verify",
    operation_id="verify_fields",
    response_class=Response,
    **operation(
        "Look up values in a document",
        "As /extract, but for values in `data` that somebody else found: each is looked up on the pages and checked.",
        verify=True,
    ),
)
async def verify(request: Request) -> Response:
    """The file with one of `type`, `schema` and `fields`, and `data`."""
    return DocumentResponse(context_of(request), lambda _body: ExtractForm(verify=True))


@router.get("/document-types", operation_id="list_document_types", responses=TYPES_LISTED)
async def list_types() -> JSONResponse:
    """The document types and their fields."""
    listed = {name: [leaf.path for leaf in schema.leaves] for name, schema in document_types().schemas.items()}
    return JSONResponse({"types": [{"name": name, "fields": fields} for name, fields in sorted(listed.items())]})


@router.get("/document-types/{name}", operation_id="show_document_type", responses=TYPE_SHOWN)
async def show_type(name: str) -> JSONResponse:
    """The JSON Schema of a document type."""
    return JSONResponse(dict(document_types().named(name).source))
