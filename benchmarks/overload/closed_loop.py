"""A closed loop in which the adaptive limit once collapsed: vLLM alone, inkgate, and an older inkgate, alternating.

    python -m benchmarks.overload.closed_loop --before OTHER_TREE --rounds 4 --seconds 20 --json FILE

Starts one vLLM with `--max-num-seqs 16` and a gateway of each tree in front of it, so that limits persist across
rounds. Idle systems are stopped (SIGSTOP), so that they neither work nor see the load of the others. Numbers of clients
follow one another: 4 clients after 64 show the effect of a past overload. `--before` is a checkout of an older commit
(`git worktree add`).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from subprocess import Popen

import aiohttp
import httpx

from benchmarks import processes
from benchmarks.overload.systems import OTHER_CORES, ROOT, gateway_command, vllm_process, wait_until_up
from benchmarks.overload.traffic import body_of
from benchmarks.processes import free_port

CLIENTS = (16, 64, 4)
WIDTH, HEIGHT, SHORTEST, LONGEST = 560, 28, 8, 40
"""Lines of text: sizes of images, and lengths of responses in tokens."""
WARM_S = 3.0
"""Seconds at the start of each round that don't count."""


@dataclass(frozen=True)
class System:
    """A system at `url`. `process`: of a gateway; None for vLLM."""

    name: str
    url: str
    process: Popen[bytes] | None = None

    def limit(self) -> int | None:
        """The gateway's current limit of calls at vLLM; None for vLLM alone."""
        if self.process is None:
            return None
        state = httpx.get(f"{self.url.removesuffix('/v1')}/state", timeout=30, trust_env=False).json()
        return next(int(queue["limit"]) for queue in state["queues"] if queue["name"] == "calls")

    @contextmanager
    def in_turn(self) -> Iterator[None]:
        """Resumes the process inside the block."""
        if self.process is None:
            yield
            return
        self.process.send_signal(signal.SIGCONT)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGSTOP)


@dataclass(frozen=True)
class Round:
    """Responses a second with that many clients, and the limit at the end."""

    system: str
    clients: int
    number: int
    per_s: float
    failed: int
    limit: int | None


async def asked(url: str, clients: int, seconds: float) -> tuple[float, int]:
    """Responses a second of a closed loop, and the number of failed requests."""
    done = failed = 0
    begins = time.perf_counter() + WARM_S
    ends = begins + seconds
    rng = random.Random(clients)

    async def one(session: aiohttp.ClientSession) -> None:
        nonlocal done, failed
        while time.perf_counter() < ends:
            body = body_of(WIDTH, HEIGHT, rng.randint(SHORTEST, LONGEST))
            headers = {"Content-Type": "application/json"}
            async with session.post(f"{url}/chat/completions", data=body, headers=headers) as response:
                whole = b"[DONE]" in await response.read()
            good = response.status == 200 and whole
            failed += not good
            done += good and begins <= time.perf_counter() < ends

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None), connector=connector) as session:
        await asyncio.gather(*(one(session) for _ in range(clients)))
    return done / seconds, failed


@contextmanager
def systems(before: Path | None) -> Iterator[list[System]]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        port = free_port()
        vllm = f"http://127.0.0.1:{port}/v1"
        stack.enter_context(vllm_process(port, ["--max-num-seqs", "16"], folder, kv_blocks=None))
        found = [System("vLLM alone", vllm)]
        trees = {"inkgate": ROOT, **({"inkgate before": before.resolve()} if before else {})}
        for name, tree in trees.items():
            port = free_port()
            command, variables = gateway_command(port, vllm)
            variables |= {"PYTHONPATH": str(tree / "src")}
            log = folder / f"{tree.name}.log"
            process = stack.enter_context(processes.running([*OTHER_CORES, *command], log, variables, ROOT))
            stack.callback(process.send_signal, signal.SIGCONT)  # resumed so that it can end
            url = f"http://127.0.0.1:{port}/v1"
            wait_until_up(f"{url}/models", process, log)
            process.send_signal(signal.SIGSTOP)
            found.append(System(name, url, process))
        yield found


def measured(found: Sequence[System], clients: int, number: int, seconds: float) -> Iterator[Round]:
    """One round of each system, in an order that rotates with the round's number."""
    for system in (*found[number % len(found) :], *found[: number % len(found)]):
        with system.in_turn():
            per_s, failed = asyncio.run(asked(system.url, clients, seconds))
            yield Round(system.name, clients, number, round(per_s, 2), failed, system.limit())


def show(rounds: Sequence[Round]) -> None:
    """A table, as docs/contributing/benchmarks.md has it."""
    print("| clients | system | requests / s, mean | of each round | limit after each | failed |")
    print("| --- | --- | --- | --- | --- | --- |")
    for clients, name in dict.fromkeys((each.clients, each.system) for each in rounds):
        own = [each for each in rounds if (each.clients, each.system) == (clients, name)]
        of_each = ", ".join(f"{each.per_s:.1f}" for each in own)
        limits = ", ".join("" if each.limit is None else str(each.limit) for each in own).strip(", ")
        failed = sum(each.failed for each in own)
        print(f"| {clients} | {name} | {fmean(each.per_s for each in own):.1f} | {of_each} | {limits} | {failed} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="tree of an older commit to compare with")
    parser.add_argument("--clients", nargs="*", type=int, default=CLIENTS)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=20.0, help="duration of each round")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rounds: list[Round] = []
    with systems(options.before) as found:
        asyncio.run(asked(found[0].url, 16, options.seconds))  # vLLM is slower at first
        for clients in options.clients:
            for number in range(options.rounds):
                for one in measured(found, clients, number, options.seconds):
                    print(one, file=sys.stderr, flush=True)
                    rounds.append(one)
    show(rounds)
    if options.json:
        machine = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
        found_json = {"machine": machine, "rounds": [asdict(each) for each in rounds]}
        options.json.write_text(json.dumps(found_json, indent=2))


if __name__ == "__main__":
    main()
