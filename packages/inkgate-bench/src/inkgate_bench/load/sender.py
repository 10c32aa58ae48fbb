"""One request: sent, awaited and judged. By aiohttp, because a request costs several times as much with httpx."""

from __future__ import annotations

import asyncio
import errno
import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

from inkgate_bench.load import LoadImpossible
from inkgate_bench.load.arrivals import LoadRequest
from inkgate_bench.load.plan import Load
from inkgate_bench.load.protocols import UNEXPECTED, RequestBody, ResponseVerdict, ServiceResponse, protocol_of
from inkgate_bench.load.samples import RequestOutcome, RequestSample
from inkgate_bench.load.target import key_error

_KEEP_ALIVE_S = 4.0
"""Idle connections are closed before servers close them (uvicorn: 5 s), so that no request is sent on a dead one."""
_ONE_PIECE_BYTES = 2**20
"""Larger bodies are sent in pieces: aiohttp warns about them, since a single write blocks the event loop."""
_OWN_ERRORS = {
    errno.EMFILE: "too many open files",
    errno.ENFILE: "too many open files",
    errno.EADDRNOTAVAIL: "no free port",
    errno.ENOBUFS: "no buffers",
    errno.ENOMEM: "no memory",
}
"""Why a connection can't be opened, where this machine lacks something."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that has ended. `response`: None where there was none."""

    sample: RequestSample
    response: ServiceResponse | None = None

    @property
    def retry_after_s(self) -> float | None:
        """Seconds; None where the response has none, or has a date, which no OCR service sends."""
        if self.response is None:
            return None
        try:
            return max(0.0, float(self.response.headers.get("Retry-After", "")))
        except ValueError:
            return None


class Sender:
    """Sends a load's requests over kept connections. Bodies are made once for each page.

    Use with `async with`. Times are seconds from the call of `begin`.
    """

    def __init__(self, load: Load, clock: Callable[[], float] = perf_counter) -> None:
        """Raises LoadImpossible: the target's protocol can't carry one of the pages."""
        self._protocol = protocol_of(load.target)
        self._pages = load.pages
        self._bodies = [self._protocol.body(page) for page in load.pages]
        self._headers = [_headers(load, number) for number in range(len(load.plan.mix))]
        self._url = URL(load.target.url)
        self._timeout_s = load.plan.timeout_s
        self._clock = clock
        self._start = clock()
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

    def begin(self) -> None:
        """Times count from now on."""
        self._start = self._clock()

    def now(self) -> float:
        """Seconds from the start."""
        return self._clock() - self._start

    async def send(self, request: LoadRequest) -> SentRequest:
        """Sends `request` now and waits for its end. Never raises for what the service does."""
        body = self._bodies[request.page]
        sent = self.now()
        response: ServiceResponse | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                response = await self._post(body, self._headers[request.share])
        except TimeoutError:
            verdict = ResponseVerdict(RequestOutcome.TIMED_OUT, f"no response in {self._timeout_s:g} s")
        except (aiohttp.ClientError, OSError) as error:
            verdict = _connection_verdict(error)
        ended = self.now()
        if response is not None:
            verdict = self._protocol.judge(response)
        pages = 0
        if verdict.outcome is RequestOutcome.ANSWERED:
            pages = self._pages[request.page].pages or 1 if verdict.pages is None else verdict.pages
        size = 0 if verdict.outcome is RequestOutcome.UNSENT else len(body.content)
        sample = RequestSample(request.due, sent, ended, verdict.outcome, verdict.kind, pages, verdict.degraded, size)
        return SentRequest(sample, response)

    async def _post(self, body: RequestBody, headers: dict[str, str]) -> ServiceResponse:
        if self._session is None:
            raise RuntimeError("a Sender is used within `async with`")
        headers = {**headers, "Content-Type": body.content_type}
        data = body.content if len(body.content) <= _ONE_PIECE_BYTES else io.BytesIO(body.content)  # shares the bytes
        async with self._session.post(self._url, data=data, headers=headers, allow_redirects=False) as response:
            return ServiceResponse(response.status, response.headers, await response.read())


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


def _connection_verdict(error: Exception) -> ResponseVerdict:
    number = error.errno if isinstance(error, OSError) else None
    if number in _OWN_ERRORS:
        return ResponseVerdict(RequestOutcome.UNSENT, f"not sent: {_OWN_ERRORS[number]}")
    if number == errno.ECONNREFUSED:
        return ResponseVerdict(RequestOutcome.FAILED, "connection refused")
    if isinstance(error, aiohttp.ClientConnectorError):
        return ResponseVerdict(RequestOutcome.FAILED, "no connection")
    return ResponseVerdict(RequestOutcome.FAILED, "connection broken")


async def try_once(load: Load) -> RequestSample:
    """Sends the first page once with each key of the mix, so that a wrong address or key is reported at once.

    Returns the last sample. A service that is full or fails is not reported here: the load test is to show that.

    Raises:
        LoadImpossible: nothing listens there, a key is wrong, or what listens speaks another protocol.
    """
    shares = {share.key: number for number, share in enumerate(load.plan.mix)}
    sample: RequestSample | None = None
    async with Sender(replace(load, pages=load.pages[:1])) as sender:
        for share in shares.values():
            sample = (await sender.send(LoadRequest(sender.now(), 0, share))).sample
            _check_sample(load.target.url, sample)
    if sample is None:
        raise LoadImpossible("The mix of callers is empty.")
    return sample


def _check_sample(url: str, sample: RequestSample) -> None:
    status = sample.kind.partition(" ")[0]
    if status in {"401", "403"}:
        raise key_error(url)
    if status in {"404", "405"}:
        raise LoadImpossible(f"{url} accepts no pages ({sample.kind}): try another path or --protocol.")
    if UNEXPECTED in sample.kind:
        raise LoadImpossible(f"{url}: {sample.kind.partition(' ')[2]}: try another --protocol or path.")
    if sample.outcome is RequestOutcome.FAILED and sample.kind in {"connection refused", "no connection"}:
        raise LoadImpossible(f"Nothing listens at {url} ({sample.kind}). Is the service running?")
