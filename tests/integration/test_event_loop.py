"""The event loop handles no more than INLINE_BYTES at once: what works on more runs in threads. Counted, not timed."""

from __future__ import annotations

import json
import threading
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import anyio
import numpy as np
import pytest

from inkgate.caller import NO_CALLER, Caller
from inkgate.engines.base import started
from inkgate.engines.vlm.engine import VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.model_servers.server import ModelServer
from inkgate.page import Page
from inkgate.service.page_cache import page_cache
from inkgate.serving.cache import MemoryStore
from inkgate.settings import VllmSettings
from inkgate_client.block_image import BlockImage
from inkgate_client.codec import estimated_bytes, page_to_dict
from inkgate_client.concurrency import INLINE_BYTES, single_error
from inkgate_client.types import Block, BlockType, PageResult, Task
from support.api_client import RawCall, b64, pdf, png, running_api, tiff
from support.chat_api import JSON, PATH, relay
from support.fake_engine import FakeEngine, line
from support.jobs_api import jobs_api
from support.loop_work import LoopWork, loop_work
from support.page_readers import page_reader
from support.ppocr import ArrayPage
from support.stub_upstream import Reply, running_stub

__all__ = ["loop_work"]
pytestmark = pytest.mark.anyio


class DenseEngine(FakeEngine):
    """Reads pages like those of a newspaper: 5,000 words, 750 KB as JSON."""

    async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
        found = await super().read(page, task, caller)
        lines = tuple(line("every word of it has its own place in a long line", 10.0 * row) for row in range(400))
        return PageResult(
            page.index, found.width, found.height, lines=lines, text="\n".join(one.text for one in lines), engine="fake"
        )


def check(work: LoopWork, *heavy: str) -> None:
    """Nothing large was done here, and what is `heavy` was done elsewhere."""
    assert {name: size for name, size in work.here.items() if size > INLINE_BYTES} == {}
    for name in heavy:
        assert work.elsewhere.get(name, 0) > INLINE_BYTES, (name, work.elsewhere)


@pytest.mark.parametrize(
    ("path", "heavy"),
    [
        ("/ocr?format=ndjson", "page_to_dict"),
        ("/ocr?format=json", "dumps"),
        ("/ocr", "dumps"),
        ("/v1/convert/file", ""),
    ],
)
async def test_dense_pages_are_rendered_in_threads(loop_work: LoopWork, path: str, heavy: str) -> None:
    async with running_api(DenseEngine()) as api:
        name = "files" if "convert" in path else "file"
        async with anyio.create_task_group() as group:
            for _ in range(3):
                group.start_soon(lambda: api.client.post(path, files={name: ("a.tif", tiff(3))}))
    check(loop_work, *filter(None, [heavy]))


async def test_a_figure_of_a_dense_page_is_looked_for_in_a_thread(loop_work: LoopWork, tmp_path: Path) -> None:
    class Figures(DenseEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            image = BlockImage("page-1-1.png", "image/png", 200, 130, b64(png()))
            figure = Block(BlockType.FIGURE, (0, 0, 20, 20), (), "", "", image=image)
            return replace(await super().read(page, task, caller), blocks=(figure,))

    path = "/documentintelligence/documentModels/prebuilt-layout:analyze?output=figures"
    async with jobs_api(tmp_path, Figures()) as api:
        added = await api.client.post(path, content=png(), headers={"content-type": "image/png"})
        place = added.headers["operation-location"].partition("?")[0]
        job = place.rpartition("/")[2].partition(".")[0]
        await api.client.get(f"/v1/jobs/{job}", params={"wait": 5})
        assert (await api.client.get(f"{place}/figures/1.1")).content == png()
    assert loop_work.elsewhere["figure_of"] > INLINE_BYTES
    assert "figure_of" not in loop_work.here


async def test_a_small_page_is_rendered_without_a_thread(loop_work: LoopWork) -> None:
    async with running_api() as api:
        await api.client.post("/ocr?format=ndjson", files={"file": png()})
    assert loop_work.here["page_to_dict"] > 0
    assert "page_to_dict" not in loop_work.elsewhere


async def test_the_size_of_a_page_as_json_is_estimated() -> None:
    page = await DenseEngine().read(ArrayPage(np.full((50, 50, 3), 255, np.uint8)), Task(), NO_CALLER)
    size = len(json.dumps(page_to_dict(page)))
    assert 0.5 * size < estimated_bytes(page) < 2 * size


async def test_dense_pages_are_cached_and_loaded_in_threads(loop_work: LoopWork) -> None:
    store = MemoryStore(10_000_000)
    cache = page_cache(store, 60)
    page = ArrayPage(np.full((50, 50, 3), 255, np.uint8))
    engine = page_reader(DenseEngine(), cache=cache)
    with single_error():
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cache.run)
            await anyio.wait_all_tasks_blocked()
            await engine.read(page, Task(), NO_CALLER)
            while not len(store):  # noqa: ASYNC110 - nobody waits for it
                await anyio.sleep(0.001)
            await anyio.wait_all_tasks_blocked()
            again = await engine.read(page, Task(), NO_CALLER)
            tasks.cancel_scope.cancel()
    assert "cache" in again.timings_ms
    assert len(again.lines or ()) == 400
    check(loop_work, "dump_page", "validate_json")


async def test_large_documents_are_decoded_and_hashed_in_threads(loop_work: LoopWork) -> None:
    noise = np.random.default_rng(1).integers(0, 256, 300_000, np.uint8).tobytes()
    async with running_api() as api:
        for data in (png() + noise, pdf(1) + noise):
            assert (await api.client.post("/ocr", json={"image": b64(data)})).status_code == 200
            url = f"data:application/octet-stream;base64,{b64(data)}"
            assert (await api.client.post("/ocr", json={"image": url})).status_code == 200
    check(loop_work, "loads", "b64decode", "blake2b")


class FreedText(str):
    """Says in which thread it is freed."""

    threads: ClassVar[list[int]] = []
    __slots__ = ()

    def __del__(self) -> None:
        self.threads.append(threading.get_ident())


async def test_the_pages_of_a_document_that_is_rendered_as_a_whole_are_freed_in_a_thread() -> None:
    """In other forms each page is freed once it is rendered: one takes no millisecond."""

    class Engine(FakeEngine):
        async def read(self, page: Page, task: Task, caller: Caller) -> PageResult:
            return replace(await super().read(page, task, caller), text=FreedText("Hello"))

    FreedText.threads.clear()
    async with running_api(Engine()) as api:
        assert (await api.client.post("/ocr?format=markdown", files={"file": tiff(3)})).status_code == 200
    assert len(FreedText.threads) == 3
    assert threading.get_ident() not in FreedText.threads


@pytest.mark.parametrize("form", [False, True])
async def test_a_large_body_is_not_copied(form: bool) -> None:
    """A copy of it takes 30 ms for 27 MB, and as much memory again."""
    size = 16_000_000
    data = b"\n".join([b"x" * 999] * (size // 1000))
    head = b'--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' if form else b""
    pieces = [head, *(data[at : at + 65536] for at in range(0, len(data), 65536)), b"\r\n--B--\r\n" if form else b""]
    kind = "multipart/form-data; boundary=B" if form else "image/png"
    async with running_api() as api:
        call = RawCall(api.app, {"content-type": kind}, pieces)
        tracemalloc.start()
        try:
            await call.run()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert call.status == 415
    assert peak < 1.5 * size


async def test_a_large_chat_without_images_is_parsed_in_a_thread(loop_work: LoopWork) -> None:
    text = "a long prompt " * 100_000
    async with relay() as (api, _):
        body = json.dumps({"model": "stub-model", "messages": [{"role": "user", "content": text}]})
        assert (await api.client.post(PATH, content=body, headers=JSON)).status_code == 200
    assert loop_work.elsewhere["loads"] > 1_000_000
    assert loop_work.here.get("loads", 0) <= 1_000_000


async def test_an_image_for_a_model_server_is_encoded_hashed_and_put_into_its_request_in_threads(
    loop_work: LoopWork,
) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (600, 600, 3), np.uint8)
    with running_stub(Reply(["Hel", "lo"])) as stub:
        engine = VlmEngine(find_preset("paddleocr-vl"), VllmSettings(start_s=0.001), ModelServer(stub.url, 5))
        async with started(engine):
            read = await engine.read(ArrayPage(noise), Task(), NO_CALLER)
    assert read.text == "Hello"
    check(loop_work, "b64encode_as_string", "dumps", "blake2b")
