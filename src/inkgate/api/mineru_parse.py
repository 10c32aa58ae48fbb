"""MinerU's synchronous `POST /file_parse`: a document is read within its request, as by `/ocr`.

Open WebUI's engine *MinerU* in its local mode calls it, and so do plugins of Dify. Differences from MinerU: as in
mineru.py, and no archive (`response_format_zip`), which tasks have.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from inkgate import __version__
from inkgate.api.http.context import context_of
from inkgate.api.http.document_response import DocumentResponse, Form, ReadRequest, ReceivedRequest
from inkgate.api.http.errors import Problem
from inkgate.api.http.openapi import PROBLEM_RESPONSES, problems
from inkgate.api.http.options import Native, parse
from inkgate.api.http.sources import document
from inkgate.api.http.uploads import UploadedBody
from inkgate.api.jobs.request import file_schema
from inkgate.api.mineru import MineruMarkdown, MineruOptions, MineruResult, stem
from inkgate.documents.formats import Format, render
from inkgate.documents.pages import select
from inkgate.errors import InputRejected
from inkgate.layout.image_links import images_on
from inkgate.reader import ReadOptions
from inkgate.types import DocumentResult


class MineruFile:
    """A form with a part `files`, and the options as fields."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        part = received.body.files.get("files")
        if part is None:
            raise InputRejected("file_missing", "The form has no part `files` with a filename.")
        options = parse(MineruOptions, received.body.fields)
        if options.response_format_zip:
            raise InputRejected("feature_unavailable", "`response_format_zip` works with `/tasks` only.")
        found, wanted = document(part.data, part.filename), options.job_options()
        how = ReadOptions(wanted.task, select(wanted.pages or None, first=1), wanted.pdf_text)
        return ReadRequest(found, how, Native.FORM, partial(_answer, stem(found.name), options.return_images))

    def problem(self, problem: Problem) -> Response:
        return problem.response()


def _answer(name: str, with_images: bool, result: DocumentResult) -> dict[str, Any]:
    images = {image.name: image.data_url for page in result.pages for image in images_on(page)}
    found = MineruMarkdown(md_content=render(result, Format.MARKDOWN).decode(), images=images if with_images else None)
    return MineruResult(backend="inkgate", version=__version__, results={name: found}).model_dump(exclude_none=True)


router = APIRouter(tags=["mineru"], responses=PROBLEM_RESPONSES)

_FORM: dict[str, Any] = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["files"],
                "properties": {
                    "files": file_schema(),
                    "parse_method": {"type": "string", "enum": ["auto", "txt", "ocr"]},
                    "start_page_id": {"type": "integer", "minimum": 0},
                    "end_page_id": {"type": "integer", "minimum": 0},
                    "return_images": {"type": "string", "enum": ["true", "false"]},
                },
            }
        }
    },
}


@router.post(
    "/file_parse",
    operation_id="mineru_parse_file",
    summary="MinerU: parse a file",
    response_model=MineruResult,
    responses=problems(400, 408, 413, 415, 422, 501, 502, 504),
    openapi_extra={"requestBody": _FORM},
)
async def file_parse(request: Request) -> Response:
    """Takes the raw request, so that admission comes before reading the body."""
    return DocumentResponse(context_of(request), _form)


def _form(_: UploadedBody) -> Form:
    return MineruFile()
