"""The decisions of a HorizontalPodAutoscaler, with the values of the chart.

After Kubernetes' documentation of the algorithm: for a metric of the type AverageValue, replicas = ceil(metric /
target), unless the metric is within a tolerance of what the present replicas should have. The lowest recommendation of
the scale-up window and the highest of the scale-down window bound it, then the policies, then minimum and maximum.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "inkgate"
SYNC_S = 15.0
"""How often Kubernetes decides."""
TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class ScalingPolicy:
    """At most `value` pods, or percent of the pods, in `period_s` seconds."""

    kind: str
    value: int
    period_s: float

    def most(self, at_start: int) -> int:
        """Replicas after scaling up from `at_start` in one period."""
        return at_start + self.value if self.kind == "Pods" else math.ceil(at_start * (1 + self.value / 100))

    def least(self, at_start: int) -> int:
        """Replicas after scaling down from `at_start` in one period."""
        return at_start - self.value if self.kind == "Pods" else math.floor(at_start * (1 - self.value / 100))


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """`scaleUp` or `scaleDown` of a HorizontalPodAutoscaler."""

    window_s: float
    policies: tuple[ScalingPolicy, ...]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """From its YAML."""
        policies = [ScalingPolicy(each["type"], each["value"], each["periodSeconds"]) for each in values["policies"]]
        return cls(values["stabilizationWindowSeconds"], tuple(policies))


@dataclass(frozen=True, slots=True)
class ScalingValues:
    """`autoscaling.engine` of the chart, its gateways, and how often Prometheus reads their metric."""

    least: int
    most: int
    target: float
    up: ScalingRules
    down: ScalingRules
    gateways: int
    scrape_s: float

    @classmethod
    def of_chart(cls, file: Path = CHART / "values.yaml") -> Self:
        """The defaults of the chart."""
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
        engine = values["autoscaling"]["engine"]
        up, down = (ScalingRules.of(engine["behavior"][name]) for name in ("scaleUp", "scaleDown"))
        scrape_s = float(values["monitoring"]["serviceMonitor"]["interval"].removesuffix("s"))
        return cls(engine["min"], engine["max"], engine["target"], up, down, values["replicas"], scrape_s)


class Autoscaler:
    """One HorizontalPodAutoscaler. Times are seconds of one clock."""

    def __init__(self, values: ScalingValues) -> None:
        self._values = values
        self._recommended: deque[tuple[float, int]] = deque()
        self._changes: deque[tuple[float, int]] = deque()

    def decide(self, replicas: int, metric: float, now: float) -> int:
        """The new number of replicas; `metric` is the sum over all gateways."""
        values = self._values
        wanted = replicas
        if abs(metric / (values.target * replicas) - 1) > TOLERANCE:
            wanted = math.ceil(metric / values.target)
        wanted = min(max(wanted, values.least), values.most)
        wanted = self._stabilized(replicas, wanted, now)
        decided = self._bounded(replicas, wanted, now)
        if decided != replicas:
            self._changes.append((now, decided - replicas))
        return decided

    def _stabilized(self, replicas: int, wanted: int, now: float) -> int:
        up, down = self._values.up, self._values.down
        if not self._recommended:
            self._recommended.append((now, replicas))
        self._recommended.append((now, wanted))
        longest_s = max(up.window_s, down.window_s)
        while self._recommended[0][0] < now - longest_s:
            self._recommended.popleft()
        lowest = min([number for at, number in self._recommended if at > now - up.window_s], default=wanted)
        highest = max([number for at, number in self._recommended if at > now - down.window_s], default=wanted)
        return min(max(replicas, min(lowest, wanted)), max(highest, wanted))

    def _bounded(self, replicas: int, wanted: int, now: float) -> int:
        if wanted > replicas:
            policies = self._values.up.policies
            most = max(each.most(replicas - self._changed(each.period_s, now)) for each in policies)
            return min(wanted, max(most, replicas))
        if wanted < replicas:
            policies = self._values.down.policies
            least = min(each.least(replicas - self._changed(each.period_s, now)) for each in policies)
            return max(wanted, min(least, replicas))
        return replicas

    def _changed(self, period_s: float, now: float) -> int:
        """Replicas added within the period, less those removed."""
        return sum(change for at, change in self._changes if at > now - period_s)
