"""The server side of the page: calls the service with the visitor's key and address."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import httpx
import orjson

from inkgate.client import AsyncInkgateClient, ReadAs, ServiceError
from inkgate.documents.formats import Format, render
from inkgate.errors import ENGINE_CODES, INPUT_CODES, OVERLOAD_CODES
from inkgate.telemetry.state import State
from inkgate.ui.live import live_panel
from inkgate.ui.results import Results, to_html
from inkgate.ui.words import in_language, say

Json = dict[str, Any]

MOST_FILES = 50
MOST_SHOWN = 400_000
"""Characters of a page's JSON that the browser shows; the download has all."""
_STATE_S = 1.0
"""How long a state is reused: each key asks the service at most once a second, for any number of Live tabs."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """A user of the page."""

    key: str
    address: str
    language: str


@dataclass(slots=True)
class FileProgress:
    """The progress of one file in a run."""

    name: str
    file: str
    result: str = ""
    status: str = "waiting"
    done: int = 0
    failed: int = 0
    count: int | None = None
    error: Json | None = None

    def as_json(self) -> Json:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Desk:
    """Serves all users of the page, on the event loop. `url`: the service on this machine; `transport`: replaces the
    network in tests.
    """

    url: str
    results: Results = field(default_factory=Results)
    transport: httpx.AsyncBaseTransport | None = None
    _states: dict[str, tuple[float, State]] = field(default_factory=dict)

    async def read(self, asked: Mapping[str, Any], visitor: Visitor) -> AsyncIterator[Json]:
        """Reads the files one after another; yields the progress after each page."""
        jobs = [
            FileProgress(str(file["name"])[:200], str(file["id"])[:64])
            for file in list(asked.get("files") or ())[:MOST_FILES]
        ]
        run = str(asked.get("run", ""))[:64]
        for job in jobs:
            async with aclosing(self._read_one(job, _read_as(asked), visitor)) as steps:
                async for _ in steps:
                    yield {"run": run, "ended": False, "jobs": [each.as_json() for each in jobs]}
        yield {"run": run, "ended": True, "jobs": [job.as_json() for job in jobs]}

    async def _read_one(self, job: FileProgress, read_as: ReadAs, visitor: Visitor) -> AsyncGenerator[None, None]:
        job.result, job.status = self.results.begin(job.name), "reading"
        yield
        try:
            async with client_of(self.url, visitor, self.transport) as client:
                data = await client.file(job.file)
                async with client.stream(data, read_as, job.name) as pages:
                    del data
                    job.count = pages.count
                    async for line in pages.lines():
                        self.results.add(job.result, line)
                        job.done += 1
                        job.failed += orjson.loads(line)["error"] is not None
                        yield
                    self.results.end(job.result, pages.summary)
                    job.status, job.count = pages.summary.status, job.done
        except ServiceError as error:
            job.status, job.error = "failed", problem(error, visitor.language)
        yield

    def page(self, asked: Mapping[str, Any]) -> Json:
        """One page of a result as the viewer shows it. Blocking."""
        language = str(asked.get("language", "en"))
        number = int(asked.get("page", 0))
        kept = self.results.get(str(asked.get("result", "")))
        if kept is None or not 0 <= number < len(kept.pages):
            return {"error": gone(language)}
        return page_view(orjson.loads(kept.page(number)), language)

    def download(self, asked: Mapping[str, Any]) -> Json:
        """A result as a file of a format. Blocking."""
        kept = self.results.get(str(asked.get("result", "")))
        if kept is None:
            return {"error": gone(str(asked.get("language", "en")))}
        shape = Format(str(asked.get("format", "text")))
        stem = kept.name.rsplit(".", 1)[0] or "document"
        content = render(kept.document(), shape).decode()
        return {"name": stem + shape.suffix, "type": shape.media_type, "content": content}

    async def about(self, visitor: Visitor) -> Json:
        """The engine, the models, the maximum file size (0 if unknown), and whether the service takes jobs."""
        try:
            async with client_of(self.url, visitor, self.transport) as client:
                about: Json = {"engine": await client.engine(), "models": list(await client.models())}
            settings = (await self._state(visitor)).settings
            max_bytes = int(settings.get("limits", {}).get("max_body_mb", 0) * 1_000_000)
            return {**about, "max_bytes": max_bytes, "jobs": bool(settings.get("jobs", {}).get("enabled", True))}
        except ServiceError as error:
            return {"error": problem(error, visitor.language)}

    async def live(self, visitor: Visitor) -> Json:
        """The Live tab's panel."""
        try:
            return {"html": live_panel(await self._state(visitor), visitor.language)}
        except ServiceError as error:
            return {"error": problem(error, visitor.language)}

    async def _state(self, visitor: Visitor) -> State:
        now = monotonic()
        self._states = {key: entry for key, entry in self._states.items() if now - entry[0] < _STATE_S}
        if visitor.key not in self._states:
            async with client_of(self.url, visitor, self.transport) as client:
                self._states[visitor.key] = (now, await client.state())
        return self._states[visitor.key][1]


def client_of(url: str, visitor: Visitor, transport: httpx.AsyncBaseTransport | None) -> AsyncInkgateClient:
    """A client of the service at `url` for a visitor. `transport`: replaces the network."""
    # As a proxy on this machine does: rate limits and shares apply per visitor, not to the page as a whole.
    forwarded = {"X-Forwarded-For": visitor.address} if visitor.address else {}
    return AsyncInkgateClient(url, visitor.key, headers=forwarded, transport=transport)


def page_view(page: Json, language: str) -> Json:
    """A page, as published, in the form that the viewer shows. Blocking."""
    written = orjson.dumps(page, option=orjson.OPT_INDENT_2).decode()
    whole = len(written) <= MOST_SHOWN
    error = page["error"]
    return {
        "page": {name: page[name] for name in ("index", "width", "height", "rotation", "degraded", "review", "text")},
        "lines": [{**line, "words": None} for line in page["lines"]],
        "html": None if page["markdown"] is None else to_html(page["markdown"]),
        "markdown": page["markdown"],
        "left_out": [part["text"] for part in page["left_out"]],
        "fields": page["fields"],
        "json": written if whole else written[:MOST_SHOWN],
        "cut": not whole,
        "problem": None if error is None else in_language({**error, "title": title_of(error["code"])}, language),
    }


def _read_as(asked: Mapping[str, Any]) -> ReadAs:
    def text(name: str) -> str:
        return str(asked.get(name) or "").strip()[:4000]

    fields = tuple(part.strip() for part in text("fields").replace("，", ",").split(",") if part.strip())
    task = text("task") or "text"
    return ReadAs(task, text("pages"), text("pdf_text"), fields if task == "extract" else (), text("translate_to"))


def problem(error: ServiceError, language: str) -> Json:
    """The error as the page shows it."""
    shown_error: Json = {"code": error.code, "title": error.title, "detail": error.detail, "remedy": error.remedy}
    if not error.title:
        shown_error["title"], shown_error["detail"] = say(language, "error_unreachable"), str(error)
        shown_error["remedy"] = say(language, "error_unreachable_do")
    shown_error = dict(in_language(shown_error, language))
    return {**shown_error, "status": error.status, "retry_after_s": error.retry_after_s, "request_id": error.request_id}


def title_of(code: str) -> str:
    """The title of an error."""
    known = INPUT_CODES.get(code) or OVERLOAD_CODES.get(code) or ENGINE_CODES.get(code)
    return known.title if known else code


def gone(language: str) -> Json:
    return {
        "code": "gone",
        "title": say(language, "error_gone"),
        "detail": "",
        "remedy": say(language, "error_gone_do"),
    }
