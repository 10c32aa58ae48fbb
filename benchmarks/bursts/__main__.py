"""Bursts of clients with their own defaults, through inkgate and directly to a model server of known capacity.

    python -m venv CLIENTS && CLIENTS/bin/pip install openai langchain-openai
    python -m benchmarks.bursts --python CLIENTS/bin/python --json FILE

The model server is a stub that answers `--slots` requests at a time, each in `--service-ms`. Every cell gets a new
gateway. PYTHONPATH chooses which inkgate runs, to compare two versions.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from benchmarks.figures import table, write_json
from benchmarks.gateway_cost import chat
from benchmarks.processes import free_port, inkgate_command, server

CLIENTS = ("openai", "paddlex", "olmocr", "langchain")
_LIMIT_S = 400
_CLIENT = Path(__file__).with_name("client.py")
_SHOWN = ("answered", "failed", "retries", "herd", "p50_s", "p99_s", "peak_mb")


def peak_mb(pid: int) -> float:
    """Peak resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def cell(arguments: argparse.Namespace, client: str, count: int) -> dict[str, object]:
    """One burst."""
    stub, port = free_port(), free_port()
    with ExitStack() as stack:
        command = [sys.executable, "-m", "benchmarks.stub_server", str(stub), "--slots", str(arguments.slots)]
        url = f"http://127.0.0.1:{stub}/v1"
        stack.enter_context(server([*command, "--delay-ms", str(arguments.service_ms)], f"{url}/models"))
        pid = 0
        if not arguments.direct:
            command = inkgate_command(port, "--engine", "paddleocr-vl", "--vllm-url", url)
            url = f"http://127.0.0.1:{port}/v1"
            pid = stack.enter_context(server(command, f"{url}/chat/completions", body=chat(0))).pid
        before = peak_mb(pid) if pid else 0.0
        burst = [str(arguments.python), "-I", str(_CLIENT), client, str(count), url, str(arguments.kilobytes)]
        done = subprocess.run(burst, capture_output=True, text=True, timeout=_LIMIT_S, check=True)
        found: dict[str, object] = json.loads(done.stdout)
        found |= {"client": client, "requests": count, "idle_mb": round(before)}
        return found | {"peak_mb": round(peak_mb(pid)) if pid else 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="interpreter with openai and langchain-openai")
    parser.add_argument("--clients", nargs="+", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--requests", nargs="+", type=int, default=[150, 400, 1000])
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--service-ms", type=int, default=300)
    parser.add_argument("--kilobytes", type=int, default=200)
    parser.add_argument("--direct", action="store_true", help="without a gateway")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cells = []
    for client in arguments.clients:
        for count in arguments.requests:
            cells.append(cell(arguments, client, count))
            print(cells[-1], file=sys.stderr, flush=True)
    print(
        table(("client", "requests", *_SHOWN), [[row[key] for key in ("client", "requests", *_SHOWN)] for row in cells])
    )
    settings = {"slots": arguments.slots, "service_ms": arguments.service_ms, "kilobytes": arguments.kilobytes}
    write_json(arguments.json, {"settings": settings, "bursts": cells})


if __name__ == "__main__":
    main()
