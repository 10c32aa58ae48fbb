"""Measures the overhead of telemetry: the same requests to two services, one of them with metrics.

    python -m benchmarks.telemetry_cost --json FILE

Measures the service's CPU time per request, which bounds its throughput and is least disturbed by other programs, for
chat completions passed on to a stub and for cached pages. Both are the cheapest of their kind, so that this is the
largest share that telemetry can have. Both services are in one process, since two processes of the same program differ
by more than the measured overhead. They alternate; ratios are within each pair. Also measures the cost of a scrape, and
of a request's events without a service, which other programs disturb least: their share is of the request without
metrics.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import platform
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import httpx
import uvicorn
import uvloop
from PIL import Image
from starlette.types import Receive, Scope, Send

from benchmarks.gateway_cost import answered, request_bytes
from benchmarks.processes import free_port, running
from inkgate import bootstrap
from inkgate.api.app import create_app
from inkgate.api.http import metrics_server
from inkgate.runtimes.memory import freeze_gc
from inkgate.settings import load_settings
from inkgate.telemetry.logs import configure_logs
from inkgate.telemetry.metrics import Metrics, ModelName
from inkgate.telemetry.state_collector import StateCollector
from inkgate.types import PageResult, Task

HERE = Path(__file__).parent
CLIENTS = 8
SCRAPE_S = 5.0
START_S = 120.0
WARM_UP = 3


@dataclass
class Service:
    """One of the two.

    Attributes:
        spent_s: processor seconds a request, by kind and turn.
    """

    port: int
    spent_s: dict[str, list[float]] = field(default_factory=dict)


@dataclass
class ServicePair:
    """The process of both services, and the address for scrapes of the one with metrics.

    Attributes:
        scrapes_s: CPU seconds of each scrape.
    """

    pid: int
    on: Service
    off: Service
    metrics_url: str
    scrapes_s: list[float] = field(default_factory=list)

    def cpu_s(self) -> float:
        """CPU time of all threads of the process, from the kernel's scheduler statistics."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def page_bytes(port: int) -> bytes:
    """A request with a small blank image, for which no model runs."""
    encoded = io.BytesIO()
    Image.new("L", (600, 200), "white").save(encoded, "PNG")
    body = json.dumps({"image": base64.b64encode(encoded.getvalue()).decode()}).encode()
    head = (
        f"POST /ocr HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def ask(port: int, request: bytes, count: int) -> None:
    """Sends that many requests over `CLIENTS` connections."""
    left = count

    async def client() -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
        while left > 0:
            left -= 1
            writer.write(request)
            await answered(reader)
        writer.close()

    await asyncio.gather(*(client() for _ in range(CLIENTS)))


async def scrape(both: ServicePair, client: httpx.AsyncClient) -> None:
    """Fetches the metrics once, like Prometheus."""
    before = both.cpu_s()
    (await client.get(both.metrics_url)).raise_for_status()
    both.scrapes_s.append(both.cpu_s() - before)


async def measure(both: ServicePair, rounds: int, requests: int) -> None:
    async with httpx.AsyncClient(trust_env=False) as client:
        for number in range(-WARM_UP, rounds):
            turns = [both.on, both.off] if number % 2 else [both.off, both.on]
            for kind in ("chat", "page from the cache"):
                for service in turns:
                    request = request_bytes(0, service.port) if kind == "chat" else page_bytes(service.port)
                    before = both.cpu_s()
                    await ask(service.port, request, requests)
                    if number >= 0:
                        service.spent_s.setdefault(kind, []).append((both.cpu_s() - before) / requests)
            await scrape(both, client)


async def serve_both(stub: int) -> None:
    """Runs two services in front of the stub until the process ends. Prints their addresses as JSON."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [int(listener.getsockname()[1]) for listener in listeners]
    engine: dict[str, object] = {"name": "paddleocr-vl", "vllm": {"urls": (f"http://127.0.0.1:{stub}/v1",)}}
    measured, silent = (
        load_settings(None, engine=engine, metrics={"enabled": enabled, "port": 0}, log={"format": "json"})
        for enabled in (True, False)
    )
    configure_logs(measured.log)
    async with bootstrap.running(measured) as on, bootstrap.running(silent) as off:
        apps = {ports[0]: create_app(on, measured), ports[1]: create_app(off, silent)}

        async def by_port(scope: Scope, receive: Receive, send: Send) -> None:
            await apps[scope["server"][1]](scope, receive, send)

        collectors = (on.metrics, StateCollector(on.observatory.measured))
        freeze_gc()
        async with metrics_server.serve_metrics(measured.metrics, collectors) as url:
            print(json.dumps({"ports": ports, "metrics_url": url}), flush=True)
            config = uvicorn.Config(
                by_port, loop="none", http="httptools", lifespan="off", log_config=None, access_log=False
            )
            await uvicorn.Server(config).serve(listeners)


@contextmanager
def both_before(stub: int, folder: Path) -> Iterator[ServicePair]:
    """Both services, ready."""
    log = folder / "services.log"
    with running([sys.executable, "-m", "benchmarks.telemetry_cost", "--serve", str(stub)], log, {}) as process:
        until = time.monotonic() + START_S
        while not (ready := [line for line in log.read_text().splitlines() if line.startswith('{"ports"')]):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"the services did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.3)
        where = json.loads(ready[0])
        on, off = (Service(port) for port in where["ports"])
        yield ServicePair(process.pid, on, off, where["metrics_url"])


def event_costs(repeats: int = 5, count: int = 20_000) -> dict[str, float]:
    """Microseconds of the events of one request by its kind: the best of `repeats`. For a page from the cache, this is
    an upper bound: the events of a page that a model reads.
    """
    metrics = Metrics()
    metrics.reads_with("vl", {"vl": ModelName("VL", "vllm")})
    page = PageResult(
        0, engine="vl", timings_ms=dict.fromkeys(("render", "layout", "encode", "generate", "parse"), 9.0)
    )

    def chat() -> None:
        metrics.stage("receive", 0.001)
        metrics.upload(100_000)
        metrics.stage("wait", 0.001)
        metrics.tokens(1000, 200)
        metrics.request("POST", "/v1/chat/completions", 200, 0.7)

    def read() -> None:
        for stage in ("receive", "open", "open", "wait", "engine", "assemble"):
            metrics.stage(stage, 0.001)
        metrics.upload(100_000)
        metrics.page(page, Task(), 0.7)
        metrics.request("POST", "/ocr", 200, 0.7)

    def best(events: Callable[[], None]) -> float:
        taken = []
        for _ in range(repeats):
            began = time.process_time()
            for _ in range(count):
                events()
            taken.append((time.process_time() - began) / count * 1e6)
        return round(min(taken), 1)

    return {"chat": best(chat), "page from the cache": best(read)}


def report(both: ServicePair, events: dict[str, float]) -> list[dict[str, object]]:
    """A row for each kind of request. `share_percent`: the median ratio minus one. `events_percent`: the share of its
    events, measured alone, in the request without metrics.
    """
    rows: list[dict[str, object]] = []
    for kind, spent in both.on.spent_s.items():
        ratios = [mine / other for mine, other in zip(spent, both.off.spent_s[kind], strict=True)]
        off_us = 1e6 * statistics.median(both.off.spent_s[kind])
        rows.append(
            {
                "request": kind,
                "on_us": round(1e6 * statistics.median(spent)),
                "off_us": round(off_us),
                "events_us": events[kind],
                "events_percent": round(100 * events[kind] / off_us, 2),
                "share_percent": round(100 * (statistics.median(ratios) - 1), 2),
                "quartiles_percent": [round(100 * (share - 1), 1) for share in statistics.quantiles(ratios, n=4)[::2]],
                "turns": len(ratios),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--requests", type=int, default=200)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve", type=int, metavar="STUB", help="run both services in front of the stub on that port")
    arguments = parser.parse_args()
    if arguments.serve:
        anyio.run(serve_both, arguments.serve, backend_options={"use_uvloop": True})
        return
    events = event_costs()
    stub = free_port()
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "stub.log"
        stack.enter_context(running([sys.executable, str(HERE / "stub_model_server.py"), str(stub)], log, {}))
        both = stack.enter_context(both_before(stub, Path(folder)))
        uvloop.run(measure(both, arguments.rounds, arguments.requests))
    rows = report(both, events)
    print(f"{'request':22} {'on µs':>8} {'off µs':>8} {'share %':>8} {'events µs':>10} {'share %':>8}  quartiles %")
    for row in rows:
        quartiles = row["quartiles_percent"]
        alone = f"{row['events_us']:10} {row['events_percent']:8}"
        print(f"{row['request']:22} {row['on_us']:8} {row['off_us']:8} {row['share_percent']:8} {alone}  {quartiles}")
    scrape_s = statistics.median(both.scrapes_s)
    print(
        f"a scrape: {1000 * scrape_s:.1f} ms, {100 * scrape_s / SCRAPE_S:.2f} % of a core where there is one every 5 s"
    )
    if arguments.json:
        machine = {"processor": platform.processor(), "cores": os.cpu_count(), "python": platform.python_version()}
        arguments.json.write_text(
            json.dumps({"machine": machine, "rows": rows, "scrape_ms": 1000 * scrape_s}, indent=2)
        )


if __name__ == "__main__":
    main()
