"""Polls /readyz every second under ten times the service's capacity.

    python -m benchmarks.readiness [--vllm] [--seconds 60] [--json FILE]

Measures the capacity with a closed loop of four clients, then sends pages at ten times that rate in an open loop. A
separate process polls /readyz, so that the load does not distort its times. `--vllm`: inkgate in front of a real vLLM
with the tests' tiny model (scripts/setup_vllm), instead of the embedded engine. Prints the count of each status, and
the longest response time.
"""

from __future__ import annotations

import argparse
import io
import json
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from multiprocessing.connection import Connection
from pathlib import Path
from time import perf_counter

import anyio
import httpx
from PIL import Image, ImageDraw, ImageFont

from benchmarks.overload.systems import gateway_command, vllm_process, wait_until_up
from benchmarks.processes import free_port, running

_LOAD = 10
_HEADERS = {"content-type": "multipart/form-data; boundary=page"}
_PART = b'--page\r\nContent-Disposition: form-data; name="file"; filename="page.png"\r\n\r\n%b\r\n--page--\r\n'
_FONT = ImageFont.load_default(size=28)


@dataclass
class PollResult:
    """Responses of /readyz: statuses, reasons and seconds. `pages`: statuses of the pages sent in `load_s` seconds."""

    statuses: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    pages: Counter[str] = field(default_factory=Counter)
    load_s: float = 0.0


def body(number: int) -> bytes:
    """A form with a page that shows its number."""
    image = Image.new("RGB", (640, 160), "white")
    ImageDraw.Draw(image).text((20, 60), f"Page number {number}", fill="black", font=_FONT)
    file = io.BytesIO()
    image.save(file, "PNG")
    return _PART % file.getvalue()


async def send(client: httpx.AsyncClient, form: bytes, found: PollResult) -> None:
    try:
        answer = await client.post("/ocr", content=form, headers=_HEADERS)
        found.pages[str(answer.status_code)] += 1
    except httpx.HTTPError as error:
        found.pages[type(error).__name__] += 1


async def capacity(client: httpx.AsyncClient, forms: Iterator[bytes], seconds: float) -> float:
    """Pages a second of a closed loop of four clients."""
    ends, found = perf_counter() + seconds, PollResult()

    async def one() -> None:
        while perf_counter() < ends:
            await send(client, next(forms), found)

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(one)
    return max(found.pages["200"] / seconds, 0.1)


def poll(url: str, results: Connection) -> None:
    """Polls /readyz every second until stopped, then sends the results. Runs in its own process."""
    found = PollResult()
    with httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        while not results.poll():
            began = perf_counter()
            try:
                answer = client.get("/readyz")
                found.statuses[str(answer.status_code)] += 1
                found.reasons.update(answer.json()["reasons"])
            except httpx.HTTPError as error:
                found.statuses[type(error).__name__] += 1
            found.seconds.append(perf_counter() - began)
            results.poll(max(0.0, 1.0 - (perf_counter() - began)))
    results.send(found)


@contextmanager
def polled(url: str) -> Iterator[PollResult]:
    """Polls /readyz inside the block; the results are complete after it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=poll, args=(url, theirs))
    process.start()
    found = PollResult()
    try:
        yield found
    finally:
        ours.send(None)
        heard = ours.recv()
        found.statuses, found.reasons, found.seconds = heard.statuses, heard.reasons, heard.seconds
        process.join(30)


async def measure(url: str, seconds: float) -> tuple[float, PollResult]:
    """The capacity in pages a second, and the responses of /readyz at ten times that."""
    forms = cycle([body(number) for number in range(50)])
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=limits) as client:
        rate = await capacity(client, forms, min(20.0, seconds))
        with polled(url) as found:
            async with anyio.create_task_group() as tasks:
                began = perf_counter()
                for arrival in range(round(_LOAD * rate * seconds)):
                    await anyio.sleep(max(0.0, began + arrival / (_LOAD * rate) - perf_counter()))
                    tasks.start_soon(send, client, next(forms), found)
                found.load_s = perf_counter() - began
                tasks.cancel_scope.cancel()
    return rate, found


@contextmanager
def service(vllm: bool) -> Iterator[str]:
    """A ready service; `vllm`: in front of a real vLLM, which is started too."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        command = [sys.executable, "-m", "inkgate", "serve", "--port", str(port)]
        variables = {"INKGATE_LOG__LEVEL": "warning", "INKGATE_CACHE__ENABLED": "false"}
        if vllm:
            own = free_port()
            stack.enter_context(vllm_process(own, ["--max-num-seqs", "16"], folder, kv_blocks=None))
            command, more = gateway_command(port, f"http://127.0.0.1:{own}/v1")
            variables |= more
        url = f"http://127.0.0.1:{port}"
        process = stack.enter_context(running(command, folder / "service.log", variables))
        wait_until_up(f"{url}/readyz", process, folder / "service.log")
        yield url


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vllm", action="store_true", help="in front of a real vLLM with the tests' tiny model")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the load (default: 60)")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    asked = parser.parse_args()
    with service(asked.vllm) as url:
        rate, found = anyio.run(measure, url, asked.seconds)
    result = {
        "engine": "vllm" if asked.vllm else "ppocr",
        "capacity_pages_per_s": round(rate, 2),
        "offered_pages_per_s": round(_LOAD * rate, 2),
        "load_s": round(found.load_s, 1),
        "readyz": dict(found.statuses),
        "reasons": dict(found.reasons),
        "longest_answer_s": round(max(found.seconds, default=0.0), 3),
        "pages": dict(found.pages),
    }
    for name, value in result.items():
        print(f"{name:22} {value}")
    if asked.json is not None:
        asked.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
