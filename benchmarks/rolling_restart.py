"""Counts the requests that are lost while two gateways behind nginx are drained and restarted one after the other.

python benchmarks/rolling_restart.py [--requests 10000] [--clients 8]

The gateways have an engine that reads at once, so that this measures the way through nginx and the drain, not OCR.
"""

from __future__ import annotations

import argparse
import json
import ssl
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Event, Thread
from time import perf_counter

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.api_client import png
from support.gateway_tier import GatewayTier, running_tier


def load(tier: GatewayTier, requests: int, clients: int) -> tuple[Counter[str], int, float]:
    """Outcomes of `requests` requests, how often both gateways were restarted meanwhile, and seconds."""
    context = ssl.create_default_context(cafile=tier.certificate)
    numbers = count()
    over = Event()
    rounds = 0
    body = png()

    def read() -> Counter[str]:
        mine: Counter[str] = Counter()
        with httpx.Client(base_url=tier.url, verify=context, trust_env=False, timeout=120) as client:
            while next(numbers) < requests:
                try:
                    mine[str(client.post("/ocr", files={"file": body}).status_code)] += 1
                except httpx.TransportError as error:
                    mine[type(error).__name__] += 1
        return mine

    def restart() -> None:
        nonlocal rounds
        while not over.is_set():
            tier.restart_each()
            rounds += 1

    restarts = Thread(target=restart)
    begun = perf_counter()
    restarts.start()
    with ThreadPoolExecutor(clients) as threads:
        outcomes = sum((done.result() for done in [threads.submit(read) for _ in range(clients)]), Counter[str]())
    seconds = perf_counter() - begun
    over.set()
    restarts.join()
    return outcomes, rounds, seconds


def main() -> None:
    """Prints a table and one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_tier(Path(folder)) as tier:
        outcomes, rounds, seconds = load(tier, arguments.requests, arguments.clients)
    lost = arguments.requests - outcomes["200"]
    for outcome, number in sorted(outcomes.items()):
        print(f"{outcome:>20} {number:>8}")
    result = {"requests": arguments.requests, "lost": lost, "restarts": 2 * rounds, "seconds": round(seconds, 1)}
    print(json.dumps({**result, "outcomes": outcomes}))


if __name__ == "__main__":
    main()
