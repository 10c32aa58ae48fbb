"""Results as objects in a folder, named after the input."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, Self

import structlog

from inkgate.errors import EngineFailed, InputRejected, Overloaded
from inkgate.jobs.job import Delivery, Job
from inkgate.jobs.published import public_url
from inkgate.jobs.sinks.base import DeliverLater, DeliverNever
from inkgate.settings import ObjectsSinkSettings, PipelineSettings
from inkgate_client.concurrency import Threads
from inkgate_client.format_names import FileFormat, Format
from inkgate_client.formats import render
from inkgate_client.image_links import with_all_images_embedded
from inkgate_client.types import DocumentResult

log = structlog.get_logger(__name__)

_UNUSABLE = re.compile(r"[\x00-\x1f\x7f/\\]+")
_MAX_NAME = 200


class ObjectWriter(Protocol):
    """Writes objects: see Objects."""

    async def put(self, url: str, data: bytes, media_type: str = "") -> bool: ...


MakeFile = Callable[[Job, DocumentResult, FileFormat], Awaitable[bytes]]
"""Makes a binary file of a job's result. Raises InkgateError."""


class ObjectNames:
    """Names of results. Different inputs of a sink have different names, and an input always the same one."""

    def __init__(self, sink: str, pipelines: Mapping[str, PipelineSettings]) -> None:
        """`sink`: its name. With several sources, names begin with the source's bucket and folder."""
        prefixes = [prefix for one in pipelines.values() if sink in one.sinks for prefix in one.sources]
        one_source = len(prefixes) == 1
        self._folders = {prefix: "" if one_source else f"{_place(prefix)}/" for prefix in prefixes}

    def name_of(self, job: Job) -> str:
        """The path below the sink's folder, without the format's suffix: the input's path below its source, such as
        `2026/receipt.png`; of uploads, and of objects that are not below a source, `_jobs/ID/NAME`.
        """
        url = job.source.url
        prefix = max((each for each in self._folders if url.startswith(each)), key=len, default="")
        below = public_url(url)[len(prefix) :]
        if not prefix or not below:
            return f"_jobs/{job.id}/{_clean(job.name)}"
        if public_url(url) != url:  # what follows the path says which document it is, but may hold a secret
            below += f"-{hashlib.sha256(url.encode()).hexdigest()[:16]}"
        return self._folders[prefix] + below


class ObjectsSink:
    """Writes one object for each format. A job without any result has none."""

    def __init__(
        self,
        name: str,
        settings: ObjectsSinkSettings,
        names: ObjectNames,
        objects: ObjectWriter,
        make_file: MakeFile,
    ) -> None:
        """Created on the event loop. `name`: for messages."""
        self._make_file = make_file
        self._name = name
        self._url = settings.url
        self._formats = settings.formats
        self._names = names
        self._objects = objects
        self._threads = Threads(f"sink {name}", 2)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def deliver(self, delivery: Delivery) -> None:
        """Writes the objects. See Sink."""
        try:
            document = await delivery.load()
        except LookupError:
            log.info("sink_no_result", sink=self._name, job=delivery.job.id)
            return
        name = self._names.name_of(delivery.job)
        fields = await delivery.fields()
        for kind in self._formats:
            try:
                if isinstance(kind, FileFormat):
                    data = await self._make_file(delivery.job, document, kind)
                else:
                    data = await self._threads.run(_text, document, kind)
                if kind is Format.JSON and fields is not None:
                    data = await self._threads.run(_with_fields, data, fields)
                await self._objects.put(f"{self._url}{name}{kind.suffix}", data, kind.media_type)
            except (EngineFailed, Overloaded) as error:
                raise DeliverLater(error.detail) from error
            except InputRejected as error:
                raise DeliverNever(error.detail) from error


def _text(document: DocumentResult, kind: Format) -> bytes:
    """One object, so that images of figures are inside of Markdown. Blocking."""
    return render(with_all_images_embedded(document) if kind is Format.MARKDOWN else document, kind)


def _with_fields(document: bytes, fields: Mapping[str, Any]) -> bytes:
    """The document in JSON, with its fields as the result over HTTP has them. Blocking."""
    return json.dumps({**json.loads(document), "extraction": fields}, ensure_ascii=False).encode() + b"\n"


def _place(prefix: str) -> str:
    """Bucket and folder of a source."""
    return public_url(prefix).partition("://")[2].strip("/")


def _clean(name: str) -> str:
    """A document's name as one part of an object's."""
    cleaned = _UNUSABLE.sub("_", name)[:_MAX_NAME]
    return "document" if cleaned in ("", ".", "..") else cleaned
