"""A model server in a process of its own, so that it can be killed and frozen; it reads numbers from striped pictures.

What it says depends on what it is asked, so that an answer that went to the wrong client is found out.
"""

from __future__ import annotations

import io
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

from inkgate.types import RgbArray
from support.server import clean_environment
from support.stub_upstream import Reply, Request, StubUpstream, image_of, words_as_tokens

NAME = "PaddleOCR-VL-1.6-0.9B"
BITS = 16
_METRICS = b"""vllm:num_requests_running 1.0
vllm:num_requests_waiting 0.0
vllm:kv_cache_usage_perc 0.1
vllm:generation_tokens_total 1.0
"""


def striped(number: int) -> bytes:
    """A PNG that says `number`: a black or white block for each bit, between two rows of white."""
    bits = [number >> bit & 1 for bit in range(BITS)]
    row = np.where(np.repeat(np.array(bits, bool), 20), 0, 255).astype(np.uint8)
    pixels = np.full((60, BITS * 20), 255, np.uint8)
    pixels[20:40] = row
    file = io.BytesIO()
    Image.fromarray(pixels).convert("RGB").save(file, "PNG")
    return file.getvalue()


def number_of(pixels: RgbArray) -> int:
    """What `striped` has put there, whatever size it has now."""
    height, width = pixels.shape[:2]
    middle = pixels[height // 2, :, 0]
    return sum(int(middle[int((bit + 0.5) * width / BITS)] < 128) << bit for bit in range(BITS))


def text_of(number: int) -> str:
    """What it says of a number, read or heard."""
    return f"The number is {number} and no other"


def _reply(request: Request, pause_s: float) -> Reply:
    content = request["messages"][-1]["content"]
    if isinstance(content, str):
        heard = re.search("[0-9]+", content)
        number = int(heard[0]) if heard else 0
    else:
        number = number_of(image_of(request))
    return Reply(words_as_tokens(text_of(number)), pause_s=pause_s)


class _Model:
    """An ASGI app: the stub, with /told to change it while it runs, and a /metrics that may hang."""

    def __init__(self) -> None:
        self._pause_s = 0.01
        self._stub = StubUpstream(lambda request: _reply(request, self._pause_s), (NAME,), metrics=_METRICS)
        self._hangs = False

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http"
        if scope["path"] == "/metrics" and self._hangs:
            await anyio.sleep_forever()
        if scope["path"] == "/told":
            told = httpx.QueryParams(scope["query_string"])
            self._pause_s = float(told.get("pause_s", self._pause_s))
            self._hangs = told.get("metrics") == "hang"
            self._stub.metrics = b"" if told.get("metrics") == "gone" else _METRICS
        await self._stub(scope, receive, send)


class ModelProcess:
    """The model as a process on a port of its own, which stays the same when it is started again."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port: int = free.getsockname()[1]
        self._process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> None:
        """Returns when it listens."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.numbered_model", str(self._port)],
            stdout=subprocess.PIPE,
            text=True,
            env=clean_environment(PYTHONPATH=str(Path(__file__).parents[1])),
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "listening\n"

    def tell(self, **orders: str) -> None:
        """`pause_s` between tokens; `metrics`: "hang", "gone", or as they should be."""
        httpx.get(f"http://127.0.0.1:{self._port}/told", params=orders, trust_env=False)

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """As kill -9 does, whatever state it is in; returns when it is gone."""
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
def model_process() -> Iterator[ModelProcess]:
    """A model that runs; it is killed at the end."""
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
