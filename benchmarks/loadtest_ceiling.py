"""Measures the maximum request rate of `inkgate loadtest`, and compares its latencies with those of wrk and hey.

    apt-get install wrk hey     # optional
    python -m benchmarks.loadtest_ceiling --json FILE

The service is `stub_server.py` in its own process, which only reads and responds; bodies have 0.2 MB. Ceiling: a closed
loop of each tool, alternating, and the highest rate of an open loop at which the generator is not the bottleneck.
Agreement: the same service, with 20 to 40 ms per request, measured by all tools, alternating; ratios to wrk within a
round, and their median over rounds.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

import anyio

from benchmarks.figures import write_json
from benchmarks.processes import free_port, server
from inkgate_bench.load.pages import LoadPage
from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.results import Axis
from inkgate_bench.load.run import LoadResult, run
from inkgate_bench.load.target import ProtocolName, Target

PAGE = LoadPage("page.jpg", os.urandom(150_000), "image/jpeg", 1)
"""Image size: 0.2 MB in base64."""
BODY_BYTES = 200_012
RATES = (500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 5000, 6000)
UNITS_MS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


@dataclass(frozen=True)
class ToolResult:
    """Result of one tool: responses a second, and latencies in milliseconds."""

    per_s: float
    p50: float
    p90: float
    p99: float
    busy: float = 0.0


@contextmanager
def service(delay_ms: int) -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.stub_server", str(port), "--delay-ms", str(delay_ms)]
    url = f"http://127.0.0.1:{port}/ocr"
    with server(command, url):
        yield url


def measured(url: str, axis: Axis, level: float, seconds: float) -> LoadResult:
    plan = Plan(axis, level, seconds, warm_s=1.0, deadline_s=1.0)
    load = Load(Target(url, ProtocolName.SIMPLE), (PAGE,), plan)
    return anyio.run(run, load, backend_options={"use_uvloop": True})


def own(url: str, clients: int, seconds: float) -> ToolResult:
    found = measured(url, Axis.CONCURRENCY, clients, seconds)
    latency = found.summary.latency
    assert latency is not None
    assert not found.summary.errors
    p50_ms, p90_ms, p99_ms = 1000 * latency.p50_s, 1000 * latency.p90_s, 1000 * latency.p99_s
    return ToolResult(found.summary.answered_per_s, p50_ms, p90_ms, p99_ms, found.own.busy_share)


def wrk(url: str, clients: int, seconds: float, body: Path) -> ToolResult:
    script = body.with_suffix(".lua")
    script.write_text(
        f'local file = io.open("{body}", "rb")\nwrk.body = file:read("*all")\nfile:close()\n'
        'wrk.method = "POST"\nwrk.headers["Content-Type"] = "application/json"\n',
        encoding="utf-8",
    )
    command = ["wrk", "-t1", f"-c{clients}", f"-d{seconds:g}s", "--latency", "-s", str(script), url]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [per_s] = re.findall(r"Requests/sec: +([0-9.]+)", told)
    times = dict(re.findall(r"^ +(50|90|99)% +([0-9.]+(?:us|ms|s|m))$", told, re.MULTILINE))
    return ToolResult(float(per_s), *(_ms(times[share]) for share in ("50", "90", "99")))


def _ms(text: str) -> float:
    number, unit = re.fullmatch(r"([0-9.]+)([a-z]+)", text).groups()  # type: ignore[union-attr]  # as found above
    return float(number) * UNITS_MS[unit]


def hey(url: str, clients: int, seconds: float, body: Path) -> ToolResult:
    command = ["hey", "-z", f"{seconds:g}s", "-c", str(clients), "-m", "POST", "-T", "application/json"]
    told = subprocess.run([*command, "-D", str(body), url], capture_output=True, text=True, check=True).stdout
    [per_s] = re.findall(r"Requests/sec:\s+([0-9.]+)", told)
    times = dict(re.findall(r"(50|90|99)%+ in ([0-9.]+) secs", told))
    return ToolResult(float(per_s), *(1000 * float(times[share]) for share in ("50", "90", "99")))


def open_ceiling(url: str, seconds: float) -> tuple[float, float]:
    """The highest rate at which the generator was not the bottleneck, and its processor share there."""
    best = (0.0, 0.0)
    for rate in RATES:
        found = measured(url, Axis.RATE, rate, seconds)
        print(
            f"  {rate}/s offered: {found.summary.answered_per_s:7.0f}/s answered, "
            f"p99 {1000 * found.own.late_p99_s:.1f} ms late, {found.own.busy_share:.0%} busy  {found.own.why}"
        )
        if found.own.bottleneck:
            break
        best = (rate, found.own.busy_share)
    return best


def show(name: str, taken: ToolResult) -> None:
    print(f"  {name:<22} {taken.per_s:8.1f}/s  p50 {taken.p50:7.2f}  p90 {taken.p90:7.2f}  p99 {taken.p99:7.2f} ms")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--clients", type=int, default=16)
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        body = Path(folder) / "body"
        body.write_bytes(b'{"image":"' + b"A" * (BODY_BYTES - 12) + b'"}')
        report: dict[str, object] = {"ceiling": ceiling(asked, body), "agreement": agreement(asked, body)}
    resident_mb = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    report["resident_mb"] = resident_mb
    print(f"most resident memory of this process: {resident_mb} MB")
    write_json(asked.json, report)


def one_round(url: str, asked: argparse.Namespace, body: Path) -> dict[str, ToolResult]:
    results = {"inkgate": own(url, asked.clients, asked.seconds)}
    for name, tool in (("wrk", wrk), ("hey", hey)):
        if shutil.which(name):
            results[name] = tool(url, asked.clients, asked.seconds, body)
    for name, each in results.items():
        show(name, each)
    return results


def ceiling(asked: argparse.Namespace, body: Path) -> dict[str, object]:
    print(f"Ceiling, bodies of {BODY_BYTES} bytes, {asked.clients} clients")
    with service(0) as url:
        rounds = [one_round(url, asked, body) for _ in range(asked.rounds)]
        rate, busy = open_ceiling(url, asked.seconds)
    print(f"open loop: {rate:g}/s, {busy:.0%} of a core")
    return {
        "closed": [{name: asdict(each) for name, each in taken.items()} for taken in rounds],
        "open": {"rate": rate, "busy_share": busy},
    }


def agreement(asked: argparse.Namespace, body: Path) -> dict[str, object]:
    print(f"Agreement, 20 to 40 ms, {asked.clients} clients")
    with service(20) as url:
        rounds = [one_round(url, asked, body) for _ in range(asked.rounds)]
    ratios = {
        f"{name} / wrk": {
            figure: round(median(getattr(taken[name], figure) / getattr(taken["wrk"], figure) for taken in rounds), 4)
            for figure in ("per_s", "p50", "p90", "p99")
        }
        for name in ("inkgate", "hey")
        if {name, "wrk"} <= set(rounds[0])
    }
    for name, figures in ratios.items():
        print(f"  {name}: " + ", ".join(f"{figure} {value:.3f}" for figure, value in figures.items()))
    return {"rounds": [{name: asdict(each) for name, each in taken.items()} for taken in rounds], "ratios": ratios}


if __name__ == "__main__":
    main()
