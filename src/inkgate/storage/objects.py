"""Objects by URL: `s3://`, `gs://`, `az://`, `abfss://`, `file:///` of this machine, and `memory://` of this process.

An object's URL has its key as the store has it: nothing in it is escaped, and `?`, `#`, `+` and `%` mean themselves.
"""

from __future__ import annotations

import errno
import io
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import obstore
import structlog
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    NotModifiedError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)
from obstore.store import MemoryStore, ObjectStore, from_url

from inkgate.errors import EngineFailed, InputRejected
from inkgate.settings import StorageSettings
from inkgate.storage.local import (
    delete_file,
    delete_older_file,
    file_etag,
    files_below,
    modified_file,
    read_file,
    write_file,
)
from inkgate_client.concurrency import Threads

log = structlog.get_logger(__name__)

_URL = re.compile(r"(s3|gs|az|abfss?|memory|file)://([^/\x00-\x20?#]*)(?:/(.*))?", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ABFS = re.compile(r"[a-z0-9$-]+@[A-Za-z0-9.-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_STORES = 64
_CONNECT_S = 5.0
_RETRIES = 3
_PIECE = 1024 * 1024
_LISTED_AT_ONCE = 1000
_FILE_THREADS = 8
_CLIENT_OPTIONS = frozenset({
    "allow_http", "allow_invalid_certificates", "connect_timeout", "default_content_type", "http1_only",
    "http2_keep_alive_interval", "http2_keep_alive_timeout", "http2_keep_alive_while_idle", "http2_only",
    "pool_idle_timeout", "pool_max_idle_per_host", "proxy_ca_certificate", "proxy_excludes", "proxy_url",
    "randomize_addresses", "read_timeout", "root_certificate", "timeout", "user_agent",
})  # fmt: skip
"""Options of the HTTP client. All others are of the store."""


@dataclass(frozen=True, slots=True)
class ObjectUrl:
    """The parts of an object's URL: `root` such as `s3://bucket`, and `key`, which never begins or ends with a slash,
    nor has `.`, `..` or empty parts. The key of a folder may be empty.
    """

    scheme: str
    root: str
    key: str

    @property
    def path(self) -> Path:
        """The path of a local file."""
        return Path("/", self.key)


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object of a listing. `modified`: Unix time."""

    url: str
    byte_count: int
    modified: float
    etag: str = ""
    version: str = ""


def parse_object_url(url: str, *, folder: bool = False) -> ObjectUrl:
    """The parts of a URL. `folder`: it may have an empty key, or end with a slash.

    Raises:
        InputRejected: "source_forbidden": it is not the URL of an object, or its key can't be used.
    """
    match = _URL.fullmatch(url)
    if match is None:
        raise InputRejected("source_forbidden", "This is not the URL of an object, such as s3://bucket/key.")
    scheme, place, key = match[1], match[2], match[3] or ""
    valid = not place if scheme == "file" else (_ABFS if scheme.startswith("abfs") else _BUCKET).fullmatch(place)
    if not valid:
        raise InputRejected("source_forbidden", "The URL's bucket is not valid.")
    if folder:
        key = key.rstrip("/")
    if not (folder and not key) and (_CONTROL.search(key) or {"", ".", ".."}.intersection(key.split("/"))):
        detail = "Keys with empty parts, parts such as `..`, or control characters can't be used."
        raise InputRejected("source_forbidden", detail)
    return ObjectUrl(scheme, f"{scheme}://{place}", key)


def file_url(path: Path) -> str:
    """The URL of a local file or folder, unescaped, as all URLs of objects are (unlike `Path.as_uri`)."""
    return f"file://{path.absolute().as_posix()}"


def bare_etag(etag: str) -> str:
    """The tag without quotes and the mark of a weak one: events have it in any form."""
    return etag.removeprefix("W/").strip('"')


def quoted_etag(etag: str) -> str:
    """The tag as If-Match has it. Characters that a header can't have are left out: such a tag matches nothing."""
    valid = re.sub(r"[^!#-~]", "", bare_etag(etag))
    return f'"{valid}"'


class Objects:
    """Reads and writes objects. Connections to a bucket are made at its first use and kept.

    All methods raise EngineFailed "source_unreachable" if the store can't be reached, denies access or fails, after
    three retries and at most `storage.timeout_s`; InputRejected "source_forbidden" for URLs that can't be used. The
    messages name neither buckets nor keys; the log names the bucket. Used from one event loop.
    """

    def __init__(self, settings: StorageSettings) -> None:
        """Raises ValueError if `storage.options` are not valid."""
        self._timeout_s = settings.timeout_s
        self._options = {
            prefix if prefix.endswith("/") else f"{prefix}/": {
                key.lower(): value.get_secret_value() for key, value in options.items()
            }
            for prefix, options in settings.options.items()
        }
        self._stores: OrderedDict[tuple[str, str], ObjectStore] = OrderedDict()
        self._memory = MemoryStore()
        self._threads = Threads("objects", _FILE_THREADS)
        for prefix in self._options:
            self._check_options(prefix)

    async def get(self, url: str, *, etag: str = "", version: str = "", max_bytes: int, below: str = "") -> bytes:
        """The bytes of an object.

        Args:
            url: of the object.
            etag: it must have this ETag, if there is no `version`, which says the same more exactly.
            version: of S3, Google Cloud Storage (generation) and Azure.
            max_bytes: larger objects are refused before they are read.
            below: URL of a folder above it: for local files, symbolic links are followed within it only.

        Raises:
            InputRejected: "source_missing", "source_replaced" or "body_too_large".
        """
        target = parse_object_url(url)
        if target.scheme == "file":
            root = parse_object_url(below, folder=True).path if below else Path("/")
            with self._errors(target):
                return await self._threads.run(read_file, target.path, root, bare_etag(etag), max_bytes)
        remote = target.scheme != "memory"
        options: obstore.GetOptions = {}
        if version and remote:
            options["version"] = version
        elif etag and remote:
            options["if_match"] = quoted_etag(etag)
        store, key = self._store(target)
        with self._errors(target), anyio.fail_after(self._timeout_s):
            try:
                found = await obstore.get_async(store, key, options=options)
            except FileNotFoundError:
                if "version" in options and await self._exists(store, key):
                    raise InputRejected("source_replaced", "The object has no such version any more.") from None
                raise
            tag = found.meta["e_tag"]
            if etag and tag and "version" not in options and bare_etag(tag) != bare_etag(etag):
                raise InputRejected("source_replaced", "The object has another ETag.")
            return await _body(found, max_bytes)

    @staticmethod
    async def _exists(store: ObjectStore, key: str) -> bool:
        try:
            await obstore.head_async(store, key)
        except FileNotFoundError:
            return False
        return True

    async def put(
        self, url: str, data: bytes, media_type: str = "", *, create_only: bool = False, private: bool = False
    ) -> bool:
        """Writes an object, whole or not at all, and returns True.

        `create_only`: returns False if there is one; the store decides, so of several writers one gets True.
        `private`: local files and folders made for them are for this user only.
        """
        target = parse_object_url(url)
        with self._errors(target, writes=True):
            if target.scheme == "file":
                return await self._threads.run(write_file, target.path, data, create_only=create_only, private=private)
            store, key = self._store(target)
            attributes: dict[str, Any] | None = {"Content-Type": media_type} if media_type else None
            try:
                with anyio.fail_after(self._timeout_s):
                    await obstore.put_async(
                        store, key, data, attributes=attributes, mode="create" if create_only else "overwrite"
                    )
            except AlreadyExistsError:
                return False
            return True

    async def delete(self, url: str) -> None:
        """Deletes an object, if it exists."""
        target = parse_object_url(url)
        with self._errors(target, writes=True):
            if target.scheme == "file":
                return await self._threads.run(delete_file, target.path)
            store, key = self._store(target)
            with suppress(FileNotFoundError), anyio.fail_after(self._timeout_s):
                await obstore.delete_async(store, key)
            return None

    async def delete_older(self, url: str, than: float) -> bool:
        """Deletes an object if it was written before `than` (Unix time), and returns whether it did.

        A local file that is written at the same time stays. Buckets can't delete on a condition: there, an object that
        is overwritten in the milliseconds between the question and the deletion is deleted.
        """
        target = parse_object_url(url)
        if target.scheme == "file":
            with self._errors(target, writes=True):
                return await self._threads.run(delete_older_file, target.path, than)
        modified = await self.modified(url)
        if modified is None or modified >= than:
            return False
        await self.delete(url)
        return True

    async def modified(self, url: str) -> float | None:
        """Returns when the object was written, by its store's clock (Unix time); None if there is none."""
        target = parse_object_url(url)
        with self._errors(target):
            if target.scheme == "file":
                return await self._threads.run(modified_file, target.path)
            store, key = self._store(target)
            try:
                with anyio.fail_after(self._timeout_s):
                    found = await obstore.head_async(store, key)
            except FileNotFoundError:
                return None
            return found["last_modified"].timestamp()

    async def list(self, folder_url: str) -> AsyncIterator[StoredObject]:
        """The objects below a folder, a thousand at a time, in no certain order.

        A bucket that has a key of which no URL can be made, such as `a//b`, can't be listed.
        """
        target = parse_object_url(folder_url, folder=True)
        pieces = self._list_files(target) if target.scheme == "file" else self._list_store(target)
        async for piece in pieces:
            for each in piece:
                yield each

    async def _list_files(self, target: ObjectUrl) -> AsyncIterator[Sequence[StoredObject]]:
        def some() -> Sequence[StoredObject]:
            return [
                StoredObject(file_url(path), found.st_size, found.st_mtime, file_etag(found))
                for path, found in islice(files, _LISTED_AT_ONCE)
            ]

        files = files_below(target.path)
        while True:
            with self._errors(target):
                piece = await self._threads.run(some)
            if not piece:
                return
            yield piece

    async def _list_store(self, target: ObjectUrl) -> AsyncIterator[Sequence[StoredObject]]:
        store, key = self._store(target)
        chunks = obstore.list(store, key or None, chunk_size=_LISTED_AT_ONCE)
        begin = "memory://" if target.scheme == "memory" else f"{target.root}/"
        while True:
            with self._errors(target), anyio.fail_after(self._timeout_s):
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
            yield [
                StoredObject(
                    f"{begin}{each['path']}",
                    each["size"],
                    each["last_modified"].timestamp(),
                    bare_etag(each["e_tag"] or ""),
                    each["version"] or "",
                )
                for each in chunk
                if each["path"] != key  # the marker of the folder itself
            ]

    @contextmanager
    def _errors(self, target: ObjectUrl, *, writes: bool = False) -> Iterator[None]:
        """Raises errors of stores and files as this class's own."""
        try:
            yield
        except (FileNotFoundError, NotADirectoryError) as error:
            if writes:
                raise self._failed(target, "There is no such bucket or folder.", error) from error
            raise InputRejected("source_missing", "There is no such object.") from error
        except (PreconditionError, NotModifiedError) as error:
            raise InputRejected("source_replaced", "The object has another ETag.") from error
        except TimeoutError as error:
            detail = f"The object store did not answer within {self._timeout_s:g} seconds."
            raise self._failed(target, detail, error) from error
        except (BaseError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG and not writes:
                raise InputRejected("source_missing", "There is no such object.") from error
            raise self._failed(target, reason_of(error), error) from error
        except ValueError as error:
            raise InputRejected("source_forbidden", "The object's key can't be used.") from error

    @staticmethod
    def _failed(target: ObjectUrl, detail: str, error: Exception) -> EngineFailed:
        # Not the error's text, which has the whole URL: that may hold a token.
        log.warning("object_store_failed", store=target.root, reason=detail, error=type(error).__name__)
        return EngineFailed("source_unreachable", detail)

    def _store(self, target: ObjectUrl) -> tuple[ObjectStore, str]:
        """The store of `target`, and the key in it."""
        if target.scheme == "memory":
            return self._memory, "/".join(filter(None, (target.root.removeprefix("memory://"), target.key)))
        prefix = max((p for p in self._options if f"{target.root}/{target.key}/".startswith(p)), key=len, default="")
        store = self._stores.pop((target.root, prefix), None)
        if store is None:
            with self._errors(target):
                store = self._made(target.root, self._options.get(prefix, {}))
        self._stores[target.root, prefix] = store
        if len(self._stores) > _MAX_STORES:
            self._stores.popitem(last=False)
        return store, target.key

    def _made(self, root: str, options: dict[str, str]) -> ObjectStore:
        limit = timedelta(seconds=self._timeout_s)
        config: dict[str, str] = {key: value for key, value in options.items() if key not in _CLIENT_OPTIONS}
        client: dict[str, Any] = {"timeout": limit, "connect_timeout": min(limit, timedelta(seconds=_CONNECT_S))}
        if any(value.lower().startswith("http://") for value in config.values()):
            client["allow_http"] = "true"
        client |= {key: value for key, value in options.items() if key in _CLIENT_OPTIONS}
        if root.startswith("s3://"):
            config.setdefault("disable_bulk_delete", "true")  # not every store that is like S3 has it
        backoff = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2)}
        retries: Any = {"max_retries": _RETRIES, "retry_timeout": limit, "backoff": backoff}
        make: Any = from_url  # whose overloads want literal keys
        store: ObjectStore = make(root, config=config, client_options=client, retry_config=retries)
        return store

    def _check_options(self, prefix: str) -> None:
        match = _URL.fullmatch(prefix)
        if match is None or match[1] in {"file", "memory"}:
            raise ValueError(f"storage.options: `{prefix}` is not a URL such as s3://bucket")
        place = match[2] or "any@any.dfs.core.windows.net" if match[1].startswith("abfs") else match[2] or "any"
        try:
            self._made(f"{match[1]}://{place}", self._options[prefix])
        except (BaseError, ValueError) as error:
            raise ValueError(f"storage.options: `{prefix}`: {reason_of(error)}") from None


async def _body(found: obstore.GetResult, max_bytes: int) -> bytes:
    if found.meta["size"] > max_bytes:
        detail = f"The object has {found.meta['size']} bytes; at most {max_bytes} are allowed."
        raise InputRejected("body_too_large", detail)
    whole = io.BytesIO()
    async for piece in found.stream(min_chunk_size=_PIECE):
        whole.write(piece)
        if whole.tell() > max_bytes:
            raise InputRejected("body_too_large", f"The object has more than {max_bytes} bytes.")
    return whole.getvalue()


_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z0-9.]{1,64})</Code>")
_UNKNOWN_OPTION = re.compile(r"Configuration key: '([a-z0-9_]{1,64})' is not valid|Invalid key: ([a-z0-9_]{1,64})\.")
_SENTENCES = (
    (re.compile(r"token request|/latest/(?:api/token|meta-data)"), "There are no credentials for the object store."),
    (re.compile(r"Account must be specified"), "The storage account is missing: the option `account_name`."),
    (re.compile(r"TimedOut|kind: Timeout|operation timed out"), "The object store did not answer in time."),
    (re.compile(r"error sending request|kind: Connect\b"), "The object store can't be reached."),
    (re.compile(r"builder error"), "The address is not https: that needs the option `allow_http`."),
    (
        re.compile(r"Generic Config error|failed to parse|service account file|Invalid Access Key"),
        "The value of an option is not valid.",
    ),
    (re.compile(r""), "The object store failed, or its answer broke off."),
)
"""What the text of an error says, if it has no status."""
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
DISK_FULL = "The disk is full."


def reason_of(error: Exception) -> str:
    """A sentence on `error`, of an object store or a local disk, without secrets.

    The errors of obstore have one type for most failures and the details in their text, which also has URLs, and so may
    hold keys, tokens and the names of hosts. Only known words of it are passed on.
    """
    if isinstance(error, OSError):
        return _of_disk(error)
    text = str(error)
    if option := _UNKNOWN_OPTION.search(text):
        return f"There is no option `{option[1] or option[2]}`."
    without_status = next(sentence for pattern, sentence in _SENTENCES if pattern.search(text))
    if without_status == _SENTENCES[0][1]:
        return without_status  # whatever the status of the server that was asked for credentials
    status, code = _STATUS.search(text), _CODE.search(text)
    known = f" ({code[1]})" if code else ""
    if isinstance(error, PermissionDeniedError | UnauthenticatedError):
        return f"The object store denied access{known}."
    return f"The object store answered with status {status[1]}{known}." if status else without_status


def _of_disk(error: OSError) -> str:
    if error.errno in _FULL:
        return DISK_FULL
    if error.errno in _DENIED:
        return "inkgate may not read or write the file."
    if error.errno == errno.ELOOP:
        return "A symbolic link was changed while the file was opened."
    return f"The disk failed ({errno.errorcode.get(error.errno or 0, type(error).__name__)})."
