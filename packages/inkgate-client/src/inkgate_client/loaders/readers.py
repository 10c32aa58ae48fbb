"""What reads for loaders, which are used by blocking and by async code: a service, or the engine in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from anyio.from_thread import BlockingPortal, start_blocking_portal

from inkgate_client.loaders.options import LoaderOptions
from inkgate_client.reading import DocumentReader, RemoteReader
from inkgate_client.retries import RetryPolicy

T = TypeVar("T")
_CLIENT_ALONE = "inkgate-client has no engine. Give the URL of a service: server='http://127.0.0.1:7860'."


@dataclass(frozen=True, slots=True)
class PortalReader:
    """A reader, and the event loop on which it is used."""

    portal: BlockingPortal
    reader: DocumentReader


class Calls:
    """Blocking calls on event loops, until nobody wants their results any more. Used by several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._futures: set[Future[Any]] = set()
        self._ended = False

    @property
    def ended(self) -> bool:
        return self._ended

    def start(self, portal: BlockingPortal, function: Callable[[], Awaitable[T]]) -> Future[T]:
        """The future result of `function`, which is cancelled after `end`."""
        future = portal.start_task_soon(function)
        with self._lock:
            self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if self._ended:
            future.cancel()
        return future

    def run(self, portal: BlockingPortal, function: Callable[[], Awaitable[T]]) -> T:
        """The result of `function`. Raises concurrent.futures.CancelledError after `end`."""
        return self.start(portal, function).result()

    def end(self) -> None:
        """Cancels the calls. Does not wait."""
        self._ended = True
        with self._lock:
            futures = tuple(self._futures)
        for future in futures:
            future.cancel()


@contextmanager
def portal_reader(options: LoaderOptions) -> Iterator[PortalReader]:
    """The reader that the options name: of a service for this block, or of this process, which stays loaded. Blocking.

    Raises:
        ReadError: the URL can't be used, or the engine does not start.
        ImportError: there is no engine, because only inkgate-client is installed.
    """
    if not options.server:
        try:
            from inkgate.integrations.loader_engine import loaded_engine
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("inkgate"):
                raise
            raise ImportError(_CLIENT_ALONE) from error
        yield loaded_engine(options.settings)
        return
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_remote(options)) as reader:
        yield PortalReader(portal, reader)


@asynccontextmanager
async def _remote(options: LoaderOptions) -> AsyncIterator[RemoteReader]:
    async with RemoteReader.of([options.server], options.key, RetryPolicy(options.retry_s)) as reader:
        yield reader
