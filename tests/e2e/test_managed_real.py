"""A managed server with the true vLLM (on the CPU) and the tiny model, its engine process killed under it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest

from inkgate.engines.vllm.managed import guardian
from inkgate.engines.vllm.managed.command import server_command
from inkgate.engines.vllm.managed.supervisor import ManagedServer, State
from inkgate.engines.vllm.presets import find_preset
from inkgate.engines.vllm.server import ModelServer
from inkgate.settings import ManagedSettings, VllmSettings
from support.managed import alive, until

pytestmark = [pytest.mark.anyio, pytest.mark.real, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-vllm" / "bin" / "python"
MODELS = ROOT / "tests" / "models"
MODEL = MODELS / "tiny-paddleocr-vl"
BACK_S = 400.0
"""For a start of vLLM on a slow machine that does other things too."""


@pytest.fixture
def server() -> ManagedServer:
    missing = [str(path) for path in (PYTHON, MODEL / "config.json") if not path.exists()]
    if missing:
        if os.environ.get("INKGATE_REQUIRE_ALL") == "1":
            pytest.fail(f"missing: {missing}")
        pytest.skip(f"missing: {missing}")
    managed = ManagedSettings(
        python=str(PYTHON),
        model=str(MODEL),
        environment={"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1"},
        restart_pause_s=0.1,
        stop_s=30,
    )
    preset = find_preset("tiny-paddleocr-vl", MODELS / "presets")
    return ManagedServer(server_command(preset, VllmSettings(managed=managed)), managed, oom_kills=lambda: 0)


async def names_at(url: str) -> tuple[str, ...]:
    client = ModelServer(url, connect_s=5)
    try:
        return await client.models()
    finally:
        await client.close()


async def test_a_killed_engine_process_comes_back_and_nothing_is_left_at_the_end(server: ManagedServer) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.run)
        try:
            await server.start()
            assert server.pid is not None
            first = {server.pid, *guardian.descendants(server.pid)}
            assert len(first) >= 2, "vLLM runs its engine in a process of its own"
            for pid in {pid for pid in first - {server.pid} if not guardian.tidies(pid)}:
                os.kill(pid, signal.SIGKILL)
            await until(lambda: server.restarts == 1 and server.state is State.READY, BACK_S)
            assert not any(alive(pid) for pid in first)
            assert await names_at(server.url) == ("tiny-paddleocr-vl",)
            assert server.kv_tokens is not None
            second = {server.pid, *guardian.descendants(server.pid)}
        finally:
            with anyio.CancelScope(shield=True):
                await server.stop()
        assert not any(alive(pid) for pid in second)
    assert sum(server.deaths.values()) == 1
