"""Measures the overhead of gateways: the same chat completions directly to a stub, and through each gateway.

    python -m venv PEERS && PEERS/bin/pip install 'litellm[proxy]' vllm-router
    python -m benchmarks.gateway_cost --peers PEERS/bin --json FILE

Each target gets each body in a closed loop: one client for latency, sixteen for requests a second. Targets alternate in
rounds, so that a slow minute of the machine affects all. The load generator sends prepared requests over raw sockets;
its own cost is measured as `direct`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import random
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from benchmarks.figures import quantile, write_json
from benchmarks.processes import LITELLM_OPEN, free_port, inkgate_command, litellm_config, server

BODIES = {"text": 0, "0.2 MB": 200_000, "1 MB": 1_000_000}
CLIENTS = 16


@dataclass
class Target:
    """A path to the stub, and its measurements: seconds by body."""

    name: str
    port: int
    latencies: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BODIES})
    rates: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BODIES})


def chat(size: int) -> dict[str, object]:
    """A chat completion whose image has `size` bytes as base64; 0: text only."""
    content: list[dict[str, object]] = [{"type": "text", "text": "OCR:"}]
    if size:
        data = base64.b64encode(random.Random(size).randbytes(size * 3 // 4)).decode()
        content.insert(0, {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}})
    message = {"role": "user", "content": content}
    return {"model": "stub-model", "messages": [message], "temperature": 0, "max_tokens": 64}


def request_bytes(size: int, port: int) -> bytes:
    body = json.dumps(chat(size)).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer none\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def answered(reader: asyncio.StreamReader) -> bytes:
    """Returns the body of one response.

    Raises:
        RuntimeError: its status is not 200.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    headers = dict(line.split(b": ", 1) for line in head.lower().split(b"\r\n")[1:] if b": " in line)
    if b"content-length" in headers:
        body = await reader.readexactly(int(headers[b"content-length"]))
    else:
        body = b""
        while size := int(await reader.readline(), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readexactly(2)
    if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError((head + body)[:600].decode(errors="replace"))
    return body


async def client(port: int, request: bytes, until: float, count: int) -> list[float]:
    """Latencies of consecutive requests, up to that time or number."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    taken: list[float] = []
    while time.perf_counter() < until and len(taken) < count:
        started = time.perf_counter()
        writer.write(request)
        body = await answered(reader)
        taken.append(time.perf_counter() - started)
        if b"Invoice number 20417" not in body:
            raise RuntimeError(f"a wrong answer: {body[:300]!r}")
    writer.close()
    return taken


async def measure(targets: list[Target], rounds: int, seconds: float) -> None:
    for number in range(rounds + 1):
        for body, size in BODIES.items():
            for target in targets:
                request = request_bytes(size, target.port)
                await client(target.port, request, time.perf_counter() + 10, 20)
                alone = await client(target.port, request, time.perf_counter() + seconds, 10**9)
                started = time.perf_counter()
                ends = started + seconds
                done = await asyncio.gather(*(client(target.port, request, ends, 10**9) for _ in range(CLIENTS)))
                rate = sum(map(len, done)) / (time.perf_counter() - started)
                if number:  # the first round is a warm-up
                    target.latencies[body] += alone
                    target.rates[body].append(rate)
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)


def report(targets: list[Target]) -> list[dict[str, object]]:
    """One row for each target and body; `added`: the difference to `direct`."""
    direct = next(target for target in targets if target.name == "direct")
    rows: list[dict[str, object]] = []
    for body in BODIES:
        for target in targets:
            taken, base = target.latencies[body], direct.latencies[body]
            rows.append(
                {
                    "body": body,
                    "target": target.name,
                    "p50_ms": round(1000 * quantile(taken, 0.5), 2),
                    "p99_ms": round(1000 * quantile(taken, 0.99), 2),
                    "added_p50_ms": round(1000 * (quantile(taken, 0.5) - quantile(base, 0.5)), 2),
                    "added_p99_ms": round(1000 * (quantile(taken, 0.99) - quantile(base, 0.99)), 2),
                    "requests_per_s": round(sum(target.rates[body]) / len(target.rates[body]), 1),
                    "requests": len(taken),
                }
            )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=Path, help="folder of the programs `litellm` and `vllm-router`")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    stub = free_port()
    url = f"http://127.0.0.1:{stub}"
    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        targets: list[Target] = []

        def add(name: str, port: int, *command: str, **variables: str) -> None:
            address = f"http://127.0.0.1:{port}/v1/chat/completions"
            stack.enter_context(server(command, address, variables, body=chat(0)))
            targets.append(Target(name, port))

        add("direct", stub, sys.executable, "-m", "benchmarks.stub_server", str(stub))
        port = free_port()
        add("copying bytes", port, sys.executable, "-m", "benchmarks.byte_proxy", str(port), str(stub))
        port = free_port()
        flags = ("--engine", "paddleocr-vl", "--vllm-url", f"{url}/v1")
        add("inkgate", port, *inkgate_command(port, *flags), INKGATE_LOG__FORMAT="json")
        if arguments.peers:
            config = litellm_config(Path(folder), "stub-model", f"{url}/v1")
            for name, own, variables in (
                ("LiteLLM", ("--config", str(config)), LITELLM_OPEN),
                ("vllm-router", ("--worker-urls", url), {}),
            ):
                port = free_port()
                program = str(arguments.peers / name.lower())
                add(name, port, program, *own, "--port", str(port), "--host", "127.0.0.1", **variables)
        uvloop.run(measure(targets, arguments.rounds, arguments.seconds))
    rows = report(targets)
    print(f"{'body':8} {'target':14} {'p50 ms':>8} {'p99 ms':>8} {'added p50':>10} {'added p99':>10} {'req/s':>9}")
    for row in rows:
        print(
            f"{row['body']:8} {row['target']:14} {row['p50_ms']:8} {row['p99_ms']:8} {row['added_p50_ms']:10} "
            f"{row['added_p99_ms']:10} {row['requests_per_s']:9}"
        )
    write_json(arguments.json, {"rows": rows})


if __name__ == "__main__":
    main()
