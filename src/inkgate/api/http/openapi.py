"""The OpenAPI document: what FastAPI generates, and what is added by hand."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from inkgate.api.http.auth import PUBLIC
from inkgate.api.http.errors import PROBLEM_TYPE
from inkgate.api.http.leaving import InPieces
from inkgate.documents.files import FileFormat
from inkgate.errors import CODES
from inkgate_client.concurrency import Threads
from inkgate_client.formats.json import json_schema

SAMPLE_PNG_BASE64 = (
    "iVBORw0KGgoAAAANSUhEUgAAANwAAAAwAQAAAABSpynVAAABB0lEQVR42u2UMU7DQBBFny1LToVcpojEHgE6RLUl1+AG6ehgihzA"
    "N+AMdJRLg1xyAJCMFImUzlZeyfZSWMG7QNIhUWSaLZ7mz58/0iaevbVNOVBH+I9hqQBw36GjIiRVX+yXNV17YKZ7/QXm4yP2JIJb"
    "DU84u6IXTxa7bWowGn9LJ4OetDKAjyXcAze4HJnbqLO6wKslrLD0gY8UoFCgIUHWtNAEskk+v2JAA8ywsF6Ene8KaAFeyNglBil4"
    "M/kTNlBGM0+/Amt4uPTqZ0IzgEdg2nSEG1IMwIK7504iKDUjY4iOOsZXkdQlQAHYGJ6XbXOtdpd5ixM6U1q0AcgkvGxy/BP+DH4C"
    "xRJQk3O0RLcAAAAASUVORK5CYII="
)

Json = dict[str, Any]

DESCRIPTION = """Reads images (JPEG, PNG, WebP, TIFF, BMP, GIF, AVIF, HEIC) and PDFs.

* `POST /ocr` accepts JSON, forms, and the requests of rapidocr_api and PaddleX clients.
* `POST /v1/ocr` accepts the requests of Mistral OCR clients.
* `POST /layout-parsing` accepts the requests of PaddleX document parsing clients.
* `POST /v1/chat/completions` and `/v1/responses` forward the requests of OpenAI and vLLM clients to the model servers.
* Errors are problem documents (RFC 9457) with a stable `code`, a `remedy` and the `request_id`.
* If some pages of a document fail, the response has `X-Inkgate-Status: partial`, and each failed page has an `error`.
"""
_REF = "#/components/schemas/"
_CLASS_NAME = re.compile(r"(?:[A-Z][a-z0-9]+){2,}")
_ALWAYS = (401, 403, 429, 500, 503)
"""Statuses that any request may get: no key, another site's page, too many requests, an internal error, no room."""


def pages_pattern(first: int) -> str:
    """A pattern for what `parse_pages` accepts, as far as patterns can; empty selects all pages."""
    number = "0*[1-9][0-9]{0,8}" if first else "[0-9]{1,9}"
    part = f" *{number}( *- *({number})?)? *"
    return f"^({part}(,{part})*)?$"


def problems(*statuses: int) -> dict[int | str, Json]:
    """The problem documents of an operation by status, in addition to those of every operation."""
    found: dict[int | str, Json] = {}
    for status in sorted({*statuses, *_ALWAYS}):
        codes = [code for code, meaning in CODES.items() if meaning.status == status]
        titles = "; ".join(f"{CODES[code].title} (`{code}`)" for code in codes)
        found[status] = {
            "description": f"{titles}.",
            "content": {PROBLEM_TYPE: {"schema": {"$ref": f"{_REF}Problem"}}},
        }
    return found


def document_contents(own: Json, line: str) -> Json:
    """The contents of a document's response: the form's `own` JSON, a stream of `line`s, and other formats."""
    return {
        "application/json": own,
        "application/x-ndjson": {"schema": {"type": "string", "description": f"{line} `format=chunks`: the chunks."}},
        "text/plain": {"schema": {"type": "string"}},
        "text/markdown": {"schema": {"type": "string"}},
        "text/html": {"schema": {"type": "string", "description": "hOCR"}},
        "application/xml": {"schema": {"type": "string", "description": "ALTO 4"}},
        "text/csv": {"schema": {"type": "string", "description": "The tables"}},
        "text/vnd.mermaid": {"schema": {"type": "string", "description": "The diagrams"}},
        **{kind.media_type: {"schema": {"type": "string", "format": "binary"}} for kind in FileFormat},
    }


_OPENAI_ERROR: Json = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "code"],
            "properties": {
                "message": {"type": "string", "description": "What is wrong, and what to do about it."},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"description": "OpenAI's, or inkgate's if OpenAI has none. Stable: programs may rely on it."},
                "inkgate_code": {"type": "string", "enum": sorted(CODES), "description": "inkgate's."},
                "request_id": {"type": "string"},
            },
        }
    },
}


def openai_problems(*statuses: int) -> dict[int | str, Json]:
    """Returns what `problems` returns, in the form of OpenAI's errors."""
    found = problems(*statuses)
    for response in found.values():
        response["content"] = {"application/json": {"schema": _OPENAI_ERROR}}
    return found


PROBLEM_RESPONSES = problems()

_PROBLEM_SCHEMA: Json = {
    "title": "Problem",
    "description": "RFC 9457, with the additional members `code`, `remedy` and `request_id`.",
    "type": "object",
    "required": ["type", "title", "status", "detail", "code", "remedy", "request_id"],
    "properties": {
        "type": {"type": "string", "examples": ["urn:inkgate:error:pdf_encrypted"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong with this request."},
        "code": {"type": "string", "enum": sorted(CODES), "description": "Stable: programs may rely on it."},
        "remedy": {"type": "string", "description": "What to do about it."},
        "request_id": {"type": "string", "description": "Also in the header `X-Request-ID`, and in the log."},
    },
}


def openapi_of(app: FastAPI, requests: Sequence[type[BaseModel]], *, keys_needed: bool) -> Callable[[], Json]:
    """FastAPI's `openapi` method for `app`; builds the document once. `requests`: models that operations refer to."""

    def openapi() -> Json:
        if app.openapi_schema is None:
            app.openapi_schema = _build(app, requests, keys_needed=keys_needed)
        return app.openapi_schema

    return openapi


def serve_openapi(app: FastAPI) -> None:
    """Replaces the framework's route: it is public, and would render the document for each request, which takes the
    event loop tens of milliseconds. Here it is rendered once, in a thread.
    """
    url = str(app.openapi_url)
    app.router.routes[:] = [route for route in app.routes if not (isinstance(route, Route) and route.path == url)]
    threads, rendered = Threads("openapi", 1), dict[str, bytes]()

    def render(root_path: str) -> None:
        if root_path not in rendered:
            document = app.openapi()
            rendered[root_path] = orjson.dumps(document | {"servers": [{"url": root_path}]} if root_path else document)

    async def openapi(request: Request) -> Response:
        root_path = str(request.scope.get("root_path", "")).rstrip("/")
        if root_path not in rendered:
            await threads.run(render, root_path)
        return InPieces(rendered[root_path], "application/json", {})

    app.add_route(url, openapi, include_in_schema=False)


def _build(app: FastAPI, requests: Sequence[type[BaseModel]], *, keys_needed: bool) -> Json:
    document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
    components = document.setdefault("components", {})
    components.setdefault("schemas", {}).update(
        _request_schemas(requests) | _result_schemas() | {"Problem": _PROBLEM_SCHEMA}
    )
    for schema in components["schemas"].values():
        _describe_fields(schema)
    if keys_needed:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        document["security"] = [{"bearer": []}, {"header": []}]
        for path in PUBLIC & document["paths"].keys():
            for operation in document["paths"][path].values():
                operation["security"] = []
    document["paths"] = {
        path: _with_components(operations, components["schemas"]) for path, operations in document["paths"].items()
    }
    return document


def _with_components(node: Json, schemas: Json) -> Json:
    """`node` with a reference for each schema whose title is a class name; the schemas are added to `schemas`.
    Generated clients name their classes by these.
    """
    found = {key: _with_component(value, schemas) for key, value in node.items()}
    title = found.get("title")
    if not isinstance(title, str) or not _CLASS_NAME.fullmatch(title):
        return found
    if schemas.setdefault(title, found) != found:
        raise AssertionError(f"two schemas are called {title}")
    return {"$ref": _REF + title}


def _with_component(value: object, schemas: Json) -> object:
    if isinstance(value, list):
        return [_with_component(item, schemas) for item in value]
    return _with_components(value, schemas) if isinstance(value, dict) else value


def _describe_fields(schema: Json) -> None:
    """Move the section `Attributes:` of a dataclass's docstring to the fields that it describes. It has priority over
    the help of a field's metric.
    """
    text, found, attributes = schema.get("description", "").partition("\n\nAttributes:\n")
    if not found:
        return
    schema["description"] = text
    fields = schema["properties"]
    for entry in re.split(r"\n {4}(?=\w)|; (?=`?\w+`?: )", attributes.removeprefix("    ")):
        names, _, about = " ".join(entry.split()).partition(": ")
        for name in names.replace("`", "").split(", "):
            if name in fields:
                fields[name]["description"] = about[:1].upper() + about[1:]


def _request_schemas(models: Sequence[type[BaseModel]]) -> Json:
    _, schema = models_json_schema([(model, "validation") for model in models], ref_template=_REF + "{model}")
    found: Json = schema["$defs"]
    # Not offered until it is supported; requests that have it get 501.
    del found["MistralRequest"]["properties"]["document_annotation_prompt"]
    return found


def _result_schemas() -> Json:
    """The published JSON schema of a document, with its parts as components: `Document`, `DocumentPage`, ..."""
    schema = _with_refs(json_schema())
    parts = {_component(name): part for name, part in schema.pop("$defs").items()}
    for key in ("$schema", "$id"):
        schema.pop(key, None)
    return {"Document": schema, **parts}


def _component(name: str) -> str:
    return "Document" + "".join(word.capitalize() for word in name.split("_"))


def _with_refs(node: Json) -> Json:
    return {key: _with_ref(key, value) for key, value in node.items()}


def _with_ref(key: str, value: object) -> object:
    if key == "$ref":
        return f"{_REF}{_component(str(value).removeprefix('#/$defs/'))}"
    if isinstance(value, list):
        return [_with_ref("", item) for item in value]
    return _with_refs(value) if isinstance(value, dict) else value
