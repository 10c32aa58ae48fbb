"""Calls of Notion's API by its SDK, at the rate that Notion allows."""

from __future__ import annotations

import logging
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import anyio
import httpx
from notion_client import AsyncClient
from notion_client.errors import HTTPResponseError, NotionClientErrorBase

API_VERSION: Final = "2026-03-11"
API_URL: Final = "https://api.notion.com"
REQUESTS_PER_S: Final = 3.0
"""The average that Notion allows a connection."""
LONGEST_PAUSE_S: Final = 60.0
"""A pause that Notion asks for is waited for up to this; after a longer one, the row is tried again later."""
_TRIES = 6
_SLOW_DOWN = frozenset({429, 529})
"""`rate_limited`, and `service_overload`: nothing was done."""
_CONFLICT = 409
_LONGEST_MESSAGE = 300

Json = dict[str, Any]


class NotionUnavailable(Exception):
    """Notion can't be reached, or has failed. The request may have been carried out. `retry_after_s`: when to try
    again, if it said so.
    """

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after_s = retry_after_s


class NotionRefused(Exception):
    """Notion will not do it. `status`: of the response."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status

    @property
    def of_settings(self) -> bool:
        """Whether the token, or what it may see, is wrong, and not this one request."""
        return self.status in (401, 403, 404)

    @property
    def of_trash(self) -> bool:
        """Whether somebody has moved the page to the trash meanwhile."""
        return self.status == 404 or "archived" in str(self) or "trash" in str(self)


@dataclass(frozen=True, slots=True)
class NotionAccess:
    """A connection of a workspace. `token`: its secret. `url`: of the API. `requests_per_s`: the share of what Notion
    allows that is used here.
    """

    token: str = field(repr=False)
    url: str = API_URL
    requests_per_s: float = REQUESTS_PER_S


class NotionPace:
    """Spaces requests out, for all who share a token in this process. A pause that Notion asks for holds for all."""

    def __init__(
        self,
        per_s: float = REQUESTS_PER_S,
        clock: Callable[[], float] = anyio.current_time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self._interval = 1.0 / per_s
        self._clock = clock
        self._sleep = sleep
        self._next = -math.inf
        self._lock = anyio.Lock()

    async def wait(self) -> None:
        """Waits until the next request may be sent; those who wait are served in order."""
        async with self._lock:
            while (left := self._next - self._clock()) > 0:
                await self._sleep(left)
            self._next = self._clock() + self._interval

    def hold(self, pause_s: float) -> None:
        """No request is sent for this time, also by those who wait already."""
        self._next = max(self._next, self._clock() + pause_s)

    async def pause(self, pause_s: float) -> None:
        """Waits without holding up others."""
        await self._sleep(pause_s)


class NotionCalls:
    """The SDK's client, whose calls keep the pace and raise NotionUnavailable and NotionRefused."""

    def __init__(self, client: AsyncClient, pace: NotionPace) -> None:
        self.client = client
        self.pace = pace

    async def __call__(self, call: Callable[..., Any], *arguments: str, **options: Any) -> Json:  # noqa: ANN401 - of the SDK
        """The answer of `call(*arguments, **options)`, a method of `client`. It is called again where Notion has done
        nothing yet: at its rate limit, and at conflicts with other writers.

        Raises:
            NotionUnavailable, NotionRefused.
        """
        for tries in range(_TRIES):
            await self.pace.wait()
            try:
                answer: Json = await call(*arguments, **options)
            except HTTPResponseError as error:
                self._wait_or_raise(error, tries)
            except (NotionClientErrorBase, httpx.HTTPError, ValueError) as error:  # the SDK wraps timeouts only
                raise NotionUnavailable(f"Notion can't be reached ({type(error).__name__})") from error
            else:
                return answer
        raise NotionUnavailable("Notion is busy")

    def _wait_or_raise(self, error: HTTPResponseError, tries: int) -> None:
        """Holds the pace, if the call should be tried again."""
        reason = _reason(error)
        if error.status in _SLOW_DOWN or error.status == _CONFLICT:
            asked = _retry_after_s(error.headers)
            if tries + 1 == _TRIES or (asked or 0.0) > LONGEST_PAUSE_S:
                raise NotionUnavailable(reason, asked) from error
            self.pace.hold(asked if asked is not None else 2.0**tries)
            return
        if error.status >= 500:
            raise NotionUnavailable(reason) from error
        raise NotionRefused(error.status, reason) from error


@asynccontextmanager
async def notion_calls(access: NotionAccess, pace: NotionPace | None = None) -> AsyncIterator[NotionCalls]:
    """Calls with this token. Nothing is sent before the first one."""
    client = AsyncClient(
        auth=access.token,
        base_url=access.url.rstrip("/"),
        notion_version=API_VERSION,
        retry=False,
        logger=_silent_logger(),
        client=httpx.AsyncClient(verify=_trusted()),
    )
    try:
        yield NotionCalls(client, pace or NotionPace(access.requests_per_s))
    finally:
        await client.aclose()


@cache
def _trusted() -> ssl.SSLContext:
    """Made once: it reads all certificates."""
    return httpx.create_ssl_context()


def _silent_logger() -> logging.Logger:
    """The SDK's own logger prints messages of Notion, which may quote values of documents."""
    logger = logging.Logger("inkgate.notion")  # noqa: LOG001 - nobody else's
    logger.addHandler(logging.NullHandler())
    return logger


def _reason(error: HTTPResponseError) -> str:
    """What Notion said, without the values that it quotes."""
    said, _, _ = str(error).partition("instead was")
    code = getattr(error.code, "value", error.code)
    return f"Notion answered {error.status} {code}: {' '.join(said.split())[:_LONGEST_MESSAGE]}"


def _retry_after_s(headers: httpx.Headers) -> float | None:
    try:
        pause_s = float(headers.get("retry-after", ""))
    except ValueError:
        return None
    return pause_s if math.isfinite(pause_s) and pause_s >= 0 else None
