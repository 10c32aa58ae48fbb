"""`POST /v1/ocr` for clients of Mistral's OCR service."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate.api.context import context_of
from inkgate.api.document_response import DocumentResponse, Form
from inkgate.api.forms_mistral import Mistral
from inkgate.api.openapi_mistral import MISTRAL_OPERATION
from inkgate.api.uploads import UploadedBody

router = APIRouter(tags=["read"])


@router.post("/v1/ocr", response_class=Response, **MISTRAL_OPERATION)
async def read(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form)


def _form(_: UploadedBody) -> Form:
    return Mistral()
