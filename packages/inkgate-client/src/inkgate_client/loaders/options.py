"""What a loader is told, and what it gives."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import orjson

from inkgate_client.fields.asked import Schema, WantedFields
from inkgate_client.requests import ReadOptions
from inkgate_client.retries import RETRY_S

Mode = Literal["page", "single"]
OnError = Literal["raise", "skip"]
Metadata = dict[str, str | int | float | bool]
"""Flat, and without None, because many vector stores take nothing else."""


@dataclass(frozen=True, slots=True)
class LoadedText:
    """A page, or a whole document."""

    text: str
    metadata: Metadata


class LoadFailed(Exception):
    """A document or a page could not be read. The message says why and what to do.

    Attributes:
        source: the document, as in the metadata.
        page: its index, from 0; None: the whole document.
        code: of the error, as docs/reference/errors.md lists them; empty if it has none, such as a missing file.
    """

    def __init__(self, message: str, source: str, page: int | None = None, code: str = "") -> None:
        """`message`: without the query of a URL in `source`, which may be a secret."""
        if "://" in source and "?" in source:
            message = message.replace(source, source.partition("?")[0])
        super().__init__(message)
        self.source = source
        self.page = page
        self.code = code

    def __reduce__(self) -> tuple[type[LoadFailed], tuple[object, ...]]:
        """Worker processes send errors pickled."""
        return LoadFailed, (str(self), self.source, self.page, self.code)


class LoaderKeywords(TypedDict, total=False):
    """Options as arguments; see LoaderOptions."""

    server: str
    key: str
    mode: Mode
    task: str
    pages: str
    pdf_text: str
    password: str
    priority: str
    type: str
    schema: Schema
    fields: Sequence[str]
    on_error: OnError
    concurrency: int
    retry_s: float
    settings: Mapping[str, Mapping[str, object]] | str | os.PathLike[str] | None


@dataclass(frozen=True, slots=True)
class LoaderOptions:
    """How to load documents. Can be pickled.

    Attributes:
        server: URL of a service that reads. Empty: the engine in this process, which the first document loads and which
            stays loaded until the program ends.
        key: the service's API key.
        mode: `page`: each page is a document, as soon as it is read. `single`: each file is one.
        task: `parse` (Markdown) or `text` (lines, faster on some engines).
        pages: such as `1-3,7`, from 1; empty: all.
        pdf_text: when to use the text layer of PDF pages: `auto`, `never` or `always`; empty: the setting.
        password: of encrypted PDFs.
        priority: of requests: `interactive`, `normal` or `batch`; empty: chosen by the service.
        type, schema, fields: fields to find in each file, for the metadata: those of a document type, a JSON Schema or
            pydantic model class, or names. The whole file is read before its first page comes.
        on_error: `raise` LoadFailed when a document or a page can't be read, or `skip` it with a warning in the log.
        concurrency: files that are read at once. Texts of as many are kept until they are taken.
        retry_s: how long a file is offered to a service that refuses it for load or can't be reached.
        settings: of the engine in this process, such as `{"engine": {"name": "hunyuanocr"}}`, or a TOML file.
    """

    server: str = ""
    key: str = field(default="", repr=False)
    mode: Mode = "page"
    task: str = "parse"
    pages: str = ""
    pdf_text: str = ""
    password: str = field(default="", repr=False)
    priority: str = ""
    type: str = ""
    schema: Schema | None = None
    fields: Sequence[str] = ()
    on_error: OnError = "raise"
    concurrency: int = 4
    retry_s: float = RETRY_S
    settings: Mapping[str, Mapping[str, object]] | str | os.PathLike[str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Raises ValueError if an option has a value that does not exist, or two contradict each other."""
        if self.mode not in {"page", "single"}:
            raise ValueError(f"mode is {self.mode!r}; it must be 'page' or 'single'.")
        if self.on_error not in {"raise", "skip"}:
            raise ValueError(f"on_error is {self.on_error!r}; it must be 'raise' or 'skip'.")
        if self.concurrency < 1:
            raise ValueError(f"concurrency is {self.concurrency}; it must be 1 or more.")
        if bool(self.type) + (self.schema is not None) + bool(self.fields) > 1:
            raise ValueError("Give one of type, schema and fields.")
        if self.server and self.settings is not None:
            raise ValueError("A service has its own settings: give server or settings.")

    @property
    def read(self) -> ReadOptions:
        """How each file is read."""
        return ReadOptions(self.task, self.pages, self.pdf_text, priority=self.priority, password=self.password)

    @property
    def asked(self) -> WantedFields | None:
        """The fields to find; None: no fields."""
        if not (self.type or self.schema is not None or self.fields):
            return None
        return WantedFields(self.type, self.schema, tuple(self.fields))


def flat_fields(data: Mapping[str, Any], name: str = "fields") -> Metadata:
    """Values of fields as metadata, such as `fields.seller.name`. Lists are JSON; what was not found is left out."""
    flat: Metadata = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= flat_fields(value, f"{name}.{key}")
        elif isinstance(value, list):
            flat |= {f"{name}.{key}": orjson.dumps(value).decode()} if value else {}
        elif value is not None:
            flat[f"{name}.{key}"] = value
    return flat
