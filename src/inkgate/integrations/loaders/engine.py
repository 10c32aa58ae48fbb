"""The engine of this process, for loaders. inkgate-client lacks it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock

from inkgate.errors import InkgateError
from inkgate.fields.asked import FieldsAsked
from inkgate.integrations.loaders.options import LoaderOptions, LoadFailed
from inkgate.integrations.loaders.readers import FieldsOf, PageStreamOf
from inkgate.library import ExtractArguments, Ocr, ReadArguments
from inkgate.library.arguments import settings_of
from inkgate.settings import Settings
from inkgate.types import Document, DocumentResult


@dataclass(frozen=True, slots=True)
class _LoadedEngines:
    """Engines of a process by their settings: loaded when they are first used, freed at its end."""

    loaded: list[tuple[int, Settings, Ocr]] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)

    def engine(self, settings: Settings) -> Ocr:
        """Raises InkgateError if it does not start."""
        with self.lock:
            for process, known, ocr in self.loaded:
                if process == os.getpid() and known == settings:
                    return ocr
            ocr = Ocr(settings)
            ocr.__enter__()  # left by its own atexit handler
            self.loaded.append((os.getpid(), settings, ocr))
            return ocr


_ENGINES = _LoadedEngines()


class EngineReader:
    """Reads in this process, where several threads may read at once. For threads without an event loop."""

    def __init__(self, source: str, document: tuple[str, bytes], options: LoaderOptions) -> None:
        self._source = source
        name, data = document
        self._document = Document(data, name)
        self._options = options
        pages, pdf_text = options.pages or None, options.pdf_text or None
        self._read: ReadArguments = {
            "task": options.task,
            "pages": pages,
            "pdf_text": pdf_text,
            "password": options.password,
        }
        self._extract: ExtractArguments = {"pages": pages, "pdf_text": pdf_text, "password": options.password}

    @contextmanager
    def stream(self) -> Iterator[PageStreamOf]:
        with self._errors(), self._engine().stream(self._document, **self._read) as pages:
            yield PageStreamOf(iter(pages), pages.page_count)

    def read(self) -> DocumentResult:
        with self._errors():
            return self._engine().read(self._document, **self._read)

    def fields(self, asked: FieldsAsked) -> FieldsOf:
        wanted = asked.schema if asked.schema is not None else asked.type or tuple(asked.names)
        with self._errors():
            found = self._engine().extract(self._document, wanted, **self._extract)
        return FieldsOf(found.extraction, found.document if self._options.task == "parse" else None)

    def _engine(self) -> Ocr:
        return _ENGINES.engine(settings_of(self._options.settings))

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except InkgateError as error:
            raise LoadFailed(f"{self._source}: {error.detail} {error.remedy}", self._source, code=error.code) from error
