"""What measuring costs: the same requests to two services, one of which measures itself.

    python -m benchmarks.telemetry_cost --json FILE

Processor time of the service for a request, since that is what bounds its throughput and other programs don't disturb
it: chat completions passed on to a stub, and pages that come from the cache. Both are the cheapest of their kind, so
that this is the largest share that measuring can have. The two take turns; the ratio is of each pair of turns. Then
what a scrape costs, and what the events of a request cost alone, without any service.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import io
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import uvloop
from PIL import Image

from benchmarks.gateway_cost import answered, request_bytes
from benchmarks.processes import free_port, running
from inkgate.telemetry.metrics import Metrics, ModelName
from inkgate.types import PageResult, Task

HERE = Path(__file__).parent
CLIENTS = 8
SCRAPE_S = 5.0
START_S = 120.0


@dataclass
class Service:
    """One of the two.

    Attributes:
        metrics_url: None where it measures nothing.
        spent_s: processor seconds a request, by kind and turn.
        scrapes_s: processor seconds of each time that its metrics were fetched.
    """

    name: str
    port: int
    process: subprocess.Popen[bytes]
    metrics_url: str | None
    spent_s: dict[str, list[float]] = field(default_factory=dict)
    scrapes_s: list[float] = field(default_factory=list)

    def cpu_s(self) -> float:
        """Of all its threads, by the kernel's scheduler, in nanoseconds: psutil's has steps of 10 ms."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def page_bytes(port: int) -> bytes:
    """A request for a page, a small image that is blank: no model is asked for it."""
    encoded = io.BytesIO()
    Image.new("L", (600, 200), "white").save(encoded, "PNG")
    body = json.dumps({"image": base64.b64encode(encoded.getvalue()).decode()}).encode()
    head = (
        f"POST /ocr HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def ask(port: int, request: bytes, count: int) -> None:
    """So many requests, from `CLIENTS` connections."""
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


async def scrape(service: Service, client: httpx.AsyncClient) -> None:
    """Fetches the metrics once, as Prometheus does."""
    if service.metrics_url is not None:
        before = service.cpu_s()
        (await client.get(service.metrics_url)).raise_for_status()
        service.scrapes_s.append(service.cpu_s() - before)


async def measure(services: list[Service], rounds: int, requests: int) -> None:
    client = httpx.AsyncClient(trust_env=False)
    for number in range(rounds + 1):
        turns = services if number % 2 else services[::-1]
        for kind in ("chat", "page from the cache"):
            for service in turns:
                request = request_bytes(0, service.port) if kind == "chat" else page_bytes(service.port)
                before = service.cpu_s()
                await ask(service.port, request, requests)
                if number:  # the first round warms up
                    service.spent_s.setdefault(kind, []).append((service.cpu_s() - before) / requests)
        for each in services:
            await scrape(each, client)
    await client.aclose()


@contextmanager
def service(name: str, stub: int, folder: Path, **variables: str) -> Iterator[Service]:
    """A service before the stub, ready."""
    port = free_port()
    log = folder / f"{name}.log"
    flags = ["--port", str(port), "--engine", "paddleocr-vl", "--vllm-url", f"http://127.0.0.1:{stub}/v1"]
    command = [sys.executable, "-m", "inkgate", "serve", *flags]
    quiet = {"INKGATE_LOG__FORMAT": "json", "INKGATE_UI__ENABLED": "false"}
    with running(command, log, quiet | variables) as process:
        until = time.monotonic() + START_S
        while "ready" not in (events := _events(log)):
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"{name} did not start:\n{log.read_text()[-3000:]}")
            time.sleep(0.3)
        url = events.get("metrics_served", {}).get("url")
        yield Service(name, port, process, None if url is None else str(url))


def _events(log: Path) -> dict[str, dict[str, object]]:
    lines = [line for line in log.read_text().splitlines() if line.startswith("{") and line.endswith("}")]
    return {str(event["event"]): event for event in map(json.loads, lines)}


def event_costs(repeats: int = 5, count: int = 20_000) -> dict[str, float]:
    """Microseconds that the events of one request take: the best of `repeats`."""
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

    return {"chat": best(chat), "document of one page": best(read)}


def report(on: Service, off: Service) -> list[dict[str, object]]:
    """A row for each kind of request. `share`: the median of each turn's ratio, less one."""
    rows: list[dict[str, object]] = []
    for kind, spent in on.spent_s.items():
        ratios = [mine / other for mine, other in zip(spent, off.spent_s[kind], strict=True)]
        rows.append(
            {
                "request": kind,
                "on_us": round(1e6 * statistics.median(spent)),
                "off_us": round(1e6 * statistics.median(off.spent_s[kind])),
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
    arguments = parser.parse_args()
    events = event_costs()
    stub = free_port()
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "stub.log"
        stack.enter_context(running([sys.executable, str(HERE / "stub_model_server.py"), str(stub)], log, {}))
        on = stack.enter_context(service("on", stub, Path(folder)))
        off = stack.enter_context(service("off", stub, Path(folder), INKGATE_METRICS__ENABLED="false"))
        uvloop.run(measure([on, off], arguments.rounds, arguments.requests))
    rows = report(on, off)
    print(f"{'request':22} {'on µs':>8} {'off µs':>8} {'share %':>8}  quartiles %")
    for row in rows:
        quartiles = row["quartiles_percent"]
        print(f"{row['request']:22} {row['on_us']:8} {row['off_us']:8} {row['share_percent']:8}  {quartiles}")
    scrape_s = statistics.median(on.scrapes_s)
    print(
        f"a scrape: {1000 * scrape_s:.1f} ms, {100 * scrape_s / SCRAPE_S:.2f} % of a core where there is one every 5 s"
    )
    for name, microseconds in events.items():
        print(f"events of a {name}: {microseconds} µs")
    if arguments.json:
        machine = {"processor": platform.processor(), "cores": os.cpu_count(), "python": platform.python_version()}
        arguments.json.write_text(
            json.dumps({"machine": machine, "rows": rows, "events_us": events, "scrape_ms": 1000 * scrape_s}, indent=2)
        )


if __name__ == "__main__":
    main()
