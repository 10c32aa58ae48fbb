"""One request: sent, waited for, judged. aiohttp, because a request costs httpx several times as much."""

from __future__ import annotations

import asyncio
import errno
import io
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from inkgate.bench.load.arrivals import Ask
from inkgate.bench.load.plan import Load
from inkgate.bench.load.protocols import Answer, Body, Verdict, wire_of
from inkgate.bench.load.samples import Outcome, Sample

_KEEP_ALIVE_S = 4.0
"""Idle connections are closed before servers do (uvicorn: 5 s), so that none is lost under a request just sent."""
_ONE_PIECE_BYTES = 2**20
"""Larger bodies are sent in pieces: aiohttp warns where they are not, since one write keeps the event loop."""
_OWN_ERRORS = {
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
    errno.EADDRNOTAVAIL: "no free port",
    errno.ENOBUFS: "no buffers",
    errno.ENOMEM: "no memory",
}
"""Why a connection can't be opened, where that is for lack of something on this side."""


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a request, and when the service wants to hear from the client again, where it said so."""

    sample: Sample
    retry_after_s: float | None = None


class Sender:
    """Sends a load's requests over connections that are kept. Bodies are made once for each page.

    To be used as `async with`. Moments are seconds from the one that `begin` was called at.
    """

    def __init__(self, load: Load, clock: Callable[[], float] = perf_counter) -> None:
        """Raises LoadImpossible: the target's protocol can't take one of the pages."""
        self._wire = wire_of(load.target)
        self._pages = load.pages
        self._bodies = [self._wire.body(page) for page in load.pages]
        self._headers = [_headers(load, number) for number in range(len(load.plan.mix))]
        self._url = URL(load.target.url)
        self._timeout_s = load.plan.timeout_s
        self._clock = clock
        self._began = clock()
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEP_ALIVE_S),
            timeout=aiohttp.ClientTimeout(total=None),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("Accept", "User-Agent"),
            headers={"Accept-Encoding": "identity", "User-Agent": "inkgate-loadtest"},
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()

    def begin(self, at: float | None = None) -> None:
        """Moments count from now on, or from `at` of the clock."""
        self._began = self._clock() if at is None else at

    def now(self) -> float:
        """Seconds from the beginning."""
        return self._clock() - self._began

    async def send(self, ask: Ask) -> Sent:
        """What becomes of `ask`, sent now. Never raises for what the service does."""
        body = self._bodies[ask.page]
        sent = self.now()
        answer: Answer | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._answer(body, self._headers[ask.share])
        except TimeoutError:
            verdict = Verdict(Outcome.TIMED_OUT, f"no answer in {self._timeout_s:g} s")
        except (aiohttp.ClientError, OSError) as error:
            verdict = _broken(error)
        ended = self.now()
        if answer is not None:
            verdict = self._wire.judge(answer)
        pages = 0
        if verdict.outcome is Outcome.ANSWERED:
            pages = self._pages[ask.page].pages or 1 if verdict.pages is None else verdict.pages
        size = 0 if verdict.outcome is Outcome.UNSENT else len(body.content)
        sample = Sample(ask.due, sent, ended, verdict.outcome, verdict.kind, pages, verdict.degraded, size)
        return Sent(sample, None if answer is None else _retry_after(answer))

    async def _answer(self, body: Body, headers: dict[str, str]) -> Answer:
        if self._session is None:
            raise RuntimeError("a Sender is used within `async with`")
        headers = {**headers, "Content-Type": body.content_type}
        data = body.content if len(body.content) <= _ONE_PIECE_BYTES else io.BytesIO(body.content)  # shares the bytes
        async with self._session.post(self._url, data=data, headers=headers, allow_redirects=False) as answer:
            return Answer(answer.status, answer.headers, await answer.read())


def _headers(load: Load, number: int) -> dict[str, str]:
    share = load.plan.mix[number]
    key = load.target.key if share.key is None else share.key
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if share.priority:
        headers["X-Inkgate-Priority"] = share.priority
    if not load.plan.takes_kept:
        headers["Cache-Control"] = "no-store"
    if load.plan.tells_deadline:
        headers["X-Inkgate-Timeout"] = f"{load.plan.deadline_s:g}"
    return headers


def _broken(error: Exception) -> Verdict:
    number = error.errno if isinstance(error, OSError) else None
    if number in _OWN_ERRORS:
        return Verdict(Outcome.UNSENT, f"not sent: {_OWN_ERRORS[number]}")
    if number == errno.ECONNREFUSED:
        return Verdict(Outcome.FAILED, "connection refused")
    if isinstance(error, aiohttp.ClientConnectorError):
        return Verdict(Outcome.FAILED, "no connection")
    return Verdict(Outcome.FAILED, "connection broken")


def _retry_after(answer: Answer) -> float | None:
    """Seconds; None where the answer doesn't say, or says a date, which no service here does."""
    try:
        return max(0.0, float(answer.headers.get("Retry-After", "")))
    except ValueError:
        return None
