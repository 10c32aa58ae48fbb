"""Compares this checkout with another one: requests a second and latencies, interleaved in one run.

    git worktree add ../before COMMIT
    python -m benchmarks.before_after ../before --json FILE

Measures a text chat and a chat with an image of 0.2 MB, relayed to a stub, and a page read by the embedded engine
without cache. Both services run all the time; they take turns, first one, then the other, and in the next round the
other way round. Ratios are of one round each: after / before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from benchmarks.gateway_cost import HERE, answered, free_port, quantile, request_bytes, running

ROOT = HERE.parent
CLIENTS = {"text chat": 16, "0.2 MB chat": 16, "page": 2}


@dataclass
class Version:
    """A checkout with its two services, and what was measured: by kind, one value for each round."""

    name: str
    relay: int
    reader: int
    rates: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in CLIENTS})
    latencies: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in CLIENTS})
    p99s: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in CLIENTS})

    def request(self, kind: str) -> tuple[int, bytes]:
        """The port and the bytes of a request."""
        if kind == "page":
            return self.reader, page_request(self.reader)
        return self.relay, request_bytes(200_000 if kind == "0.2 MB chat" else 0, self.relay)


def page_request(port: int) -> bytes:
    """POST /ocr of an example page as a form."""
    image = (ROOT / "examples" / "report.png").read_bytes()
    body = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.png"\r\n\r\n' + image + b"\r\n--b--\r\n"
    head = (
        f"POST /ocr HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: multipart/form-data; boundary=b\r\n"
        f"x-inkgate-priority: interactive\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def client(port: int, request: bytes, until: float, least: int = 1) -> list[float]:
    """Latencies of consecutive requests until that time, but at least `least`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    taken: list[float] = []
    while time.perf_counter() < until or len(taken) < least:
        started = time.perf_counter()
        writer.write(request)
        await answered(reader)
        taken.append(time.perf_counter() - started)
    writer.close()
    return taken


async def reads_pages(port: int) -> None:
    """Returns if the server reads a page."""
    await client(port, page_request(port), 0.0)


async def measure(versions: list[Version], rounds: int, seconds: float) -> None:
    for number in range(rounds + 1):
        for kind, clients in CLIENTS.items():
            for version in versions if number % 2 else versions[::-1]:
                port, request = version.request(kind)
                started = time.perf_counter()
                ends = started + seconds * (4 if kind == "page" else 1)
                done = await asyncio.gather(*(client(port, request, ends) for _ in range(clients)))
                taken = [each for one in done for each in one]
                if number:  # the first round is a warm-up
                    version.rates[kind].append(len(taken) / (time.perf_counter() - started))
                    version.latencies[kind] += taken
                    version.p99s[kind].append(quantile(taken, 0.99))
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)


def rows(before: Version, after: Version) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    for kind in CLIENTS:
        of: Callable[[Version], list[float]]
        for what, of, unit in (
            ("requests/s", lambda version, kind=kind: version.rates[kind], 1.0),
            ("p99 ms", lambda version, kind=kind: version.p99s[kind], 1000.0),
        ):
            ratios = [a / b for a, b in zip(of(after), of(before), strict=True)]
            found.append(
                {
                    "request": kind,
                    "value": what,
                    "before": round(unit * statistics.median(of(before)), 2),
                    "after": round(unit * statistics.median(of(after)), 2),
                    "ratio": round(statistics.median(ratios), 3),
                    "least": round(min(ratios), 3),
                    "most": round(max(ratios), 3),
                }
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, help="checkout to compare with; needs no environment of its own")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    stub = free_port()
    with ExitStack() as stack:
        stack.enter_context(running("the stub", stub, [sys.executable, str(HERE / "stub_model_server.py"), str(stub)]))
        versions = []
        for name, folder in {"before": asked.before.resolve(), "after": ROOT}.items():
            relay, reader = free_port(), free_port()
            shared = {
                "PYTHONPATH": str(folder / "src"),
                "INKGATE_LOG__FORMAT": "json",
                "INKGATE_CACHE__ENABLED": "false",
            }
            serve = [sys.executable, "-m", "inkgate", "serve", "--port"]
            flags = ["--engine", "paddleocr-vl", "--vllm-url", f"http://127.0.0.1:{stub}/v1"]
            stack.enter_context(running(name, relay, [*serve, str(relay), *flags], shared))
            stack.enter_context(running(name, reader, [*serve, str(reader)], shared, reads_pages))
            versions.append(Version(name, relay, reader))
        uvloop.run(measure(versions, asked.rounds, asked.seconds))
    table = rows(*versions)
    print(f"{'request':12} {'value':11} {'before':>9} {'after':>9} {'ratio':>7} {'least':>7} {'most':>7}")
    for row in table:
        print(f"{row['request']:12} {row['value']:11} {row['before']:9} {row['after']:9} ", end="")
        print(f"{row['ratio']:7} {row['least']:7} {row['most']:7}")
    if asked.json:
        asked.json.write_text(json.dumps({"cores": os.cpu_count(), "rounds": asked.rounds, "rows": table}, indent=2))


if __name__ == "__main__":
    main()
