"""Compares the optimization steps of the engine: each reads the same pages, alternating in rounds."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from benchmarks.engines.closed import Pass, closed_loop
from benchmarks.engines.own import OwnEngine, Step, started
from benchmarks.engines.sample import pooled_cer
from inkgate_bench.accuracy.manifest import Entry

TOGETHER = 8


@dataclass
class StepResult:
    """Results of a step: `alone` with one client, `together` with eight; one Pass for each round."""

    step: Step
    runtime: str
    alone: list[Pass] = field(default_factory=list)
    together: list[Pass] = field(default_factory=list)


async def climb(steps: Sequence[Step], documents: Sequence[Entry], rounds: int) -> list[StepResult]:
    """Runs all steps, in their order. Each has read one page before the first round."""
    async with AsyncExitStack() as stack:
        engines: list[tuple[OwnEngine, StepResult]] = []
        for step in steps:
            engine = await stack.enter_async_context(started(step))
            engines.append((engine, StepResult(step, engine.runtime)))
            await engine.read(documents[0])
        for _ in range(rounds):
            for engine, stepped in engines:
                stepped.alone.append(await closed_loop(engine.read, documents, 1))
                stepped.together.append(await closed_loop(engine.read, documents, TOGETHER))
                last = f"{stepped.alone[-1].rate:.2f} and {stepped.together[-1].rate:.2f} pages/s"
                print(f"{stepped.step.name}: {last}", file=sys.stderr, flush=True)
    return [stepped for _, stepped in engines]


@dataclass(frozen=True)
class Accuracy:
    """Character error rates in percent, and the number of texts that differ from those of the first step."""

    step: str
    cer: float
    cer_folded: float
    differing: int


async def accuracies(steps: Sequence[Step], documents: Sequence[Entry]) -> list[Accuracy]:
    """The accuracy of each step, with eight clients."""
    found: list[Accuracy] = []
    first: dict[str, str] = {}
    for step in steps:
        async with started(step) as engine:
            texts = (await closed_loop(engine.read, documents, TOGETHER)).texts
        first = first or texts
        differing = sum(texts[path] != text for path, text in first.items())
        cer = pooled_cer(documents, texts)
        found.append(Accuracy(step.name, cer, pooled_cer(documents, texts, fold_case=True), differing))
        print(found[-1], file=sys.stderr, flush=True)
    return found
