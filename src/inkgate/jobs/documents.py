"""Documents of jobs: uploads, objects, and files of web servers, from the places that the settings name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import unquote

import httpx

from inkgate.errors import EngineFailed, InputRejected
from inkgate.jobs.job import Job, JobSource
from inkgate.storage.fetch import Fetcher, UrlUnreachable, web_url
from inkgate.storage.objects import Objects, parse_object_url, quoted_etag
from inkgate.storage.uploads import Uploads
from inkgate_client.types import Document

_WEB = re.compile(r"https?://", re.IGNORECASE)
_MISSING = frozenset({404, 410})
_MAX_ESCAPES = 4
"""How often a path may be escaped. Servers and proxies unescape it once or twice."""


class JobDocuments:
    """Loads the documents of jobs."""

    def __init__(
        self,
        objects: Objects,
        uploads: Uploads,
        fetcher: Fetcher,
        sources: Sequence[str],
        max_bytes: int,
        pipeline_sources: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`sources`: `jobs.sources`, from which clients may read. `pipeline_sources`: by the name of the pipeline,
        where its objects are; no client's job reads there unless it runs in that pipeline.
        """
        self._objects = objects
        self._uploads = uploads
        self._fetcher = fetcher
        self._sources = sources
        self._max_bytes = max_bytes
        self._pipeline_sources = pipeline_sources or {}

    def check(self, url: str) -> None:
        """Checks a URL that a client named.

        Raises:
            InputRejected: "source_forbidden": it is not below one of `jobs.sources`.
        """
        prefix_of(url, self._sources)

    async def load(self, job: Job) -> Document:
        """The document of a job.

        Raises:
            InputRejected: "source_forbidden", "source_missing", "source_replaced", "body_too_large" or "url_forbidden".
            EngineFailed: "source_unreachable": it may be there later.
        """
        source = job.source
        if source.upload:
            return Document(await self._uploads.get(source.upload), job.name)
        sources = (*self._sources, *self._pipeline_sources.get(job.pipeline, ()))
        prefix = prefix_of(source.url, sources)
        if _WEB.match(source.url):
            return Document(await self._fetch(source, sources), job.name)
        data = await self._objects.get(
            source.url, etag=source.etag, version=source.version, max_bytes=self._max_bytes, below=prefix
        )
        return Document(data, job.name)

    async def _fetch(self, source: JobSource, sources: Sequence[str]) -> bytes:
        if_match = quoted_etag(source.etag) if source.etag else ""
        try:
            data = await self._fetcher.fetch(source.url, lambda url: prefix_of(url, sources), if_match)
        except UrlUnreachable as error:
            if error.http_status in _MISSING:
                raise InputRejected("source_missing", error.detail) from error
            if error.http_status == 412:
                raise InputRejected("source_replaced", "The file has another ETag.") from error
            raise EngineFailed("source_unreachable", error.detail) from error
        if len(data) > self._max_bytes:
            raise InputRejected("body_too_large", f"The file has more than {self._max_bytes} bytes.")
        return data


def prefix_of(url: str, prefixes: Sequence[str]) -> str:
    """The longest of `prefixes` that `url` is below. Each ends with a slash.

    Raises:
        InputRejected: "source_forbidden": it is below none, or other spellings of it might not be.
    """
    found = [prefix for prefix in prefixes if _is_below(url, prefix)]
    if not found:
        raise InputRejected("source_forbidden", "The source is not below a prefix that the settings allow.")
    return max(found, key=len)


def _is_below(url: str, prefix: str) -> bool:
    if bool(_WEB.match(url)) != bool(_WEB.match(prefix)):
        return False
    if _WEB.match(url):
        (place, path), (allowed_place, folder) = _web_place(url), _web_place(prefix)
        return place == allowed_place and path.startswith(folder)
    target, base = parse_object_url(url), parse_object_url(prefix, folder=True)
    return target.root == base.root and target.key.startswith(f"{base.key}/" if base.key else "")


def _web_place(url: str) -> tuple[tuple[str, str, int], str]:
    """Scheme, host and port; and the path, unescaped."""
    try:
        target = web_url(url)
    except InputRejected as error:
        raise InputRejected("source_forbidden", error.detail) from error
    port = target.port or (443 if target.scheme == "https" else 80)
    return (target.scheme, target.host.lower(), port), _plain_path(target)


def _plain_path(url: httpx.URL) -> str:
    """The path that a server sees, however often it unescapes it. Paths are refused that one server may read as a
    folder upwards, or as other folders than the next server: escaped slashes, `..` in any spelling, backslashes.
    """
    path = url.raw_path.partition(b"?")[0].decode("ascii")
    slashes = path.count("/")
    for _ in range(_MAX_ESCAPES):
        parts = {part.partition(";")[0] for part in path.split("/")}
        if "\\" in path or path.count("/") != slashes or parts & {".", ".."}:
            break
        unescaped = unquote(path)
        if unescaped == path:
            return path
        path = unescaped
    raise InputRejected("source_forbidden", "The URL's path has an escaped slash, a backslash, or a part such as `..`.")
