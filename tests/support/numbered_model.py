"""A model server in its own process, which can be killed and frozen; reads numbers from striped pictures.

Its answer depends on the request, so that an answer sent to the wrong client is detected.
"""

from __future__ import annotations

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
import numpy as np
import uvicorn
from PIL import Image
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from inkgate.page import RgbArray
from support.server import clean_environment
from support.stub_upstream import Reply, Request, StubUpstream, image_of, words_as_tokens

NAME = "PaddleOCR-VL-1.6-0.9B"
BITS = 16
USUAL_PAUSE_S = 0.01
"""Pause before each token."""
_METRICS = b"""vllm:num_requests_running 1.0
vllm:num_requests_waiting 0.0
vllm:kv_cache_usage_perc 0.1
vllm:generation_tokens_total 1.0
"""


def striped(number: int) -> bytes:
    """A PNG that encodes `number`: a black or white block for each bit, between two rows of white."""
    bits = [number >> bit & 1 for bit in range(BITS)]
    row = np.where(np.repeat(np.array(bits, bool), 20), 0, 255).astype(np.uint8)
    pixels = np.full((60, BITS * 20), 255, np.uint8)
    pixels[20:40] = row
    file = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(file, "PNG")
    return file.getvalue()


def number_of(pixels: RgbArray) -> int:
    """The number in a `striped` picture of any size."""
    height, width = pixels.shape[:2]
    middle = pixels[height // 2, :, 0]
    return sum(int(middle[int((bit + 0.5) * width / BITS)] < 128) << bit for bit in range(BITS))


def text_of(number: int) -> str:
    """The model's text for a number."""
    return f"The number is {number} and no other"


LONG = "at length"
"""Text in a message that requests an answer larger than the buffers of a connection."""


def _reply(request: Request, pause_s: float) -> Reply:
    content = request["messages"][-1]["content"]
    if LONG in content:
        return Reply(body=json.dumps({"choices": [{"message": {"content": "word " * 1_200_000}}]}).encode())
    if isinstance(content, str):
        heard = re.search("[0-9]+", content)
        number = int(heard[0]) if heard else 0
    else:
        number = number_of(image_of(request))
    return Reply(words_as_tokens(text_of(number)), pause_s=pause_s)


class _Model:
    """An ASGI app: the stub, with /behave to change it while it runs, and a /metrics that may hang."""

    def __init__(self) -> None:
        self._pause_s = USUAL_PAUSE_S
        self._stub = StubUpstream(lambda request: _reply(request, self._pause_s), (NAME,), metrics=_METRICS)
        self._hangs = False
        self._metrics_requests = 0

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http"
        if scope["path"] == "/metrics":
            self._metrics_requests += 1
            if self._hangs:
                await anyio.sleep_forever()
        if scope["path"] == "/behave":
            orders = httpx.QueryParams(scope["query_string"])
            self._pause_s = float(orders.get("pause_s", USUAL_PAUSE_S))
            self._hangs = orders.get("metrics") == "hang"
            self._stub.metrics = b"" if orders.get("metrics") == "gone" else _METRICS
        if scope["path"] == "/metrics-requests":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": str(self._metrics_requests).encode()})
        else:
            await self._stub(scope, receive, send)


class ModelProcess:
    """The model as a process on its own port, which restarts keep."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> None:
        """Returns once it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.numbered_model", str(self._port)],
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(PYTHONPATH=str(Path(__file__).parents[1])),
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "listening\n"

    def behave(self, **orders: str) -> None:
        """`pause_s` between tokens; `metrics`: "hang", "gone". Omitted options are reset."""
        httpx.get(f"http://127.0.0.1:{self._port}/behave", params=orders, trust_env=False)

    @property
    def metrics_requests(self) -> int:
        """Number of requests for /metrics since its start."""
        return int(httpx.get(f"http://127.0.0.1:{self._port}/metrics-requests", trust_env=False).text)

    def restore(self) -> None:
        """Makes it run normally, whatever was done to it."""
        if self._process is None:
            self.start()
        self.thaw()
        self.behave()

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kills it as kill -9 does, in any state; returns once it has ended."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        assert self._process.stdout is not None
        self._process.wait(10)
        self._process.stdout.close()
        self._process = None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)


@contextmanager
def running_model() -> Iterator[ModelProcess]:
    """A running model; killed at the end."""
    model = ModelProcess()
    try:
        model.start()
        yield model
    finally:
        model.kill()


def main(port: int) -> None:
    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            print("listening", flush=True)

    Server(uvicorn.Config(_Model(), port=port, log_level="critical", lifespan="off", ws="none", backlog=512)).run()


if __name__ == "__main__":
    main(int(sys.argv[1]))
