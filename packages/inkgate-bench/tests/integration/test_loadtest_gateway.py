"""Load on the real service, in each protocol."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from PIL import Image

from inkgate.bootstrap import serve
from inkgate.settings import Settings, load_settings
from inkgate_bench.load.pages import load_pages
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.results import Axis
from inkgate_bench.load.run import run
from inkgate_bench.load.sender import try_once
from inkgate_bench.load.target import ProtocolName, TargetOptions, detect
from support.load_target import closed_plan
from support.ppocr import drawn
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio
QUIET: dict[str, dict[str, object]] = {
    "server": {"port": 0, "drain_s": 1},
    "metrics": {"port": 0},
    "ui": {"enabled": False},
}
PLAN = closed_plan(clients=2, seconds=0.5)


@asynccontextmanager
async def gateway(settings: Settings) -> AsyncIterator[str]:
    """The service's URL, while it runs in this process."""
    urls: list[str] = []
    ready = anyio.Event()

    def on_ready(url: str) -> None:
        urls.append(url)
        ready.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(serve, settings, on_ready))
        with anyio.fail_after(60):
            await ready.wait()
        yield urls[0]
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    Image.fromarray(drawn(["Invoice 20417"])).save(tmp_path / "a.png")
    Image.fromarray(drawn(["Total 4.20", "Paid"])).save(tmp_path / "b.jpg")
    return tmp_path


async def test_the_embedded_engine_under_load(pages: Path) -> None:
    async with gateway(load_settings(None, **QUIET, engine={"name": "ppocr"})) as url:
        for protocol in (None, ProtocolName.SIMPLE):
            target = await detect(url, TargetOptions(protocol=protocol))
            assert target.protocol is (protocol or ProtocolName.OCR)
            load = Load(target, load_pages(pages), PLAN)
            assert (await try_once(load)).kind == ""
            measured = await run(load)
            assert measured.summary.errors == {}
            assert measured.summary.answered == measured.summary.offered > 0
            assert measured.summary.pages == measured.summary.in_time
            assert measured.summary.latency is not None


async def test_chat_completions_under_load(pages: Path) -> None:
    with running_stub(Reply(["Invoice", " 20417"]), ("stub-model",)) as stub:
        settings = load_settings(None, **QUIET, engine={"name": "paddleocr-vl", "vllm": {"urls": [stub.url]}})
        async with gateway(settings) as url:
            target = await detect(f"{url}/v1", TargetOptions())
            assert (target.protocol, target.model) == (ProtocolName.CHAT, "stub-model")
            load = Load(target, load_pages(pages), Plan(Axis.RATE, 20, 0.5, warm_s=0.0))
            assert (await try_once(load)).kind == ""
            measured = await run(load)
    assert measured.summary.errors == {}
    assert measured.summary.pages == measured.summary.offered > 0
