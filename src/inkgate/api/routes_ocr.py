"""`POST /ocr`: content type and keys select one of four request forms."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.context import context_of
from inkgate.api.document_response import DocumentResponse, Form
from inkgate.api.forms_paddlex import Paddlex
from inkgate.api.forms_rapidocr import RapidOcrForm
from inkgate.api.forms_simple import SimpleJson, SimpleMultipart
from inkgate.api.openapi_ocr import OCR_OPERATION
from inkgate.api.uploads import UploadedBody
from inkgate.errors import InputRejected

router = APIRouter(tags=["read"])


@router.post("/infer", response_class=Response, **OCR_OPERATION | {"operation_id": "infer", "summary": "As /ocr"})
@router.post("/ocr", response_class=Response, **OCR_OPERATION)
async def read(request: Request) -> Response:
    """`/infer` is the name that older clients and their dashboards use.

    Takes the raw request, so that admission comes before reading the body.
    """
    return DocumentResponse(context_of(request), find_form)


def find_form(body: UploadedBody) -> Form:
    """The form of a body.

    Raises:
        InputRejected: "file_missing", no key holds a file in any form.
    """
    keys = body.fields.keys() | body.files.keys()
    if body.is_form:
        if "file" in keys:
            return SimpleMultipart()
        if keys & {"image_file", "image_data"}:
            return RapidOcrForm()
        raise InputRejected("file_missing", "The form has no part `file`, `image_file` or `image_data`.")
    if "file" in keys:
        return Paddlex()
    if "image" in keys:
        return SimpleJson()
    raise InputRejected("file_missing", "The JSON has no key `image` (or `file`, as PaddleX clients send).")
