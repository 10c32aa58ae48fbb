"""`POST /layout-parsing` for clients of PaddleX's PaddleOCR-VL and PP-StructureV3 services."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.context import context_of
from inkgate.api.document_response import DocumentResponse, Form
from inkgate.api.error_forms import LAYOUT_PARSING
from inkgate.api.forms_layout_parsing import LayoutParsing
from inkgate.api.openapi_layout_parsing import LAYOUT_PARSING_OPERATION
from inkgate.api.uploads import UploadedBody

router = APIRouter(tags=["read"])


@router.post(LAYOUT_PARSING, response_class=Response, **LAYOUT_PARSING_OPERATION)
async def read(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form)


def _form(_: UploadedBody) -> Form:
    return LayoutParsing()
