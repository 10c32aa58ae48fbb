"""Fields out of documents: `POST /extract`, `POST /verify`, `GET /document-types`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from inkgate.api.extract_openapi import TYPE_SHOWN, TYPES_LISTED, operation
from inkgate.api.http.context import context_of
from inkgate.api.http.costs import DOCUMENT, STATE, costs
from inkgate.api.http.document_response import DocumentResponse, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.options import BODY_ONLY, Native, OcrOptions, check_names, parse
from inkgate.api.http.sources import document
from inkgate.api.http.uploads import UploadedBody, receive_document
from inkgate.caller import Caller
from inkgate.errors import InputRejected
from inkgate.fields.schema import invalid
from inkgate_client.coordinates import Coordinates
from inkgate_client.fields.as_json import about_document, document_fields_to_dict
from inkgate_client.fields.asked import WantedFields
from inkgate_client.formats import Format
from inkgate_client.types import Document, DocumentResult, Task

Json = dict[str, Any]
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

    def request(self, *, verify: bool) -> WantedFields:
        """What is requested. Raises InputRejected."""
        if verify and self.data is None:
            raise InputRejected("options_invalid", "`data` must be an object with the values to verify.")
        data = self.data if verify else None
        names = self.field_names()
        if self.fields is not None and not names:
            raise InputRejected("options_invalid", "`fields` names no field.")
        return WantedFields(self.type or "", self.json_schema, names, data)


@dataclass(frozen=True, slots=True)
class ExtractForm:
    """A file as the part `file`, as base64 in `image`, or as the body. `verify`: with values to look up."""

    verify: bool = False

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        """Raises InputRejected."""
        check_names(ExtractOptions, received.body.names, received.query, ("file", "image"), BODY_ONLY | IN_BODY)
        options = parse(ExtractOptions, _fields(received.body), received.query)
        if options.shape(received.accept) not in {Native.FORM, Format.JSON}:
            raise InputRejected("not_acceptable", "Fields are answered as JSON only.")
        if options.coordinates is Coordinates.SENT:
            raise InputRejected("options_invalid", "`coordinates`: fields have boxes of the upright page only.")
        finder = received.context.service.fields
        requested = await finder.wanted(options.request(verify=self.verify), received.caller)

        async def find(result: DocumentResult, caller: Caller) -> Callable[[DocumentResult], Json]:
            return partial(document_fields_to_dict, await finder.find(result, requested, caller))

        read = finder.read_options(requested, options.read_options(Task()))
        return ReadRequest(await _document(received), read, Native.FORM, about_document, find=find)

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
    file = received.body.raw or received.body.files.get("file")
    if file is not None:
        return document(file.data, file.filename)
    image = received.body.fields.get("image") or received.body.fields.get("file")
    if not isinstance(image, str) or not image:
        raise InputRejected("file_missing", "There is neither a part `file` nor base64 in `image`.")
    return await received.context.sources.from_text(image, received.caller)


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
@costs(DOCUMENT)
async def extract(request: Request) -> Response:
    """The file with one of `type`, `schema` and `fields`."""
    return DocumentResponse(context_of(request), lambda _body: ExtractForm(), receive_document)


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
@costs(DOCUMENT)
async def verify(request: Request) -> Response:
    """The file with one of `type`, `schema` and `fields`, and `data`."""
    return DocumentResponse(context_of(request), lambda _body: ExtractForm(verify=True))


@router.get("/document-types", operation_id="list_document_types", responses=TYPES_LISTED)
@costs(STATE)
async def list_types(request: Request) -> JSONResponse:
    """The document types and their fields."""
    types = context_of(request).service.fields.types
    listed = {name: [leaf.path for leaf in schema.leaves] for name, schema in types.schemas.items()}
    return JSONResponse({"types": [{"name": name, "fields": fields} for name, fields in sorted(listed.items())]})


@router.get("/document-types/{name}", operation_id="show_document_type", responses=TYPE_SHOWN)
@costs(STATE)
async def show_type(name: str, request: Request) -> JSONResponse:
    """The JSON Schema of a document type."""
    return JSONResponse(dict(context_of(request).service.fields.types.named(name).source))
