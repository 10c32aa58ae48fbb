"""Compares vLLM with transformers in the process: the same model, pages and gateway.

    make test-servers
    python benchmarks/transformers_vs_vllm.py --json FILE

The model is the tiny PaddleOCR-VL of tests/models. The pages are different rendered lines, so that no result is cached.
Each engine runs alone behind `inkgate serve`, gets some warm-up pages, and then the same pages from 1, 4 and 16 clients
in a closed loop; engines alternate in rounds. Both choose their number of threads. Run it on an idle machine: if other
programs use a core, the model's threads wait for each other, and the numbers are meaningless.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import io
import json
import os
import platform
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "models"))
from lines import LONGEST, random_line, render  # noqa: E402 - found by the line above

CLIENTS = (1, 4, 16)
MODEL = ROOT / "tests" / "models" / "tiny-paddleocr-vl"
START_S = 300.0
COMMON = {
    "PYTHONPATH": str(ROOT / "src"),
    "HF_HUB_OFFLINE": "1",
    "INKGATE_ENGINE__VLLM__PRESET_FOLDER": str(ROOT / "tests" / "models" / "presets"),
    "INKGATE_ENGINE__VLLM__JPEG_QUALITY": "0",
    "INKGATE_ENGINE__VLLM__FALLBACK": "false",
    "INKGATE_LOG__FORMAT": "json",
    "INKGATE_METRICS__PORT": "0",
    "INKGATE_UI__ENABLED": "false",
    "INKGATE_LOG__LEVEL": "warning",
}
VLLM_ENVIRONMENT = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1"}


@dataclass
class EngineResult:
    """Results of an engine: pages a second and seconds a page by number of clients, and exactly read pages."""

    name: str
    settings: dict[str, str]
    rates: dict[int, list[float]] = field(default_factory=lambda: {clients: [] for clients in CLIENTS})
    latencies: dict[int, list[float]] = field(default_factory=lambda: {clients: [] for clients in CLIENTS})
    pages: int = 0
    exact: int = 0


@dataclass(frozen=True)
class Line:
    """A page: its text and its request."""

    text: str
    body: bytes


def engines(python: Path, threads: int = 0) -> list[EngineResult]:
    """The baseline with that many threads (0: one for each core), and vLLM."""
    vllm = {
        "INKGATE_ENGINE__VLLM__PRESET": MODEL.name,
        "INKGATE_ENGINE__VLLM__MANAGED__PYTHON": str(python),
        "INKGATE_ENGINE__VLLM__MANAGED__MODEL": str(MODEL),
        "INKGATE_ENGINE__VLLM__MANAGED__ENVIRONMENT": json.dumps(VLLM_ENVIRONMENT),
    }
    transformers = {
        "INKGATE_ENGINE__TRANSFORMERS__PRESET": MODEL.name,
        "INKGATE_ENGINE__TRANSFORMERS__MODEL": str(MODEL),
        "INKGATE_ENGINE__TRANSFORMERS__THREADS": str(threads),
    }
    return [EngineResult("transformers", transformers), EngineResult("vllm", vllm)]


def lines(count: int, seed: int) -> list[Line]:
    """Requests with random lines of 10 to 32 characters."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        text = random_line(rng, rng.randint(10, LONGEST))
        picture = io.BytesIO()
        render(text).save(picture, "PNG")
        made.append(Line(text, json.dumps({"image": base64.b64encode(picture.getvalue()).decode()}).encode()))
    return made


@contextmanager
def serving(engine: EngineResult, python: Path) -> Iterator[int]:
    """The port of a ready `inkgate serve` with this engine; prints its log if it does not become ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    variables = {name: value for name, value in os.environ.items() if not name.startswith("INKGATE_")}
    command = [str(python), "-m", "inkgate", "serve", "--engine", engine.name, "--port", str(port)]
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(command, stdout=log, stderr=log, env=variables | COMMON | engine.settings) as process,
    ):
        try:
            until = time.monotonic() + START_S
            while not answers(port):
                if process.poll() is not None or time.monotonic() > until:
                    log.seek(0)
                    raise SystemExit(f"{engine.name} did not start:\n{log.read()[-3000:].decode(errors='replace')}")
                time.sleep(0.5)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True  # it listens only after the engine has started
    except OSError:
        return False


def client(port: int, waiting: list[Line]) -> list[tuple[float, bool]]:
    """Reads pages until none is left. Returns for each its seconds and whether it was read exactly.

    Raises:
        RuntimeError: the status is not 200.
    """
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    done = []
    while waiting:
        try:
            line = waiting.pop()  # threads share this without a lock
        except IndexError:
            break
        started = time.perf_counter()
        connection.request("POST", "/ocr", line.body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            raise RuntimeError(body[:600].decode(errors="replace"))
        done.append((time.perf_counter() - started, json.loads(body)["text"].strip("\n") == line.text))
    connection.close()
    return done


def measure(engine: EngineResult, port: int, pages: int, seed: int) -> None:
    """Adds results of the engine: `pages` for each number of clients."""
    for clients in CLIENTS:
        client(port, lines(4, seed * 1000 + 500 + clients))
        waiting = lines(pages, seed * 1000 + clients)
        with ThreadPoolExecutor(clients) as threads:
            started = time.perf_counter()
            done = [page for part in threads.map(client, repeat(port, clients), repeat(waiting)) for page in part]
            engine.rates[clients].append(len(done) / (time.perf_counter() - started))
        engine.latencies[clients] += [seconds for seconds, _ in done]
        engine.pages += len(done)
        engine.exact += sum(exact for _, exact in done)
        print(f"{engine.name}: {clients} clients, {engine.rates[clients][-1]:.2f} pages/s", file=sys.stderr, flush=True)


def report(baseline: EngineResult, other: EngineResult) -> list[dict[str, float]]:
    """One row for each number of clients; rates are medians over the rounds."""
    rows = []
    for clients in CLIENTS:
        row: dict[str, float] = {"clients": clients}
        for engine in (baseline, other):
            row[f"{engine.name}_pages_per_s"] = round(median(engine.rates[clients]), 2)
            row[f"{engine.name}_p50_ms"] = round(1000 * median(engine.latencies[clients]), 1)
        row["ratio"] = round(median(other.rates[clients]) / median(baseline.rates[clients]), 2)
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=200, help="pages for each number of clients in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="threads of transformers; 0: one for each core")
    parser.add_argument("--python", type=Path, default=ROOT / ".venv-vllm" / "bin" / "python")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    baseline, other = engines(arguments.python, arguments.threads)
    for number in range(arguments.rounds):
        for engine in (baseline, other):
            with serving(engine, arguments.python) as port:
                measure(engine, port, arguments.pages, number)
    rows = report(baseline, other)
    names = [f"{engine.name} {unit}" for unit in ("pages/s", "p50 ms") for engine in (baseline, other)]
    print(f"{'clients':>7} {'  '.join(f'{name:>20}' for name in names)}  {'ratio':>6}")
    for row in rows:
        keys = [f"{engine.name}_{unit}" for unit in ("pages_per_s", "p50_ms") for engine in (baseline, other)]
        print(f"{row['clients']:7} {'  '.join(f'{row[key]:20}' for key in keys)}  {row['ratio']:6}")
    exact = {engine.name: f"{engine.exact} of {engine.pages}" for engine in (baseline, other)}
    print(", ".join(f"{name}: {share} pages read exactly" for name, share in exact.items()))
    if arguments.json:
        machine = {"processor": platform.processor(), "cores": os.cpu_count(), "python": platform.python_version()}
        run = {"pages": arguments.pages, "rounds": arguments.rounds, "threads": arguments.threads, "exact": exact}
        arguments.json.write_text(json.dumps({"machine": machine, "run": run, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
