"""Reads documents by running services, as work of the class `batch`."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from inkgate.client import AsyncInkgateClient, ReadAs, ServiceError
from inkgate.errors import CODES, from_page_error
from inkgate.types import Document, DocumentResult, PageError

_AS_BATCH = ReadAs(task="parse", priority="batch")
_BUSY = frozenset({429, 503})
_REFUSE_ALL = frozenset({401, 403, 404, 405})
_PROXY_ERRORS = frozenset({502, 504})
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 30.0


class GatewayReader:
    """Sends each document to the gateway with the fewest documents under way, and waits as long as all are busy.

    A gateway that can't be reached, or a proxy in front of it that can't reach it, costs a pause; the document goes to
    another one. After `patience_s` without any answer, the run ends: documents would fail one after another.
    """

    def __init__(self, clients: Sequence[AsyncInkgateClient], patience_s: float) -> None:
        self._clients = clients
        self._under_way = [0] * len(clients)
        self._not_before = [0.0] * len(clients)
        self._patience_s = patience_s

    async def read(self, document: Document) -> DocumentResult:
        """Raises InkgateError as the service answered it; GatewaysUnusable."""
        pause, since = _FIRST_PAUSE_S, anyio.current_time()
        while True:
            chosen = await self._next()
            self._under_way[chosen] += 1
            try:
                return await self._clients[chosen].read(document.data, _AS_BATCH, document.name)
            except ServiceError as error:
                if not _is_passing(error):
                    raise _outcome(error) from error
                answered = error.status in _BUSY
                if not answered and anyio.current_time() - since > self._patience_s:
                    raise GatewaysUnusable(str(error)) from error
                since = anyio.current_time() if answered else since
                wait_s = error.retry_after_s if error.retry_after_s is not None else pause
                pause = min(2 * pause, _LONGEST_PAUSE_S)
                self._not_before[chosen] = anyio.current_time() + wait_s * random.uniform(1.0, 1.3)  # noqa: S311
            finally:
                self._under_way[chosen] -= 1

    async def _next(self) -> int:
        """The gateway to ask, once one may be asked."""
        while (wait_s := min(self._not_before) - anyio.current_time()) > 0:  # noqa: ASYNC110 - others may set a later time
            await anyio.sleep(wait_s)
        now = anyio.current_time()
        free = [index for index, since in enumerate(self._not_before) if since <= now]
        return min(free, key=lambda index: self._under_way[index])


class GatewaysUnusable(Exception):
    """No gateway answered for a long time, or one refuses every document; the text says what happened last."""


def _is_passing(error: ServiceError) -> bool:
    """Whether the document may be read later or elsewhere: the service is full or not there."""
    if error.status is None:
        return error.__cause__ is not None  # of the connection
    return error.status in _BUSY or (error.status in _PROXY_ERRORS and not error.code)


def _outcome(error: ServiceError) -> Exception:
    """The error of the document; of the whole run, if the service refuses the key or is none of inkgate's."""
    if error.status in _REFUSE_ALL or not error.code:
        return GatewaysUnusable(str(error))
    code = error.code if error.code in CODES else "upstream_failed"
    return from_page_error(PageError(code, error.detail, error.remedy))


@asynccontextmanager
async def gateway_reader(urls: Sequence[str], key: str, patience_s: float = 600.0) -> AsyncIterator[GatewayReader]:
    """Raises ServiceError: a URL or the key can't be used."""
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(AsyncInkgateClient(url, key)) for url in urls]
        yield GatewayReader(clients, patience_s)
