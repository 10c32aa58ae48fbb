"""Measures the overhead of gateways: the same chat completions directly to a stub, and through each gateway.

    python -m venv PEERS && PEERS/bin/pip install 'litellm[proxy]' vllm-router
    python benchmarks/gateway_cost.py --peers PEERS/bin --json FILE

Each target gets each body in a closed loop: one client for latency, sixteen for requests a second. Targets alternate in
rounds, so that a slow minute of the machine affects all. The load generator sends prepared requests over raw sockets;
its own cost is measured as `direct`.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import platform
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

HERE = Path(__file__).parent
BODIES = {"text": 0, "0.2 MB": 200_000, "1 MB": 1_000_000}
CLIENTS = 16


@dataclass
class Target:
    """A path to the stub, and its measurements: seconds by body."""

    name: str
    port: int
    latencies: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BODIES})
    rates: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in BODIES})


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def request_bytes(size: int, port: int) -> bytes:
    """A chat completion whose image has `size` bytes as base64; 0: text only."""
    content: list[dict[str, object]] = [{"type": "text", "text": "OCR:"}]
    if size:
        data = base64.b64encode(random.Random(size).randbytes(size * 3 // 4)).decode()
        content.insert(0, {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{data}"}})
    message = {"role": "user", "content": content}
    body = json.dumps({"model": "stub-model", "messages": [message], "temperature": 0, "max_tokens": 64}).encode()
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


async def relays(port: int) -> None:
    """Returns if the server answers a chat completion."""
    await client(port, request_bytes(0, port), time.perf_counter() + 10, 1)


@contextmanager
def running(
    name: str,
    port: int,
    command: Sequence[str],
    variables: Mapping[str, str] | None = None,
    ready: Callable[[int], Coroutine[None, None, None]] = relays,
) -> Iterator[None]:
    """A server, once `ready` returns; prints its output if it doesn't in time."""
    with tempfile.TemporaryFile() as log:
        environment = {key: value for key, value in os.environ.items() if not key.startswith("INKGATE_")}
        environment |= {"INKGATE_METRICS__PORT": "0", "INKGATE_UI__ENABLED": "false", **(variables or {})}
        with subprocess.Popen(command, stdout=log, stderr=log, env=environment) as process:
            try:
                until = time.monotonic() + 120
                while True:
                    try:
                        asyncio.run(ready(port))
                        break
                    except (OSError, RuntimeError, asyncio.IncompleteReadError) as error:
                        if process.poll() is not None or time.monotonic() > until:
                            log.seek(0)
                            text = log.read()[-3000:].decode(errors="replace")
                            raise SystemExit(f"{name} did not start: {error}\n{text}") from error
                        time.sleep(0.3)
                yield
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


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
        targets = [Target("direct", stub)]
        stack.enter_context(running("the stub", stub, [sys.executable, str(HERE / "stub_model_server.py"), str(stub)]))

        def add(name: str, *command: str, **variables: str) -> None:
            port = free_port()
            filled = [word.replace("PORT", str(port)) for word in command]
            stack.enter_context(running(name, port, filled, variables))
            targets.append(Target(name, port))

        add("copying bytes", sys.executable, str(HERE / "byte_proxy.py"), "PORT", str(stub))
        flags = ["serve", "--port", "PORT", "--engine", "paddleocr-vl", "--vllm-url", f"{url}/v1"]
        add("inkgate", sys.executable, "-m", "inkgate", *flags, INKGATE_LOG__FORMAT="json")
        if arguments.peers:
            config = Path(folder) / "litellm.yaml"
            config.write_text(
                "model_list:\n  - model_name: stub-model\n    litellm_params:\n      model: openai/stub-model\n"
                f"      api_base: {url}/v1\n      api_key: none\n"
            )
            peers = arguments.peers
            flags = ["--config", str(config), "--port", "PORT", "--host", "127.0.0.1"]
            open_to_all = {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
            add("LiteLLM", str(peers / "litellm"), *flags, **open_to_all)
            add(
                "vllm-router", str(peers / "vllm-router"), "--worker-urls", url, "--port", "PORT", "--host", "127.0.0.1"
            )
        uvloop.run(measure(targets, arguments.rounds, arguments.seconds))
    rows = report(targets)
    print(f"{'body':8} {'target':14} {'p50 ms':>8} {'p99 ms':>8} {'added p50':>10} {'added p99':>10} {'req/s':>9}")
    for row in rows:
        print(
            f"{row['body']:8} {row['target']:14} {row['p50_ms']:8} {row['p99_ms']:8} {row['added_p50_ms']:10} "
            f"{row['added_p99_ms']:10} {row['requests_per_s']:9}"
        )
    if arguments.json:
        machine = {"processor": platform.processor(), "cores": os.cpu_count(), "python": platform.python_version()}
        arguments.json.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
