"""Compares inkgate's engine, its service and the peers on the same pages, alternating in rounds."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.engines.child import client_of, serving
from benchmarks.engines.closed import Pass, Read, Reader, closed_loop
from benchmarks.engines.others import running
from benchmarks.engines.own import started
from benchmarks.engines.sample import data_of
from inkgate.documents.open import Opener
from inkgate.serving.batching import BatchFigures
from inkgate.settings import Quality, load_settings
from inkgate_bench.accuracy.candidates import Candidate
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.peers import Peer, running_peer

CLIENTS = (1, 2, 4, 8, 16)
ENGINE, HTTP = "inkgate", "inkgate, HTTP"
QUICKER = (Quality.BALANCED, Quality.FAST)
TOGETHER = 8
"""Number of clients for which targets are set."""
FULL_CARE = {"INKGATE_SERVING__DEGRADATION__ENABLED": "false"}
"""Off, since sixteen clients exceed `target_wait_s`: pages would be degraded, and read faster."""


@dataclass(frozen=True)
class Racer:
    """A participant with its number of clients. `rounds`: maximum number of rounds; None: all."""

    name: str
    read: Reader
    clients: Sequence[int]
    rounds: int | None = None


@dataclass
class Race:
    """Results by participant and number of clients: one Pass for each round.

    `figures`: of the recognizer's batcher in the engine alone, by number of clients, one for each round. `memory_mb`:
    of those that have processes of their own, the peak of resident memory.
    """

    runtime: str
    versions: dict[str, str] = field(default_factory=dict)
    passes: dict[str, dict[int, list[Pass]]] = field(default_factory=dict)
    figures: dict[int, list[BatchFigures]] = field(default_factory=dict)
    memory_mb: dict[str, float] = field(default_factory=dict)


async def race(
    documents: Sequence[Entry], rounds: int, peers: Sequence[Peer], clients: Sequence[int], others: Mapping[str, Path]
) -> Race:
    """Runs all rounds. Each participant has read one page before the first. `others`: see `benchmarks.engines.others`,
    Python by the name of the package.
    """
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(started())
        result = Race(engine.runtime)
        child = stack.enter_context(serving(**FULL_CARE))
        client = await stack.enter_async_context(client_of(child))

        async def over_http(entry: Entry) -> Read:
            return Read(await client.read(entry.file.name, data_of(entry.file)))

        settings = load_settings(None)
        opener = await stack.enter_async_context(Opener(settings.limits, settings.pdf))
        racers: list[Racer] = []
        # Participants alternate at each number of clients, since the result is their ratio.
        for count in clients:
            racers += [Racer(ENGINE, engine.read, (count,)), Racer(HTTP, over_http, (count,))]
        for quality in QUICKER:
            quicker = await stack.enter_async_context(started(quality))
            racers += [Racer(f"{ENGINE}, {quality}", quicker.read, (count,)) for count in clients]
        packages = [await stack.enter_async_context(running(name, python)) for name, python in others.items()]
        racers += [Racer(package.name, package.read, (1,)) for package in packages]
        for peer in peers:
            tool = await stack.enter_async_context(running_peer(peer, opener))
            result.versions[peer.name] = tool.version
            racers.append(Racer(peer.name, _reader(tool), (tool.parallel,), 1 if peer.params is None else None))
        for racer in {racer.name: racer for racer in racers}.values():
            await racer.read(documents[0])
        for number in range(rounds):
            for racer in racers:
                if racer.rounds is None or number < racer.rounds:
                    await _run(racer, documents, result, engine.figures if racer.name == ENGINE else None)
        result.memory_mb = {package.name: package.memory_mb for package in packages}
    return result


def _reader(tool: Candidate) -> Reader:
    async def read(entry: Entry) -> Read:
        return Read((await tool.read(entry)).text)

    return read


async def _run(racer: Racer, documents: Sequence[Entry], result: Race, figures: BatchFigures | None) -> None:
    for clients in racer.clients:
        before = replace(figures) if figures else None
        done = await closed_loop(racer.read, documents, clients)
        result.passes.setdefault(racer.name, {}).setdefault(clients, []).append(done)
        if figures is not None and before is not None:
            result.figures.setdefault(clients, []).append(since(before, figures))
        print(f"{racer.name}, {clients} clients: {done.rate:.2f} pages/s", file=sys.stderr, flush=True)


def since(before: BatchFigures, now: BatchFigures) -> BatchFigures:
    """The difference between two readings."""
    return replace(
        now,
        calls=now.calls - before.calls,
        items=now.items - before.items,
        cost=now.cost - before.cost,
        content=now.content - before.content,
        wait_s=now.wait_s - before.wait_s,
        busy_s=now.busy_s - before.busy_s,
    )


def lines_a_call(figures: BatchFigures) -> float:
    """Mean over the calls."""
    return figures.items / max(figures.calls, 1)


def padding_waste(figures: BatchFigures) -> float:
    """Fraction of the model's input that was padding, 0 to 1."""
    return 1 - figures.content / max(figures.cost, 1)
