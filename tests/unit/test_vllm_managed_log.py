"""What is made of vLLM's log: lines, levels, progress, and why it died. Lines are as vLLM 0.32 writes them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from inkgate.model_servers.managed.diagnose import (
    Death,
    DeathCause,
    LogLevels,
    LogLines,
    StartProgress,
    diagnose,
    is_progress_bar,
    kernel_oom_kills,
    own_memory_events,
    progress_of,
)
from inkgate.model_servers.managed.supervisor import fewer_sequences

BAR = "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:01<00:01,  1.00s/it]"


def test_lines_are_cut_wherever_the_bytes_are() -> None:
    text = "one\n\x1b[36mtwo\x1b[0m\r\n\n50%\r100%\nGröße \xff"
    data = text.encode().replace("ÿ".encode(), b"\xff")
    for cut in range(len(data)):
        lines = LogLines()
        found = [*lines.feed(data[:cut]), *lines.feed(data[cut:]), *lines.rest(), *lines.rest()]
        assert found == ["one", "two", "50%", "100%", "Größe \ufffd"]


def test_a_line_without_end_takes_no_memory() -> None:
    lines = LogLines()
    for _ in range(100):
        assert list(lines.feed(b"x" * 1000)) == []
    assert list(lines.feed(b"\nnext\n")) == ["x" * 4000, "next"]


def test_levels_are_the_server_s_own_and_stay_for_what_belongs_to_a_line() -> None:
    levels = LogLevels()
    lines = [
        ("INFO:     Started server process [7]", "info"),
        ("(EngineCore pid=7) WARNING 11-20 23:00:00 [core.py:1] slow", "warning"),
        ("  and why", "warning"),
        ("(APIServer pid=6) Traceback (most recent call last):", "error"),
        ('(APIServer pid=6)   File "x.py", line 1', "error"),
        ("(APIServer pid=6) DEBUG 11-20 23:00:00 [core.py:1] on", "debug"),
        ("CRITICAL 11-20 23:00:00 [core.py:1] end", "error"),
    ]
    assert [levels.of(line) for line, _ in lines] == [level for _, level in lines]


def test_progress_is_recognised() -> None:
    cases = [
        (BAR, StartProgress("weights", 50)),
        ("Loading pt checkpoint shards: 100% Completed | 1/1 [00:00<00:00,  9.34it/s]", StartProgress("weights", 100)),
        ("Fetching 12 files:  25%|██▌       | 3/12 [00:04<00:12]", StartProgress("download", 25)),
        ("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE):  40%|████      | 2/5", StartProgress("graphs", 40)),
        ("INFO [gpu_model_runner.py:1] Graph capturing finished in 9 secs, took 0.4 GiB", StartProgress("graphs", 100)),
        ("INFO [backends.py:1] Dynamo bytecode transform time: 4.1 s", StartProgress("compile")),
        (
            "INFO [kv_cache_utils.py:1] GPU KV cache size: 1,234,567 tokens, Maximum",
            StartProgress("kv_cache"),
        ),
        ("INFO:     Application startup complete.", StartProgress("listening")),
        ("INFO:     Waiting for application startup.", None),
        ("WARNING 11-20 23:00:00 [vllm.py:1703] Enforce eager set, disabling torch.compile, CUDAGraphs", None),
    ]
    assert [(line, found) for line, progress in cases if (found := progress_of(line)) != progress] == []


def test_only_states_of_bars_are_left_out_of_the_log() -> None:
    assert is_progress_bar(BAR)
    assert not is_progress_bar("INFO [kv_cache_utils.py:1] GPU KV cache size: 1,234 tokens")


@pytest.mark.parametrize(
    "line",
    [
        "(EngineCore pid=7) ERROR [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB.",
        "RuntimeError: CUDA error: out of memory",
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`",
        "ValueError: To serve a request, (2 GiB is needed, which is larger than the available KV cache memory.",
        "RuntimeError: [enforce fail at alloc_cpu.cpp:1] DefaultCPUAllocator: can't allocate memory: you tried",
        "MemoryError",
    ],
)
def test_a_lack_of_memory_is_known_by_its_words(line: str) -> None:
    after = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"
    death = diagnose(1, ["before", line, after])
    assert death.cause is DeathCause.OUT_OF_MEMORY
    assert line.endswith(death.reason)
    assert not death.reason.startswith("(")


CORE_GONE = (
    "(APIServer pid=6) ERROR 11-20 23:00:01 [async_llm.py:1] vllm.v1.engine.exceptions.EngineDeadError: EngineCore"
)
WARNED = "(Worker pid=8) WARNING 11-20 23:00:00 [cpu_worker.py:1] KeyError: libiomp is not found in LD_PRELOAD"
CORE_KILLED = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'E': -9}"


def test_a_kill_is_the_kernel_s_where_the_kernel_says_so() -> None:
    cases = [
        (-signal.SIGKILL, "fine", 1, DeathCause.OUT_OF_MEMORY),
        (-signal.SIGKILL, "fine", None, DeathCause.OUT_OF_MEMORY),
        (-signal.SIGKILL, "fine", 0, DeathCause.KILLED),
        (None, "fine", 0, DeathCause.KILLED),
        (1, CORE_KILLED, 1, DeathCause.OUT_OF_MEMORY),
        (1, CORE_KILLED, 0, DeathCause.CRASH),
        (0, CORE_GONE, 1, DeathCause.OUT_OF_MEMORY),
        (0, CORE_GONE, 0, DeathCause.CRASH),
        (-signal.SIGSEGV, "fine", 1, DeathCause.CRASH),
        (1, "ValueError: no", 1, DeathCause.CRASH),
        (0, "fine", 0, DeathCause.EXIT),
    ]
    wrong = [
        (status, line, oom_kills, found)
        for status, line, oom_kills, cause in cases
        if (found := diagnose(status, [line], oom_kills).cause) is not cause
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["OSError: no file named config.json", "RuntimeError: X failed. See root cause above."], "OSError: no file"),
        (["api_server.py: error: unrecognized arguments: --x", "bye"], "api_server.py: error: unrecognized"),
        (["/usr/bin/python: No module named vllm"], "/usr/bin/python: No module named vllm"),
        ([WARNED, CORE_GONE, "INFO:     Shutting down"], "vllm.v1.engine.exceptions.EngineDeadError: EngineCore"),
        (["something", "the last", WARNED], "the last"),
        ([WARNED], "KeyError: libiomp"),
        ([], ""),
    ],
)
def test_the_line_that_says_most_is_the_reason(lines: list[str], reason: str) -> None:
    death = diagnose(1, lines)
    assert death.cause is DeathCause.CRASH
    assert death.reason.startswith(reason)


def test_deaths_are_alike_whatever_the_numbers_in_them() -> None:
    first = Death(DeathCause.CRASH, 1, "(APIServer pid=123) ERROR 11-20 23:00:01 ValueError: no 0x7f3a")
    assert first.kind == Death(DeathCause.CRASH, 1, "(APIServer pid=45) ERROR 11-21 01:12:44 ValueError: no 0x1b").kind
    assert first.kind != Death(DeathCause.CRASH, 1, "TypeError: no").kind


def test_a_death_is_told_in_a_line() -> None:
    assert str(Death(DeathCause.KILLED, -9, "")) == "killed (SIGKILL)"
    assert str(Death(DeathCause.CRASH, 2, "no such flag")) == "crash (status 2): no such flag"
    assert str(Death(DeathCause.STALLED, None, "It stalled.")) == "stalled: It stalled."


def test_the_kernel_s_count_is_that_of_our_group_where_it_has_one(tmp_path: Path) -> None:
    (tmp_path / "vmstat").write_text("nr_free_pages 7\noom_kill 5\n")
    (tmp_path / "events").write_text("oom 9\noom_kill 2\noom_group_kill 0\n")
    (tmp_path / "cgroup").write_text("0::/a/b\n")
    missing = tmp_path / "missing"
    assert kernel_oom_kills(tmp_path / "vmstat", tmp_path / "events") == 2
    assert kernel_oom_kills(tmp_path / "vmstat", missing) == 5
    assert kernel_oom_kills(missing, missing) is None
    assert own_memory_events(tmp_path / "cgroup", Path("/c")) == Path("/c/a/b/memory.events")
    assert own_memory_events(missing, Path("/c")) == Path("/c/memory.events")


def test_fewer_sequences_never_become_none() -> None:
    assert [fewer_sequences(count, served=True) for count in (16, 12, 3, 1)] == [12, 9, 2, 1]
    assert [fewer_sequences(count, served=False) for count in (16, 3, 1)] == [8, 1, 1]
