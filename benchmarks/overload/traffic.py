"""Open loops, whose arrivals don't depend on the service's responses, and closed ones; of chat completions or pages."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import aiohttp
from PIL import Image

from benchmarks.figures import quantile

MODEL = "tiny-paddleocr-vl"
WIDTHS = (280, 560, 1120)
"""Image sizes, at least 28 pixels high: 10 to 160 tokens."""
ALONE_S = 600.0
"""Deadline of requests in a closed loop."""
MEDIAN_TOKENS, SPREAD = 120, 0.7
"""Lengths of responses are log-normal, between 8 and 800 tokens."""


@dataclass(frozen=True)
class TimedRequest:
    """One request: arrival time in seconds from the start, body, tenant, and tokens of image and response."""

    at: float
    body: bytes
    tenant: str = "anybody"
    tokens: int = 0


@dataclass
class RequestResult:
    """Result of a request. `outcome`: good (a complete response in time), late, refused (429, 503), failed."""

    ask: TimedRequest
    outcome: str
    status: int
    seconds: float
    retry_after: bool


@dataclass
class Result:
    """Results of all requests of one run, which arrived within `seconds`."""

    seconds: float
    results: list[RequestResult] = field(default_factory=list)

    def followed_by(self, later: Result) -> Result:
        """Both runs combined."""
        return Result(self.seconds + later.seconds, [*self.results, *later.results])

    def count(self, *outcomes: str) -> int:
        return sum(each.outcome in outcomes for each in self.results)

    @property
    def goodput(self) -> float:
        """Responses in time a second."""
        return self.count("good") / self.seconds

    @property
    def good_tokens(self) -> float:
        """Tokens a second of images and responses, for responses in time."""
        return sum(each.ask.tokens for each in self.results if each.outcome == "good") / self.seconds

    def answered(self, longest: float) -> float:
        """Share of requests with a response in time, among the part with the most tokens."""
        ordered = sorted(self.results, key=lambda each: each.ask.tokens)
        ordered = ordered[round(len(ordered) * (1 - longest)) :]
        return sum(each.outcome == "good" for each in ordered) / max(1, len(ordered))

    def quantile(self, share: float, *outcomes: str) -> float | None:
        """Quantile of the seconds of requests with this outcome."""
        taken = [each.seconds for each in self.results if each.outcome in outcomes]
        return quantile(taken, share) if taken else None


@cache
def _image(width: int, height: int) -> str:
    noise = random.Random(width * height).randbytes(width * height)
    picture = io.BytesIO()
    Image.frombytes("L", (width, height), noise).convert("RGB").save(picture, "PNG")
    return base64.b64encode(picture.getvalue()).decode()


@cache
def body_of(width: int, height: int, tokens: int) -> bytes:
    """A chat completion with an image, whose response has exactly that many tokens."""
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_image(width, height)}"}}
    return json.dumps(
        {
            "model": MODEL,
            "messages": [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}],
            "temperature": 0,
            "max_tokens": tokens,
            "ignore_eos": True,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
    ).encode()


@dataclass(frozen=True)
class Protocol:
    """How a request is sent: to `path`, with the data and headers of `form`; `complete` knows a whole response."""

    path: str
    form: Callable[[TimedRequest], tuple[object, dict[str, str]]]
    complete: Callable[[bytes], bool]


CHAT = Protocol(
    "/chat/completions",
    lambda ask: (ask.body, {"Content-Type": "application/json", "Authorization": f"Bearer {ask.tenant}"}),
    lambda body: b"[DONE]" in body and b'"error"' not in body[-2048:],
)


async def send(
    session: aiohttp.ClientSession, url: str, ask: TimedRequest, deadline_s: float, protocol: Protocol
) -> RequestResult:
    """Sends a request. The client disconnects at the deadline."""
    started = time.perf_counter()
    data, headers = protocol.form(ask)
    headers["X-Inkgate-Timeout"] = f"{deadline_s:g}"
    status, retry_after, outcome = 0, False, "failed"
    try:
        async with asyncio.timeout(deadline_s):
            async with session.post(f"{url}{protocol.path}", data=data, headers=headers) as response:
                status, retry_after = response.status, "Retry-After" in response.headers
                body = await response.read()
        whole = status == 200 and protocol.complete(body)
        outcome = "good" if whole else "refused" if status in (429, 503) else "failed"
    except TimeoutError:
        outcome = "late"
    except aiohttp.ClientError:
        pass
    return RequestResult(ask, outcome, status, time.perf_counter() - started, retry_after)


Draw = Callable[[random.Random], TimedRequest]


def draw_chat(rng: random.Random) -> TimedRequest:
    """A chat completion with an image of a random size and a response of random length."""
    tokens = int(min(800, max(8, rng.lognormvariate(0, SPREAD) * MEDIAN_TOKENS)))
    width, height = rng.choice(WIDTHS), rng.choice((28, 56, 112))
    return TimedRequest(0.0, body_of(width, height, tokens), tokens=width * height // 28**2 + tokens)


def poisson(
    rate: float, seconds: float, seed: int, tenant: str = "anybody", draw: Draw = draw_chat
) -> list[TimedRequest]:
    """Poisson arrivals of independent clients; the same for the same seed."""
    rng = random.Random(seed)
    asks = []
    at = rng.expovariate(rate)
    while at < seconds:
        asks.append(replace(draw(rng), at=at, tenant=tenant))
        at += rng.expovariate(rate)
    return asks


async def offered(
    url: str, asks: Sequence[TimedRequest], seconds: float, deadline_s: float, protocol: Protocol = CHAT
) -> Result:
    """Sends each request at its time and waits for all to end."""
    result = Result(seconds)
    timeout = aiohttp.ClientTimeout(total=None)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        began = time.perf_counter()

        async def one(ask: TimedRequest) -> None:
            await asyncio.sleep(max(0.0, began + ask.at - time.perf_counter()))
            result.results.append(await send(session, url, ask, deadline_s, protocol))

        await asyncio.gather(*(one(ask) for ask in asks))
    return result


async def closed(url: str, clients: int, seconds: float, draw: Draw = draw_chat, protocol: Protocol = CHAT) -> float:
    """Responses a second of a closed loop of that many clients: the capacity."""
    done = 0
    rng = random.Random(7)
    ends = time.perf_counter() + seconds
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None)) as session:

        async def one() -> None:
            nonlocal done
            while time.perf_counter() < ends:
                each = await send(session, url, draw(rng), ALONE_S, protocol)
                if each.outcome != "good":
                    raise RuntimeError(f"a request failed with nothing else there: {each.status}")
                done += time.perf_counter() < ends

        await asyncio.gather(*(one() for _ in range(clients)))
    return done / seconds
