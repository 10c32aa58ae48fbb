"""`POST /ui/api/convert`: a document that the web page has as JSON, in any format, without reading it again.

For the page alone, hence not part of the published API. The document may have been corrected in the browser.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.http.context import context_of
from inkgate.api.http.head import parse_head
from inkgate.api.http.uploads import receive_bytes
from inkgate.codec import parse_document
from inkgate.documents.files import AnyFormat, FileFormat, format_named, require_writer
from inkgate.documents.files.write import OFFICE
from inkgate.documents.formats import Format, render
from inkgate.documents.formats.marks import marked_document
from inkgate.errors import InputRejected
from inkgate.layout.image_links import with_all_images_embedded
from inkgate.layout.whole_document import finished

API_PATH = "/ui/api"

Written = Literal["text", "markdown", "json", "hocr", "alto", "csv", "mermaid", "docx", "xlsx"]
"""Formats that are made of the result alone; a searchable PDF needs the file."""

router = APIRouter(prefix=API_PATH, include_in_schema=False)


@router.post("/convert", response_class=Response)
async def convert(
    request: Request,
    format: Annotated[Written, Query()],  # noqa: A002 - the option's name
    marks: Annotated[bool, Query()] = False,
) -> Response:
    """The document in the format. The body is the published JSON of a document, of any Content-Type."""
    context = context_of(request)
    head = parse_head(request, context.settings)
    limits = context.settings.limits
    shape = format_named(format)
    require_writer(shape)
    async with context.service.gateway.admit(head.caller, head.body_bytes) as admitted:
        with admitted.receiving() as charge:
            body = await receive_bytes(request, limits, int(limits.max_body_mb * 1_000_000), charge)
        content = await context.bodies.run(len(body), _converted, body, shape, marks)
        admitted.holds(len(content))
    return Response(content, media_type=shape.media_type, headers={"X-Content-Type-Options": "nosniff"})


def _converted(body: bytes, shape: AnyFormat, marks: bool) -> bytes:
    """Blocking. Raises InputRejected."""
    try:
        result = parse_document(body)
    except ValueError as error:
        detail = "The body is not the JSON of a document, as /ocr sends it."
        raise InputRejected("options_invalid", detail) from error
    result = finished(result)
    if isinstance(shape, FileFormat):
        return OFFICE[shape](result)
    if shape is Format.MARKDOWN:  # one file, as over HTTP
        result = with_all_images_embedded(result)
    return render(marked_document(result) if marks else result, shape)
