"""Checks that the gateway neither leaks nor loses responses: many chat completions with images, 32 at a time.

    python -m benchmarks.leak --requests 10000 --json FILE

Runs `inkgate serve` in front of a stub in its own process. Every request has a number that the stub returns, every
third is streamed, and every response is checked. The gateway's resident memory, open files and threads are read from
/proc while nothing is in flight: before, after each tenth of the requests, and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
import uvloop

from benchmarks.figures import write_json
from benchmarks.processes import free_port, inkgate_command, server

CLIENTS = 32
IMAGE_BYTES = 200_000
WARM_UP = 200
ANSWER_S = 60.0
SETTLE_S = 3.0
"""Longer than the gateway takes to return freed memory."""


@dataclass(frozen=True)
class ProcessSample:
    """State of the gateway's process while nothing is in flight."""

    answered: int
    resident_mb: float
    open_files: int
    threads: int


def look(process: int, answered: int) -> ProcessSample:
    status = Path(f"/proc/{process}/status").read_text()
    values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    files = len(list(Path(f"/proc/{process}/fd").iterdir()))
    return ProcessSample(
        answered, round(int(values["VmRSS"].removesuffix("kB")) / 1024, 1), files, int(values["Threads"])
    )


def body(number: int, image: str) -> bytes:
    """Request `number`, with an image of its own; every third is streamed."""
    url = f"data:image/jpeg;base64,{number:012d}{image[12:]}"
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "OCR:"}]
    message = {"role": "user", "content": content}
    request = {"model": "stub-model", "messages": [message], "user": f"#{number}", "stream": number % 3 == 0}
    return json.dumps(request).encode()


def said(answer: httpx.Response) -> str:
    """The text of a response; the reason if it has none."""
    if answer.status_code != 200:
        return f"status {answer.status_code}"
    if answer.headers["content-type"].startswith("text/event-stream"):
        events = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
        if not events or events[-1] != "[DONE]":
            return "a stream without an end"
        steps = [json.loads(event)["choices"][0]["delta"].get("content", "") for event in events[:-1]]
        return "".join(steps)
    return str(answer.json()["choices"][0]["message"]["content"])


async def ask(client: httpx.AsyncClient, numbers: Iterator[int], image: str, outcomes: Counter[str]) -> None:
    for number in numbers:
        try:
            answer = await client.post("/v1/chat/completions", content=body(number, image))
            text = said(answer)
        except httpx.HTTPError as error:
            text = type(error).__name__
        outcomes["right" if text == f"#{number}" else ("another's answer" if text.startswith("#") else text)] += 1


async def measure(url: str, process: int, requests: int) -> tuple[list[ProcessSample], Counter[str]]:
    image = base64.b64encode(random.Random(1).randbytes(IMAGE_BYTES * 3 // 4)).decode()
    outcomes: Counter[str] = Counter()
    headers = {"content-type": "application/json"}
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=ANSWER_S, trust_env=False) as client:

        async def batch(first: int, count: int, counted: Counter[str]) -> None:
            numbers = iter(range(first, first + count))
            await asyncio.gather(*(ask(client, numbers, image, counted) for _ in range(CLIENTS)))
            await asyncio.sleep(SETTLE_S)

        await batch(10**9, min(WARM_UP, requests), Counter())
        looks = [look(process, 0)]
        step = max(1, requests // 10)
        for first in range(0, requests, step):
            await batch(first, min(step, requests - first), outcomes)
            looks.append(look(process, sum(outcomes.values())))
            print(looks[-1], dict(outcomes), file=sys.stderr, flush=True)
    return looks, outcomes


def slope_mb(looks: list[ProcessSample]) -> float:
    """Growth in megabytes per 1,000 responses: the slope of a line fitted to the second half of the samples."""
    later = looks[len(looks) // 2 :]
    fit = statistics.linear_regression([seen.answered for seen in later], [seen.resident_mb for seen in later])
    return round(1000 * fit.slope, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    stub, port = free_port(), free_port()
    models = f"http://127.0.0.1:{stub}/v1"
    url = f"http://127.0.0.1:{port}"
    command = inkgate_command(port, "--engine", "paddleocr-vl", "--vllm-url", models)
    stub_command = [sys.executable, "-m", "benchmarks.stub_server", str(stub), "--echo"]
    with server(stub_command, f"{models}/models"), server(command, f"{url}/health") as gateway:
        started = time.perf_counter()
        looks, outcomes = uvloop.run(measure(url, gateway.pid, arguments.requests))
        seconds = time.perf_counter() - started
    print(f"{'answered':>9} {'resident MB':>12} {'open files':>11} {'threads':>8}")
    for seen in looks:
        print(f"{seen.answered:9} {seen.resident_mb:12} {seen.open_files:11} {seen.threads:8}")
    lost = arguments.requests - outcomes["right"]
    print(f"lost or wrong: {lost} of {arguments.requests} {dict(outcomes)}; MB per 1,000 answers: {slope_mb(looks)}")
    found = {
        "requests": arguments.requests,
        "at_once": CLIENTS,
        "image_bytes": IMAGE_BYTES,
        "seconds": round(seconds, 1),
        "outcomes": dict(outcomes),
        "lost_or_wrong": lost,
        "mb_per_1000_answers": slope_mb(looks),
        "looks": [asdict(seen) for seen in looks],
    }
    write_json(arguments.json, found)


if __name__ == "__main__":
    main()
