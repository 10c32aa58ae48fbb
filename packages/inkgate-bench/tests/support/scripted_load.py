"""Load tests with scripted outcomes: a service with a known curve, measured without waiting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import numpy as np

from inkgate_bench.load.plan import Load, Plan
from inkgate_bench.load.results import Axis, OwnLimits, Second
from inkgate_bench.load.run import LoadResult
from inkgate_bench.load.samples import Samples
from inkgate_bench.load.target import ProtocolName, Target
from support.curves import FAULTLESS, MeasurementNoise, Shape, summary

TARGET = Target("http://127.0.0.1:7860/ocr", ProtocolName.OCR)


def load(axis: Axis = Axis.CONCURRENCY, seconds: float = 20.0) -> Load:
    return Load(TARGET, (), Plan(axis, 1, seconds, warm_s=2.0))


@dataclass
class ScriptedService:
    """A `steps.RunLoad`. `asked`: the plans it was measured with; `down_for`: probes that get no response; `piles_up`:
    growth of requests in flight per second, by level.
    """

    shape: Shape
    error: Shape = FAULTLESS
    noise: float = 0.01
    piles_up: Shape = FAULTLESS
    down_for: int = 0
    stop_after: int = 10_000
    own: OwnLimits = OwnLimits(bottleneck=False, why="", late_p99_s=0.001, busy_share=0.1, unsent=0)
    asked: list[Plan] = field(default_factory=list)
    probes: int = 0

    async def __call__(
        self, what: Load, on_second: Callable[[Second], None] | None, stop: anyio.Event | None
    ) -> LoadResult:
        plan = what.plan
        if on_second is None:
            self.probes += 1
            there = self.probes > self.down_for
            return self._measured(plan, 1.0 if there else 0.0, 0.0 if there else 1.0)
        self.asked.append(plan)
        measured = self._measured(plan, self.shape(plan.level), self.error(plan.level))
        for second in measured.timeline:
            on_second(second)
        if stop is not None and len(self.asked) >= self.stop_after:
            stop.set()
            return LoadResult(measured.summary, measured.timeline, self.own, Samples(), plan.warming_s, partial=True)
        return measured

    def _measured(self, plan: Plan, goodput: float, error: float) -> LoadResult:
        rng = np.random.default_rng(plan.seed)
        told = summary(goodput, error, MeasurementNoise(noise=self.noise, seconds=plan.seconds), rng)
        a_second = round(told.in_time / plan.seconds)
        timeline = tuple(
            Second(float(at), plan.level, a_second, a_second, a_second, 0, self._on_way(plan, at), 0.4, 1.0)
            for at in range(1, round(plan.warming_s + plan.seconds) + 1)
        )
        return LoadResult(told, timeline, self.own, Samples(), plan.warming_s)

    def _on_way(self, plan: Plan, at: int) -> int:
        return 1 + round(at * self.piles_up(plan.level))
