"""Time of a page by stage, compared with the machine's peak arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from benchmarks.engines.closed import Pass, closed_loop
from benchmarks.engines.flops import Calls, CountingRuntime, peak_flops
from benchmarks.engines.own import DEFAULT, started
from benchmarks.engines.steps import TOGETHER
from inkgate.engines.choose import runtime_of
from inkgate_bench.accuracy.manifest import Entry
from inkgate_bench.accuracy.peers import CORES


@dataclass(frozen=True)
class Bound:
    """`alone`, `together`: a pass with one client and with eight. `models`: calls of each model in the pass `alone`.

    `flops_together`: operations of all models in the pass `together`. `peaks`: operations a second by precision, the
    maximum measured before and after the passes.
    """

    runtime: str
    alone: Pass
    together: Pass
    models: dict[str, Calls]
    flops_together: float
    peaks: dict[str, float]

    @property
    def peak(self) -> float:
        """Peak in the engine's precision. int8 operations count as bf16 or f32."""
        return self.peaks["bf16" if "bf16" in self.runtime else "f32"]

    @property
    def reached(self) -> float:
        """Share of the peak that the engine reaches with eight clients."""
        return self.flops_together / self.together.seconds / self.peak


async def bound(documents: Sequence[Entry]) -> Bound:
    runtime = CountingRuntime(runtime_of(DEFAULT.all_settings()))
    peaks = {precision: peak_flops(precision, CORES) for precision in ("f32", "bf16")}
    async with started(DEFAULT, runtime) as engine:
        await closed_loop(engine.read, documents, TOGETHER)  # warm-up: the first call with a new shape is slow
        runtime.forget()
        alone = await closed_loop(engine.read, documents, 1)
        models = {name: Calls(calls.calls, calls.seconds, calls.flops) for name, calls in runtime.models.items()}
        runtime.forget()
        together = await closed_loop(engine.read, documents, TOGETHER)
        flops = sum(calls.flops for calls in runtime.models.values())
    peaks = {precision: max(before, peak_flops(precision, CORES)) for precision, before in peaks.items()}
    return Bound(runtime.name, alone, together, models, flops, peaks)


def mean_stages(done: Pass) -> dict[str, float]:
    """Mean milliseconds of each stage over all pages; 0 for a page without the stage."""
    names = dict.fromkeys(name for read in done.reads.values() for name in read.timings_ms)
    return {name: mean(read.timings_ms.get(name, 0.0) for read in done.reads.values()) for name in names}
