"""Two gateways before one engine, which know nothing of each other."""

from __future__ import annotations

from inkgate.model_servers.adaptive import AdaptiveLimit
from inkgate.model_servers.monitor import PressureGauge
from inkgate.serving.outcomes import WorkOutcome
from inkgate.settings import AdaptiveSettings
from support.plant import TICK_S, Plant

SLOTS = 32


class Gateways:
    """Each always has as much at the engine as its limit allows, and reads it once a second, not at the same time."""

    def __init__(self, *initial: int) -> None:
        self.plant = Plant(slots=SLOTS, tokens_per_s=1e9)
        self.limits = [AdaptiveLimit(AdaptiveSettings(initial=each), lambda: self.plant.now) for each in initial]
        self._gauges = [PressureGauge() for _ in initial]
        self.plant.on_end = lambda _, now: self.limits[0].ended(WorkOutcome.OK, now)

    def run(self, seconds: float) -> list[tuple[int, int]]:
        """Both limits at each second."""
        seen = []
        for tick in range(round(seconds / TICK_S)):
            ours, others = (limit.value for limit in self.limits)
            self.plant.keep(ours, others)
            self.plant.tick()
            if tick % 5 == 0:
                self._read(tick // 5 % 2)
            if tick % 10 == 9:
                seen.append((ours, others))
        return seen

    def _read(self, which: int) -> None:
        ours = self.plant.in_flight
        all_of_them = len(self.plant.waiting) + len(self.plant.running)
        in_flight = (ours, all_of_them - ours)[which]
        pressure = self._gauges[which].read(self.plant.reading(), self.plant.now, in_flight)
        if pressure is not None:
            self.limits[which].observe(pressure, in_flight)


def test_gateways_that_start_alike_share_the_engine_alike() -> None:
    gateways = Gateways(8, 8)
    gateways.run(300)
    for ours, others in gateways.run(200):
        assert SLOTS <= ours + others <= 1.1 * SLOTS + 4
        assert abs(ours - others) <= SLOTS / 4


def test_gateways_far_apart_settle_together_where_the_engine_is_full() -> None:
    gateways = Gateways(8, 64)
    gateways.run(300)
    for ours, others in gateways.run(200):
        assert SLOTS <= ours + others <= 1.1 * SLOTS + 4
        assert ours >= 4
