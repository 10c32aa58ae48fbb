"""What a trial reads of the service that it loads, and why a service died."""

from __future__ import annotations

from dataclasses import replace

from inkgate_bench.load.readings import of_state, restarts_of, summarize_readings
from inkgate_bench.tune.service_bench import cause_of_death
from inkgate_client.telemetry.state import Process, State
from support.states import GB, managed_state, replica


def vllm(started: int = 1, pid: int = 77) -> State:
    processes = (
        Process("gateway", 10, GB, 9.0),
        Process("pdf", 11, GB, 1.0, 3),
        Process("vllm", pid, GB, 9.0, started),
    )
    return managed_state(processes=processes, replicas=(replica("a"),))


def restarts(*states: State) -> int | None:
    return summarize_readings([of_state(state) for state in states]).restarts


def test_a_model_server_that_was_started_again_has_died() -> None:
    assert restarts(vllm(), vllm()) == 0
    assert restarts(vllm(), vllm(), vllm(started=2)) == 1


def test_one_that_is_gone_and_not_back_yet_has_died_too() -> None:
    assert restarts(vllm(), vllm(pid=0)) == 1
    assert restarts(vllm(), vllm(pid=0), vllm(started=2)) == 1, "counted once"


def test_workers_that_open_pdfs_may_be_replaced() -> None:
    state = vllm()
    assert restarts_of(replace(state, processes=(*state.processes, Process("pdf", 12, GB, 1.0, 4)))) == 0


def test_a_process_that_is_first_needed_under_load_is_no_restart() -> None:
    state = vllm()
    unused = replace(state, processes=(*state.processes, Process("engine", 0, 0, 0.0, 0)))
    used = replace(state, processes=(*state.processes, Process("engine", 13, GB, 1.0)))
    assert restarts(state, unused, used) == 0


def test_the_supervisor_s_word_for_a_death_goes_before_the_last_line() -> None:
    died = '{"event": "model_server_died", "level": "error", "cause": "out_of_memory", "reason": "CUDA out of memory"}'
    late = '{"event": "model_server_restarting", "level": "error"}'
    assert cause_of_death([died, late]) == "The model server died: out_of_memory. CUDA out of memory"
    assert cause_of_death([late]) == "model_server_restarting"
