"""The state of real services in this process: the embedded engine, and model servers on loopback."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import cycle
from pathlib import Path
from time import perf_counter

import anyio
import httpx
import pytest
from PIL import Image
from pydantic import TypeAdapter

from inkgate.api.app import create_app
from inkgate.bootstrap import Service, running
from inkgate.bootstrap.stack import build_parts
from inkgate.bootstrap.state import StateReader
from inkgate.doctor.conditions import BY_NAME
from inkgate.engines.workers.shares import usable_cpus
from inkgate.serving.sending import SendingRoom
from inkgate.settings import load_settings
from inkgate_client.telemetry.jobs_state import JobsDisk, JobsState
from inkgate_client.telemetry.state import CacheState, PdfJobs, ResultsState, State
from support.api_client import pdf
from support.managed import FakeVllm
from support.ppocr import drawn
from support.stub_upstream import Reply, running_stub

pytestmark = pytest.mark.anyio

STATE = TypeAdapter(State)
RECORDED = (Path(__file__).parents[1] / "data" / "vllm-0.32-metrics.txt").read_bytes()
SECRET = "open-sesame"  # noqa: S105 - what must be shown nowhere


class Pdf:
    """PDF workers of which one is gone; the other has work, and more waits."""

    worker_lives = ((0, 4),)
    pdf_jobs = (2, 1, 3)


@asynccontextmanager
async def served(flags: Mapping[str, dict[str, object]]) -> AsyncIterator[tuple[Service, httpx.AsyncClient]]:
    """A service with these settings, and a client of it."""
    settings = load_settings(None, **flags, pdf={"warm_workers": 0})
    async with running(settings) as service:
        app = create_app(service, settings)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://inkgate.localhost", timeout=60) as client:
            yield service, client


async def state_of(client: httpx.AsyncClient) -> State:
    answer = (await client.get("/state")).raise_for_status()
    return STATE.validate_json(answer.content)


async def until(client: httpx.AsyncClient, happened: Callable[[State], bool]) -> State:
    with anyio.fail_after(60):
        while not happened(state := await state_of(client)):  # noqa: ASYNC110 - it happens in the service
            await anyio.sleep(0.02)
    return state


def page() -> bytes:
    file = io.BytesIO()
    Image.fromarray(drawn(["The state of the service", "is made of its parts."])).save(file, "PNG")
    return file.getvalue()


async def test_the_embedded_engine() -> None:
    async with served({"auth": {}, "limits": {"max_in_flight": 7}}) as (_, client):
        before = await state_of(client)
        for content in (page(), page(), pdf(1)):
            (await client.post("/ocr", files={"file": content})).raise_for_status()
        assert (await client.post("/ocr", files={"file": b"no image"})).status_code == 415
        state = await state_of(client)
        later = await until(client, lambda state: state.processes[0].cpu_s > before.processes[0].cpu_s)
    assert (state.ready, state.reasons, state.degradation_level, state.breakers, state.replicas) == (
        True,
        (),
        0,
        (),
        (),
    )
    assert (state.build.engine, state.build.model) == ("ppocr", "PP-OCRv6 small")
    assert state.build.inference_engine
    assert state.build.cores >= 1
    assert (state.admission.documents, state.admission.max_documents, state.admission.tenants) == (0, 7, 0)
    assert state.admission.ended == {"ok": 3, "rejected": 1}
    (pages,) = state.queues
    assert (pages.name, pages.in_flight, pages.longest_wait_s) == ("pages", 0, 0.0)
    assert pages.limit == pages.most == state.settings["engine"]["ppocr"]["concurrent_pages"]
    assert pages.waiting == {"interactive": 0, "normal": 0, "batch": 0}
    assert state.cache is not None
    assert state.cache.found == {"run": 2, "kept": 1, "joined": 0}
    assert state.cache.entries == 2
    assert 0 < (state.cache.bytes or 0) < (state.cache.max_bytes or 0) == 64_000_000
    recognizer = next(batches for batches in state.batches if batches.model == "recognizer")
    assert recognizer.calls == sum(recognizer.sizes.values()) > 0
    assert recognizer.items == sum(size * calls for size, calls in recognizer.sizes.items()) == 2
    assert state.work.requests == {"POST /ocr 200": 3, "POST /ocr 415": 1, "GET /state 200": 1}
    assert state.work.pages == {"ok": 3}
    assert later.processes[0].pid == os.getpid()
    assert {process.kind for process in later.processes} == {"gateway", "pdf"}
    assert state.started_at <= before.at < state.at


@contextmanager
def all_processors_busy() -> Iterator[None]:
    command = [sys.executable, "-c", "while True: pass"]
    computing = [subprocess.Popen(command) for _ in usable_cpus()]
    try:
        yield
    finally:
        for process in computing:
            process.kill()
            process.wait(60)


@pytest.mark.timing  # it keeps all processors busy, and its deadlines are parts of what a page takes
async def test_pages_that_come_too_late_at_busy_processors_cost_places_and_others_bring_them_back() -> None:
    flags: dict[str, dict[str, object]] = {"engine": {"ppocr": {"concurrent_pages": 4}}, "cache": {"enabled": False}}
    content = page()
    async with served(flags) as (_, client):

        async def limit() -> int:
            (pages,) = (await state_of(client)).queues
            return pages.limit

        async def read(part_of_s: float) -> None:
            await client.post("/ocr", files={"file": content}, headers={"X-Inkgate-Timeout": f"{part_of_s:.3f}"})

        for _ in range(3):
            began = perf_counter()
            await read(60)
            alone_s = perf_counter() - began
        with all_processors_busy(), anyio.fail_after(120):
            for part in cycle((0.5, 0.7, 0.9, 1.2, 2.0)):  # it has to be begun, and be at the engine for a while
                if await limit() < 4:
                    break
                async with anyio.create_task_group() as together:
                    for _ in range(4):
                        together.start_soon(read, part * alone_s)
        with anyio.fail_after(120):
            while await limit() < 4:
                await read(60)


async def test_refusals_at_the_door_are_counted() -> None:
    flags: dict[str, dict[str, object]] = {"limits": {"max_in_flight": 1}, "cache": {"enabled": False}}
    async with served(flags) as (service, client):
        service.gateway.limiter.admit()
        assert (await client.post("/ocr", files={"file": page()})).status_code == 503
        state = await state_of(client)
    assert (state.admission.documents, state.admission.refused, state.cache) == (1, {"service_full": 1}, None)


def vllm(url: str, **vllm: object) -> dict[str, dict[str, object]]:
    engine: dict[str, object] = {
        "name": "paddleocr-vl",
        "vllm": {"urls": [url], "model": "stub-model", "fallback": False, **vllm},
    }
    return {"engine": engine}


async def test_a_model_server() -> None:
    with running_stub(Reply(["fine"])) as stub:
        stub.metrics = RECORDED
        url = stub.url.replace("http://", f"http://me:{SECRET}@")
        async with served(vllm(url, reading="page")) as (_, client):
            (await client.post("/ocr", files={"file": page()})).raise_for_status()
            state = await until(client, lambda state: state.replicas[0].pressure is not None)
            (replica,), (embedded, pages, calls) = state.replicas, state.queues
            assert (replica.name, replica.state, replica.taken_out) == (url.replace(f"me:{SECRET}", "*" * 10), "up", 0)
            assert (replica.running, replica.waiting, replica.generation_tokens) == (0, 0, 5)
            assert replica.kv_tokens == 1 << 20
            assert (replica.flags, replica.in_flight, replica.pressure) == ((), 0, 0.0)
            assert (embedded.name, pages.name, calls.name) == ("embedded", "pages", "calls")
            assert (calls.limit, calls.most) == (16, 256)
            assert [(each.state, each.opened) for each in state.breakers] == [("closed", 0)]
            assert (state.build.model, state.build.inference_engine) == ("stub-model", "vllm")
            assert state.work.tokens_out > 0
            assert SECRET not in (await client.get("/state")).text


async def test_a_model_server_that_is_lost() -> None:
    with running_stub(Reply(silent="after")) as stub:
        flags = vllm(stub.url, reading="page", recover_s=0.1)
        async with served(flags) as (_, client), anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: client.post("/ocr", files={"file": page()}))
            busy = await until(client, lambda state: state.replicas[0].in_flight > 0)
            await until(client, lambda state: state.load_servers is not None)
            stub.script = lambda _: Reply(status=500, body=b"{}")
            await client.post("/ocr", files={"file": page() + b"another"})
            lost = await until(client, lambda state: state.replicas[0].state == "out")
            tasks.cancel_scope.cancel()
    assert [queue.in_flight for queue in busy.queues] == [0, 1, 1]
    assert busy.admission.documents == busy.admission.tenants == 1
    assert (lost.ready, lost.reasons) == (False, (f"engine: no model server takes calls ({lost.replicas[0].why})",))
    assert lost.replicas[0].taken_out >= 1
    assert lost.replicas[0].why
    assert lost.replicas[0].running is None


async def test_a_managed_vllm_that_dies_once(tmp_path: Path) -> None:
    fake = FakeVllm(tmp_path)
    managed = {"python": str(fake.python), "environment": fake.told(), "restart_pause_s": 0.05}
    own: dict[str, object] = {"name": "paddleocr-vl", "vllm": {"managed": managed, "start_s": 30, "fallback": False}}
    async with served({"engine": own}) as (_, client):
        first = await until(client, lambda state: all(pids_of(state)) and started_of(state) == [1, 1])
        os.kill(pids_of(first)[0], signal.SIGKILL)
        second = await until(client, lambda state: all(pids_of(state)) and started_of(state) == [2, 1])
    assert set(pids_of(first)).isdisjoint(pids_of(second))
    assert first.replicas[0].flags == second.replicas[0].flags
    assert "--max-num-seqs" in first.replicas[0].flags


def pids_of(state: State) -> list[int]:
    """Of vLLM's processes: the one that we started, and those that it did."""
    return [process.pid for process in state.processes if process.kind == "vllm"]


def started_of(state: State) -> list[int]:
    return [process.started for process in state.processes if process.kind == "vllm"]


@pytest.mark.parametrize("fallback", [True, False])
async def test_a_warning_names_the_embedded_engine_only_where_it_reads(fallback: bool) -> None:
    vllm = {"urls": ["http://127.0.0.1:9/v1"], "fallback": fallback}
    engine: dict[str, object] = {"name": "paddleocr-vl", "vllm": vllm}
    settings = load_settings(None, engine=engine, serving={"degradation": {"down_s": 1000.0}})
    parts = build_parts(settings)
    observatory = StateReader(parts.state_objects, settings, parts.metrics, Pdf(), lambda: 1000.0)
    parts.state_objects.degradation._move(3)
    (busy,) = [each for each in observatory.warnings() if each.code == "engine-busy"]
    assert "smaller images" in busy.detail
    assert ("ppocr instead of the model reads batches" in busy.detail) is fallback


async def test_a_service_that_is_not_started(tmp_path: Path) -> None:
    """A managed vLLM is not there yet; a breaker is open; and the environment is nobody's business."""
    managed = {"python": str(FakeVllm(tmp_path).python), "environment": {"HF_TOKEN": SECRET}, "max_num_seqs": 12}
    own: dict[str, object] = {
        "name": "paddleocr-vl",
        "vllm": {"managed": managed, "api_key": SECRET},
        "ppocr": {"workers": 2},
    }
    settings = load_settings(None, engine=own, cache={"redis_url": f"redis://:{SECRET}@localhost"})
    parts = build_parts(settings)
    observatory = StateReader(parts.state_objects, settings, parts.metrics, Pdf(), lambda: 1000.0)
    observatory.add_reasons(parts.readiness.known_reasons)
    observatory.add_reasons(lambda: ["it is Sunday"])
    observatory.watch_results(SendingRoom.of(settings.serving).limiter)
    assert parts.state_objects.breaker is not None
    parts.state_objects.breaker.trip("a GPU is too hot")
    state = observatory.state()
    named = [(each.kind, each.pid, each.started) for each in state.processes]
    assert named == [("gateway", os.getpid(), 1), ("pdf", 0, 4), ("vllm", 0, 1)]
    (replica,) = state.replicas
    assert replica.flags[replica.flags.index("--max-num-seqs") + 1] == "12"
    assert [(each.name, each.state, each.opened) for each in state.breakers] == [
        (parts.engine.name, "open", 1),
        ("redis", "closed", 0),
    ]
    assert [(queue.name, queue.limit) for queue in state.queues] == [("embedded", 4), ("pages", 16), ("calls", 16)]
    assert state.results == ResultsState(0, 256, 0, 256_000_000, 0)
    assert state.pdf == PdfJobs(workers=2, busy=1, waiting=3)
    assert state.machine is not None
    assert 0 < state.machine.memory_available_bytes < state.build.memory_bytes
    assert state.build.fell_back == ""
    assert state.reasons == (f"engine: {parts.engine.name} has not read its first page yet", "it is Sunday")
    (stopped,) = observatory.warnings()
    assert (stopped.code, stopped.remedy) == ("breaker-open", BY_NAME["breaker-open"].remedy)
    assert f"calls to {parts.engine.name} are stopped: a GPU is too hot; ppocr reads its pages" in stopped.detail
    disks = tuple(JobsDisk(use, "/secret", "ext4", free, 10**10) for use, free in (("database", 0), ("uploads", 10**9)))
    observatory.watch_jobs(lambda: JobsState("sqlite", disks=disks))
    full = observatory.warnings()[-1]
    assert (full.code, "0 MB for database)" in full.detail, "secret" in full.detail) == ("jobs-disk-full", True, False)
    observatory.watch_jobs(lambda: JobsState("sqlite", uploads_missing=2))
    missing = observatory.warnings()[-1]
    assert (missing.code, "2 uploads" in missing.detail) == ("uploads-missing", True)
    assert (state.cache, state.at, state.history) == (CacheState({"run": 0, "kept": 0, "joined": 0}), 1000.0, ())
    assert SECRET not in STATE.dump_json(state).decode()
