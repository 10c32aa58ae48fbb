"""The API of Mistral's OCR service, `POST /v1/ocr`: parses requests; answer_mistral.py makes the responses."""

from __future__ import annotations

from starlette.responses import Response

from inkgate.api.answer_mistral import MistralAnswer
from inkgate.api.decoding import parse_json
from inkgate.api.document_response import ReadRequest, ReceivedRequest
from inkgate.api.errors import Problem
from inkgate.api.negotiation import choose
from inkgate.api.options import flag, parse, select
from inkgate.api.schemas_mistral import DocumentSource, MistralOptions, MistralRequest
from inkgate.api.sources import DEFAULT_NAME, document
from inkgate.errors import InputRejected
from inkgate.reader import ReadOptions
from inkgate.types import Document, Task, TaskKind

_LISTS = frozenset({"pages", "document"})
"""Fields that forms send as JSON text."""
_FLAGS = frozenset({"include_image_base64", "extract_header", "extract_footer", "include_blocks"})
_DIGITS = 10
_NUMBERS = frozenset({"image_limit", "image_min_size"})


class Mistral:
    """JSON, or a form with a part `file` (or a `document` in JSON) and the options as fields."""

    async def parse(self, received: ReceivedRequest) -> ReadRequest:
        shape = choose(received.query.get("format"), received.accept)
        if received.body.is_form:
            options, found = await self._from_form(received)
        else:
            if received.body.fields.get("document") is None:
                raise InputRejected("file_missing", "The request has no `document`.")
            options = parse(MistralOptions, received.body.fields)
            options.refuse_what_is_missing(await _names(received))
            found = await _get(parse(MistralRequest, received.body.fields).document, received)
        asked = ReadOptions(task=Task(kind=TaskKind.PARSE), pages=select(options.pages, first=0))
        answer = MistralAnswer(options)
        return ReadRequest(found, asked, shape, answer.document, answer.page)

    async def _from_form(self, received: ReceivedRequest) -> tuple[MistralOptions, Document]:
        fields = {key: await _decoded(key, value, received) for key, value in received.body.fields.items()}
        options = parse(MistralOptions, fields)
        options.refuse_what_is_missing(await _names(received))
        if file := received.body.files.get("file") or received.body.files.get("document"):
            return options, document(file.data, file.filename)
        if fields.get("document") is None:
            raise InputRejected("file_missing", "The form has no part `file`.")
        return options, await _get(parse(MistralRequest, fields).document, received)

    def problem(self, problem: Problem) -> Response:
        return problem.response()


async def _names(received: ReceivedRequest) -> tuple[str, ...]:
    """Accepted model names besides Mistral's."""
    return (received.context.service.engine.name, *await received.context.served.known())


async def _get(source: DocumentSource, received: ReceivedRequest) -> Document:
    name = source.document_name or DEFAULT_NAME
    if source.url is not None and source.type != "file":
        return await received.context.sources.from_url(source.url, received.caller, name)
    if source.file_id is not None:
        return received.context.sources.from_file_id(source.file_id, received.caller)
    raise InputRejected(
        "file_missing", "`document` has no `document_url`, `image_url` or `file_id` that matches its `type`."
    )


async def _decoded(key: str, value: str, received: ReceivedRequest) -> object:
    if key in _FLAGS:
        return flag(value)
    if key in _NUMBERS:
        return int(value) if value.isascii() and value.isdigit() and len(value) < _DIGITS else value
    if key not in _LISTS or value[:1] not in {"[", "{"}:
        return value
    try:
        return await received.context.bodies.run(len(value), _parsed, value)
    except InputRejected as error:
        raise InputRejected(error.code, f"Field `{key}`: {error.detail}") from error


def _parsed(text: str) -> object:
    return parse_json(text.encode("utf-8", "surrogatepass"))
