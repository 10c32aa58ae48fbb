"""Sends N chat completions at once as one client does, and prints what became of them as JSON.

    PYTHON client.py openai|paddlex|olmocr|langchain N URL KB

Runs in an environment with `openai` and `langchain-openai`, without inkgate. The clients, as read in July 2026:

- openai 3.57: 600 s, 2 retries, obeys Retry-After up to 120 s (60 s in older versions), then 0.5 to 8 s
- paddlex 3.7: openai's AsyncOpenAI, 200 requests at once, 600 s
- langchain-openai 1.7: `abatch` sends all at once through openai
- olmocr 0.4: raw sockets without a time limit, 1,600 at once; eight tries, the next one at once, whatever the status;
  after a broken connection 10 s, doubled each time
"""

# mypy: ignore-errors
# The clients are not installed beside inkgate.

from __future__ import annotations

import asyncio
import base64
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

MODEL = "stub-model"
_TRIES = 8
_BACKOFF_S = 10.0
_AT_ONCE = {"paddlex": 200, "olmocr": 1600}


class Sent:
    """When requests were sent, and how they ended."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.retries: list[float] = []
        self.statuses: Counter[str] = Counter()

    async def on_request(self, request: object) -> None:
        if request.headers.get("x-stainless-retry-count", "0") != "0":
            self.retry()

    async def on_response(self, response: object) -> None:
        self.statuses[str(response.status_code)] += 1

    def retry(self) -> None:
        self.retries.append(time.monotonic() - self.started)

    @property
    def herd(self) -> int:
        """The most retries within one second."""
        return max((sum(at <= other < at + 1 for other in self.retries) for at in self.retries), default=0)


def messages(kilobytes: int) -> list[dict[str, object]]:
    data = base64.b64encode(random.Random(7).randbytes(kilobytes * 750)).decode()
    image = {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}}
    return [{"role": "user", "content": [image, {"type": "text", "text": "OCR:"}]}]


def openai_calls(kind: str, url: str, sent: Sent, content: list[dict[str, object]]) -> Callable[[], Awaitable[None]]:
    from openai import AsyncOpenAI, DefaultAsyncHttpxClient

    hooks = {"request": [sent.on_request], "response": [sent.on_response]}
    client = AsyncOpenAI(base_url=url, api_key="null", http_client=DefaultAsyncHttpxClient(event_hooks=hooks))
    more = {"timeout": 600} if kind == "paddlex" else {}

    async def call() -> None:
        answer = await client.chat.completions.create(model=MODEL, messages=content, **more)
        assert answer.choices[0].message.content

    return call


def olmocr_call(url: str, sent: Sent, content: list[dict[str, object]]) -> Callable[[], Awaitable[None]]:
    address = urlsplit(url)
    body = json.dumps({"model": MODEL, "messages": content}).encode()
    head = f"POST {address.path}/chat/completions HTTP/1.1\r\nHost: {address.hostname}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"

    async def once() -> bool:
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        try:
            writer.write(head.encode() + body)
            await writer.drain()
            status = (await reader.readline()).split()
            if not status:
                raise ConnectionError("no response")
            sent.statuses[status[1].decode()] += 1
            await reader.read()
            return status[1] == b"200"
        finally:
            writer.close()

    async def call() -> None:
        for number in range(_TRIES):
            if number:
                sent.retry()
            for backoff in range(10):
                try:
                    good = await once()
                    break
                except OSError:
                    sent.statuses["broken"] += 1
                    await asyncio.sleep(_BACKOFF_S * 2**backoff)
                    sent.retry()
            if good:
                return
        raise RuntimeError("every try was refused")

    return call


async def langchain(count: int, url: str, sent: Sent, content: list[dict[str, object]], took: list[float]) -> int:
    """How many were answered."""
    from langchain_core.messages import HumanMessage
    from langchain_core.runnables import RunnableLambda
    from langchain_openai import ChatOpenAI
    from openai import DefaultAsyncHttpxClient

    hooks = {"request": [sent.on_request], "response": [sent.on_response]}
    client = DefaultAsyncHttpxClient(event_hooks=hooks)
    model = ChatOpenAI(model=MODEL, base_url=url, api_key="null", http_async_client=client)
    chain = model | RunnableLambda(lambda answer: took.append(time.monotonic() - sent.started) or answer.content)
    inputs = [[HumanMessage(content=content[0]["content"])] for _ in range(count)]
    answers = await chain.abatch(inputs, return_exceptions=True)
    return sum(isinstance(answer, str) for answer in answers)


async def main(kind: str, count: int, url: str, kilobytes: int) -> None:
    content, took = messages(kilobytes), []
    sent = Sent()
    failed: Counter[str] = Counter()
    if kind == "langchain":
        answered = await langchain(count, url, sent, content, took)
    else:
        make = olmocr_call(url, sent, content) if kind == "olmocr" else openai_calls(kind, url, sent, content)
        at_once = asyncio.Semaphore(_AT_ONCE.get(kind, count))

        async def one() -> None:
            async with at_once:
                try:
                    await make()
                    took.append(time.monotonic() - sent.started)
                except Exception as error:  # noqa: BLE001 - each request ends for itself
                    failed[type(error).__name__] += 1

        await asyncio.gather(*(one() for _ in range(count)))
        answered = len(took)
    took.sort()
    share = [round(took[min(len(took) - 1, int(len(took) * part))], 1) if took else None for part in (0.5, 0.99)]
    result = {"answered": answered, "failed": count - answered, "retries": len(sent.retries), "herd": sent.herd}
    result |= {"p50_s": share[0], "p99_s": share[1], "statuses": dict(sent.statuses), "errors": dict(failed)}
    print(json.dumps(result))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
