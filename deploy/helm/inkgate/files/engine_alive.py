"""Liveness of vLLM: exits with 1 if requests run and no token was generated for two minutes.

vLLM's own /health answers while its engine hangs, and answers late while it is busy.
"""

import json
import re
import sys
import time
from pathlib import Path
from urllib.request import ProxyHandler, build_opener

STALLED_S = 120


def sums(metrics: str) -> tuple[float, float]:
    """Running requests and generated tokens, over all of vLLM's engines."""
    return _sum("vllm:num_requests_running", metrics), _sum("vllm:generation_tokens_total", metrics)


def _sum(name: str, metrics: str) -> float:
    return sum(float(value) for value in re.findall(rf"^{name}(?:{{.*}})? (\S+)$", metrics, re.MULTILINE))


def alive(running: float, tokens: float, now: float, state: Path) -> bool:
    """Whether tokens came since the last call, or nothing runs. `state` keeps the last progress."""
    try:
        before, since = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        before, since = -1.0, now
    if running == 0 or tokens != before:
        since = now
    state.write_text(json.dumps([tokens, since]), encoding="utf-8")
    return now - since < STALLED_S


def main() -> None:
    """Exits with 1 if vLLM does not respond, or stalled."""
    url = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8000/metrics"
    # Not through a proxy of `engine.env`, which is for downloads.
    with build_opener(ProxyHandler({})).open(url, timeout=15) as answer:
        running, tokens = sums(answer.read().decode())
    if not alive(running, tokens, time.monotonic(), Path("/tmp/engine-alive")):  # noqa: S108 - the container's own
        sys.exit(f"{running:g} requests run, and no token came for {STALLED_S} s")


if __name__ == "__main__":
    main()
