"""The autoscaling of the chart: Kubernetes' formula, and a shortened day with the gateway's own metric."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.autoscaling.day import DayResult, Plan, simulate_day, undone
from benchmarks.autoscaling.hpa import SYNC_S, Autoscaler, ScalingValues

CHART = ScalingValues.of_chart()
CAPACITY = 1.26
"""Pages a second of the simulated engine, by `capacity_of`."""
MORNING = ((0.0, 0.3), (0.1, 0.3), (0.3, 1.55), (0.5, 1.55), (0.52, 0.15), (1.2, 0.15))
"""From one engine to three and back."""


@pytest.fixture(scope="module")
def morning() -> DayResult:
    return simulate_day(Plan(CHART, CAPACITY, MORNING, burst=None, hours=1.2))


def replayed(values: ScalingValues, metrics: list[float]) -> list[tuple[float, int, int]]:
    """The changes that an autoscaler makes if it sees these metrics."""
    autoscaler, replicas, changes = Autoscaler(values), 1, []
    for number, metric in enumerate(metrics):
        at = number * SYNC_S
        after = autoscaler.decide(replicas, metric, at)
        if after != replicas:
            changes.append((at, replicas, after))
        replicas = after
    return changes


def test_a_load_that_rises_and_falls_adds_engines_in_time_and_removes_them_once(morning: DayResult) -> None:
    assert max(sample.replicas for sample in morning.samples) == 3
    assert [after - before for _, before, after in morning.changes] == [1, 1, -1, -1]
    assert morning.lost < 0.03
    assert morning.longest_lag_s <= 360


def test_without_a_stabilisation_window_the_same_metric_flaps(morning: DayResult) -> None:
    metrics = [sample.metric for sample in morning.samples]
    broken = replace(CHART, up=replace(CHART.up, window_s=0.0), down=replace(CHART.down, window_s=0.0))
    # The load itself falls within half an hour, which may undo one decision of the chart.
    assert undone(replayed(CHART, metrics)) < undone(replayed(broken, metrics))


def test_an_autoscaler_decides_as_kubernetes_does() -> None:
    cases = [
        # replicas, metric, wanted: target 0.7
        (1, 0.75, 1),  # within the tolerance of 10%
        (1, 0.78, 2),
        (2, 1.40, 2),
        (3, 2.40, 4),
        (1, 2.70, 2),  # at most 100% in a minute
        (4, 9.00, 4),  # maximum
        (3, 0.00, 2),  # one pod in five minutes
        (1, 0.00, 1),  # minimum
    ]
    instant = replace(CHART, up=replace(CHART.up, window_s=0.0), down=replace(CHART.down, window_s=0.0))
    wrong = [case for case in cases if Autoscaler(instant).decide(case[0], case[1], 0.0) != case[2]]
    assert wrong == []


def test_engines_are_added_and_removed_after_their_windows_and_at_the_rate_of_their_policies() -> None:
    assert replayed(CHART, [9.0] * 20 + [0.0] * 200) == [
        (60.0, 1, 2),
        (120.0, 2, 4),
        (2085.0, 4, 3),
        (2385.0, 3, 2),
        (2685.0, 2, 1),
    ]
