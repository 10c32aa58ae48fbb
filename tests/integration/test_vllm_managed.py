"""A vLLM of ours: started, watched, started again, and never left behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import httpx
import pytest
from structlog.testing import capture_logs

from inkgate.engines.vlm.engine import ServerPool, VlmEngine
from inkgate.engines.vlm.presets import find_preset
from inkgate.errors import EngineFailed
from inkgate.model_servers.managed.diagnose import DeathCause
from inkgate.model_servers.managed.process import ServerProcess
from inkgate.model_servers.managed.supervisor import ManagedState
from inkgate.model_servers.server import ModelServer
from inkgate.settings import VllmSettings
from support.managed import FakeVllm, managed_server, new_server, parent, until

pytestmark = pytest.mark.anyio


@pytest.fixture
def fake(tmp_path: Path) -> FakeVllm:
    return FakeVllm(tmp_path)


async def fail(url: str, how: str) -> None:
    """Makes the server at `url` die."""
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        with pytest.raises(httpx.HTTPError):
            await client.post(f"{url.removesuffix('/v1')}/fail?how={how}")


async def names_at(url: str) -> list[str]:
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        return [model["id"] for model in (await client.get(f"{url}/models")).json()["data"]]


async def test_it_is_ready_when_it_answers_and_gone_when_it_is_stopped(fake: FakeVllm) -> None:
    with capture_logs() as logs:
        async with managed_server(fake) as server:
            await server.start()
            names = await names_at(server.url)
            running, state, pid = fake.alive(), server.state, server.pid
            await server.stop()
            left = fake.alive()
    assert names == ["PaddleOCR-VL-1.6-0.9B"]
    assert (state, server.state) == (ManagedState.READY, ManagedState.STOPPED)
    assert len(running) == 2
    assert pid in running
    assert left == set()
    assert (server.restarts, dict(server.deaths)) == (0, {})
    loading = [(log["stage"], log.get("percent")) for log in logs if log["event"] == "model_server_loading"]
    assert loading[:3] == [("weights", 0), ("weights", 50), ("weights", 100)]
    passed_on = [log for log in logs if log["event"] == "model_server_log"]
    assert {(log["source"], log["replica"]) for log in passed_on} == {("vllm", server.url)}
    assert "Starting to load model tiny" in passed_on[0]["line"]


async def test_one_that_takes_no_notice_of_sigterm_is_killed_with_all_it_started(fake: FakeVllm) -> None:
    async with managed_server(fake, orders={"stubborn": True}, stop_s=0.1) as server:
        await server.start()
        running = fake.alive()
        await server.stop()
        assert len(running) == 2
        assert fake.alive() == set()


async def test_one_that_is_killed_comes_back_at_the_same_address(fake: FakeVllm) -> None:
    async with managed_server(fake) as server:
        await server.start()
        first = fake.pids()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        await until(lambda: server.restarts == 1 and server.state is ManagedState.READY)
        assert await names_at(server.url) == ["PaddleOCR-VL-1.6-0.9B"]
        assert fake.alive().isdisjoint(first)
        assert len(fake.alive()) == 2
        assert dict(server.deaths) == {DeathCause.KILLED: 1}
        assert fake.sequences() == [16, 16]


async def test_one_that_stands_still_is_started_anew(fake: FakeVllm) -> None:
    async with managed_server(fake, stop_s=0.1) as server:
        await server.start()
        first = fake.alive()
        for pid in first:
            os.kill(pid, signal.SIGSTOP)
        await server.restart_stalled()
        await server.restart_stalled()
        await until(lambda: server.restarts == 1 and server.state is ManagedState.READY)
        assert fake.alive().isdisjoint(first)
        assert dict(server.deaths) == {DeathCause.STALLED: 1}
        assert fake.sequences() == [16, 16]


async def test_shared_memory_of_one_that_is_killed_is_freed(fake: FakeVllm) -> None:
    async with managed_server(fake, orders={"shares": True}) as server:
        await server.start()
        (shared,) = fake.shared()
        there = shared.exists()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        await until(lambda: server.restarts == 1)
        assert (there, shared.exists()) == (True, False)


@pytest.mark.parametrize("oom_kills", [1, None])
async def test_one_that_the_kernel_killed_for_memory_comes_back_smaller(fake: FakeVllm, oom_kills: int | None) -> None:
    async with managed_server(fake, oom_kills) as server:
        await server.start()
        assert server.pid is not None
        os.kill(server.pid, signal.SIGKILL)
        await until(lambda: server.restarts == 1 and server.state is ManagedState.READY)
        assert dict(server.deaths) == {DeathCause.OUT_OF_MEMORY: 1}
        assert fake.sequences() == [16, 12]


async def test_out_of_memory_at_start_halves_the_sequences_until_it_fits(fake: FakeVllm) -> None:
    with capture_logs() as logs:
        async with managed_server(fake, orders={"oom_above": 5}) as server:
            await server.start()
            assert server.max_num_seqs == 4
    assert fake.sequences() == [16, 8, 4]
    told = [log for log in logs if log["event"] == "model_server_out_of_memory"]
    assert [(log["old_max_num_seqs"], log["new_max_num_seqs"]) for log in told] == [(16, 8), (8, 4)]
    assert "torch.OutOfMemoryError: CUDA out of memory" in told[0]["reason"]


async def test_out_of_memory_in_service_takes_a_quarter_of_the_sequences(fake: FakeVllm) -> None:
    async with managed_server(fake, max_num_seqs=6) as server:
        await server.start()
        await fail(server.url, "oom")
        await until(lambda: server.restarts == 1 and server.state is ManagedState.READY)
        assert dict(server.deaths) == {DeathCause.OUT_OF_MEMORY: 1}
    assert fake.sequences() == [6, 4]


async def test_one_that_never_fits_fails_the_start(fake: FakeVllm) -> None:
    async with managed_server(fake, orders={"oom_above": 0}, max_num_seqs=2) as server:
        with pytest.raises(EngineFailed, match=r"engine_unavailable: .*out_of_memory.*CUDA out of memory"):
            await server.start()
    assert fake.sequences() == [2, 1]
    assert fake.alive() == set()


async def test_a_wrong_flag_fails_the_start_with_what_it_said(fake: FakeVllm) -> None:
    complaint = "api_server.py: error: unrecognized arguments: --nonsense"
    async with managed_server(fake, orders={"complaint": complaint}, extra_flags=("--nonsense",)) as server:
        with pytest.raises(EngineFailed) as failed:
            await server.start()
        assert failed.value.code == "engine_unavailable"
        assert f"Its last lines:\n  {complaint}" in failed.value.detail
        assert server.state is ManagedState.FAILED
        assert server.deaths[DeathCause.CRASH] == 3
    assert "--nonsense" in fake.starts()[0]["arguments"]


async def test_one_that_is_too_old_for_a_flag_of_the_preset_is_started_without_it(fake: FakeVllm) -> None:
    flag = "--trust-request-mm-kwargs"
    async with managed_server(fake, orders={"too_old_for": flag}) as server:
        await server.start()
        assert server.state is ManagedState.READY
        assert flag not in server.flags
        assert (server.restarts, dict(server.deaths)) == (0, {})
    assert [flag in start["arguments"] for start in fake.starts()] == [True, False]


async def test_one_that_does_not_answer_in_time_fails_the_start(fake: FakeVllm) -> None:
    async with managed_server(fake, orders={"silent": True}, start_s=0.5) as server:
        with pytest.raises(EngineFailed, match="not_ready"):
            await server.start()
        assert fake.alive() == set()


async def test_stopped_while_it_starts_it_leaves_nothing(fake: FakeVllm) -> None:
    async with managed_server(fake, orders={"silent": True}) as server, anyio.create_task_group() as tasks:
        failures = []

        async def start() -> None:
            try:
                await server.start()
            except EngineFailed as error:
                failures.append(error.code)

        tasks.start_soon(start)
        await until(lambda: len(fake.alive()) == 2)
        await server.stop()
        assert fake.alive() == set()
    assert failures == ["engine_unavailable"]


async def test_an_order_to_stop_that_comes_before_the_program_is_not_lost() -> None:
    child = ServerProcess.spawn(["sleep", "60"], {"PATH": os.defpath}, grace_s=20)
    await child.stop()
    status = await child.wait()
    child.close()
    assert status == -signal.SIGTERM


async def test_a_cancelled_run_ends_the_server(fake: FakeVllm) -> None:
    async with anyio.create_task_group() as tasks, managed_server(fake) as server:
        await server.start()
        running = fake.alive()
        tasks.cancel_scope.cancel()
        await anyio.sleep_forever()
    assert len(running) == 2
    assert fake.alive() == set()


async def test_a_killed_guardian_takes_the_server_along(fake: FakeVllm) -> None:
    async with managed_server(fake) as server:
        await server.start()
        assert server.pid is not None
        first = server.pid
        strays = fake.alive() - {first}
        try:
            os.kill(parent(first), signal.SIGKILL)
            await until(lambda: server.restarts == 1 and server.state is ManagedState.READY)
            assert first not in fake.alive()
        finally:
            for stray in strays:  # in a session of its own, with nobody left to end it
                os.kill(stray, signal.SIGKILL)


async def test_an_engine_that_does_not_start_stops_its_server(fake: FakeVllm) -> None:
    async with managed_server(fake) as server:
        vllm = VllmSettings(model="another")
        engine = VlmEngine(
            find_preset("paddleocr-vl"), vllm, ModelServer(server.url, 5), pool=ServerPool(managed=(server,))
        )
        with pytest.raises(EngineFailed, match="model_unknown"):
            await engine.start()
        assert server.state is ManagedState.STOPPED
        assert fake.alive() == set()
        await engine.stop()


async def test_a_run_that_fails_as_it_is_stopped_keeps_nobody_waiting(
    fake: FakeVllm, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, calls = ServerProcess.stop, []

    async def fails_at_first(process: ServerProcess) -> None:
        calls.append(process)
        if len(calls) == 1:
            raise OSError("Too many open files")
        await stop(process)

    monkeypatch.setattr(ServerProcess, "stop", fails_at_first)
    server = new_server(fake)

    async def run() -> None:
        with pytest.RaisesGroup(OSError):
            await server.run()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await server.start()
        with anyio.fail_after(60):
            await server.stop()
    assert server.state is ManagedState.STOPPED
    assert fake.alive() == set()
    await server.run()  # as its supervisor does


async def test_what_was_never_started_can_be_stopped(fake: FakeVllm) -> None:
    async with managed_server(fake) as server:
        await server.stop()
    assert fake.pids() == set()
