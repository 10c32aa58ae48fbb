"""What a service says of itself at one moment, and what is made of many of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from inkgate.bench.load.results import ServerSide
from inkgate.telemetry.gpu import GpuReading
from inkgate.telemetry.state import State

COMPUTING = frozenset({"engine", "vllm"})
"""Kinds of processes that the engine computes in."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment; shares 0 to 1. `preemptions`, `restarts`: counted since the server, or the service, was started."""

    kv_share: float | None = None
    running: float | None = None
    waiting: float | None = None
    preemptions: float | None = None
    restarts: float | None = None
    gpu_share: float | None = None
    gpu_memory_share: float | None = None
    memory_mb: float | None = None


def of_state(state: State) -> Reading:
    """What a load test wants of a service's state."""
    replicas = state.replicas
    gpus = [(gpu.utilisation, gpu.memory_used, gpu.memory_total) for gpu in state.gpus]
    return Reading(
        kv_share=_most(replica.kv_usage for replica in replicas),
        running=_sum(replica.running for replica in replicas),
        waiting=_sum(replica.waiting for replica in replicas),
        preemptions=_sum(replica.preemptions for replica in replicas),
        restarts=restarts_of(state),
        gpu_share=_most(share for share, _, _ in gpus),
        gpu_memory_share=_most(_part(used, total) for _, used, total in gpus),
        memory_mb=_sum(process.rss_bytes / 1e6 for process in state.processes),
    )


def restarts_of(state: State) -> int:
    """How often a process that computes was started again, since the service's start. First starts are none."""
    return sum(process.started - 1 for process in state.processes if process.kind in COMPUTING)


def of_gpus(readings: Sequence[GpuReading]) -> Reading:
    return Reading(
        gpu_share=_most(reading.utilisation for reading in readings),
        gpu_memory_share=_most(_part(reading.memory_used, reading.memory_total) for reading in readings),
    )


def summed_up(readings: Sequence[Reading]) -> ServerSide:
    """Of readings in the order in which they were taken."""
    preemptions = _counted([reading.preemptions for reading in readings])
    restarts = _known(reading.restarts for reading in readings)
    return ServerSide(
        kv_share=_most(reading.kv_share for reading in readings),
        running=_mean([reading.running for reading in readings]),
        waiting=_mean([reading.waiting for reading in readings]),
        preemptions=preemptions,
        restarts=round(sum(max(0.0, after - before) for before, after in pairwise(restarts))) if restarts else None,
        gpu_share=_most(reading.gpu_share for reading in readings),
        gpu_memory_share=_most(reading.gpu_memory_share for reading in readings),
        memory_mb=_most(reading.memory_mb for reading in readings),
    )


def several(windows: Sequence[ServerSide]) -> ServerSide | None:
    """All runs of one level together: the most of what is a peak, the mean of means, the sum of what is counted."""
    if not windows:
        return None
    return ServerSide(
        kv_share=_most(window.kv_share for window in windows),
        running=_mean([window.running for window in windows]),
        waiting=_mean([window.waiting for window in windows]),
        preemptions=_whole(_sum(window.preemptions for window in windows)),
        restarts=_whole(_sum(window.restarts for window in windows)),
        gpu_share=_most(window.gpu_share for window in windows),
        gpu_memory_share=_most(window.gpu_memory_share for window in windows),
        memory_mb=_most(window.memory_mb for window in windows),
    )


def together(readings: Sequence[Reading]) -> Reading:
    """Of each figure, what the first source that knows it says."""
    return Reading(
        kv_share=_first(reading.kv_share for reading in readings),
        running=_first(reading.running for reading in readings),
        waiting=_first(reading.waiting for reading in readings),
        preemptions=_first(reading.preemptions for reading in readings),
        restarts=_first(reading.restarts for reading in readings),
        gpu_share=_first(reading.gpu_share for reading in readings),
        gpu_memory_share=_first(reading.gpu_memory_share for reading in readings),
        memory_mb=_first(reading.memory_mb for reading in readings),
    )


def _first(values: Iterable[float | None]) -> float | None:
    return next(iter(_known(values)), None)


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _most(values: Iterable[float | None]) -> float | None:
    return max(_known(values), default=None)


def _sum(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) if known else None


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) / len(known) if known else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _part(used: int | None, total: int | None) -> float | None:
    return used / total if used is not None and total else None


def _counted(values: Iterable[float | None]) -> int | None:
    """How far a counter rose; where it fell it had begun anew."""
    known = _known(values)
    rises = [after - before if after >= before else after for before, after in pairwise(known)]
    return round(sum(rises)) if known else None
