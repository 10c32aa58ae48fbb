"""Watching a service during a trial: its resources, and whether one of its processes died."""

from __future__ import annotations

import os
from dataclasses import replace

from inkgate.bench.load.readings import restarts_of
from inkgate.bench.tune.service_bench import cause_of_death
from inkgate.bench.tune.service_watch import ServiceWatch, memory_of
from inkgate.client import InkgateClient
from inkgate.telemetry.state import Process, State
from support.states import GB, embedded_state, managed_state, replica


def vllm(started: int = 1, pid: int = 77, preemptions: int = 0, kv_usage: float = 0.3) -> State:
    processes = (
        Process("gateway", 10, GB, 9.0),
        Process("pdf", 11, GB, 1.0, 3),
        Process("vllm", pid, GB, 9.0, started),
    )
    return managed_state(
        processes=processes, replicas=(replica("a", preemptions=preemptions, kv_usage=kv_usage, running=8),)
    )


def watch_from(first: State) -> ServiceWatch:
    """A watch that is fed by hand."""
    return ServiceWatch(InkgateClient("http://127.0.0.1:9"), None, first)


def test_a_model_server_that_was_started_again_has_died() -> None:
    watch = watch_from(vllm())
    watch.add(vllm(), 2000.0)
    assert not watch.died.is_set()
    watch.add(vllm(started=2), 500.0)
    assert watch.died.is_set()
    assert watch.summary().restarts == 1


def test_one_that_is_gone_and_not_back_yet_has_died_too() -> None:
    watch = watch_from(vllm())
    watch.add(vllm(pid=0), None)
    assert watch.died.is_set()
    assert watch.summary().restarts == 1


def test_workers_that_open_pdfs_may_be_replaced() -> None:
    watch = watch_from(vllm())
    state = vllm()
    watch.add(replace(state, processes=(*state.processes, Process("pdf", 12, GB, 1.0, 4))), None)
    assert not watch.died.is_set()
    assert restarts_of(state) == 0


def test_a_process_that_is_first_needed_under_load_is_no_restart() -> None:
    watch = watch_from(vllm())
    state = vllm()
    for processes in (state.processes, (*state.processes, Process("engine", 13, GB, 1.0))):
        watch.add(replace(state, processes=processes), None)
    assert not watch.died.is_set()
    assert watch.summary().restarts == 0


def test_peaks_and_counts_of_the_model_server_are_kept() -> None:
    watch = watch_from(vllm(preemptions=5))
    for preemptions, kv_usage, memory_mb in ((5, 0.4, 900.0), (9, 0.97, 1400.0), (12, 0.5, 1100.0)):
        watch.add(vllm(preemptions=preemptions, kv_usage=kv_usage), memory_mb)
    seen = watch.summary()
    assert (seen.preemptions, seen.kv_share, seen.running, seen.memory_mb) == (7, 0.97, 8, 1400.0)
    assert seen.restarts == 0


def test_a_service_that_does_not_answer_is_not_dead_for_that() -> None:
    watch = watch_from(embedded_state())
    watch.add(None, 800.0)
    assert not watch.died.is_set()
    assert watch.summary().memory_mb == 800.0


def test_memory_is_that_of_a_process_and_all_below_it() -> None:
    assert (memory_of(os.getpid()) or 0) > 10
    assert memory_of(2**22 + 1) is None


def test_the_supervisor_s_word_for_a_death_goes_before_the_last_line() -> None:
    died = '{"event": "model_server_died", "level": "error", "cause": "out_of_memory", "reason": "CUDA out of memory"}'
    late = '{"event": "model_server_restarting", "level": "error"}'
    assert cause_of_death([died, late]) == "The model server died: out_of_memory. CUDA out of memory"
    assert cause_of_death([late]) == "model_server_restarting"
