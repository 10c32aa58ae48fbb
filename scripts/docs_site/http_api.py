"""The HTTP reference as Markdown, from the OpenAPI document of the application."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from inkgate import __version__
from inkgate.api.app import REQUESTS, ROUTES
from inkgate.api.http.openapi import DESCRIPTION, openapi_of
from inkgate.errors import CODES

Json = dict[str, Any]

_TITLES = {
    "read": "Read documents",
    "fields": "Fields of documents",
    "chat": "Chat",
    "jobs": "Jobs and events",
    "batch": "Batches of Mistral's clients",
    "docling": "Clients of docling-serve",
    "mineru": "Clients of MinerU",
    "paddleocr": "Clients of PaddleOCR's job API",
    "document-intelligence": "Clients of Azure AI Document Intelligence",
    "files": "Files",
    "service": "The service",
}
_ITEMS_SHOWN = 12
_LONG_TEXT = re.compile(r"([\w+/,:;-]{40})[\w+/=]{40,}")


def operations_markdown() -> str:
    """One section for each operation, grouped by tag."""
    groups: dict[str, list[Json]] = {tag: [] for tag in _TITLES}
    seen: dict[str, str] = {}
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            title = f"{method.upper()} {path}"
            content = json.dumps([operation.get(key) for key in ("parameters", "requestBody", "responses")])
            same_as = seen.setdefault(content, title)
            groups[operation["tags"][0]].append({"title": title, "same_as": same_as, **operation})
    return _environment().get_template("operations.md.j2").render(groups=groups, titles=_TITLES)


def schemas_markdown() -> str:
    """One section for each schema that an operation or another schema names."""
    schemas = document()["components"]["schemas"]
    return _environment().get_template("schemas.md.j2").render(schemas=dict(sorted(schemas.items())))


@cache
def document() -> Json:
    """The OpenAPI document, created without an engine."""
    app = FastAPI(title="inkgate", version=__version__, description=DESCRIPTION)
    for routes in ROUTES:
        app.include_router(routes.router)
    return openapi_of(app, REQUESTS, keys_needed=True)()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # noqa: S701  # Markdown; the input is our own
    )
    environment.filters |= {
        "cell": cell,
        "type": type_text,
        "rows": rows,
        "example": example,
        "variants": variants,
        "codes": codes,
    }
    return environment


def cell(text: str) -> str:
    """`text` escaped for a table cell."""
    return " ".join(text.replace("|", "\\|").split())


def type_text(schema: Json) -> str:
    """A short description of a schema's values; named schemas are links."""
    for key, describe in _KEYWORDS.items():
        if key in schema:
            return describe(schema[key])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(_plain(part) for part in kind)
    if kind == "array":
        inner = type_text(schema.get("items", {}))
        return f"list of {inner.replace('list of', 'lists of', 1)}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {type_text(schema['additionalProperties'])}"
    return "file" if schema.get("format") == "binary" or "contentMediaType" in schema else _plain(kind)


def _link(reference: str) -> str:
    name = reference.rsplit("/", 1)[1]
    return f"[{name}](#{name.lower()})"


def _choice(values: list[object]) -> str:
    return ", ".join(f"`{value}`" for value in values) if len(values) <= _ITEMS_SHOWN else "one of a fixed list"


def _either(schemas: list[Json]) -> str:
    return " or ".join(dict.fromkeys(type_text(schema) for schema in schemas))


def _plain(kind: str) -> str:
    return {"array": "list", "integer": "whole number", "boolean": "true or false"}.get(kind, kind)


_KEYWORDS: dict[str, Callable[[Any], str]] = {
    "$ref": _link,
    "const": lambda value: f"`{json.dumps(value)}`",
    "enum": _choice,
    "anyOf": _either,
    "oneOf": _either,
    "allOf": _either,
}


def rows(schema: Json) -> list[Json]:
    """The properties of an object, as rows of a table."""
    required = schema.get("required", [])
    return [
        {
            "name": name,
            "type": type_text(part),
            "required": name in required,
            "about": part.get("description", ""),
        }
        for name, part in schema.get("properties", {}).items()
    ]


def variants(schema: Json) -> list[Json]:
    """The titled objects that a body may be, without those that have no properties."""
    parts = schema.get("anyOf") or schema.get("oneOf") or [schema]
    return [part for part in parts if part.get("properties")]


def example(content: Json) -> str:
    """The first example of a body as JSON, with long texts cut; empty if there is none."""
    if "examples" in content:
        value = next(iter(content["examples"].values()))["value"]
    elif "example" in content:
        value = content["example"]
    else:
        return ""
    return _LONG_TEXT.sub(r"\1...", json.dumps(value, indent=2, ensure_ascii=False))


def codes(description: str) -> str:
    """The error codes in a response's description, as links to the page of errors; without codes, the description."""
    found = [code for code in re.findall(r"`(\w+)`", description) if code in CODES]
    return ", ".join(f"[`{code}`](errors.md#{code})" for code in found) or cell(description)
